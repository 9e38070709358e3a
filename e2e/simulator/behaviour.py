"""What the test decides about an engine: how well it drafts, how fast it is, how it fails.

Read once from the environment, SIMULATOR_<FIELD>, and changed by POST /simulator. The names do not
start with SPECFLEET_, so that a fleet's `spec.engine.env` may set them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, TypeVar

PREFIX = "SIMULATOR_"
START_SECONDS = PREFIX + "START_SECONDS"
DEFAULT = "default"
HANGS = ("", "generation", "everything")

Rates = tuple[float, ...]
T = TypeVar("T")
_DAY = 86400.0


class BehaviourError(ValueError):
    """A field is not what it should be."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Set a field with SIMULATOR_<FIELD>, in JSON; text needs no quotes there."""

    acceptance: Mapping[str, Rates] = field(
        default_factory=lambda: MappingProxyType({DEFAULT: (0.6, 0.35, 0.2)})
    )
    """The share of verify steps in which a draft is accepted up to its first, second … token.

    Keys are `stock`, `local`, beginnings of digests, and `default` for the other drafters.
    """
    step_seconds: float = 0.02
    """How long the target takes for one step, whatever its batch."""
    drafter_seconds: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({DEFAULT: 0.0})
    )
    """What a drafter adds to each step. Keys are those of `acceptance`."""
    ttft_seconds: float = 0.05
    """From a request's scheduling to its first token."""
    error_rate: float = 0.0
    """The share of requests that are answered with HTTP 500."""
    max_requests: int | None = None
    """Requests beyond so many unfinished ones are answered with HTTP 503; None takes them all."""
    hang: str = ""
    """`generation`: no more tokens. `everything`: no more answers either, /simulator excepted."""
    mismatch: bool = False
    """The engine finds that its live drafter is not what was applied; it looks after each swap."""
    crash_after_seconds: float | None = None
    """The process ends so long after this was set, with exit code 1 and without a word."""

    def rates(self, *, name: str, digest: str) -> Rates:
        """Return the acceptance of a drafter that is counted as `name`."""
        return _of_drafter(self.acceptance, name=name, digest=digest)

    def drafting_seconds(self, *, name: str, digest: str) -> float:
        """Return how long a drafter that is counted as `name` takes for each step."""
        return _of_drafter(self.drafter_seconds, name=name, digest=digest)


def _of_drafter(values: Mapping[str, T], *, name: str, digest: str) -> T:
    """Return a drafter's value: by the longest beginning of its digest, its name, the default."""
    beginnings = [key for key in values if digest.startswith(key)]
    key = max(beginnings, key=len) if beginnings else name
    return values.get(key, values[DEFAULT])


def read_behaviour(environment: Mapping[str, str]) -> Behaviour:
    """Return what the environment says; BehaviourError names the variable that cannot be used."""
    changes = {}
    for name in FIELDS:
        text = environment.get(PREFIX + name.upper())
        if text is not None:
            changes[name] = text if name == "hang" else _json(PREFIX + name.upper(), text)
    return changed(Behaviour(), changes)


def read_start_seconds(environment: Mapping[str, str]) -> float:
    """Return how long the engine takes to start: loading, for a real one."""
    text = environment.get(START_SECONDS, "0")
    return _number(START_SECONDS, _json(START_SECONDS, text), most=_DAY)


def changed(behaviour: Behaviour, changes: Mapping[str, Any]) -> Behaviour:
    """Return the behaviour with some fields replaced; BehaviourError for what does not fit."""
    unknown = sorted(changes.keys() - FIELDS)
    if unknown:
        raise BehaviourError(f"{unknown} cannot be set, expected some of {sorted(FIELDS)}")
    checked = {name: _checked(name, value) for name, value in changes.items()}
    return replace(behaviour, **checked)


def as_json(behaviour: Behaviour) -> dict[str, Any]:
    """Return the fields as plain values."""
    plain = {name: getattr(behaviour, name) for name in sorted(FIELDS)}
    return plain | {
        "acceptance": {key: list(rates) for key, rates in behaviour.acceptance.items()},
        "drafter_seconds": dict(behaviour.drafter_seconds),
    }


FIELDS = frozenset(each.name for each in fields(Behaviour))


def _checked(name: str, value: Any) -> Any:
    if name == "acceptance":
        return _acceptance(value)
    if name == "drafter_seconds":
        return _drafter_seconds(value)
    if name == "hang":
        if value not in HANGS:
            raise BehaviourError(f"hang is {value!r}, expected one of {HANGS}")
        return value
    if name == "mismatch":
        if not isinstance(value, bool):
            raise BehaviourError(f"mismatch is {value!r}, expected true or false")
        return value
    if name == "max_requests":
        if value is not None and (type(value) is not int or value < 0):
            raise BehaviourError(f"max_requests is {value!r}, expected a whole number or null")
        return value
    if name == "crash_after_seconds" and value is None:
        return None
    return _number(name, value, most=1.0 if name == "error_rate" else _DAY)


def _acceptance(value: Any) -> Mapping[str, Rates]:
    if not isinstance(value, dict):
        raise BehaviourError(f"acceptance is {value!r}, expected an object of lists of shares")
    found = {}
    for key, rates in value.items():
        if not isinstance(rates, list) or not rates:
            raise BehaviourError(f"acceptance of {key!r} is {rates!r}, expected a list of shares")
        shares = tuple(_number(f"acceptance of {key!r}", rate, most=1.0) for rate in rates)
        if list(shares) != sorted(shares, reverse=True):
            raise BehaviourError(
                f"acceptance of {key!r} is {rates!r}, expected shares that never rise: "
                "a token counts only after those before it"
            )
        found[key] = shares
    return MappingProxyType({DEFAULT: Behaviour().acceptance[DEFAULT]} | found)


def _drafter_seconds(value: Any) -> Mapping[str, float]:
    if not isinstance(value, dict):
        raise BehaviourError(f"drafter_seconds is {value!r}, expected an object of numbers")
    found = {
        key: _number(f"drafter_seconds of {key!r}", seconds, most=_DAY)
        for key, seconds in value.items()
    }
    return MappingProxyType({DEFAULT: 0.0} | found)


def _number(name: str, value: Any, *, most: float) -> float:
    if type(value) not in (int, float) or not 0 <= value <= most:
        raise BehaviourError(f"{name} is {value!r}, expected a number from 0 to {most:g}")
    return float(value)


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BehaviourError(f"{name} is {text!r}, expected JSON") from error

"""What is remembered of each request, and its form as a line of a pod's log."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

REQUEST, SETTLED = "n", "settled"


class LogError(ValueError):
    """A log is not what the driver writes, or a part of it is missing."""


@dataclass(frozen=True, slots=True)
class Record:
    """One request; times are those of the driver's clock, in seconds since 1970."""

    number: int
    began: float
    seconds: float
    status: int | None
    """HTTP status, None when there was no answer."""
    failure: str = ""
    """Why the request failed, in the same words for failures of a sort; empty when it did not."""
    engine: str = ""
    """Which engine answered, as far as it says so."""
    tokens: int = 0
    ttft_seconds: float | None = None
    """None for answers that came as a whole."""
    prompt: int = 0
    """Number of the prompt: the same prompt has the same answer."""
    answer: str = ""
    """A digest of the answer's text."""

    @property
    def ended(self) -> float:
        """Return when the answer was complete or the request had failed."""
        return self.began + self.seconds


@dataclass(frozen=True, slots=True)
class Log:
    """Records in the order of their ends; requests that began before `settled` are all in it."""

    records: tuple[Record, ...]
    settled: float


def line(record: Record) -> str:
    """Return a record as one line of JSON, with short names: a pod's log has limits."""
    fields: dict[str, object] = {
        REQUEST: record.number,
        "at": round(record.began, 4),
        "s": round(record.seconds, 4),
        "status": record.status,
        "prompt": record.prompt,
    }
    if record.failure:
        fields["failure"] = record.failure
    if record.engine:
        fields["engine"] = record.engine
    if record.ttft_seconds is not None:
        fields["ttft"] = round(record.ttft_seconds, 4)
    if record.tokens:
        fields |= {"tokens": record.tokens, "answer": record.answer}
    return json.dumps(fields, separators=(",", ":"))


def settled_line(settled: float) -> str:
    """Return the line that says which requests have all ended."""
    return json.dumps({SETTLED: round(settled, 4)}, separators=(",", ":"))


def read_log(lines: Iterable[str], *, clock_ahead_seconds: float = 0.0) -> Log:
    """Return what a driver has printed so far; LogError when some of its lines are missing.

    `clock_ahead_seconds` is how much its clock is ahead of the reader's. A last line without its
    end, as a log that is being written has, is left out.
    """
    records, settled = [], 0.0
    for number, text in enumerate(lines, start=1):
        if not text.endswith("}") and not text.endswith("}\n"):
            continue
        try:
            fields = json.loads(text)
            if SETTLED in fields:
                settled = fields[SETTLED] - clock_ahead_seconds
            else:
                records.append(_record(fields, clock_ahead_seconds))
        except (ValueError, KeyError, TypeError) as error:
            raise LogError(f"line {number} is {text[:80]!r}, expected a record") from error
    _check_complete(records, settled)
    return Log(tuple(records), settled)


def _check_complete(records: list[Record], settled: float) -> None:
    """Requests are numbered as they begin, so what has settled has no gaps."""
    last = max((record.number for record in records if record.began < settled), default=-1)
    missing = sorted(set(range(last + 1)) - {record.number for record in records})
    if missing:
        raise LogError(
            f"{len(missing)} requests from number {missing[0]} on are missing: was the log rotated?"
        )


def _record(fields: dict[str, Any], clock_ahead_seconds: float) -> Record:
    return Record(
        number=fields[REQUEST],
        began=fields["at"] - clock_ahead_seconds,
        seconds=fields["s"],
        status=fields["status"],
        failure=fields.get("failure", ""),
        engine=fields.get("engine", ""),
        tokens=fields.get("tokens", 0),
        ttft_seconds=fields.get("ttft"),
        prompt=fields["prompt"],
        answer=fields.get("answer", ""),
    )

"""Which engine arguments and variables specfleet sets itself, and where a user sets them instead.

vLLM takes underscores for dashes, `--name=value`, `--name.part` and unambiguous beginnings of a
name, so all of these are recognised. Whether the remaining arguments are right is vLLM's to say.
"""

from __future__ import annotations

from typing import Any

from specfleet_common.api.rules import rule

_ONE_PROCESS = "this version runs every engine in one pod, on its GPUs by tensor parallelism"
_GPUS = "it is the number of GPUs in spec.engine.resources.limits"
_ADDRESS = "specfleet chooses the address of every engine"
_DRAFTER = "set spec.drafter"

_OWNED = {
    "--model": "set spec.target.model",
    "--served-model-name": "set spec.target.servedModelName",
    "--max-model-len": "set spec.target.maxModelLen",
    "--dtype": "set spec.target.dtype",
    "--host": _ADDRESS,
    "--port": _ADDRESS,
    "--uds": _ADDRESS,
    "--grpc": _ADDRESS,
    "--headless": _ADDRESS,
    "--ssl-keyfile": _ADDRESS,
    "--ssl-certfile": _ADDRESS,
    "--speculative-config": _DRAFTER,
    "-sc": _DRAFTER,
    "--spec-method": _DRAFTER,
    "--spec-model": _DRAFTER,
    "--spec-tokens": _DRAFTER,
    "--worker-extension-cls": "specfleet's plugin may need it",
    "--shutdown-timeout": "it follows from spec.engine.drainSeconds in a cluster",
    "--config": "write the arguments themselves into spec.engine.args",
    "--api-server-count": _ONE_PROCESS,
    "--tensor-parallel-size": _GPUS,
    "-tp": _GPUS,
    "--pipeline-parallel-size": _ONE_PROCESS,
    "-pp": _ONE_PROCESS,
    "--decode-context-parallel-size": _ONE_PROCESS,
    "-dcp": _ONE_PROCESS,
    "--prefill-context-parallel-size": _ONE_PROCESS,
    "-pcp": _ONE_PROCESS,
    "--data-parallel-size": _ONE_PROCESS,
    "-dp": _ONE_PROCESS,
    "--nnodes": _ONE_PROCESS,
    "-n": _ONE_PROCESS,
    "--node-rank": _ONE_PROCESS,
    "-r": _ONE_PROCESS,
}
_OWNED_BEGINNINGS = {"--data-parallel-": _ONE_PROCESS, "-dp": _ONE_PROCESS}
_SHORTEST_BEGINNING = len("--m")

_OWNED_VARIABLES = {
    "VLLM_USE_V2_MODEL_RUNNER": "specfleet chooses the model runner its plugin supports",
    "VLLM_PLUGINS": "specfleet's plugin has to be loaded",
    "PYTHONUNBUFFERED": "specfleet needs whole lines in the log",
}


def argument_refusal(argument: str) -> str | None:
    """Say why an engine argument cannot be given, or None when it can."""
    if not argument.startswith("-"):
        return None
    name = argument.split("=", 1)[0]
    if any(character.isspace() for character in name):
        return f"{argument!r} has a space in its name, expected one argument per list item"
    name = name.split(".", 1)[0].replace("_", "-")
    owner = _owner(name)
    return None if owner is None else f"{name} is set by specfleet: {owner}"


def variable_refusal(name: str) -> str | None:
    """Say why an environment variable of the engine cannot be given, or None when it can."""
    if name.startswith("SPECFLEET_"):
        return f"{name} is set by specfleet: names that start with SPECFLEET_ are its own"
    owner = _OWNED_VARIABLES.get(name)
    return None if owner is None else f"{name} is set by specfleet: {owner}"


def argument_rules() -> list[dict[str, Any]]:
    """Return what `argument_refusal` says as rules of one argument, one for each owner."""
    spaces = r"[\x{09}-\x{0d}\x{1c}-\x{20}\x{85}\p{Z}]"
    one_each = rule(
        f"!self.matches(r'^-[^=]*{spaces}')",
        "an argument has a space in its name, write one argument per list item",
    )
    name = "self.split('=')[0].split('.')[0].replace('_', '-')"
    written = [one_each]
    for owner in dict.fromkeys(_OWNED.values()):
        names = [owned for owned, its_owner in _OWNED.items() if its_owner == owner]
        beginnings = [begin for begin, its_owner in _OWNED_BEGINNINGS.items() if its_owner == owner]
        refused = (
            f"name in {names} || "
            f"(name.size() >= {_SHORTEST_BEGINNING} && name.startsWith('--') && "
            f"{names}.exists(owned, owned.startsWith(name)))"
        )
        if beginnings:
            refused += f" || {beginnings}.exists(begin, name.startsWith(begin))"
        written.append(
            rule(
                f"!self.startsWith('-') || ![{name}].exists(name, {refused})",
                f"{', '.join(names)}: set by specfleet: {owner}",
                says=f'{name} + " is set by specfleet: {owner}"',
            )
        )
    return written


def variable_rules() -> list[dict[str, Any]]:
    """Return what `variable_refusal` says as rules of one name."""
    return [
        rule(
            "!self.startsWith('SPECFLEET_')",
            "names that start with SPECFLEET_ are set by specfleet",
        ),
        *(
            rule(f"self != '{name}'", f"{name} is set by specfleet: {owner}")
            for name, owner in _OWNED_VARIABLES.items()
        ),
    ]


def _owner(name: str) -> str | None:
    if name in _OWNED:
        return _OWNED[name]
    for beginning, owner in _OWNED_BEGINNINGS.items():
        if name.startswith(beginning):
            return owner
    if not name.startswith("--") or len(name) < _SHORTEST_BEGINNING:
        return None
    abbreviated = [owned for owned in _OWNED if owned.startswith(name)]
    return _OWNED[abbreviated[0]] if abbreviated else None

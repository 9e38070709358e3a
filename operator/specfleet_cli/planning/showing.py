"""What would change, as a diff for people: object by object, then the pods. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from typing import Any

import yaml
from rich.text import Text

from specfleet_cli.planning.foreseeing import Change, Foreseen

_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_OF_THE_SERVER = (
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_FATES = {
    "replaced": "replaced one after the other, each once it has finished its requests",
    "created": "created",
    "removed": "removed, each once it has finished its requests",
}


def has_changes(foreseen: Foreseen) -> bool:
    """Say whether anything would be different."""
    fleet = foreseen.fleet
    return bool(foreseen.objects or foreseen.pods) or _text(fleet.before) != _text(fleet.after)


def lines(foreseen: Foreseen, *, version: str) -> Iterator[Text]:
    """Return everything that would change; `version` is the one that foresees it."""
    where = f"fleet {foreseen.name} in namespace {foreseen.namespace}"
    if not has_changes(foreseen) and not foreseen.problem:
        yield Text(f"{where}: nothing would change.")
        return
    for change in (foreseen.fleet, *foreseen.objects):
        yield from _diff(change)
    if foreseen.problem:
        yield Text(
            f"{where}: the operator would not carry this out, and what runs would stay as it is. "
            f"{foreseen.problem}",
            style="red",
        )
        return
    yield Text(f"{where}: {_counts(foreseen.objects)}.", style="bold")
    yield from map(Text, _pods(foreseen.pods, is_new=foreseen.fleet.before is None))
    if foreseen.operator_version != version:
        yield Text(
            f"The operator is of version {foreseen.operator_version or 'unknown'}, this command of "
            f"{version}: pods that are made anew may differ from what is shown.",
            style="yellow",
        )


def _diff(change: Change) -> Iterator[Text]:
    name = f"{change.kind}/{change.name}"
    before, after = _text(change.before), _text(change.after)
    found = difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        name if change.before is not None else "/dev/null",
        name if change.after is not None else "/dev/null",
        lineterm="",
    )
    for line in found:
        is_head = line.startswith(("+++", "---"))
        yield Text(line, style="bold" if is_head else _STYLES.get(line[:1], ""))


def _counts(objects: Iterable[Change]) -> str:
    words = [
        "created" if one.before is None else "removed" if one.after is None else "changed"
        for one in objects
    ]
    found = [f"{words.count(word)} {word}" for word in ("created", "changed", "removed")]
    told = ", ".join(one for one in found if not one.startswith("0 "))
    return f"of its objects {told}" if told else "none of its objects changes"


def _pods(pods: Iterable[tuple[str, str]], *, is_new: bool) -> Iterator[str]:
    """Say what becomes of the pods, and that none that runs is replaced."""
    told = list(pods)
    for fate, said in _FATES.items():
        names = [name for name, one in told if one == fate]
        if names:
            yield f"Pods that would be {said}: {', '.join(names)}."
    if not is_new and not any(fate == "replaced" for _, fate in told):
        yield "No pod would be restarted."


def _text(item: Any) -> str:
    """Return an object as YAML, without what the API server alone writes."""
    if item is None:
        return ""
    metadata = {
        name: value for name, value in item["metadata"].items() if name not in _OF_THE_SERVER
    }
    annotations = {
        name: value
        for name, value in metadata.pop("annotations", {}).items()
        if name != _LAST_APPLIED
    }
    if annotations:
        metadata["annotations"] = annotations
    shown = {**_unfolded(item), "metadata": metadata}
    shown.pop("status", None)
    return yaml.safe_dump(shown, sort_keys=True, width=120)


def _unfolded(item: Any) -> Any:
    """Return an object whose files of JSON are shown field by field."""
    if item["kind"] != "ConfigMap":
        return item
    return {**item, "data": {name: _parsed(text) for name, text in item["data"].items()}}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

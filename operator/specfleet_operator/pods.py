"""What the pods of a fleet say about themselves, and about what keeps them from running."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from specfleet_operator.naming import COHORT_LABEL, COMPONENT_LABEL, REVISION_LABEL
from specfleet_operator.observed import Object

_UNREMARKABLE = frozenset({"", "ContainerCreating", "PodInitializing"})


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a pod does not run, in the word and the sentence of who found out."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of a fleet."""

    name: str
    uid: str
    component: str
    cohort: str
    ordinal: int
    revision: str
    """The digest of what its template was made from; empty for a pod of unknown origin."""
    ready: bool
    terminating: bool
    trouble: Trouble | None
    annotations: Mapping[str, str]


def pods(children: Iterable[Object]) -> tuple[Pod, ...]:
    """Return the pods among the children, by name."""
    found = [_pod(item) for item in children if item["kind"] == "Pod"]
    return tuple(sorted(found, key=lambda pod: (pod.component, pod.cohort, pod.ordinal, pod.name)))


def _pod(item: Object) -> Pod:
    metadata, status = item["metadata"], item.get("status", {})
    labels = metadata.get("labels", {})
    name = metadata["name"]
    ordinal = re.search(r"-(\d+)$", name)
    terminating = "deletionTimestamp" in metadata
    return Pod(
        name=name,
        uid=metadata.get("uid", ""),
        component=labels.get(COMPONENT_LABEL, ""),
        cohort=labels.get(COHORT_LABEL, ""),
        ordinal=int(ordinal[1]) if ordinal else 0,
        revision=labels.get(REVISION_LABEL, ""),
        ready=not terminating and _condition(status, "Ready").get("status") == "True",
        terminating=terminating,
        trouble=_trouble(item),
        annotations=metadata.get("annotations", {}),
    )


def _trouble(item: Object) -> Trouble | None:
    """Return what keeps the pod from running, nothing while it is on its way."""
    status = item.get("status", {})
    scheduled = _condition(status, "PodScheduled")
    if scheduled.get("status") == "False":
        return Trouble(
            _reason(scheduled.get("reason"), "Unschedulable"), _line(scheduled.get("message"))
        )
    for container in (*status.get("initContainerStatuses", ()), *_containers(status)):
        if found := _container_trouble(container):
            return found
    if status.get("phase") == "Failed":
        return Trouble(_reason(status.get("reason"), "PodFailed"), _line(status.get("message")))
    return None


def _containers(status: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    found: Iterable[Mapping[str, Any]] = status.get("containerStatuses", ())
    return found


def _container_trouble(container: Mapping[str, Any]) -> Trouble | None:
    name, state = container.get("name", ""), container.get("state", {})
    waiting = state.get("waiting") or {}
    last = (container.get("lastState") or {}).get("terminated")
    if waiting.get("reason", "") not in _UNREMARKABLE:
        said = f": {_line(waiting.get('message'))}" if waiting.get("message") else ""
        ended = f"; {_ending(last)}" if last else ""
        return Trouble(
            _reason(waiting["reason"], "Waiting"), f"container {name} waits{said}{ended}"
        )
    if last and last.get("exitCode", 0) != 0 and not container.get("ready"):
        # Running again, for now.
        return Trouble("CrashLoopBackOff", f"container {name} was restarted; {_ending(last)}")
    ended_now = state.get("terminated")
    if ended_now and ended_now.get("exitCode", 0) != 0:
        reason = _reason(ended_now.get("reason"), "Error")
        return Trouble(reason, f"container {name} {_ending(ended_now)}")
    return None


def _ending(terminated: Mapping[str, Any]) -> str:
    reason, message = terminated.get("reason"), terminated.get("message")
    because = f" ({reason})" if reason and reason != "Error" else ""
    said = f": {_line(message)}" if message else ""
    return f"ended with code {terminated.get('exitCode', '?')}{because}{said}"


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    conditions: Iterable[Mapping[str, Any]] = status.get("conditions", ())
    return next((one for one in conditions if one.get("type") == kind), {})


def _reason(found: object, otherwise: str) -> str:
    """Return the word if conditions may have it as their reason."""
    fits = isinstance(found, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", found)
    return str(found) if fits else otherwise


_LONGEST_LINE = 300


def _line(message: object) -> str:
    """Return the message in one line, shortened."""
    text = " ".join(str(message or "").split())
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…"

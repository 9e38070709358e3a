"""How many engines each cohort should have, has, and has ready."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from specfleet_operator.naming import COHORT_LABEL, COMPONENT_LABEL, ENGINE
from specfleet_operator.observed import Object
from specfleet_operator.pods import Pod
from specfleet_operator.revisions import revision_of


@dataclass(frozen=True, slots=True)
class Cohort:
    """One cohort as it is."""

    name: str
    wanted: int
    pods: tuple[Pod, ...]
    """Those that are there to stay, whether they are ready or not."""
    revision: str
    """What its pods should be made from."""
    is_current: bool
    """Whether its StatefulSet makes pods of that revision, and as many as are wanted."""

    @property
    def ready(self) -> int:
        """Return how many engines are ready."""
        return sum(pod.ready for pod in self.pods)

    @property
    def updated(self) -> int:
        """Return how many engines run what the spec says now."""
        return sum(pod.revision == self.revision for pod in self.pods)


@dataclass(frozen=True, slots=True)
class Wish:
    """What the spec says of one cohort."""

    replicas: int
    revision: str


def wished(
    wishes: Mapping[str, Wish], children: Iterable[Object], pods: Sequence[Pod]
) -> tuple[Cohort, ...]:
    """Return the cohorts that there should be."""
    sets = {_cohort(item): item for item in children if _is_engines(item)}
    return tuple(
        Cohort(
            name=name,
            wanted=wish.replicas,
            pods=_pods(pods, name, wish.replicas),
            revision=wish.revision,
            is_current=name in sets and _is_current(sets[name], wish),
        )
        for name, wish in wishes.items()
    )


def found(children: Iterable[Object], pods: Sequence[Pod]) -> tuple[Cohort, ...]:
    """Return the cohorts that there are, for a fleet whose spec says nothing usable."""
    wishes = {
        _cohort(item): Wish(item["spec"]["replicas"], revision_of(item["spec"]["template"]))
        for item in children
        if _is_engines(item)
    }
    return wished(wishes, children, pods)


def _pods(pods: Iterable[Pod], cohort: str, wanted: int) -> tuple[Pod, ...]:
    return tuple(
        pod
        for pod in pods
        if pod.component == ENGINE
        and pod.cohort == cohort
        and pod.ordinal < wanted
        and not pod.terminating
    )


def _is_current(item: Object, wish: Wish) -> bool:
    seen = item.get("status", {}).get("observedGeneration", 0)
    return bool(
        item["spec"]["replicas"] == wish.replicas
        and revision_of(item["spec"]["template"]) == wish.revision
        and seen >= item["metadata"].get("generation", 0)
    )


def _is_engines(item: Object) -> bool:
    labels: Mapping[str, str] = item["metadata"].get("labels", {})
    return item["kind"] == "StatefulSet" and labels.get(COMPONENT_LABEL) == ENGINE


def _cohort(item: Object) -> str:
    return str(item["metadata"]["labels"].get(COHORT_LABEL, ""))

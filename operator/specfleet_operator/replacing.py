"""Which engine is replaced next, when the template of its cohort has changed.

The StatefulSets replace nothing by themselves. One engine of the whole fleet goes at a time, and
while another is missing no working one does. Engines that do not work go first: that costs nothing,
and it is the way out of a template that never worked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from specfleet_operator.pods import Pod


def next_pods(
    pods: Iterable[Pod], *, revisions: Mapping[str, str], replicas: Mapping[str, int]
) -> tuple[str, ...]:
    """Return the name of the pod to delete now, at most one.

    `revisions` has the cohorts whose StatefulSet makes pods of the wanted revision already,
    `replicas` all cohorts.
    """
    wanted = [pod for pod in pods if pod.ordinal < replicas.get(pod.cohort, 0)]
    if any(pod.terminating for pod in wanted):
        return ()
    outdated = [
        pod for pod in wanted if pod.cohort in revisions and pod.revision != revisions[pod.cohort]
    ]
    broken = [pod for pod in outdated if not pod.ready]
    if broken:
        return (broken[0].name,)
    num_ready = sum(pod.ready for pod in wanted)
    if num_ready < sum(replicas.values()):
        return ()
    # The highest ordinals first, as scaling down would take them.
    last = sorted(outdated, key=lambda pod: (pod.cohort, -pod.ordinal))
    return tuple(pod.name for pod in last[:1])

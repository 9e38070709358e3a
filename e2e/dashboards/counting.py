"""How many series a fleet is to a Prometheus."""

from __future__ import annotations

from collections.abc import Sequence

from e2e.dashboards.prometheus import Prometheus
from e2e.dashboards.series import Series

_NEWEST = '{__name__=~".+",job=~"fleet|operator"}'


def count(server: Prometheus, moment: float) -> str:
    """Return a Markdown table of the newest number of series of each process, and their sum."""
    by_process = server.at(f"count by (container, pod) ({_NEWEST})", moment)
    recorded = server.at('count({__name__=~"fleet_.*:.+"})', moment)
    return table(by_process, sum(int(one.points[0][1]) for one in recorded))


def table(by_process: Sequence[Series], recorded: int) -> str:
    """Return the table."""
    named = sorted(
        (one.labels.get("container", ""), one.labels.get("pod", ""), int(one.points[0][1]))
        for one in by_process
    )
    total = sum(number for _, _, number in named)
    rows = [f"| {container} | {pod} | {number} |" for container, pod, number in named]
    return "\n".join(
        [
            "| process | pod | series |",
            "| --- | --- | --- |",
            *rows,
            f"| recording rules | | {recorded} |",
            f"| sum | | {total + recorded} |",
            "",
        ]
    )

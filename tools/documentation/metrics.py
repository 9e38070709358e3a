"""The reference of the metrics: what the processes declare, and how many series that makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from specfleet_common.telemetry.metric import Metric
from specfleet_common.telemetry.metrics import BY_PROCESS
from tools.documentation.metric_pages import DEPTH, num_fleet_series, num_series, pages
from tools.documentation.tables import code, table

ENGINES = 8
VLLM_SERIES = 482
"""Counted on the page of an engine with vLLM 0.32.0 and drafts of 3 tokens, after requests to
several paths: 376 are vLLM's, the others of Python and of the HTTP server."""

_HEAD = """# Metrics

Made by `make generate` from what the programs declare. Every program has its metrics at \
`/metrics`: the aggregator and the operator at port 9090, the agent beside every engine at port \
8090. An engine has vLLM's own (`vllm:...`) at its port for requests.

## Labels

No program knows the names that others gave it, so these labels come from whoever scrapes it:

| label | what it is | of |
| --- | --- | --- |
| `namespace`, `fleet` | the fleet | engines, agents, aggregators |
| `cohort` | the cohort of the fleet | engines, agents |
| `pod` | the pod; the worker's name in a fleet of `specfleet run` | all |
| `container` | `engine`, `agent`, `aggregator` or `operator` | all |

In a cluster with the Prometheus Operator, the operator makes PodMonitors that set them. \
`specfleet run` writes the file `prometheus.json` into the directory of the run, which sets them \
too (with the namespace `local`), for a Prometheus with `file_sd_configs`. The operator's metrics \
about one fleet carry `namespace` and `fleet` themselves: whoever scrapes it has to honour labels, \
as the chart's monitors do.

Other labels have few values, which the tables list. The exceptions are `lineage`, of which a \
fleet has one per target, and `worker`, the UID of a pod, whose series go when the pod is \
forgotten.

## What to ask

| question | query |
| --- | --- |
| acceptance length: tokens per verify step | `sum by (fleet, cohort) (rate(\
specfleet_agent_output_tokens_total[5m])) / sum by (fleet, cohort) (rate(\
specfleet_agent_verify_steps_total[5m]))` |
| the same, stock and what was learnt apart | with `by (fleet, drafter)` |
| how often the draft's position 2 is accepted | `sum(rate(\
specfleet_agent_accepted_tokens_total{position="2"}[5m])) / sum(rate(\
specfleet_agent_drafted_tokens_total{position="2"}[5m]))` |
| age of the newest version in seconds | `time() - \
specfleet_aggregator_version_timestamp_seconds` |
| versions that engines are behind | `specfleet_aggregator_stable_version - on (namespace, fleet) \
group_right () specfleet_agent_served_version` |

Counters are there with 0 before the first of what they count, so that `increase` sees the first. \
Those of an engine begin again when the engine does.
"""

_TITLES = {
    "agent": "Agent",
    "aggregator": "Aggregator",
    "operator": "Operator",
}


def metrics_page() -> str:
    """Return the page, Markdown."""
    lines = [_HEAD]
    for process, metrics in BY_PROCESS.items():
        lines += [f"## {_TITLES[process]}\n", *_table(metrics)]
    return "\n".join([*lines, *_of_the_process(), *_cardinality()])


def _table(metrics: Iterable[Metric]) -> Iterator[str]:
    yield from table(
        ("metric", "type", "labels", "unit", "meaning"),
        (
            (
                code(metric.name),
                metric.kind,
                ", ".join(map(code, metric.labels)),
                metric.unit,
                metric.help,
            )
            for metric in metrics
        ),
    )


def _of_the_process() -> Iterator[str]:
    yield "## Of every program\n"
    yield (
        "The kernel's view of the process: `process_cpu_seconds_total`, "
        "`process_resident_memory_bytes`, `process_virtual_memory_bytes`, "
        "`process_start_time_seconds`, `process_open_fds`, `process_max_fds`.\n"
    )


def _cardinality() -> Iterator[str]:
    shown = {name: num_series(page) for name, page in pages(engines=ENGINES).items()}
    total = ENGINES * (shown["agent"] + VLLM_SERIES) + shown["aggregator"] + num_fleet_series()
    yield "## Number of series\n"
    yield (
        f"As many as there can be in a fleet of {ENGINES} engines that train, with drafts of "
        f"{DEPTH} tokens, one target, and drafters of every kind. Those of the engine were counted "
        "on a page of vLLM 0.32.0, where 376 are vLLM's and the others of Python and of the HTTP "
        "server. Each scrape adds some five per target.\n"
    )
    yield from table(
        ("page", "series of one", "in the fleet"),
        (
            ("agent", f"{shown['agent']}", f"{ENGINES * shown['agent']}"),
            ("engine", f"{VLLM_SERIES}", f"{ENGINES * VLLM_SERIES}"),
            ("aggregator", f"{shown['aggregator']}", f"{shown['aggregator']}"),
            ("operator, about the fleet", f"{num_fleet_series()}", f"{num_fleet_series()}"),
            ("all", "", f"{total}"),
        ),
    )
    yield (
        f"The operator has {shown['operator'] - num_fleet_series()} more, however many fleets "
        "there are.\n"
    )

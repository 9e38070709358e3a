"""The agent's metrics: counters of what it did, and a mirror of what engine and trainer report.

Names and help are declared in `specfleet_common.telemetry.metrics`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from specfleet_agent.engine_page import EnginePage
from specfleet_agent.situation import Situation
from specfleet_agent.supervision import CAUSES
from specfleet_common.exchange import TrainerReport
from specfleet_common.judge.records import Block, Request, Walk
from specfleet_common.lineage import LOCAL, STOCK
from specfleet_common.telemetry import metrics
from specfleet_common.wire.messages import VersionRef

Sample = tuple[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the mirror shows: one complete observation."""

    seen: Situation
    held: VersionRef | None = None
    connected: bool = False
    trainer_running: bool = False
    trainer_parked: bool = False
    trainer_memory_bytes: int = 0


class Instruments:
    """Counters of the agent's own doings, and the newest reading."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.heartbeats = metrics.counter(metrics.AGENT_HEARTBEATS, registry)
        self.deltas = metrics.counter(metrics.AGENT_DELTAS, registry)
        self.transfers = metrics.counter(metrics.AGENT_TRANSFERS, registry)
        self.bank_publications = metrics.counter(metrics.AGENT_BANK_PUBLICATIONS, registry)
        self.trainer_restarts = metrics.counter(metrics.AGENT_TRAINER_RESTARTS, registry)
        # There before the first one, or a rate would miss it.
        for cause in CAUSES:
            self.trainer_restarts.labels(cause=cause)
        self.loop_failures = metrics.counter(metrics.AGENT_LOOP_FAILURES, registry)
        self.blocks = metrics.counter(metrics.AGENT_BLOCKS, registry)
        self.requests = metrics.counter(metrics.AGENT_REQUESTS, registry)
        self.evidence = metrics.counter(metrics.AGENT_EVIDENCE, registry)
        self.evidence_calls = metrics.counter(metrics.AGENT_EVIDENCE_CALLS, registry)

    def count_evidence(self, records: Iterable[Walk | Block | Request], *, result: str) -> None:
        """Count records by what became of them: stored, unwanted, refused or dropped."""
        for record in records:
            self.evidence.labels(kind=type(record).__name__.lower(), result=result).inc()


class Mirror(Collector):
    """Shows the newest reading whenever Prometheus asks."""

    def __init__(self) -> None:
        self.reading = Reading(Situation())

    def collect(self) -> Iterable[Family]:
        """Return the metrics of the newest reading."""
        return families(self.reading)


def families(reading: Reading) -> Iterator[Family]:
    """Return the metrics of a reading; what is not known yet is left out."""
    yield _gauge(metrics.AGENT_CONNECTED, float(reading.connected))
    yield _gauge(metrics.AGENT_TRAINER_RUNNING, float(reading.trainer_running))
    yield _gauge(metrics.AGENT_TRAINER_PARKED, float(reading.trainer_parked))
    yield _gauge(metrics.AGENT_TRAINER_MEMORY_BYTES, float(reading.trainer_memory_bytes))
    if reading.seen.answer is not None:
        yield _gauge(metrics.AGENT_ROUND, float(reading.seen.answer.round))
    if reading.held is not None:
        yield _gauge(metrics.AGENT_VERSION, float(reading.held.number))
    if reading.seen.files.report is not None:
        yield from _trainer_families(reading.seen.files.report)
    if reading.seen.page is not None:
        yield from _engine_families(reading.seen.page)
    elif reading.seen.engine_problem:
        yield _gauge(metrics.AGENT_ENGINE_ADAPTING, 0.0)


def _trainer_families(report: TrainerReport) -> Iterator[Family]:
    yield _counter(metrics.AGENT_TRAINER_STEPS, [((), report.total_steps)])
    loss = GaugeMetricFamily(
        metrics.AGENT_TRAINER_LOSS.name, metrics.AGENT_TRAINER_LOSS.help, labels=("depth",)
    )
    for depth, value in enumerate(report.loss, start=1):
        loss.add_metric((str(depth),), value)
    yield loss


def _engine_families(page: EnginePage) -> Iterator[Family]:
    yield _gauge(metrics.AGENT_ENGINE_ADAPTING, float(page.adapting))
    yield _counter(metrics.AGENT_SWAPS, [((), page.swaps)])
    yield _counter(metrics.AGENT_CAPTURED_ROWS, [((), page.capture.taken_rows)])
    yield _counter(metrics.AGENT_DROPPED_RECORDS, [((), page.capture.dropped_records)])
    yield _counter(
        metrics.AGENT_BANK_REFUSALS,
        [((reason,), count) for reason, count in sorted(page.refused_banks.items())],
    )
    steps: list[Sample] = []
    tokens: list[Sample] = []
    drafted: list[Sample] = []
    accepted: list[Sample] = []
    for drafter in page.drafters:
        name = _drafter_name(page, drafter.digest)
        steps.append(((name,), drafter.verify_steps))
        tokens.append(((name,), drafter.output_tokens))
        drafted += [((name, str(k)), n) for k, n in enumerate(drafter.drafted, start=1)]
        accepted += [((name, str(k)), n) for k, n in enumerate(drafter.accepted, start=1)]
    yield _counter(metrics.AGENT_VERIFY_STEPS, steps)
    yield _counter(metrics.AGENT_OUTPUT_TOKENS, tokens)
    yield _counter(metrics.AGENT_DRAFTED_TOKENS, drafted)
    yield _counter(metrics.AGENT_ACCEPTED_TOKENS, accepted)


def _drafter_name(page: EnginePage, digest: str) -> str:
    """Return stock, version or local: a label per digest would grow without end."""
    if digest in (STOCK, page.stock_digest):
        return STOCK
    return LOCAL if digest == LOCAL else "version"


def _gauge(metric: metrics.Metric, value: float) -> Family:
    return GaugeMetricFamily(metric.name, metric.help, value)


def _counter(metric: metrics.Metric, samples: Iterable[Sample]) -> Family:
    family = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
    totals: dict[tuple[str, ...], float] = {}
    for labels, value in samples:
        totals[labels] = totals.get(labels, 0.0) + value
    for labels, total in totals.items():
        family.add_metric(labels, total)
    return family

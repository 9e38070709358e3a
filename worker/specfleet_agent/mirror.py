"""Shows what engine, trainer and aggregator say as metrics, as of the newest observation.

Counts nothing itself: `instruments` does. What is not known is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from specfleet_agent.engine_page import EnginePage
from specfleet_agent.situation import Situation
from specfleet_common.exchange import TrainerReport
from specfleet_common.lineage import LOCAL, STOCK
from specfleet_common.telemetry import agent as names
from specfleet_common.telemetry.metric import Metric, gauge_family
from specfleet_common.wire.messages import VersionRef

REFUSALS = ("torn", "format", "layout", "weights")
"""Why an engine refuses weights."""

Sample = tuple[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the mirror shows: one complete observation."""

    seen: Situation
    held: VersionRef | None = None
    connected: bool = False
    lease_valid: bool = False
    trainer_running: bool = False
    trainer_parked: bool = False
    trainer_memory_bytes: int = 0


class Mirror(Collector):
    """Shows the newest reading whenever Prometheus asks."""

    def __init__(self) -> None:
        self.reading = Reading(Situation())

    def collect(self) -> Iterable[Family]:
        """Return the metrics of the newest reading."""
        return families(self.reading)


def families(reading: Reading) -> Iterator[Family]:
    """Return the metrics of a reading."""
    seen = reading.seen
    yield _gauge(names.CONNECTED, reading.connected)
    yield _gauge(names.LEASE_VALID, reading.lease_valid)
    yield _gauge(names.TRAINER_RUNNING, reading.trainer_running)
    yield _gauge(names.TRAINER_PARKED, reading.trainer_parked)
    yield _gauge(names.TRAINER_MEMORY, reading.trainer_memory_bytes)
    if seen.answer is not None:
        yield _gauge(names.ROUND, seen.answer.round)
    if reading.held is not None:
        yield _gauge(names.VERSION, reading.held.number)
    if seen.files.report is not None:
        yield from _trainer_families(seen.files.report)
    if seen.page is not None:
        yield from _engine_families(seen.page)
        yield gauge_family(
            names.BREAK_EVEN,
            [((str(band),), length) for band, length in seen.break_even.bands.items()],
        )
    elif seen.engine_problem:
        yield _gauge(names.ENGINE_ADAPTING, 0.0)
    served = served_version(seen)
    if served is not None:
        yield _gauge(names.SERVED_VERSION, served)


def served_version(seen: Situation) -> int | None:
    """Return the number of the version that the engine runs, None where it has or tells none."""
    page, answer = seen.page, seen.answer
    if page is None:
        return None
    if page.runs_stock:
        return 0
    told = () if answer is None else (answer.base, answer.stable, answer.serve)
    numbers = {digest: number for number, digest in seen.files.versions.items()}
    numbers |= {version.digest: version.number for version in told if version is not None}
    return numbers.get(page.observed)


def _trainer_families(report: TrainerReport) -> Iterator[Family]:
    yield _counter(names.TRAINER_STEPS, [((), report.total_steps)])
    yield _gauge(names.TRAINER_LOCAL_STEPS, report.local_steps)
    yield _counter(names.TRAINER_POSITIONS, [((), report.positions)])
    yield _gauge(names.TRAINER_POSITIONS_RATE, report.positions_per_second)
    losses = enumerate(report.loss, start=1)
    yield gauge_family(names.TRAINER_LOSS, [((str(depth),), value) for depth, value in losses])


def _engine_families(page: EnginePage) -> Iterator[Family]:
    yield _gauge(names.ENGINE_ADAPTING, page.adapting)
    yield _counter(names.SWAPS, [((), page.swaps)])
    yield _counter(names.DIGEST_MISMATCHES, [((), page.mismatches)])
    if page.swap_apply_seconds is not None:
        yield _gauge(names.SWAP_APPLY, page.swap_apply_seconds)
    yield _counter(names.CAPTURED_ROWS, [((), page.capture.taken_rows)])
    yield _counter(names.DROPPED_RECORDS, [((), page.capture.dropped_records)])
    refused = {**dict.fromkeys(REFUSALS, 0), **page.refused_banks}
    yield _counter(
        names.BANK_REFUSALS, [((reason,), count) for reason, count in sorted(refused.items())]
    )
    steps: list[Sample] = []
    tokens: list[Sample] = []
    busy: list[Sample] = []
    drafted: list[Sample] = []
    accepted: list[Sample] = []
    for drafter in page.drafters:
        name = _drafter_name(page, drafter.digest)
        steps.append(((name,), drafter.verify_steps))
        tokens.append(((name,), drafter.output_tokens))
        busy.append(((name,), drafter.busy_seconds))
        drafted += [((name, str(k)), n) for k, n in enumerate(drafter.drafted, start=1)]
        accepted += [((name, str(k)), n) for k, n in enumerate(drafter.accepted, start=1)]
    yield _counter(names.VERIFY_STEPS, steps)
    yield _counter(names.OUTPUT_TOKENS, tokens)
    yield _counter(names.BUSY, busy)
    yield _counter(names.DRAFTED_TOKENS, drafted)
    yield _counter(names.ACCEPTED_TOKENS, accepted)


def _drafter_name(page: EnginePage, digest: str) -> str:
    """Return stock, version or local: a label per digest would grow without end."""
    if digest in (STOCK, page.stock_digest):
        return STOCK
    return LOCAL if digest == LOCAL else "version"


def _gauge(metric: Metric, value: float) -> Family:
    return gauge_family(metric, [((), value)])


def _counter(metric: Metric, samples: Iterable[Sample]) -> Family:
    family = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
    totals: dict[tuple[str, ...], float] = {}
    for labels, value in samples:
        totals[labels] = totals.get(labels, 0.0) + value
    for labels, total in totals.items():
        family.add_metric(labels, total)
    return family

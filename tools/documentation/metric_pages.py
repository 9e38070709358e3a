"""Pages of metrics as each process shows them in the middle of its work: all that it can show.

Made by the processes' own classes from invented states, so that a metric which is declared and
never shown, or shown and never declared, is found without a fleet.
"""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, generate_latest

from specfleet_agent.break_even import BreakEven
from specfleet_agent.engine_page import Capture, Drafter, EnginePage, Rows
from specfleet_agent.instruments import Instruments as AgentInstruments
from specfleet_agent.mirror import REFUSALS, Mirror, Reading
from specfleet_agent.situation import Files, Reply, Situation
from specfleet_aggregator.metrics import AggregatorMetrics, Figures
from specfleet_common.exchange import TrainerReport
from specfleet_common.lineage import LOCAL, STOCK, Lineage
from specfleet_common.telemetry.metric import process_registry
from specfleet_common.wire.messages import (
    EffectState,
    FleetState,
    HeartbeatReply,
    PromotionState,
    TrainerStatus,
    TrainingOrders,
    VersionRef,
    WorkerState,
)
from specfleet_operator.break_even import SPECULATION_PAYS
from specfleet_operator.conditions import AGGREGATING, READY, SERVING, SPEC_VALID, TRAINING
from specfleet_operator.figures import FleetFigures
from specfleet_operator.judgeability import JUDGEABLE
from specfleet_operator.kinds import CHILDREN, FLEET, POD
from specfleet_operator.store import FleetKey, Store
from specfleet_operator.telemetry import Instruments as OperatorInstruments

DEPTH = 3
BANDS = 4
"""Batches of up to 15 requests."""

_CONDITIONS = (READY, SPEC_VALID, SERVING, TRAINING, AGGREGATING, JUDGEABLE, SPECULATION_PAYS)
_NOW = 1.8e9
_LINEAGE = Lineage("0" * 64, "mtp", "mimo", "bfloat16", "0" * 64)
_VERSION = VersionRef(7, "7" * 64, 1 << 20)
_ORDERS = TrainingOrders(20, 1e-3, (1.0,) * DEPTH, 64, 0)
_TRAINING = TrainerStatus("training", 3, 100, 6400, 50.0, (2.0,) * DEPTH)


def pages(*, engines: int) -> Mapping[str, bytes]:
    """Return a page for each process of a fleet, by the process' name."""
    return {"agent": _agent(), "aggregator": _aggregator(engines), "operator": _operator()}


def num_series(page: bytes) -> int:
    """Return how many series a page has."""
    return sum(not line.startswith(b"#") for line in page.splitlines())


def _agent() -> bytes:
    registry, mirror = process_registry(), Mirror()
    registry.register(mirror)
    AgentInstruments(registry)
    mirror.reading = Reading(
        Situation(
            page=_engine_page(),
            reply=Reply(_LINEAGE.id, _reply(), asked_at=0.0),
            files=Files(report=_report()),
            break_even=BreakEven(dict.fromkeys(range(1, BANDS + 1), 1.5)),
        ),
        held=_VERSION,
    )
    return generate_latest(registry)


def _engine_page() -> EnginePage:
    names = (STOCK, _VERSION.digest, LOCAL)
    return EnginePage(
        incarnation="0",
        beats=1,
        lineage=_LINEAGE,
        rows=Rows(64, "bfloat16", DEPTH),
        stock_digest="0" * 64,
        stock_file="stock.safetensors",
        observed=_VERSION.digest,
        observed_digest=_VERSION.digest,
        bank_sequence=1,
        swaps=1,
        refused_banks=dict.fromkeys(REFUSALS, 0),
        capture=Capture(1, 0),
        drafters=tuple(
            Drafter(name, 1, (1,) * DEPTH, (1,) * DEPTH, 1, busy_seconds=1.0) for name in names
        ),
        adapting=True,
        reason="",
        swap_apply_seconds=0.01,
    )


def _reply() -> HeartbeatReply:
    return HeartbeatReply(
        stock_wanted=False,
        round=7,
        base=_VERSION,
        stable=_VERSION,
        orders=_ORDERS,
        delta_counted=False,
        lease_seconds=15.0,
        heartbeat_seconds=5.0,
    )


def _report() -> TrainerReport:
    return TrainerReport(
        pid=1,
        phase=_TRAINING.phase,
        lineage_id=_LINEAGE.id,
        round=7,
        version=7,
        local_steps=_TRAINING.local_steps,
        total_steps=_TRAINING.total_steps,
        positions=_TRAINING.positions,
        positions_per_second=_TRAINING.positions_per_second,
        loss=_TRAINING.loss,
        requests=1,
        local_digest="",
        delta_round=0,
        delta_digest="",
        delta_positions=0,
    )


def _aggregator(engines: int) -> bytes:
    registry = process_registry()
    metrics = AggregatorMetrics(registry)
    metrics.certificate(lambda: _NOW)
    metrics.settings(generation=1, refused=False)
    metrics.show([Figures(_state(engines), version_at=_NOW, evidence_records=1)], now=_NOW)
    return generate_latest(registry)


def _state(engines: int) -> FleetState:
    return FleetState(
        fleet="fleet",
        lineage=_LINEAGE,
        round=7,
        base=_VERSION,
        stable=_VERSION,
        deltas=0,
        quorum=1,
        reason="",
        live_workers=engines,
        training_workers=engines,
        round_seconds=1.0,
        store_error="",
        workers=tuple(_worker(f"{index:08}-pod-uid") for index in range(engines)),
        promotions=(
            PromotionState(
                id="7-7",
                number=7,
                digest=_VERSION.digest,
                phase="Canary",
                outcome="",
                sentence="",
                started_at=_NOW,
                effects=(EffectState("", "tokens per busy second", 0.1, 0.05, 0.2, 1, 1),),
            ),
        ),
    )


def _worker(name: str) -> WorkerState:
    return WorkerState(
        worker_id=name,
        cohort="main",
        live=True,
        trains=True,
        observed_digest=_VERSION.digest,
        swaps=1,
        delta_counted=False,
        held=_VERSION,
        trainer=_TRAINING,
        drafters=(),
        refused_deltas=0,
        refusal="",
    )


def _operator() -> bytes:
    registry = process_registry()
    instruments = OperatorInstruments(registry)
    for kind in CHILDREN:
        instruments.stream_age.labels(kind.plural)
        for verb in ("apply", "delete"):
            instruments.count_write(verb, kind.name)
    instruments.count_write("apply_status", FLEET.name)
    instruments.count_write("merge", POD.name)
    for reachable in ("yes", "no"):
        instruments.aggregators.labels(reachable)
    registry.register(_fleet_figures())
    return generate_latest(registry)


def num_fleet_series() -> int:
    """Return how many of the operator's series each fleet adds."""
    registry = CollectorRegistry()
    registry.register(_fleet_figures())
    return num_series(generate_latest(registry))


def _fleet_figures() -> FleetFigures:
    fleets = Store()
    fleets.put(
        {
            "apiVersion": FLEET.api_version,
            "kind": FLEET.name,
            "metadata": {"namespace": "ai", "name": "fleet", "uid": "0", "resourceVersion": "1"},
            "status": {"conditions": [{"type": one, "status": "True"} for one in _CONDITIONS]},
        }
    )
    return FleetFigures(fleets, lambda namespace: True, {FleetKey("ai", "fleet"): _NOW})

"""What agents and the aggregator say to each other, as plain values.

None stands for what is not there yet, e.g. a version before there is one.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from specfleet_common.codecs.codec import Codec
from specfleet_common.lineage import Lineage


@dataclass(frozen=True, slots=True)
class VersionRef:
    """A global drafter: its number, the digest of its content, and the size of its file."""

    number: int
    digest: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class DrafterCounters:
    """Counters of one drafter in one engine since the engine started, per depth where plural."""

    digest: str
    verify_steps: int
    drafted: tuple[int, ...]
    accepted: tuple[int, ...]
    output_tokens: int
    busy_seconds: float


@dataclass(frozen=True, slots=True)
class TrainerStatus:
    """What a worker's trainer does; `loss` has one value per depth."""

    phase: str
    local_steps: int
    total_steps: int
    positions: int
    positions_per_second: float
    loss: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A worker's complete state; it renews the lease.

    `engine_problem` says why its engine serves without being adapted, nothing while it is adapted;
    `lineage` is None while it cannot be adapted at all.
    """

    worker_id: str
    cohort: str
    trains: bool
    lineage: Lineage | None
    stock_digest: str
    held: VersionRef | None
    observed_digest: str
    swaps: int
    trainer: TrainerStatus
    drafters: tuple[DrafterCounters, ...]
    engine_problem: str = ""


@dataclass(frozen=True, slots=True)
class TrainingOrders:
    """How to train one round; after `publish_every_steps` steps local weights may be served."""

    local_steps: int
    learning_rate: float
    depth_weights: tuple[float, ...]
    rows_per_step: int
    publish_every_steps: int
    codec: Codec = Codec.FLOAT32
    dpace: bool = False
    """Weigh depths by D-PACE; `depth_weights` says how many there are, and is for older workers."""


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """What a worker should do: train `round` from `base`, hand in stock if it is wanted.

    `counted_version` is the newest version that a delta of this worker is part of, as far as the
    aggregator knows; 0 for none.
    """

    stock_wanted: bool
    round: int
    base: VersionRef | None
    stable: VersionRef | None
    orders: TrainingOrders
    delta_counted: bool
    lease_seconds: float
    heartbeat_seconds: float
    counted_version: int = 0


@dataclass(frozen=True, slots=True)
class DeltaHeader:
    """Which delta follows: base minus local after `steps` steps over `positions` positions."""

    worker_id: str
    lineage_id: str
    round: int
    base_version: int
    digest: str
    size_bytes: int
    steps: int
    positions: int
    codec: Codec = Codec.FLOAT32


class Outcome(enum.StrEnum):
    """What became of a delta."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    STALE = "stale"
    FOREIGN = "foreign"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class DeltaReply:
    """What became of a delta, and why."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class WorkerState:
    """One worker as the aggregator knows it.

    `refusal` is empty while no delta was refused, `engine_problem` while its engine is adapted.
    """

    worker_id: str
    cohort: str
    live: bool
    trains: bool
    observed_digest: str
    swaps: int
    delta_counted: bool
    held: VersionRef | None
    trainer: TrainerStatus
    drafters: tuple[DrafterCounters, ...]
    refused_deltas: int
    refusal: str
    engine_problem: str = ""


@dataclass(frozen=True, slots=True)
class FleetState:
    """One lineage of a fleet; `lineage` is None while no worker has reported one.

    `workers` are those of the lineage, and in every state those whose engines cannot be adapted.

    Bytes are of weights that workers sent and fetched since the aggregator started.
    `settings_error` says why the newest settings are not in force, nothing while they are.
    """

    fleet: str
    lineage: Lineage | None
    round: int
    base: VersionRef | None
    stable: VersionRef | None
    deltas: int
    quorum: int
    reason: str
    live_workers: int
    training_workers: int
    round_seconds: float
    store_error: str
    workers: tuple[WorkerState, ...]
    received_bytes: int = 0
    sent_bytes: int = 0
    settings_generation: int = 0
    settings_error: str = ""

    @property
    def lineage_id(self) -> str:
        """Return the lineage's id, empty while there is none."""
        return self.lineage.id if self.lineage else ""

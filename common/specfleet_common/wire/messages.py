"""What agents and the aggregator say to each other, as plain values.

None stands for what is not there yet, e.g. a version before there is one.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from specfleet_common.codecs.codec import Codec
from specfleet_common.judge.records import Block, Request, Walk
from specfleet_common.judge.switchback import Switchback
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
class Speculation:
    """What drafts have brought an engine in its last minutes, and what they would have to bring.

    Both are tokens per verify step: below break-even, the engine would be faster without drafts.
    """

    acceptance_length: float
    break_even_length: float
    verify_steps: int

    @property
    def gain(self) -> float:
        """Return by how much faster drafts make the engine, as a fraction; below 0 it is slower."""
        return self.acceptance_length / self.break_even_length - 1


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A worker's complete state; it renews the lease.

    `engine_problem` says why its engine serves without being adapted, nothing while it is adapted;
    `lineage` is None while it cannot be adapted at all. `serve` is empty from older workers, and
    `speculation` is None while the engine has done too little.
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
    serve: str = ""
    speculation: Speculation | None = None


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
    fresh: int = 0
    """How often training began again from stable: with another number, moments are forgotten."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two drafters that an engine runs in turn; `elapsed_seconds` since it began, at the reply."""

    id: str
    """Names the evidence that comes of it."""
    seed: str
    trial: VersionRef
    base: VersionRef
    elapsed_seconds: float
    block_seconds: float
    washout_seconds: float
    one_pair_in: int

    @property
    def plan(self) -> Switchback:
        """Return which drafter runs when."""
        return Switchback(self.seed, self.block_seconds, self.washout_seconds, self.one_pair_in)


@dataclass(frozen=True, slots=True)
class WalkOrders:
    """Which heads to walk over what was held out, besides stock."""

    promotion: str
    candidate: VersionRef
    stable: VersionRef


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """What a worker should do: train `round` from `base`, hand in stock if it is wanted.

    `counted_version` is the newest version that a delta of this worker is part of, as far as the
    aggregator knows; 0 for none. `serve` is what engines of `Stable` run in place of stable, and
    `comparison` goes before it; both count only while the lease lasts.
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
    serve: VersionRef | None = None
    comparison: Comparison | None = None
    walk: WalkOrders | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one worker has measured for `set`: a promotion, or the comparison after it."""

    worker_id: str
    lineage_id: str
    set: str
    walks: tuple[Walk, ...] = ()
    blocks: tuple[Block, ...] = ()
    requests: tuple[Request, ...] = ()

    @property
    def num_records(self) -> int:
        """Return how many records there are."""
        return len(self.walks) + len(self.blocks) + len(self.requests)


@dataclass(frozen=True, slots=True)
class EvidenceReply:
    """Evidence is in the store, or it is not wanted any more, and why."""

    wanted: bool
    reason: str


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
    `speculation` is None while the engine has done too little.
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
    speculation: Speculation | None = None


@dataclass(frozen=True, slots=True)
class EffectState:
    """By how much one arm exceeds another, as fractions: 0.01 is 1 %."""

    name: str
    measure: str
    gain: float
    lower: float
    upper: float
    num_records: int
    num_clusters: int


@dataclass(frozen=True, slots=True)
class PromotionState:
    """One promotion; times are of the wall clock, `finished_at` is 0 while it has not ended."""

    id: str
    number: int
    digest: str
    phase: str
    outcome: str
    """Empty until the phase is Done."""
    sentence: str
    started_at: float
    finished_at: float = 0.0
    waits_for_approval: bool = False
    engines: int = 0
    """Live engines that serve what is stable."""
    candidate_engines: int = 0
    """Those of them that were seen to run the candidate."""
    evidence_digest: str = ""
    """Of what was judged last; empty before."""
    effects: tuple[EffectState, ...] = ()
    breaches: tuple[str, ...] = ()
    """Guards that do not hold, one sentence for each."""
    breached_guards: tuple[str, ...] = ()
    """The same guards by their keys; empty from aggregators that did not tell them yet."""


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
    candidate: VersionRef | None = None
    """The version under judgement."""
    promotions: tuple[PromotionState, ...] = ()
    """The newest first."""

    @property
    def lineage_id(self) -> str:
        """Return the lineage's id, empty while there is none."""
        return self.lineage.id if self.lineage else ""

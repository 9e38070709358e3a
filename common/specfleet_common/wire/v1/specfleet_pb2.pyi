from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BlockRecord(_message.Message):
    __slots__ = ["band", "block", "busy_seconds", "digest", "engine", "swaps", "tokens", "verify_steps"]
    BAND_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    BUSY_SECONDS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    SWAPS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    VERIFY_STEPS_FIELD_NUMBER: _ClassVar[int]
    band: int
    block: int
    busy_seconds: float
    digest: str
    engine: str
    swaps: int
    tokens: int
    verify_steps: int
    def __init__(self, engine: _Optional[str] = ..., block: _Optional[int] = ..., band: _Optional[int] = ..., digest: _Optional[str] = ..., swaps: _Optional[int] = ..., busy_seconds: _Optional[float] = ..., tokens: _Optional[int] = ..., verify_steps: _Optional[int] = ...) -> None: ...

class Comparison(_message.Message):
    __slots__ = ["base", "block_seconds", "elapsed_seconds", "id", "one_pair_in", "seed", "trial", "washout_seconds"]
    BASE_FIELD_NUMBER: _ClassVar[int]
    BLOCK_SECONDS_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_SECONDS_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ONE_PAIR_IN_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    TRIAL_FIELD_NUMBER: _ClassVar[int]
    WASHOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    base: VersionRef
    block_seconds: float
    elapsed_seconds: float
    id: str
    one_pair_in: int
    seed: str
    trial: VersionRef
    washout_seconds: float
    def __init__(self, id: _Optional[str] = ..., seed: _Optional[str] = ..., trial: _Optional[_Union[VersionRef, _Mapping]] = ..., base: _Optional[_Union[VersionRef, _Mapping]] = ..., elapsed_seconds: _Optional[float] = ..., block_seconds: _Optional[float] = ..., washout_seconds: _Optional[float] = ..., one_pair_in: _Optional[int] = ...) -> None: ...

class DeltaChunk(_message.Message):
    __slots__ = ["data", "header"]
    DATA_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    header: DeltaHeader
    def __init__(self, header: _Optional[_Union[DeltaHeader, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class DeltaHeader(_message.Message):
    __slots__ = ["base_version", "codec", "digest", "lineage_id", "positions", "round", "size_bytes", "steps", "worker_id"]
    BASE_VERSION_FIELD_NUMBER: _ClassVar[int]
    CODEC_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_ID_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    base_version: int
    codec: str
    digest: str
    lineage_id: str
    positions: int
    round: int
    size_bytes: int
    steps: int
    worker_id: str
    def __init__(self, worker_id: _Optional[str] = ..., lineage_id: _Optional[str] = ..., round: _Optional[int] = ..., base_version: _Optional[int] = ..., digest: _Optional[str] = ..., size_bytes: _Optional[int] = ..., steps: _Optional[int] = ..., positions: _Optional[int] = ..., codec: _Optional[str] = ...) -> None: ...

class DrafterCounters(_message.Message):
    __slots__ = ["accepted", "busy_seconds", "digest", "drafted", "output_tokens", "verify_steps"]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    BUSY_SECONDS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    DRAFTED_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    VERIFY_STEPS_FIELD_NUMBER: _ClassVar[int]
    accepted: _containers.RepeatedScalarFieldContainer[int]
    busy_seconds: float
    digest: str
    drafted: _containers.RepeatedScalarFieldContainer[int]
    output_tokens: int
    verify_steps: int
    def __init__(self, digest: _Optional[str] = ..., verify_steps: _Optional[int] = ..., drafted: _Optional[_Iterable[int]] = ..., accepted: _Optional[_Iterable[int]] = ..., output_tokens: _Optional[int] = ..., busy_seconds: _Optional[float] = ...) -> None: ...

class EffectState(_message.Message):
    __slots__ = ["gain", "lower", "measure", "name", "num_clusters", "num_records", "upper"]
    GAIN_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NUM_CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    NUM_RECORDS_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    gain: float
    lower: float
    measure: str
    name: str
    num_clusters: int
    num_records: int
    upper: float
    def __init__(self, name: _Optional[str] = ..., measure: _Optional[str] = ..., gain: _Optional[float] = ..., lower: _Optional[float] = ..., upper: _Optional[float] = ..., num_records: _Optional[int] = ..., num_clusters: _Optional[int] = ...) -> None: ...

class FleetState(_message.Message):
    __slots__ = ["base", "candidate", "deltas", "fleet", "lineage", "lineage_id", "live_workers", "promotions", "quorum", "reason", "received_bytes", "round", "round_seconds", "sent_bytes", "settings_error", "settings_generation", "stable", "store_error", "training_workers", "workers"]
    BASE_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_FIELD_NUMBER: _ClassVar[int]
    DELTAS_FIELD_NUMBER: _ClassVar[int]
    FLEET_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_ID_FIELD_NUMBER: _ClassVar[int]
    LIVE_WORKERS_FIELD_NUMBER: _ClassVar[int]
    PROMOTIONS_FIELD_NUMBER: _ClassVar[int]
    QUORUM_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_BYTES_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    ROUND_SECONDS_FIELD_NUMBER: _ClassVar[int]
    SENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_ERROR_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_GENERATION_FIELD_NUMBER: _ClassVar[int]
    STABLE_FIELD_NUMBER: _ClassVar[int]
    STORE_ERROR_FIELD_NUMBER: _ClassVar[int]
    TRAINING_WORKERS_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    base: VersionRef
    candidate: VersionRef
    deltas: int
    fleet: str
    lineage: Lineage
    lineage_id: str
    live_workers: int
    promotions: _containers.RepeatedCompositeFieldContainer[PromotionState]
    quorum: int
    reason: str
    received_bytes: int
    round: int
    round_seconds: float
    sent_bytes: int
    settings_error: str
    settings_generation: int
    stable: VersionRef
    store_error: str
    training_workers: int
    workers: _containers.RepeatedCompositeFieldContainer[WorkerState]
    def __init__(self, lineage_id: _Optional[str] = ..., round: _Optional[int] = ..., base: _Optional[_Union[VersionRef, _Mapping]] = ..., stable: _Optional[_Union[VersionRef, _Mapping]] = ..., deltas: _Optional[int] = ..., quorum: _Optional[int] = ..., reason: _Optional[str] = ..., workers: _Optional[_Iterable[_Union[WorkerState, _Mapping]]] = ..., fleet: _Optional[str] = ..., lineage: _Optional[_Union[Lineage, _Mapping]] = ..., live_workers: _Optional[int] = ..., training_workers: _Optional[int] = ..., round_seconds: _Optional[float] = ..., store_error: _Optional[str] = ..., received_bytes: _Optional[int] = ..., sent_bytes: _Optional[int] = ..., settings_generation: _Optional[int] = ..., settings_error: _Optional[str] = ..., candidate: _Optional[_Union[VersionRef, _Mapping]] = ..., promotions: _Optional[_Iterable[_Union[PromotionState, _Mapping]]] = ...) -> None: ...

class HeartbeatReply(_message.Message):
    __slots__ = ["base", "comparison", "counted_version", "delta_counted", "heartbeat_seconds", "lease_seconds", "orders", "protocol", "round", "serve", "stable", "stock_wanted", "walk"]
    BASE_FIELD_NUMBER: _ClassVar[int]
    COMPARISON_FIELD_NUMBER: _ClassVar[int]
    COUNTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    DELTA_COUNTED_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    LEASE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    ORDERS_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    SERVE_FIELD_NUMBER: _ClassVar[int]
    STABLE_FIELD_NUMBER: _ClassVar[int]
    STOCK_WANTED_FIELD_NUMBER: _ClassVar[int]
    WALK_FIELD_NUMBER: _ClassVar[int]
    base: VersionRef
    comparison: Comparison
    counted_version: int
    delta_counted: bool
    heartbeat_seconds: float
    lease_seconds: float
    orders: TrainingOrders
    protocol: int
    round: int
    serve: VersionRef
    stable: VersionRef
    stock_wanted: bool
    walk: WalkOrders
    def __init__(self, protocol: _Optional[int] = ..., stock_wanted: bool = ..., round: _Optional[int] = ..., base: _Optional[_Union[VersionRef, _Mapping]] = ..., stable: _Optional[_Union[VersionRef, _Mapping]] = ..., orders: _Optional[_Union[TrainingOrders, _Mapping]] = ..., delta_counted: bool = ..., lease_seconds: _Optional[float] = ..., heartbeat_seconds: _Optional[float] = ..., counted_version: _Optional[int] = ..., serve: _Optional[_Union[VersionRef, _Mapping]] = ..., comparison: _Optional[_Union[Comparison, _Mapping]] = ..., walk: _Optional[_Union[WalkOrders, _Mapping]] = ...) -> None: ...

class HeartbeatRequest(_message.Message):
    __slots__ = ["cohort", "drafters", "engine_problem", "held", "lineage", "observed_digest", "protocol", "serve", "speculation", "stock_digest", "swaps", "trainer", "trains", "worker_id"]
    COHORT_FIELD_NUMBER: _ClassVar[int]
    DRAFTERS_FIELD_NUMBER: _ClassVar[int]
    ENGINE_PROBLEM_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_DIGEST_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    SERVE_FIELD_NUMBER: _ClassVar[int]
    SPECULATION_FIELD_NUMBER: _ClassVar[int]
    STOCK_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SWAPS_FIELD_NUMBER: _ClassVar[int]
    TRAINER_FIELD_NUMBER: _ClassVar[int]
    TRAINS_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    cohort: str
    drafters: _containers.RepeatedCompositeFieldContainer[DrafterCounters]
    engine_problem: str
    held: VersionRef
    lineage: Lineage
    observed_digest: str
    protocol: int
    serve: str
    speculation: Speculation
    stock_digest: str
    swaps: int
    trainer: TrainerStatus
    trains: bool
    worker_id: str
    def __init__(self, protocol: _Optional[int] = ..., worker_id: _Optional[str] = ..., cohort: _Optional[str] = ..., trains: bool = ..., lineage: _Optional[_Union[Lineage, _Mapping]] = ..., stock_digest: _Optional[str] = ..., held: _Optional[_Union[VersionRef, _Mapping]] = ..., observed_digest: _Optional[str] = ..., swaps: _Optional[int] = ..., trainer: _Optional[_Union[TrainerStatus, _Mapping]] = ..., drafters: _Optional[_Iterable[_Union[DrafterCounters, _Mapping]]] = ..., engine_problem: _Optional[str] = ..., serve: _Optional[str] = ..., speculation: _Optional[_Union[Speculation, _Mapping]] = ...) -> None: ...

class Lineage(_message.Message):
    __slots__ = ["dtype", "family", "layout", "shapes_digest", "target_digest"]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    LAYOUT_FIELD_NUMBER: _ClassVar[int]
    SHAPES_DIGEST_FIELD_NUMBER: _ClassVar[int]
    TARGET_DIGEST_FIELD_NUMBER: _ClassVar[int]
    dtype: str
    family: str
    layout: str
    shapes_digest: str
    target_digest: str
    def __init__(self, target_digest: _Optional[str] = ..., family: _Optional[str] = ..., layout: _Optional[str] = ..., dtype: _Optional[str] = ..., shapes_digest: _Optional[str] = ...) -> None: ...

class PromotionState(_message.Message):
    __slots__ = ["breached_guards", "breaches", "candidate_engines", "digest", "effects", "engines", "evidence_digest", "finished_at", "id", "number", "outcome", "phase", "sentence", "started_at", "waits_for_approval"]
    BREACHED_GUARDS_FIELD_NUMBER: _ClassVar[int]
    BREACHES_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_ENGINES_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    ENGINES_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    WAITS_FOR_APPROVAL_FIELD_NUMBER: _ClassVar[int]
    breached_guards: _containers.RepeatedScalarFieldContainer[str]
    breaches: _containers.RepeatedScalarFieldContainer[str]
    candidate_engines: int
    digest: str
    effects: _containers.RepeatedCompositeFieldContainer[EffectState]
    engines: int
    evidence_digest: str
    finished_at: float
    id: str
    number: int
    outcome: str
    phase: str
    sentence: str
    started_at: float
    waits_for_approval: bool
    def __init__(self, id: _Optional[str] = ..., number: _Optional[int] = ..., digest: _Optional[str] = ..., phase: _Optional[str] = ..., outcome: _Optional[str] = ..., sentence: _Optional[str] = ..., started_at: _Optional[float] = ..., finished_at: _Optional[float] = ..., waits_for_approval: bool = ..., engines: _Optional[int] = ..., candidate_engines: _Optional[int] = ..., evidence_digest: _Optional[str] = ..., effects: _Optional[_Iterable[_Union[EffectState, _Mapping]]] = ..., breaches: _Optional[_Iterable[str]] = ..., breached_guards: _Optional[_Iterable[str]] = ...) -> None: ...

class PullVersionRequest(_message.Message):
    __slots__ = ["have", "lineage_id", "number"]
    HAVE_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    have: VersionRef
    lineage_id: str
    number: int
    def __init__(self, lineage_id: _Optional[str] = ..., number: _Optional[int] = ..., have: _Optional[_Union[VersionRef, _Mapping]] = ...) -> None: ...

class PushDeltaReply(_message.Message):
    __slots__ = ["outcome", "reason"]
    class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    OUTCOME_ACCEPTED: PushDeltaReply.Outcome
    OUTCOME_DUPLICATE: PushDeltaReply.Outcome
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FOREIGN: PushDeltaReply.Outcome
    OUTCOME_REFUSED: PushDeltaReply.Outcome
    OUTCOME_STALE: PushDeltaReply.Outcome
    OUTCOME_UNSPECIFIED: PushDeltaReply.Outcome
    REASON_FIELD_NUMBER: _ClassVar[int]
    outcome: PushDeltaReply.Outcome
    reason: str
    def __init__(self, outcome: _Optional[_Union[PushDeltaReply.Outcome, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class PutEvidenceReply(_message.Message):
    __slots__ = ["reason", "wanted"]
    REASON_FIELD_NUMBER: _ClassVar[int]
    WANTED_FIELD_NUMBER: _ClassVar[int]
    reason: str
    wanted: bool
    def __init__(self, wanted: bool = ..., reason: _Optional[str] = ...) -> None: ...

class PutEvidenceRequest(_message.Message):
    __slots__ = ["blocks", "lineage_id", "requests", "set", "walks", "worker_id"]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_ID_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    WALKS_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    blocks: _containers.RepeatedCompositeFieldContainer[BlockRecord]
    lineage_id: str
    requests: _containers.RepeatedCompositeFieldContainer[RequestRecord]
    set: str
    walks: _containers.RepeatedCompositeFieldContainer[WalkRecord]
    worker_id: str
    def __init__(self, worker_id: _Optional[str] = ..., lineage_id: _Optional[str] = ..., set: _Optional[str] = ..., walks: _Optional[_Iterable[_Union[WalkRecord, _Mapping]]] = ..., blocks: _Optional[_Iterable[_Union[BlockRecord, _Mapping]]] = ..., requests: _Optional[_Iterable[_Union[RequestRecord, _Mapping]]] = ...) -> None: ...

class PutStockReply(_message.Message):
    __slots__ = ["version"]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: VersionRef
    def __init__(self, version: _Optional[_Union[VersionRef, _Mapping]] = ...) -> None: ...

class RequestRecord(_message.Message):
    __slots__ = ["digests", "engine", "failed", "preemptions", "request", "started", "tpot_seconds", "ttft_seconds"]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    PREEMPTIONS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    TPOT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    TTFT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    digests: _containers.RepeatedScalarFieldContainer[str]
    engine: str
    failed: bool
    preemptions: int
    request: str
    started: float
    tpot_seconds: float
    ttft_seconds: float
    def __init__(self, request: _Optional[str] = ..., engine: _Optional[str] = ..., started: _Optional[float] = ..., digests: _Optional[_Iterable[str]] = ..., failed: bool = ..., ttft_seconds: _Optional[float] = ..., tpot_seconds: _Optional[float] = ..., preemptions: _Optional[int] = ...) -> None: ...

class Speculation(_message.Message):
    __slots__ = ["acceptance_length", "break_even_length", "verify_steps"]
    ACCEPTANCE_LENGTH_FIELD_NUMBER: _ClassVar[int]
    BREAK_EVEN_LENGTH_FIELD_NUMBER: _ClassVar[int]
    VERIFY_STEPS_FIELD_NUMBER: _ClassVar[int]
    acceptance_length: float
    break_even_length: float
    verify_steps: int
    def __init__(self, acceptance_length: _Optional[float] = ..., break_even_length: _Optional[float] = ..., verify_steps: _Optional[int] = ...) -> None: ...

class StockChunk(_message.Message):
    __slots__ = ["data", "header"]
    DATA_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    header: StockHeader
    def __init__(self, header: _Optional[_Union[StockHeader, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class StockHeader(_message.Message):
    __slots__ = ["digest", "lineage", "size_bytes"]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    digest: str
    lineage: Lineage
    size_bytes: int
    def __init__(self, lineage: _Optional[_Union[Lineage, _Mapping]] = ..., digest: _Optional[str] = ..., size_bytes: _Optional[int] = ...) -> None: ...

class TrainerStatus(_message.Message):
    __slots__ = ["local_steps", "loss", "phase", "positions", "positions_per_second", "total_steps"]
    LOCAL_STEPS_FIELD_NUMBER: _ClassVar[int]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    TOTAL_STEPS_FIELD_NUMBER: _ClassVar[int]
    local_steps: int
    loss: _containers.RepeatedScalarFieldContainer[float]
    phase: str
    positions: int
    positions_per_second: float
    total_steps: int
    def __init__(self, phase: _Optional[str] = ..., local_steps: _Optional[int] = ..., total_steps: _Optional[int] = ..., positions: _Optional[int] = ..., positions_per_second: _Optional[float] = ..., loss: _Optional[_Iterable[float]] = ...) -> None: ...

class TrainingOrders(_message.Message):
    __slots__ = ["codec", "depth_weights", "dpace", "fresh", "learning_rate", "local_steps", "publish_every_steps", "rows_per_step"]
    CODEC_FIELD_NUMBER: _ClassVar[int]
    DEPTH_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    DPACE_FIELD_NUMBER: _ClassVar[int]
    FRESH_FIELD_NUMBER: _ClassVar[int]
    LEARNING_RATE_FIELD_NUMBER: _ClassVar[int]
    LOCAL_STEPS_FIELD_NUMBER: _ClassVar[int]
    PUBLISH_EVERY_STEPS_FIELD_NUMBER: _ClassVar[int]
    ROWS_PER_STEP_FIELD_NUMBER: _ClassVar[int]
    codec: str
    depth_weights: _containers.RepeatedScalarFieldContainer[float]
    dpace: bool
    fresh: int
    learning_rate: float
    local_steps: int
    publish_every_steps: int
    rows_per_step: int
    def __init__(self, local_steps: _Optional[int] = ..., learning_rate: _Optional[float] = ..., depth_weights: _Optional[_Iterable[float]] = ..., rows_per_step: _Optional[int] = ..., publish_every_steps: _Optional[int] = ..., codec: _Optional[str] = ..., dpace: bool = ..., fresh: _Optional[int] = ...) -> None: ...

class VersionChunk(_message.Message):
    __slots__ = ["data", "header"]
    DATA_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    header: VersionHeader
    def __init__(self, header: _Optional[_Union[VersionHeader, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class VersionHeader(_message.Message):
    __slots__ = ["patch_bytes", "version"]
    PATCH_BYTES_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    patch_bytes: int
    version: VersionRef
    def __init__(self, version: _Optional[_Union[VersionRef, _Mapping]] = ..., patch_bytes: _Optional[int] = ...) -> None: ...

class VersionRef(_message.Message):
    __slots__ = ["digest", "number", "size_bytes"]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    digest: str
    number: int
    size_bytes: int
    def __init__(self, number: _Optional[int] = ..., digest: _Optional[str] = ..., size_bytes: _Optional[int] = ...) -> None: ...

class WalkOrders(_message.Message):
    __slots__ = ["candidate", "promotion", "stable"]
    CANDIDATE_FIELD_NUMBER: _ClassVar[int]
    PROMOTION_FIELD_NUMBER: _ClassVar[int]
    STABLE_FIELD_NUMBER: _ClassVar[int]
    candidate: VersionRef
    promotion: str
    stable: VersionRef
    def __init__(self, promotion: _Optional[str] = ..., candidate: _Optional[_Union[VersionRef, _Mapping]] = ..., stable: _Optional[_Union[VersionRef, _Mapping]] = ...) -> None: ...

class WalkRecord(_message.Message):
    __slots__ = ["candidate_steps", "conversation", "domain", "request", "stable_steps", "stock_steps", "tokens"]
    CANDIDATE_STEPS_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    STABLE_STEPS_FIELD_NUMBER: _ClassVar[int]
    STOCK_STEPS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    candidate_steps: int
    conversation: str
    domain: str
    request: str
    stable_steps: int
    stock_steps: int
    tokens: int
    def __init__(self, request: _Optional[str] = ..., conversation: _Optional[str] = ..., domain: _Optional[str] = ..., tokens: _Optional[int] = ..., candidate_steps: _Optional[int] = ..., stable_steps: _Optional[int] = ..., stock_steps: _Optional[int] = ...) -> None: ...

class WatchStateRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class WorkerState(_message.Message):
    __slots__ = ["cohort", "delta_counted", "drafters", "engine_problem", "held", "live", "observed_digest", "refusal", "refused_deltas", "speculation", "swaps", "trainer", "trains", "worker_id"]
    COHORT_FIELD_NUMBER: _ClassVar[int]
    DELTA_COUNTED_FIELD_NUMBER: _ClassVar[int]
    DRAFTERS_FIELD_NUMBER: _ClassVar[int]
    ENGINE_PROBLEM_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    LIVE_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_DIGEST_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    REFUSED_DELTAS_FIELD_NUMBER: _ClassVar[int]
    SPECULATION_FIELD_NUMBER: _ClassVar[int]
    SWAPS_FIELD_NUMBER: _ClassVar[int]
    TRAINER_FIELD_NUMBER: _ClassVar[int]
    TRAINS_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    cohort: str
    delta_counted: bool
    drafters: _containers.RepeatedCompositeFieldContainer[DrafterCounters]
    engine_problem: str
    held: VersionRef
    live: bool
    observed_digest: str
    refusal: str
    refused_deltas: int
    speculation: Speculation
    swaps: int
    trainer: TrainerStatus
    trains: bool
    worker_id: str
    def __init__(self, worker_id: _Optional[str] = ..., cohort: _Optional[str] = ..., live: bool = ..., trains: bool = ..., observed_digest: _Optional[str] = ..., swaps: _Optional[int] = ..., delta_counted: bool = ..., held: _Optional[_Union[VersionRef, _Mapping]] = ..., trainer: _Optional[_Union[TrainerStatus, _Mapping]] = ..., drafters: _Optional[_Iterable[_Union[DrafterCounters, _Mapping]]] = ..., refused_deltas: _Optional[int] = ..., refusal: _Optional[str] = ..., engine_problem: _Optional[str] = ..., speculation: _Optional[_Union[Speculation, _Mapping]] = ...) -> None: ...

"""Messages survive the wire, and what the contract does not allow is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specfleet_common.codecs.codec import Codec
from specfleet_common.lineage import Lineage
from specfleet_common.wire import codec
from specfleet_common.wire.codec import WireError
from specfleet_common.wire.messages import (
    DeltaHeader,
    DeltaReply,
    DrafterCounters,
    FleetState,
    Heartbeat,
    HeartbeatReply,
    Outcome,
    Speculation,
    TrainerStatus,
    TrainingOrders,
    VersionRef,
    WorkerState,
)
from specfleet_common.wire.v1 import specfleet_pb2 as pb

# Building these messages takes long on a busy machine, which says nothing about the codec.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)

counts = st.integers(0, 2**64 - 1)
small_counts = st.integers(0, 2**32 - 1)
amounts = st.floats(0, 1e300)
positive = st.floats(1e-300, 1e300)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
observed = st.one_of(digests, st.sampled_from(["", "stock", "local", "mismatch"]))
lineages = st.builds(
    Lineage, digests, names, names, st.sampled_from(["float32", "bfloat16"]), digests
)
versions = st.builds(VersionRef, counts, digests, counts)
trainers = st.builds(
    TrainerStatus,
    st.sampled_from(sorted(codec.PHASES)),
    counts,
    counts,
    counts,
    amounts,
    st.lists(st.floats(allow_nan=False), max_size=3).map(tuple),
)
per_depth = st.lists(st.tuples(counts, counts), max_size=3)
counters = st.builds(
    lambda digest, depths, steps, tokens, seconds: DrafterCounters(
        digest, steps, tuple(d for d, _ in depths), tuple(a for _, a in depths), tokens, seconds
    ),
    observed,
    per_depth,
    counts,
    counts,
    amounts,
)
drafters = st.lists(counters, max_size=2).map(tuple)
maybe_versions = st.none() | versions
speculations = st.none() | st.builds(Speculation, amounts, positive, counts)
problems = st.just("") | st.text(max_size=codec.MAX_PROBLEM_LETTERS)
heartbeats = st.builds(
    Heartbeat,
    worker_id=names,
    cohort=names,
    trains=st.booleans(),
    lineage=lineages,
    stock_digest=digests | st.just(""),
    held=maybe_versions,
    observed_digest=observed,
    swaps=counts,
    trainer=trainers,
    drafters=drafters,
    engine_problem=problems,
    serve=st.sampled_from(["", "Stock", "Stable", "Local"]),
    speculation=speculations,
)
codecs = st.sampled_from(Codec)
orders = st.builds(
    TrainingOrders,
    st.integers(1, 2**32 - 1),
    positive,
    st.lists(amounts, max_size=3).map(tuple),
    st.integers(1, 2**32 - 1),
    small_counts,
    codec=codecs,
    dpace=st.booleans(),
)
replies = st.builds(
    HeartbeatReply,
    st.booleans(),
    counts,
    maybe_versions,
    maybe_versions,
    orders,
    st.booleans(),
    positive,
    positive,
    counted_version=counts,
)
headers = st.builds(
    DeltaHeader,
    names,
    lineages.map(lambda lineage: lineage.id),
    counts,
    counts,
    digests,
    st.integers(1, 2**63),
    counts,
    counts,
    codec=codecs,
)
workers = st.builds(
    WorkerState,
    worker_id=names,
    cohort=names,
    live=st.booleans(),
    trains=st.booleans(),
    observed_digest=observed,
    swaps=counts,
    delta_counted=st.booleans(),
    held=maybe_versions,
    trainer=trainers,
    drafters=drafters,
    refused_deltas=counts,
    refusal=st.text(max_size=9),
    engine_problem=problems,
    speculation=speculations,
)
fleets = st.builds(
    FleetState,
    fleet=names,
    lineage=st.none() | lineages,
    round=counts,
    base=maybe_versions,
    stable=maybe_versions,
    deltas=small_counts,
    quorum=small_counts,
    reason=st.text(max_size=9),
    live_workers=small_counts,
    training_workers=small_counts,
    round_seconds=amounts,
    store_error=st.text(max_size=9),
    workers=st.lists(workers, max_size=2).map(tuple),
    received_bytes=counts,
    sent_bytes=counts,
    settings_generation=counts,
    settings_error=st.text(max_size=9),
)


@patient
@given(heartbeats)
def test_heartbeats_survive_the_wire(beat: Heartbeat) -> None:
    data = codec.encode_heartbeat(beat).SerializeToString()

    assert codec.decode_heartbeat(pb.HeartbeatRequest.FromString(data)) == beat


@patient
@given(replies)
def test_replies_survive_the_wire(reply: HeartbeatReply) -> None:
    data = codec.encode_reply(reply).SerializeToString()

    assert codec.decode_reply(pb.HeartbeatReply.FromString(data)) == reply


@patient
@given(headers)
def test_delta_headers_survive_the_wire(header: DeltaHeader) -> None:
    data = codec.encode_delta_header(header).SerializeToString()

    assert codec.decode_delta_header(pb.DeltaHeader.FromString(data)) == header


@patient
@given(fleets)
def test_fleet_states_survive_the_wire(state: FleetState) -> None:
    data = codec.encode_fleet(state).SerializeToString()

    assert codec.decode_fleet(pb.FleetState.FromString(data)) == state


@pytest.mark.parametrize("outcome", list(Outcome))
def test_outcomes_survive_the_wire(outcome: Outcome) -> None:
    reply = DeltaReply(outcome, "why")

    assert codec.decode_delta_reply(codec.encode_delta_reply(reply)) == reply


@patient
@given(lineages, digests, st.integers(1, 2**63))
def test_stock_headers_survive_the_wire(lineage: Lineage, digest: str, size_bytes: int) -> None:
    message = codec.encode_stock_header(lineage, digest=digest, size_bytes=size_bytes)

    assert codec.decode_stock_header(message) == (lineage, VersionRef(0, digest, size_bytes))


def good_heartbeat() -> pb.HeartbeatRequest:
    return codec.encode_heartbeat(
        Heartbeat(
            worker_id="w",
            cohort="main",
            trains=True,
            lineage=Lineage("a" * 64, "mtp", "mimo", "bfloat16", "b" * 64),
            stock_digest="c" * 64,
            held=VersionRef(1, "d" * 64, 10),
            observed_digest="stock",
            swaps=0,
            trainer=TrainerStatus("training", 0, 0, 0, 0.0, ()),
            drafters=(DrafterCounters("stock", 1, (1, 1), (1, 0), 2, 0.5),),
        )
    )


def test_an_engine_that_cannot_be_adapted_has_no_lineage() -> None:
    message = good_heartbeat()
    message.ClearField("lineage")
    message.engine_problem = "OSError: no room"

    assert codec.decode_heartbeat(message).lineage is None


def _set(**fields: object) -> Callable[[pb.HeartbeatRequest], None]:
    def change(message: pb.HeartbeatRequest) -> None:
        for name, value in fields.items():
            setattr(message, name, value)

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(_set(protocol=0), "protocol: is 0", id="no-protocol"),
        pytest.param(_set(protocol=2), "protocol: is 2, expected one of", id="next-protocol"),
        pytest.param(_set(worker_id=""), "worker_id: is ''", id="no-worker"),
        pytest.param(_set(worker_id="../x"), "worker_id", id="path-as-worker"),
        pytest.param(_set(stock_digest="C" * 64), "stock_digest", id="upper-case-digest"),
        pytest.param(_set(serve="Newest"), "serve: is 'Newest'", id="unknown-serve"),
        pytest.param(_set(observed_digest="new"), "observed_digest", id="unknown-word"),
        pytest.param(lambda m: m.ClearField("lineage"), "dtype: is ''", id="no-lineage"),
        pytest.param(
            _set(engine_problem="x" * 1001), "engine_problem: has 1001", id="a-long-problem"
        ),
        pytest.param(lambda m: m.ClearField("trainer"), "trainer.phase", id="no-trainer"),
        pytest.param(lambda m: m.drafters[0].drafted.append(1), "depths", id="uneven-depths"),
    ],
)
def test_what_the_contract_does_not_allow_is_refused(
    change: Callable[[pb.HeartbeatRequest], None], reason: str
) -> None:
    message = good_heartbeat()
    change(message)

    with pytest.raises(WireError, match=reason):
        codec.decode_heartbeat(message)


def good_delta_header() -> pb.DeltaHeader:
    return codec.encode_delta_header(
        DeltaHeader("w", "a" * 16, 0, 0, "d" * 64, 1, 4, 100, codec=Codec.INT8)
    )


def test_who_names_no_codec_knows_only_float32() -> None:
    message = good_delta_header()
    message.ClearField("codec")

    assert codec.decode_delta_header(message).codec is Codec.FLOAT32


def test_an_unknown_codec_is_refused() -> None:
    message = good_delta_header()
    message.codec = "Int4"

    with pytest.raises(WireError, match="codec: is 'Int4', expected one of"):
        codec.decode_delta_header(message)


@pytest.mark.parametrize("lineage_id", ["", "x" * 16, "a" * 15, "../../../../etc/"])
def test_a_lineage_id_cannot_be_a_path(lineage_id: str) -> None:
    with pytest.raises(WireError, match="16 hexadecimal digits"):
        codec.decode_lineage_id(lineage_id)


def test_an_unknown_outcome_is_refused() -> None:
    with pytest.raises(WireError, match="outcome: is 0"):
        codec.decode_delta_reply(pb.PushDeltaReply())

"""What is told and measured for a promotion survives the wire, and nonsense is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specfleet_common.judge.records import Block, Request, Walk
from specfleet_common.wire import codec
from specfleet_common.wire.codec import WireError
from specfleet_common.wire.messages import (
    Comparison,
    EffectState,
    Evidence,
    EvidenceReply,
    FleetState,
    HeartbeatReply,
    PromotionState,
    TrainingOrders,
    VersionRef,
    WalkOrders,
)
from specfleet_common.wire.testing import fleet_state, version
from specfleet_common.wire.v1 import specfleet_pb2 as pb

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)

ENGINE = "engine-0"

counts = st.integers(0, 2**63)
amounts = st.integers(0, 10**12)
"""What a record may have at most."""
steps = st.integers(1, 1000)
seconds = st.floats(0, 1e9)
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
keys = st.text(min_size=1, max_size=30)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
versions = st.builds(VersionRef, counts, digests, counts)
walks = st.builds(
    lambda request, conversation, domain, candidate, stable, stock, more: Walk(
        request,
        conversation,
        domain,
        max(candidate, stable, stock) + more,
        candidate,
        stable,
        stock,
    ),
    keys,
    keys,
    st.just("") | names,
    steps,
    steps,
    steps,
    st.integers(0, 1000),
)
blocks = st.builds(
    Block, st.just(ENGINE), amounts, st.integers(0, 20), digests, amounts, seconds, amounts, amounts
)
requests = st.builds(
    Request,
    keys,
    st.just(ENGINE),
    seconds,
    st.lists(digests, max_size=3).map(tuple),
    st.booleans(),
    seconds,
    seconds,
    amounts,
)
evidence = st.builds(
    Evidence,
    worker_id=st.just(ENGINE),
    lineage_id=st.text("0123456789abcdef", min_size=16, max_size=16),
    set=names,
    walks=st.lists(walks, max_size=3).map(tuple),
    blocks=st.lists(blocks, max_size=3).map(tuple),
    requests=st.lists(requests, max_size=3).map(tuple),
)
comparisons = st.builds(
    lambda id_, seed, trial, base, elapsed, block, share, one_in: Comparison(
        id_, seed, trial, base, elapsed, block, share * block, one_in
    ),
    names,
    names,
    versions,
    versions,
    seconds,
    st.floats(1e-3, 1e6),
    st.floats(0, 0.9),
    st.integers(1, 100),
)
effects = st.builds(
    EffectState,
    st.text(max_size=9),
    st.text(max_size=9),
    st.floats(allow_nan=False),
    st.floats(allow_nan=False),
    st.floats(allow_nan=False),
    counts,
    counts,
)
promotions = st.builds(
    PromotionState,
    id=names,
    number=counts,
    digest=digests,
    phase=names,
    outcome=st.just("") | names,
    sentence=st.text(max_size=9),
    started_at=seconds,
    finished_at=seconds,
    waits_for_approval=st.booleans(),
    engines=st.integers(0, 300),
    candidate_engines=st.integers(0, 300),
    evidence_digest=st.just("") | digests,
    effects=st.lists(effects, max_size=2).map(tuple),
    breaches=st.lists(st.text(max_size=9), max_size=2).map(tuple),
    breached_guards=st.lists(names, max_size=2).map(tuple),
)
replies = st.builds(
    HeartbeatReply,
    stock_wanted=st.just(False),
    round=counts,
    base=st.none() | versions,
    stable=st.none() | versions,
    orders=st.builds(
        TrainingOrders,
        local_steps=steps,
        learning_rate=st.just(0.1),
        depth_weights=st.just((1.0,)),
        rows_per_step=steps,
        publish_every_steps=steps,
        fresh=counts,
    ),
    delta_counted=st.booleans(),
    lease_seconds=st.just(10.0),
    heartbeat_seconds=st.just(1.0),
    serve=st.none() | versions,
    comparison=st.none() | comparisons,
    walk=st.none() | st.builds(WalkOrders, names, versions, versions),
)


@patient
@given(evidence)
def test_evidence_survives_the_wire(measured: Evidence) -> None:
    data = codec.encode_evidence(measured).SerializeToString()

    assert codec.decode_evidence(pb.PutEvidenceRequest.FromString(data)) == measured


@patient
@given(replies)
def test_what_to_compare_and_to_walk_survives_the_wire(reply: HeartbeatReply) -> None:
    data = codec.encode_reply(reply).SerializeToString()

    assert codec.decode_reply(pb.HeartbeatReply.FromString(data)) == reply


@patient
@given(st.lists(promotions, max_size=3), st.none() | versions)
def test_promotions_survive_the_wire(
    found: list[PromotionState], candidate: VersionRef | None
) -> None:
    state: FleetState = fleet_state(candidate=candidate, promotions=tuple(found))
    data = codec.encode_fleet(state).SerializeToString()

    assert codec.decode_fleet(pb.FleetState.FromString(data)) == state


def test_replies_to_evidence_survive_the_wire() -> None:
    reply = EvidenceReply(wanted=False, reason="promotion 3 is over")

    assert codec.decode_evidence_reply(codec.encode_evidence_reply(reply)) == reply


def _measured() -> pb.PutEvidenceRequest:
    block = Block(ENGINE, 4, 1, "a" * 64, 1, 2.0, 10, 5)
    return codec.encode_evidence(
        Evidence(
            ENGINE,
            "b" * 16,
            "3-abcdef012345",
            walks=(Walk("r", "c", "", 10, 5, 6, 7),),
            blocks=(block,),
            requests=(Request("r", ENGINE, 1.0, ("a" * 64,), False, 0.1, 0.01, 0),),
        )
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(
            lambda m: m.walks.extend([m.walks[0]] * codec.MAX_RECORDS),
            "has 2003 records, expected at most 2000",
            id="too-many",
        ),
        pytest.param(
            lambda m: setattr(m.blocks[0], "engine", "another"),
            "records of engine 'another', expected 'engine-0'",
            id="of-another-engine",
        ),
        pytest.param(
            lambda m: setattr(m.requests[0], "engine", "another"),
            "records of engine 'another'",
            id="request-of-another-engine",
        ),
        pytest.param(
            lambda m: setattr(m.walks[0], "stable_steps", 11), "stable_steps is 11", id="impossible"
        ),
        pytest.param(
            lambda m: setattr(m.walks[0], "request", ""), "walks.request: has 0", id="no-key"
        ),
        pytest.param(
            lambda m: setattr(m.walks[0], "conversation", "x" * 201),
            "walks.conversation: has 201",
            id="long-key",
        ),
        pytest.param(
            lambda m: setattr(m.blocks[0], "busy_seconds", float("nan")),
            "busy_seconds is nan",
            id="not-a-number",
        ),
        pytest.param(
            lambda m: setattr(m.requests[0], "started", -1.0), "started is -1", id="before-it-began"
        ),
        pytest.param(
            lambda m: m.requests[0].digests.extend(["a" * 64] * 64),
            "requests.digests: has 65",
            id="many-digests",
        ),
        pytest.param(lambda m: setattr(m, "set", "../x"), "set: is", id="path-as-set"),
    ],
)
def test_evidence_that_cannot_be_is_refused(
    change: Callable[[pb.PutEvidenceRequest], None], reason: str
) -> None:
    message = _measured()
    change(message)

    with pytest.raises(WireError, match=reason):
        codec.decode_evidence(message)


def test_a_comparison_whose_blocks_are_all_washout_is_refused() -> None:
    reply = HeartbeatReply(
        stock_wanted=False,
        round=1,
        base=None,
        stable=version(0),
        orders=TrainingOrders(1, 0.1, (1.0,), 1, 0),
        delta_counted=False,
        lease_seconds=1.0,
        heartbeat_seconds=1.0,
        comparison=Comparison("c", "s", version(1), version(0), 0.0, 2.0, 1.0, 1),
    )
    message = codec.encode_reply(reply)
    message.comparison.washout_seconds = 2.0

    with pytest.raises(WireError, match=r"washout_seconds: is 2.0, expected less than a block"):
        codec.decode_reply(message)


def test_a_comparison_without_a_version_is_refused() -> None:
    message = pb.HeartbeatReply(
        protocol=codec.PROTOCOL,
        orders=pb.TrainingOrders(local_steps=1, learning_rate=0.1, rows_per_step=1),
        lease_seconds=1.0,
        heartbeat_seconds=1.0,
        walk=pb.WalkOrders(promotion="3-a", candidate=pb.VersionRef()),
    )

    with pytest.raises(WireError, match=r"walk\.candidate: is missing"):
        codec.decode_reply(message)

"""Listening to an aggregator: a real gRPC server with TLS, on a port of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import grpc.aio
import pytest

from specfleet_common.wire import codec
from specfleet_common.wire.messages import FleetState, PromotionState
from specfleet_common.wire.v1 import specfleet_pb2 as pb
from specfleet_operator.aggregators import Address, Aggregators, gist
from specfleet_operator.certificates import Material, material, new_key
from specfleet_operator.store import FleetKey
from specfleet_operator.testing import FakeCluster
from specfleet_operator.tests.aggregator_states import state, worker
from specfleet_operator.tests.building import ended, promotion
from specfleet_operator.tests.waiting import until
from specfleet_operator.tokens import Tokens

KEY = FleetKey("ns", "f")
NOW = 1_800_000_000.0

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"


@dataclass
class FakeAggregator:
    """Tells whoever shows a token the states that the test puts in."""

    callers: list[str] = field(default_factory=list)
    refused_callers: int = 0
    streams: list[asyncio.Queue[FleetState | None]] = field(default_factory=list)
    last: FleetState = field(default_factory=state)

    async def watch(self, request: bytes, context: Context) -> AsyncIterator[bytes]:
        shown = dict(context.invocation_metadata() or ())["authorization"]
        if self.refused_callers > 0:
            self.refused_callers -= 1
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "the token is old")
        self.callers.append(str(shown))
        queue: asyncio.Queue[FleetState | None] = asyncio.Queue()
        self.streams.append(queue)
        yield codec.encode_fleet(self.last).SerializeToString()
        while (one := await queue.get()) is not None:
            yield codec.encode_fleet(one).SerializeToString()

    def tell(self, one: FleetState) -> None:
        self.last = one
        self.streams[-1].put_nowait(one)

    def end_stream(self) -> None:
        self.streams[-1].put_nowait(None)


class Scene:
    def __init__(self) -> None:
        self.made = certificate()
        self.service = FakeAggregator()
        self.cluster = FakeCluster()
        self.marks: list[FleetKey] = []
        clock = asyncio.get_running_loop().time
        tokens = Tokens(self.cluster, namespace="op", service_account="sa", clock=clock)
        self.aggregators = Aggregators(tokens, mark=self._mark, clock=clock, wall_clock=lambda: NOW)
        self.server: grpc.aio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        self.server = grpc.aio.server()
        handlers = {"WatchState": grpc.unary_stream_rpc_method_handler(self.service.watch)}
        service = pb.DESCRIPTOR.services_by_name["Aggregator"].full_name
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(service, handlers),)
        )
        pair = (self.made.key_pem.encode(), self.made.certificate_pem.encode())
        credentials = grpc.ssl_server_credentials([pair])
        self.port = self.server.add_secure_port(f"127.0.0.1:{self.port}", credentials)
        await self.server.start()

    async def stop(self) -> None:
        assert self.server is not None
        await self.server.stop(None)
        self.server = None

    def follow(self, *, ca_pem: str | None = None) -> None:
        address = Address(f"localhost:{self.port}", ca_pem or self.made.ca_pem, "specfleet/ns/f")
        self.aggregators.follow(KEY, address)

    async def until(self, holds: Callable[[], object]) -> None:
        await until(holds, seconds=30.0)

    def is_reachable(self) -> bool:
        view = self.aggregators.view(KEY)
        return view is not None and view.reachable

    def is_lost(self) -> bool:
        view = self.aggregators.view(KEY)
        return view is not None and not view.reachable

    def rounds(self) -> list[int]:
        view = self.aggregators.view(KEY)
        return [] if view is None else [one.round for one in view.states]

    def _mark(self, fleets: Iterable[FleetKey]) -> None:
        self.marks += fleets


def certificate() -> Material:
    return material(None, None, fleet="f", names=("localhost",), now=time.time(), make_key=new_key)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    scene = Scene()
    await scene.start()
    yield scene
    await scene.aggregators.stop()
    if scene.server is not None:
        await scene.stop()


async def test_what_the_aggregator_says_is_seen_and_the_fleet_looked_at(scene: Scene) -> None:
    scene.service.last = state(round_=4)

    scene.follow()

    await scene.until(lambda: scene.rounds() == [4])
    assert scene.marks == [KEY]
    assert scene.service.callers == ["Bearer op.sa.specfleet/ns/f"]


async def test_states_that_change_fast_have_the_fleet_looked_at_now_and_then(
    scene: Scene,
) -> None:
    scene.follow()
    await scene.until(scene.is_reachable)

    for number in range(2, 40):
        scene.service.tell(state(round_=number))
    await scene.until(lambda: scene.rounds() == [39])

    assert len(scene.marks) == 1
    await scene.until(lambda: len(scene.marks) == 2)


async def test_what_decides_nothing_does_not_have_the_fleet_looked_at(scene: Scene) -> None:
    scene.follow()
    await scene.until(scene.is_reachable)

    scene.service.tell(state(deltas=1, reason="1 of 2", received_bytes=99))
    await scene.until(lambda: (v := scene.aggregators.view(KEY)) and v.states[0].deltas == 1)

    assert gist(state(deltas=1, reason="1 of 2")) == gist(state())
    assert scene.marks == [KEY]


async def test_a_worker_that_changes_matters() -> None:
    assert gist(state(worker("a"))) != gist(state(worker("a", observed_digest="mismatch")))
    assert gist(state(worker("a"))) == gist(state(worker("a", observed_digest="x")))
    assert gist(state(worker("a"))) != gist(state(worker("a", phase="parked")))
    assert gist(state(worker("a"))) != gist(state(worker("a", engine_problem="OSError: no room")))
    assert gist(state(worker("a"))) == gist(state(worker("a", local_steps=7)))


@pytest.mark.parametrize(
    ("before", "after", "matters"),
    [
        pytest.param(promotion(1), promotion(1, "Canary"), True, id="phase"),
        pytest.param(
            promotion(1, "Canary"),
            promotion(1, "Canary", waits_for_approval=True),
            True,
            id="waits",
        ),
        pytest.param(promotion(1, "Rolling"), ended(1, "Promoted"), True, id="end"),
        pytest.param(
            ended(1, "Promoted"), ended(1, "RolledBack", sentence="harm"), True, id="withdrawal"
        ),
        pytest.param(
            promotion(1, "Rolling"), promotion(1, "Rolling", candidate_engines=2), True, id="rolled"
        ),
        pytest.param(
            promotion(1, "Canary"),
            promotion(1, "Canary", candidate_engines=1),
            False,
            id="another-block-of-the-canary",
        ),
        pytest.param(
            ended(1, "Promoted", candidate_engines=3),
            ended(1, "Promoted", candidate_engines=2),
            False,
            id="a-canary-of-another-version",
        ),
        pytest.param(
            promotion(1, sentence="needs about 90 more requests"),
            promotion(1, sentence="needs about 80 more requests", evidence_digest="a" * 64),
            False,
            id="more-evidence",
        ),
    ],
)
def test_of_a_promotion_its_way_matters_and_not_every_record(
    before: PromotionState, after: PromotionState, matters: bool
) -> None:
    states = [replace(state(), promotions=(one,)) for one in (before, after)]

    assert (gist(states[0]) != gist(states[1])) == matters


async def test_an_aggregator_that_is_away_is_said_so_and_found_again(scene: Scene) -> None:
    scene.follow()
    await scene.until(scene.is_reachable)

    await scene.stop()
    await scene.until(scene.is_lost)
    view = scene.aggregators.view(KEY)
    assert view is not None and view.error and view.states
    assert scene.aggregators.count() == {True: 0, False: 1}

    await scene.start()
    await scene.until(scene.is_reachable)
    await scene.until(lambda: len(scene.marks) == 2)


async def test_a_stream_that_ends_is_opened_again_and_nobody_hears_of_it(scene: Scene) -> None:
    scene.follow()
    await scene.until(scene.is_reachable)

    scene.service.end_stream()
    await scene.until(lambda: len(scene.service.streams) == 2)

    assert scene.is_reachable()
    assert scene.marks == [KEY]


async def test_a_token_that_is_not_accepted_is_replaced(scene: Scene) -> None:
    scene.service.refused_callers = 1

    scene.follow()

    await scene.until(scene.is_reachable)


async def test_a_server_that_the_fleet_does_not_vouch_for_is_not_listened_to(
    scene: Scene,
) -> None:
    scene.follow(ca_pem=certificate().ca_pem)

    await scene.until(scene.is_lost)

    assert scene.service.callers == []


async def test_other_certificates_to_trust_make_a_new_connection(scene: Scene) -> None:
    scene.follow(ca_pem=certificate().ca_pem)
    await scene.until(scene.is_lost)

    scene.follow()

    await scene.until(scene.is_reachable)


async def test_a_fleet_that_is_gone_is_not_listened_to(scene: Scene) -> None:
    scene.follow()
    await scene.until(scene.is_reachable)

    scene.aggregators.forget(KEY)

    assert scene.aggregators.view(KEY) is None
    assert scene.aggregators.count() == {True: 0, False: 0}

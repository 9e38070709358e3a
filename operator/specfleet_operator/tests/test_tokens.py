from __future__ import annotations

import asyncio

from specfleet_operator.api import SigningKeys, Token, Unreachable
from specfleet_operator.testing import FakeCluster
from specfleet_operator.tests.clocks import Clock
from specfleet_operator.tokens import TOKEN_SECONDS, Keys, Tokens


class Issuer(FakeCluster):
    """Numbers its tokens, and changes its keys when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.issued = 0
        self.keys = "[]"
        self.num_failures = 0

    async def token(
        self, namespace: str, service_account: str, *, audience: str, seconds: int
    ) -> Token:
        self.issued += 1
        return Token(f"{audience}-{self.issued}", float(seconds))

    async def signing_keys(self) -> SigningKeys:
        if self.num_failures > 0:
            self.num_failures -= 1
            raise Unreachable("away")
        return SigningKeys("issuer", self.keys)


async def test_a_token_is_used_for_four_fifths_of_its_life() -> None:
    cluster, clock = Issuer(), Clock()
    tokens = Tokens(cluster, namespace="ns", service_account="sa", clock=clock)
    first = await tokens.get("a")

    clock.now += 0.8 * TOKEN_SECONDS - 1
    assert await tokens.get("a") == first

    clock.now += 1
    assert (await tokens.get("a")).value == "a-2"


async def test_every_audience_has_its_own_token() -> None:
    tokens = Tokens(Issuer(), namespace="ns", service_account="sa", clock=Clock())

    assert (await tokens.get("a")).value == "a-1"
    assert (await tokens.get("b")).value == "b-2"


async def test_a_token_that_was_not_accepted_is_not_shown_again() -> None:
    tokens = Tokens(Issuer(), namespace="ns", service_account="sa", clock=Clock())
    await tokens.get("a")

    tokens.forget("a")

    assert (await tokens.get("a")).value == "a-2"


async def test_keys_that_could_not_be_read_are_read_soon() -> None:
    cluster = Issuer()
    cluster.num_failures = 2
    changed = asyncio.Event()
    keys = Keys(cluster, changed.set)

    task = asyncio.create_task(keys.keep())
    async with asyncio.timeout(10.0):
        await changed.wait()
    task.cancel()

    assert keys.current == SigningKeys("issuer", "[]")

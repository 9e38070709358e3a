"""What the tests of security are built from: servers that know their callers, and tokens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from specfleet_aggregator.server import running
from specfleet_aggregator.settings import Settings
from specfleet_aggregator.tests.builders import settings
from specfleet_aggregator.tests.issuing import (
    AUDIENCE,
    ISSUER,
    OPERATOR,
    POD,
    WORKERS,
    Key,
    claims,
    rsa_key,
    watcher,
    write_keys,
)
from specfleet_common.store.opening import open_store
from specfleet_common.wire.access import Access
from specfleet_common.wire.client import AggregatorClient
from specfleet_common.wire.messages import FleetState

DEADLINE_SECONDS = 20.0
KEY = rsa_key()


def by_tokens(directory: Path, **changes: object) -> Settings:
    """Return settings of an aggregator that knows its callers by their service accounts."""
    keys = directory / "jwks.json"
    write_keys(keys, KEY)
    values: dict[str, object] = {
        "jwks_file": keys,
        "token_issuer": ISSUER,
        "token_audience": AUDIENCE,
        "worker_subject": WORKERS,
        "watcher_subjects": (OPERATOR,),
    }
    return settings(directory, **{**values, **changes})


@asynccontextmanager
async def serving_at(chosen: Settings) -> AsyncIterator[str]:
    """Run a real server and return its address."""
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        running(chosen, open_store(chosen.store, {})) as port,
    ):
        yield f"127.0.0.1:{port}"


def showing(token: str | None) -> Access:
    return Access(token=lambda: token)


def pod_token(pod: str = POD, *, key: Key = KEY, **changes: object) -> str:
    return key.sign(claims(now=time.time(), pod=pod, **changes))


def watcher_token(**changes: object) -> str:
    return KEY.sign(watcher(now=time.time(), **changes))


async def first_state(client: AggregatorClient) -> FleetState:
    states = client.watch_state()
    try:
        return await anext(states)
    finally:
        await states.aclose()

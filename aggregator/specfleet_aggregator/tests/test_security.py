"""Who gets in: tokens over real connections."""

from __future__ import annotations

import asyncio
import socket
import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from specfleet_aggregator.admission import ROLES
from specfleet_aggregator.authentication import MAX_TOKEN_BYTES, AuthenticationError
from specfleet_aggregator.tests.builders import FakeWorker, at_version, drafter, joined, settings
from specfleet_aggregator.tests.issuing import (
    HOUR,
    POD,
    WORKERS,
    rsa_key,
    write_keys,
)
from specfleet_aggregator.tests.securing import (
    KEY,
    by_tokens,
    first_state,
    pod_token,
    serving_at,
    showing,
    watcher_token,
)
from specfleet_common.wire.access import Access, access_by_files
from specfleet_common.wire.client import AggregatorClient, Unauthorized, Unreachable
from specfleet_common.wire.messages import Outcome
from specfleet_common.wire.v1 import specfleet_pb2 as pb


def test_every_call_of_the_service_is_for_a_role() -> None:
    methods = pb.DESCRIPTOR.services_by_name["Aggregator"].methods

    assert set(ROLES) == {method.name for method in methods}


async def test_a_pod_with_its_token_takes_part(tmp_path: Path) -> None:
    async with (
        serving_at(by_tokens(tmp_path)) as address,
        AggregatorClient(address, showing(pod_token())) as client,
    ):
        worker = FakeWorker(client, tmp_path, POD)
        await joined(worker)
        pushed = await worker.push(drafter(0.5))
        await at_version(worker, 1)
        version, _ = await worker.pull(1)

    assert pushed.outcome is Outcome.ACCEPTED
    assert version.number == 1


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        pytest.param(lambda: None, "UNAUTHENTICATED: the call has no token", id="none"),
        pytest.param(lambda: "x", "UNAUTHENTICATED: the token is no JSON Web", id="malformed"),
        pytest.param(
            lambda: pod_token(exp=int(time.time() - HOUR)),
            "UNAUTHENTICATED: the token expired",
            id="expired",
        ),
        pytest.param(
            lambda: pod_token(aud=["specfleet/team/other"]),
            "UNAUTHENTICATED: the token's audience",
            id="foreign-fleet",
        ),
        pytest.param(
            lambda: pod_token(key=rsa_key("rsa-1")),
            "UNAUTHENTICATED: the token's signature",
            id="foreign-signature",
        ),
        pytest.param(
            lambda: "x" * (MAX_TOKEN_BYTES + 1),
            f"UNAUTHENTICATED: the token has {MAX_TOKEN_BYTES + 1 + 7} bytes",
            id="too-large",
        ),
        pytest.param(lambda: "x" * 100_000, "RESOURCE_EXHAUSTED", id="too-large-for-grpc"),
        pytest.param(
            lambda: pod_token(sub="system:serviceaccount:team:default"),
            "PERMISSION_DENIED: the token is of 'system:serviceaccount:team:default'",
            id="another-account",
        ),
        pytest.param(
            lambda: pod_token("other-pod"),
            f"PERMISSION_DENIED: worker_id: is {POD}, but the token is bound to pod other-pod",
            id="another-pod",
        ),
        pytest.param(watcher_token, "PERMISSION_DENIED: .* only a worker may", id="watcher"),
    ],
)
async def test_a_worker_that_proves_nothing_is_turned_away_and_may_try_again(
    tmp_path: Path, token: Callable[[], str | None], reason: str
) -> None:
    shown = [token(), pod_token()]
    async with (
        serving_at(by_tokens(tmp_path)) as address,
        AggregatorClient(address, Access(token=lambda: shown[0])) as client,
    ):
        worker = FakeWorker(client, tmp_path, POD)
        with pytest.raises(Unreachable, match=reason) as refused:
            await worker.heartbeat()
        shown.pop(0)
        reply = await worker.heartbeat()

    assert isinstance(refused.value, Unauthorized) or reason == "RESOURCE_EXHAUSTED"
    assert reply.stock_wanted


async def test_nobody_hands_in_weights_or_takes_any_without_a_token(tmp_path: Path) -> None:
    async with (
        serving_at(by_tokens(tmp_path)) as address,
        AggregatorClient(address, showing(pod_token())) as client,
        AggregatorClient(address, showing(None)) as stranger,
    ):
        worker = FakeWorker(client, tmp_path, POD)
        await joined(worker)
        nobody = replace(worker, client=stranger)
        for call in (nobody.put_stock(), nobody.push(drafter(0.5)), nobody.pull(0)):
            with pytest.raises(Unauthorized, match="has no token"):
                await call


async def test_a_pod_cannot_hand_in_the_delta_of_another(tmp_path: Path) -> None:
    async with (
        serving_at(by_tokens(tmp_path)) as address,
        AggregatorClient(address, showing(pod_token())) as client,
        AggregatorClient(address, showing(pod_token("other-pod"))) as other,
    ):
        worker = FakeWorker(client, tmp_path, POD)
        await joined(worker)
        with pytest.raises(Unauthorized, match="PERMISSION_DENIED: worker_id"):
            await replace(worker, client=other).push(drafter(0.5))


async def test_only_a_watcher_watches_and_it_does_nothing_else(tmp_path: Path) -> None:
    async with (
        serving_at(by_tokens(tmp_path)) as address,
        AggregatorClient(address, showing(pod_token())) as worker,
        AggregatorClient(address, showing(watcher_token())) as operator,
    ):
        with pytest.raises(Unauthorized, match="only a watcher may"):
            await first_state(worker)
        state = await first_state(operator)
        watched = FakeWorker(operator, tmp_path, POD)
        for call in (watched.heartbeat(), watched.put_stock(), watched.pull(0)):
            with pytest.raises(Unauthorized, match="only a worker may"):
                await call

    assert state.fleet == "fleet"


async def test_watching_ends_with_the_token(tmp_path: Path) -> None:
    access = showing(watcher_token(exp=time.time() + 1.0))
    async with (
        serving_at(by_tokens(tmp_path)) as address,
        AggregatorClient(address, access) as client,
    ):
        seen = [state async for state in client.watch_state()]

    assert len(seen) == 1


async def test_tokens_of_two_fleets_are_not_mixed_up(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for directory in (one, two):
        directory.mkdir()
    foreign = {"token_audience": "specfleet/team/two", "worker_subject": f"{WORKERS}-two"}
    async with (
        serving_at(by_tokens(one)) as first,
        serving_at(by_tokens(two, **foreign)) as second,
    ):
        ours = pod_token()
        theirs = pod_token(aud=["specfleet/team/two"], sub=f"{WORKERS}-two")
        for address, right, wrong in ((first, ours, theirs), (second, theirs, ours)):
            async with (
                AggregatorClient(address, showing(right)) as member,
                AggregatorClient(address, showing(wrong)) as stranger,
            ):
                await FakeWorker(member, tmp_path, POD).heartbeat()
                with pytest.raises(Unauthorized, match="audience"):
                    await FakeWorker(stranger, tmp_path, POD).heartbeat()


async def test_keys_may_be_replaced_while_the_fleet_learns(tmp_path: Path) -> None:
    new = rsa_key("rsa-2")
    chosen = by_tokens(tmp_path)
    assert chosen.jwks_file is not None
    async with (
        serving_at(chosen) as address,
        AggregatorClient(address, showing(pod_token())) as before,
        AggregatorClient(address, showing(pod_token(key=new))) as after,
    ):
        with pytest.raises(Unauthorized, match="key 'rsa-2', which is not known"):
            await FakeWorker(after, tmp_path, POD).heartbeat()
        write_keys(chosen.jwks_file, KEY, new)
        await FakeWorker(after, tmp_path, POD).heartbeat()
        await FakeWorker(before, tmp_path, POD).heartbeat()
        write_keys(chosen.jwks_file, new)
        with pytest.raises(Unauthorized, match="key 'rsa-1', which is not known"):
            await FakeWorker(before, tmp_path, POD).heartbeat()
        chosen.jwks_file.write_text("{")
        await FakeWorker(after, tmp_path, POD).heartbeat()


async def test_a_fleet_on_one_machine_shares_a_secret(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("first\n")
    async with (
        serving_at(settings(tmp_path, token_file=secret)) as address,
        AggregatorClient(address, access_by_files(token_file=secret)) as member,
        AggregatorClient(address, showing("guess")) as stranger,
        AggregatorClient(address) as silent,
    ):
        await FakeWorker(member, tmp_path).heartbeat()
        await first_state(member)
        with pytest.raises(Unauthorized, match="not the one that this fleet shares"):
            await FakeWorker(stranger, tmp_path).heartbeat()
        with pytest.raises(Unauthorized, match="has no token"):
            await first_state(silent)
        secret.write_text("second")
        await FakeWorker(member, tmp_path).heartbeat()


async def test_refused_calls_are_counted_by_reason_and_no_token_is_logged(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        unused_port = free.getsockname()[1]
    expired = pod_token(exp=int(time.time() - HOUR))
    with capture_logs() as logs:
        async with (
            serving_at(by_tokens(tmp_path, metrics_port=unused_port)) as address,
            AggregatorClient(address, showing(expired)) as client,
        ):
            for _ in range(3):
                with pytest.raises(Unauthorized):
                    await FakeWorker(client, tmp_path, POD).heartbeat()
            url = f"http://127.0.0.1:{unused_port}/metrics"
            metrics = await asyncio.to_thread(lambda: urllib.request.urlopen(url).read().decode())

    sample = 'specfleet_aggregator_refused_calls_total{reason="expired"} 3.0'
    assert sample in metrics
    assert [entry["event"] for entry in logs].count("call_refused") == 1
    signature = expired.rpartition(".")[2]
    assert signature not in repr(logs)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(None, "cannot be read", id="missing"),
        pytest.param("{}", "is no JSON Web Key Set", id="broken"),
    ],
)
async def test_a_start_needs_keys(tmp_path: Path, text: str | None, reason: str) -> None:
    chosen = by_tokens(tmp_path)
    assert chosen.jwks_file is not None
    chosen.jwks_file.unlink()
    if text is not None:
        chosen.jwks_file.write_text(text)

    with pytest.raises(AuthenticationError, match=f"{chosen.jwks_file}: {reason}"):
        async with serving_at(chosen):
            pass

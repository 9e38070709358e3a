"""How the real API server is talked to, in what the one in memory does not have."""

from __future__ import annotations

import asyncio

import jwt
import pytest

from e2e.cluster.control_plane import ControlPlane
from specfleet_operator.api import Expired, NotLeading, Refused, Unreachable
from specfleet_operator.connecting import Connection
from specfleet_operator.kinds import EVENT, FLEET, kind_of
from specfleet_operator.naming import FLEET_LABEL
from specfleet_operator.tests.api_servers import cluster_of, new_namespace, until
from specfleet_operator.tests.objects import config

CONFIG_MAP = kind_of("v1", "ConfigMap")


async def test_pages_of_a_list_are_put_together(
    connection: Connection, plane: ControlPlane
) -> None:
    namespace = new_namespace(plane)
    cluster = cluster_of(connection)
    names = [f"c{number}" for number in range(260)]
    await asyncio.gather(*(cluster.apply(config(n, namespace=namespace, fleet="f")) for n in names))

    listing = await cluster.list(CONFIG_MAP, namespace, selector=FLEET_LABEL)

    assert sorted(item["metadata"]["name"] for item in listing.items) == sorted(names)


async def test_a_watch_from_too_long_ago_is_expired(connection: Connection) -> None:
    cluster = cluster_of(connection)

    async def is_expired() -> bool:
        try:
            async for _ in cluster.watch(FLEET, None, since="1", silence_seconds=5.0):
                pass
        except Expired:
            return True
        except Unreachable:
            return False  # A server that has just learned of a kind is not ready to watch it.
        return False

    await until(is_expired)


async def test_a_watch_that_says_nothing_is_unreachable(connection: Connection) -> None:
    cluster = cluster_of(connection)
    listing = await cluster.list(EVENT, "kube-public")

    with pytest.raises(Unreachable):
        async for _ in cluster.watch(
            EVENT, "kube-public", since=listing.resource_version, silence_seconds=0.5
        ):
            pass


async def test_who_may_not_write_sends_nothing(connection: Connection) -> None:
    cluster = cluster_of(connection, may_write=False)

    with pytest.raises(NotLeading):
        await cluster.apply(config("a", namespace="default"))

    assert await cluster.get(CONFIG_MAP, "default", "a") is None


async def test_an_api_server_that_is_away_is_unreachable(connection: Connection) -> None:
    cluster = cluster_of(connection, url="https://127.0.0.1:1", retry_seconds=0.0)

    with pytest.raises(Unreachable):
        await cluster.get(CONFIG_MAP, "default", "a")


async def test_keys_and_tokens_fit_each_other(connection: Connection, plane: ControlPlane) -> None:
    plane.client.kubectl("create", "serviceaccount", "caller")
    cluster = cluster_of(connection)

    keys = await cluster.signing_keys()
    token = await cluster.token("default", "caller", audience="specfleet/a/b", seconds=600)

    key_set = jwt.PyJWKSet.from_json(keys.jwks)
    key = key_set[jwt.get_unverified_header(token.value)["kid"]]
    claims = jwt.decode(
        token.value, key, algorithms=["RS256"], audience="specfleet/a/b", issuer=keys.issuer
    )
    assert claims["sub"] == "system:serviceaccount:default:caller"
    assert token.lifetime_seconds == 600


async def test_a_session_for_reading_refuses_to_write(connection: Connection) -> None:
    cluster = cluster_of(connection, only_reads=True)

    with pytest.raises(NotLeading):
        await cluster.apply(config("a", namespace="default"))

    assert await cluster.get(CONFIG_MAP, "default", "a") is None


async def test_a_field_that_there_is_not_is_refused_with_its_name(connection: Connection) -> None:
    cluster = cluster_of(connection)
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "tolerations": [{"kee": "gpu"}],
        },
    }
    selector = {"matchLabels": {"a": "b"}}
    engines = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"serviceName": "x", "selector": selector, "template": template},
    }

    with pytest.raises(Refused, match=r"tolerations\[0\].kee"):
        await cluster.apply(engines)

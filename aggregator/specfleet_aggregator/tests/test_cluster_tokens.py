"""Tokens and keys as a real API server makes them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from e2e.cluster.control_plane import ISSUER, ControlPlane
from specfleet_aggregator.callers import Caller, CallRefused, Reason, Role
from specfleet_aggregator.tokens import Expected, parse_keys, verify

NAMESPACE = "tokens"
AUDIENCE = f"specfleet/{NAMESPACE}/fleet"
WORKERS = f"system:serviceaccount:{NAMESPACE}:fleet-engine"
OPERATOR = f"system:serviceaccount:{NAMESPACE}:operator"
EXPECTED = Expected(ISSUER, AUDIENCE, WORKERS, frozenset({OPERATOR}))

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "fleet-main-0", "namespace": NAMESPACE},
    "spec": {
        "serviceAccountName": "fleet-engine",
        "containers": [{"name": "engine", "image": "engine"}],
    },
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A name space with an engine's pod that no node runs."""

    plane: ControlPlane
    pod_uid: str

    def token(self, account: str, *options: str, audience: str = AUDIENCE) -> str:
        command = ("create", "token", account, "--namespace", NAMESPACE, "--audience", audience)
        return self.plane.client.kubectl(*command, *options).strip()

    def pod_token(self, *, audience: str = AUDIENCE) -> str:
        bound = ("--bound-object-kind", "Pod", "--bound-object-name", "fleet-main-0")
        return self.token("fleet-engine", *bound, audience=audience)

    def caller(self, token: str) -> Caller:
        keys = parse_keys(self.plane.client.kubectl("get", "--raw", "/openid/v1/jwks").encode())
        return verify(token, keys, EXPECTED, now=time.time())


@pytest.fixture(scope="module")
def cluster(api_server: ControlPlane) -> Iterator[Cluster]:
    api_server.client.kubectl("create", "namespace", NAMESPACE)
    for account in ("fleet-engine", "operator"):
        api_server.client.kubectl("create", "serviceaccount", account, "--namespace", NAMESPACE)
    api_server.client.kubectl("create", "--filename", "-", stdin=json.dumps(POD))
    uid = ("get", "pod", "fleet-main-0", "-n", NAMESPACE, "-o", "jsonpath={.metadata.uid}")
    yield Cluster(api_server, api_server.client.kubectl(*uid).strip())
    api_server.client.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def test_the_token_of_a_pod_names_the_pod(cluster: Cluster) -> None:
    who = cluster.caller(cluster.pod_token())

    assert (who.roles, who.name, who.pod_uid) == (
        frozenset({Role.WORKER}),
        WORKERS,
        cluster.pod_uid,
    )
    assert who.expires_at is not None and who.expires_at > time.time()


def test_the_token_of_the_operator_allows_to_watch(cluster: Cluster) -> None:
    who = cluster.caller(cluster.token("operator"))

    assert (who.roles, who.name) == (frozenset({Role.WATCHER}), OPERATOR)


def test_a_token_for_something_else_is_refused(cluster: Cluster) -> None:
    refused = {
        Reason.AUDIENCE: cluster.pod_token(audience="specfleet/tokens/other"),
        Reason.POD: cluster.token("fleet-engine"),
    }

    for reason, token in refused.items():
        with pytest.raises(CallRefused) as error:
            cluster.caller(token)
        assert error.value.reason is reason

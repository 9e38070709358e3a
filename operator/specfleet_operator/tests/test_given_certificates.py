"""The aggregator's certificate from a Secret of the user's."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from specfleet_operator.given_certificates import Given, GivenCertificateError, given
from specfleet_operator.kinds import FLEET, SECRET
from specfleet_operator.tests.issuing import (
    BEGINS,
    DAYS,
    HOST,
    NOW,
    authority,
    certificate,
    encoded,
    secret_data,
)
from specfleet_operator.tests.scenes import CONFIG_MAP, STATEFUL_SET, Scene

ROOT = authority("root")
MIDDLE = authority("middle", by=ROOT)
OTHER = authority("other")
LEAF = certificate(ROOT)


def look(data: dict[str, str]) -> Given:
    return given(data, host=HOST, now=NOW)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(secret_data(LEAF, ca=ROOT.pem), id="direct"),
        pytest.param(secret_data(certificate(MIDDLE), MIDDLE, ca=ROOT.pem), id="chain"),
        pytest.param(secret_data(certificate(ROOT, uses_rsa=True), ca=ROOT.pem), id="rsa"),
        pytest.param(secret_data(LEAF, ca=OTHER.pem + ROOT.pem), id="two-authorities"),
        pytest.param(
            secret_data(certificate(ROOT, names=("*.ns.svc.cluster.local",)), ca=ROOT.pem),
            id="wildcard",
        ),
    ],
)
def test_what_is_taken_is_what_a_client_accepts(data: dict[str, str], tmp_path: Path) -> None:
    found = look(data)

    pair = tmp_path / "pair.pem"
    pair.write_text(found.certificate_pem + found.key_pem)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pair)
    client = ssl.create_default_context(cadata=found.ca_pem)
    client.verify_flags &= ~ssl.VERIFY_X509_STRICT
    assert shake_hands(client, server) == HOST
    assert found.not_after == BEGINS + DAYS * 86_400


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> str | None:
    """Let both talk in memory; SSLError when the client does not accept the server."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(back, there, server_hostname=HOST),
        server.wrap_bio(there, back, server_side=True),
    )
    for _ in range(3):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return ends[0].server_hostname


def without(data: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in data.items() if key != name}


GOOD = secret_data(LEAF, ca=ROOT.pem)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(None, "is not there, expected tls.crt, tls.key and ca.crt in it", id="none"),
        *(
            pytest.param(without(GOOD, name), f"has no {name}, expected", id=f"without-{name}")
            for name in GOOD
        ),
        pytest.param(
            {**GOOD, "ca.crt": "!"}, "ca.crt has no certificate, expected PEM", id="no-base64"
        ),
        pytest.param(
            {**GOOD, **encoded({"tls.key": "x"})}, "tls.key is no key as PEM", id="no-key"
        ),
        pytest.param(
            {**GOOD, **encoded({"tls.key": OTHER.key_pem})},
            "tls.key is not the key of tls.crt",
            id="key-of-another",
        ),
        pytest.param(
            secret_data(certificate(ROOT, names=("a", "b")), ca=ROOT.pem),
            f"tls.crt is for a, b, expected {HOST} among its names",
            id="names",
        ),
        pytest.param(
            secret_data(certificate(ROOT, begins=NOW - 86_400 * (DAYS + 1)), ca=ROOT.pem),
            "tls.crt was valid until 2027-01-14 08:00 UTC",
            id="ended",
        ),
        pytest.param(
            secret_data(certificate(ROOT, begins=NOW + 60), ca=ROOT.pem),
            "tls.crt begins to be valid at 2027-01-15 08:01 UTC",
            id="not-begun",
        ),
        pytest.param(
            secret_data(LEAF, ca=OTHER.pem),
            "tls.crt is not signed by one of ca.crt",
            id="authority",
        ),
        pytest.param(
            secret_data(certificate(MIDDLE), ca=ROOT.pem),
            "followed by the certificates that lead there",
            id="chain-with-a-gap",
        ),
        pytest.param(
            secret_data(certificate(ROOT, usage=ExtendedKeyUsageOID.CLIENT_AUTH), ca=ROOT.pem),
            "tls.crt is not for servers",
            id="usage",
        ),
    ],
)
def test_what_callers_would_refuse_is_said(data: dict[str, str] | None, words: str) -> None:
    with pytest.raises(GivenCertificateError) as caught:
        given(data, host=HOST, now=NOW)

    assert words in str(caught.value)


class UsersSecret:
    """A fleet whose certificate is in the Secret `mine`."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def write(self, data: dict[str, str]) -> None:
        known = await self._scene.cluster.get(SECRET, "ns", "mine")
        item = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "mine", "namespace": "ns"},
            "data": data,
        }
        if known is None:
            await self._scene.cluster.create(item)
        else:
            await self._scene.cluster.merge(SECRET, "ns", "mine", {"data": data})

    async def refer(self, name: str | None) -> None:
        reference = None if name is None else {"name": name}
        changes = {"spec": {"aggregation": {"tlsSecretRef": reference}}}
        await self._scene.cluster.merge(FLEET, "ns", "f", changes)

    async def shown(self) -> tuple[str, str]:
        """Return what callers trust and what the aggregator shows."""
        bundle = await self._scene.child(CONFIG_MAP, "f-trust")
        pair = await self._scene.child(SECRET, "f-tls")
        return bundle["data"]["ca.crt"], base64.b64decode(pair["data"]["tls.crt"]).decode()

    async def spec_valid(self) -> dict[str, Any]:
        fleet = await self._scene.child(FLEET, "f")
        found: dict[str, Any] = next(
            one for one in fleet["status"]["conditions"] if one["type"] == "SpecValid"
        )
        return found


@pytest.fixture
async def users(scene: Scene) -> UsersSecret:
    await scene.create()
    await scene.settle()
    return UsersSecret(scene)


async def test_a_certificate_of_ones_own_takes_the_place_of_the_operators(
    scene: Scene, users: UsersSecret
) -> None:
    before = await scene.child(STATEFUL_SET, "f-aggregator")
    await users.write(GOOD)
    await users.refer("mine")

    await scene.settle()

    assert await users.shown() == (ROOT.pem, LEAF.pem)
    assert await scene.cluster.get(SECRET, "ns", "f-ca") is None
    after = await scene.child(STATEFUL_SET, "f-aggregator")
    assert after["spec"]["template"] == before["spec"]["template"]


async def test_a_renewed_one_is_taken_up(scene: Scene, users: UsersSecret) -> None:
    await users.write(GOOD)
    await users.refer("mine")
    await scene.settle()
    renewed = certificate(OTHER)

    await users.write(secret_data(renewed, ca=ROOT.pem + OTHER.pem))
    await scene.settle()

    assert await users.shown() == (ROOT.pem + OTHER.pem, renewed.pem)


async def test_what_was_shown_before_stays_while_the_secret_is_not_right(
    scene: Scene, users: UsersSecret
) -> None:
    await users.write(GOOD)
    await users.refer("mine")
    await scene.settle()
    before = await users.shown()

    await users.write(secret_data(LEAF, ca=OTHER.pem))
    await scene.settle()

    assert await users.shown() == before
    condition = await users.spec_valid()
    assert condition["reason"] == "CertificateUnusable"
    assert condition["message"].startswith("spec.aggregation.tlsSecretRef: Secret mine tls.crt is")


async def test_the_operators_own_stays_until_the_secret_is_there_and_comes_back_without_it(
    scene: Scene, users: UsersSecret
) -> None:
    own = await users.shown()

    await users.refer("mine")
    await scene.settle()
    missing = await users.shown(), (await users.spec_valid())["reason"]
    await users.write(GOOD)
    await scene.settle()
    given_one = await users.shown()
    await users.refer(None)
    await scene.settle()

    assert missing == (own, "CertificateUnusable")
    assert given_one == (ROOT.pem, LEAF.pem)
    assert ROOT.pem not in (await users.shown())[0]
    assert (await users.spec_valid())["status"] == "True"


async def test_a_new_fleet_waits_for_its_secret(scene: Scene) -> None:
    await scene.create()
    changes = {"spec": {"aggregation": {"tlsSecretRef": {"name": "mine"}}}}
    await scene.cluster.merge(FLEET, "ns", "f", changes)

    await scene.settle()

    assert await scene.cluster.get(STATEFUL_SET, "ns", "f-main") is None
    assert (await UsersSecret(scene).spec_valid())["reason"] == "CertificateUnusable"

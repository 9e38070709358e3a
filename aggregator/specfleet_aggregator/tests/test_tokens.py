"""Which service account tokens prove something, and what."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from specfleet_aggregator.callers import Caller, CallRefused, Reason, Role
from specfleet_aggregator.tests.issuing import (
    AUDIENCE,
    EXPECTED,
    HOUR,
    OPERATOR,
    POD,
    WORKERS,
    Key,
    claims,
    ec_key,
    key_set,
    rsa_key,
    watcher,
)
from specfleet_aggregator.tokens import LEEWAY_SECONDS, parse_keys, verify

NOW = 1_800_000_000.0
RSA, EC, STRANGER = rsa_key(), ec_key(), rsa_key("rsa-1")
KEYS = parse_keys(key_set(RSA, EC))


def caller(token: str, *, now: float = NOW) -> Caller:
    return verify(token, KEYS, EXPECTED, now=now)


def raw(header: dict[str, Any], body: dict[str, Any], signature: bytes = b"") -> str:
    """Return a token put together by hand, as a library would refuse to."""
    parts = [json.dumps(header).encode(), json.dumps(body).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def signed_with_the_public_key() -> str:
    """Return a token whose secret is something that everybody knows."""
    unsigned = raw({"alg": "HS256", "typ": "JWT", "kid": RSA.kid}, claims(now=NOW)).rstrip(".")
    public = RSA.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    digest = hmac.new(public, unsigned.encode(), hashlib.sha256).digest()
    return f"{unsigned}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


@pytest.mark.parametrize("key", [RSA, EC], ids=["RS256", "ES256"])
def test_the_token_of_a_pod_stands_for_the_worker_in_it(key: Key) -> None:
    who = caller(key.sign(claims(now=NOW)))

    assert who == Caller(frozenset({Role.WORKER}), WORKERS, POD, NOW + HOUR)


def test_the_token_of_a_watcher_allows_to_watch_only() -> None:
    who = caller(RSA.sign(watcher(now=NOW)))

    assert who == Caller(frozenset({Role.WATCHER}), OPERATOR, None, NOW + HOUR)
    with pytest.raises(CallRefused, match="only a worker may"):
        who.check_role(Role.WORKER)


def test_an_audience_may_be_one_of_several_or_a_plain_text() -> None:
    for audience in (AUDIENCE, ["other", AUDIENCE]):
        assert caller(RSA.sign(claims(now=NOW, aud=audience))).pod_uid == POD


REFUSED: list[tuple[str, Callable[[], str], Reason, str]] = [
    ("empty", lambda: "", Reason.MALFORMED, "is no JSON Web Token"),
    ("no-token", lambda: "hello", Reason.MALFORMED, "is no JSON Web Token"),
    (
        "unsigned",
        lambda: raw({"alg": "none", "kid": RSA.kid}, claims(now=NOW)),
        Reason.ALGORITHM,
        "'none', expected RS256 or ES256",
    ),
    (
        "signed-with-the-public-key",
        signed_with_the_public_key,
        Reason.ALGORITHM,
        "'HS256', expected RS256 or ES256",
    ),
    (
        "key-of-another-kind",
        lambda: raw({"alg": "ES256", "kid": RSA.kid}, claims(now=NOW), b"x" * 64),
        Reason.ALGORITHM,
        "makes no signatures of kind ES256",
    ),
    (
        "unknown-key",
        lambda: rsa_key("rsa-2").sign(claims(now=NOW)),
        Reason.KEY,
        "key 'rsa-2', which is not known",
    ),
    (
        "no-key",
        lambda: raw({"alg": "RS256"}, claims(now=NOW), b"x" * 256),
        Reason.KEY,
        "key None",
    ),
    (
        "key-that-is-no-text",
        lambda: raw({"alg": "RS256", "kid": "x" * 999}, claims(now=NOW), b"x" * 256),
        Reason.KEY,
        "xxx...",
    ),
    (
        "another-key-of-that-name",
        lambda: STRANGER.sign(claims(now=NOW)),
        Reason.SIGNATURE,
        "is not that of key 'rsa-1'",
    ),
    (
        "claims-changed",
        lambda: _with_other_claims(RSA.sign(claims(now=NOW))),
        Reason.SIGNATURE,
        "is not that of key",
    ),
    (
        "foreign-issuer",
        lambda: RSA.sign(claims(now=NOW, iss="https://elsewhere")),
        Reason.ISSUER,
        "issuer is 'https://elsewhere', expected",
    ),
    (
        "foreign-fleet",
        lambda: RSA.sign(claims(now=NOW, aud=["specfleet/team/other"])),
        Reason.AUDIENCE,
        "expected 'specfleet/team/fleet'",
    ),
    (
        "audience-of-the-api-server",
        lambda: RSA.sign(claims(now=NOW, aud=None)),
        Reason.AUDIENCE,
        "audience is None",
    ),
    (
        "expired",
        lambda: RSA.sign(claims(now=NOW, exp=int(NOW - 60))),
        Reason.EXPIRED,
        "expired 60 s ago",
    ),
    (
        "without-an-end",
        lambda: RSA.sign(claims(now=NOW, exp=None)),
        Reason.MALFORMED,
        "exp is None, expected a second",
    ),
    (
        "not-valid-yet",
        lambda: RSA.sign(claims(now=NOW, nbf=int(NOW + 60))),
        Reason.EARLY,
        "valid in 60 s only",
    ),
    (
        "another-account",
        lambda: RSA.sign(claims(now=NOW, sub="system:serviceaccount:team:default")),
        Reason.SUBJECT,
        "has no part in this fleet",
    ),
    (
        "account-of-that-name-elsewhere",
        lambda: RSA.sign(claims(now=NOW, sub="system:serviceaccount:evil:fleet-engine")),
        Reason.SUBJECT,
        "evil",
    ),
    (
        "not-bound-to-a-pod",
        lambda: RSA.sign(claims(now=NOW, pod=None)),
        Reason.POD,
        "not bound to a pod",
    ),
    (
        "bound-to-a-text",
        lambda: RSA.sign(claims(now=NOW, **{"kubernetes.io": "pod"})),
        Reason.POD,
        "not bound to a pod",
    ),
]


def _with_other_claims(token: str) -> str:
    header, _, signature = token.split(".")
    _, body, _ = raw({}, claims(now=NOW, pod="another")).split(".")
    return f"{header}.{body}.{signature}"


@pytest.mark.parametrize(
    ("token", "reason", "words"),
    [pytest.param(token, reason, words, id=name) for name, token, reason, words in REFUSED],
)
def test_a_token_that_proves_nothing_is_refused(
    token: Callable[[], str], reason: Reason, words: str
) -> None:
    with pytest.raises(CallRefused) as refused:
        caller(token())

    assert refused.value.reason is reason
    assert words in str(refused.value)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
names = st.sampled_from(["alg", "kid", "typ", "crit", "b64", "jwk"])


@given(
    st.text(max_size=99)
    | st.builds(
        raw,
        st.dictionaries(names, json_values | st.sampled_from(["RS256", "ES256", "rsa-1"])),
        st.dictionaries(st.sampled_from(["exp", "aud", "sub"]), json_values),
        st.binary(max_size=64),
    )
)
def test_whatever_comes_without_a_signature_is_refused(token: str) -> None:
    with pytest.raises(CallRefused):
        caller(token)


@given(
    st.sampled_from(["iss", "aud", "exp", "nbf", "kubernetes.io"]),
    json_values | st.sampled_from([float("nan"), float("inf"), 10**400]),
)
def test_a_signed_token_with_a_strange_claim_is_refused(name: str, value: object) -> None:
    if name in ("exp", "nbf") and isinstance(value, int | float):
        value = -1 if value == value else value
    with pytest.raises(CallRefused):
        caller(EC.sign({**claims(now=NOW), name: [value]}))
    with pytest.raises(CallRefused):
        caller(EC.sign({**claims(now=NOW), name: value}))


@given(json_values)
def test_only_a_text_names_an_account(value: object) -> None:
    with pytest.raises(CallRefused):
        caller(EC.sign({**claims(now=NOW), "sub": value}))


def test_clocks_may_differ_a_little() -> None:
    token = RSA.sign(claims(now=NOW))

    for now in (NOW - LEEWAY_SECONDS, NOW + HOUR + LEEWAY_SECONDS - 1):
        assert caller(token, now=now).pod_uid == POD
    for now in (NOW - LEEWAY_SECONDS - 1, NOW + HOUR + LEEWAY_SECONDS):
        with pytest.raises(CallRefused):
            caller(token, now=now)


def test_a_worker_may_speak_only_for_the_pod_that_it_is_in() -> None:
    who = caller(RSA.sign(claims(now=NOW)))

    who.check_worker(POD)
    with pytest.raises(CallRefused, match="worker_id: is other, but the token is bound to pod"):
        who.check_worker("other")


@given(st.integers(0, 10_000), st.integers(0, 255))
def test_no_byte_of_a_token_can_be_changed(place: int, byte: int) -> None:
    token = bytearray(EC.sign(claims(now=NOW)).encode())
    before = token[place % len(token)]
    token[place % len(token)] = byte

    try:
        who = caller(token.decode("ascii", "replace"))
    except CallRefused:
        return
    # The last letter of a signature has bits that mean nothing.
    assert byte == before or place % len(token) == len(token) - 1
    assert who.pod_uid == POD

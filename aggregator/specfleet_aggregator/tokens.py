"""Service account tokens: what one has to look like, and whom it stands for. Pure.

A token is a signed JSON Web Token. Keys and the time are arguments; nobody is asked over a network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jwt

from specfleet_aggregator.callers import Caller, CallRefused, Reason, Role

if TYPE_CHECKING:
    from jwt.types import Options

LEEWAY_SECONDS = 10.0
"""By how much the clocks of two machines may differ."""

ALGORITHMS = {"RS256": "RSA", "ES256": "EC"}
"""Signatures that are taken, and the kind of key that makes them."""

Keys = Mapping[str, jwt.PyJWK]
"""Public keys by their ids."""

_LONGEST_QUOTE = 100
_LAST_SECOND = 1e12

# Signature and algorithm are checked by the library, all else below: with the time as an argument.
_ONLY_SIGNATURE: Options = {
    "verify_signature": True,
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
    "verify_iss": False,
    "verify_sub": False,
    "verify_jti": False,
}


@dataclass(frozen=True, slots=True)
class Expected:
    """What the tokens of one fleet's callers say."""

    issuer: str
    audience: str
    worker_subject: str
    watcher_subjects: frozenset[str]


def parse_keys(data: bytes) -> Keys:
    """Return the public keys of a JSON Web Key Set; ValueError when it has none of use."""
    try:
        found = jwt.PyJWKSet.from_json(data.decode()).keys
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"is no JSON Web Key Set with keys of use: {error}") from error
    keys = {
        key.key_id: key
        for key in found
        if isinstance(key.key_id, str) and key.key_type in ALGORITHMS.values()
    }
    if not keys:
        raise ValueError(
            f"has {len(found)} keys, expected one with an id of the kinds "
            f"{' and '.join(ALGORITHMS.values())}"
        )
    return keys


def verify(token: str, keys: Keys, expected: Expected, *, now: float) -> Caller:
    """Return whom a token stands for; CallRefused when it proves nothing."""
    claims = _claims(token, keys)
    issuer = claims.get("iss")
    if issuer != expected.issuer:
        raise CallRefused(
            Reason.ISSUER, f"the token's issuer is {_quoted(issuer)}, expected {expected.issuer!r}"
        )
    audiences = claims.get("aud")
    if expected.audience not in (audiences if isinstance(audiences, list) else [audiences]):
        raise CallRefused(
            Reason.AUDIENCE,
            f"the token's audience is {_quoted(audiences)}, expected {expected.audience!r}",
        )
    expires_at = _second(claims, "exp")
    if now >= expires_at + LEEWAY_SECONDS:
        raise CallRefused(Reason.EXPIRED, f"the token expired {now - expires_at:.0f} s ago")
    begins_at = _second(claims, "nbf") if "nbf" in claims else now
    if begins_at > now + LEEWAY_SECONDS:
        raise CallRefused(Reason.EARLY, f"the token is valid in {begins_at - now:.0f} s only")
    return _caller(claims, expected, expires_at=expires_at)


def _claims(token: str, keys: Keys) -> Mapping[str, Any]:
    """Return what a token claims once its signature is known to be that of one of the keys."""
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError as error:
        raise CallRefused(Reason.MALFORMED, f"the token is no JSON Web Token: {error}") from error
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise CallRefused(
            Reason.ALGORITHM,
            f"the token's signature is {_quoted(algorithm)}, expected {' or '.join(ALGORITHMS)}",
        )
    key = keys.get(key_id) if isinstance(key_id, str) else None
    if key is None:
        raise CallRefused(
            Reason.KEY, f"the token is signed with key {_quoted(key_id)}, which is not known"
        )
    if key.key_type != ALGORITHMS[algorithm]:
        raise CallRefused(
            Reason.ALGORITHM, f"key {_quoted(key_id)} makes no signatures of kind {algorithm}"
        )
    try:
        return dict(jwt.decode(token, key, algorithms=[algorithm], options=_ONLY_SIGNATURE))
    except jwt.InvalidSignatureError as error:
        raise CallRefused(
            Reason.SIGNATURE, f"the token's signature is not that of key {_quoted(key_id)}"
        ) from error
    except jwt.PyJWTError as error:
        raise CallRefused(Reason.MALFORMED, f"the token is no JSON Web Token: {error}") from error


def _caller(claims: Mapping[str, Any], expected: Expected, *, expires_at: float) -> Caller:
    subject = claims.get("sub")
    if subject == expected.worker_subject:
        pod_uid = _pod_uid(claims)
        if pod_uid is None:
            raise CallRefused(
                Reason.POD, "the token is not bound to a pod, expected kubernetes.io.pod.uid"
            )
        return Caller(frozenset({Role.WORKER}), subject, pod_uid, expires_at)
    if isinstance(subject, str) and subject in expected.watcher_subjects:
        return Caller(frozenset({Role.WATCHER}), subject, None, expires_at)
    raise CallRefused(
        Reason.SUBJECT,
        f"the token is of {_quoted(subject)}, who has no part in this fleet",
    )


def _pod_uid(claims: Mapping[str, Any]) -> str | None:
    bound = claims.get("kubernetes.io")
    pod = bound.get("pod") if isinstance(bound, dict) else None
    uid = pod.get("uid") if isinstance(pod, dict) else None
    return uid if isinstance(uid, str) and uid else None


def _second(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, int | float) and 0 <= value < _LAST_SECOND:
        return float(value)
    raise CallRefused(
        Reason.MALFORMED, f"the token's {name} is {_quoted(value)}, expected a second"
    )


def _quoted(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."

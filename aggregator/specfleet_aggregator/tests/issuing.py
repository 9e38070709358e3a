"""Tokens as the API server of a cluster issues them, and as others would like them to be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from specfleet_aggregator.tokens import Expected
from specfleet_common.files import write_file

ISSUER = "https://kubernetes.default.svc"
AUDIENCE = "specfleet/team/fleet"
WORKERS = "system:serviceaccount:team:fleet-engine"
OPERATOR = "system:serviceaccount:specfleet:operator"
EXPECTED = Expected(ISSUER, AUDIENCE, WORKERS, frozenset({OPERATOR}))
POD = "11111111-aaaa-bbbb-cccc-000000000001"
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Key:
    """A private key; `kid` is what its tokens call it."""

    private: RSAPrivateKey | EllipticCurvePrivateKey
    kid: str

    def public(self) -> dict[str, Any]:
        """Return the public key as a key set has it."""
        if isinstance(self.private, RSAPrivateKey):
            document = json.loads(RSAAlgorithm.to_jwk(self.private.public_key()))
        else:
            document = json.loads(ECAlgorithm.to_jwk(self.private.public_key()))
        document.pop("key_ops", None)
        return {**document, "kid": self.kid, "use": "sig"}

    def sign(self, claims: Mapping[str, Any], **header: Any) -> str:
        """Return a token with these claims."""
        algorithm = "RS256" if isinstance(self.private, RSAPrivateKey) else "ES256"
        # Not by `jwt.encode`, which knows which claims make sense.
        return jwt.PyJWS().encode(
            json.dumps(claims).encode(),
            self.private,
            algorithm,
            headers={"typ": "JWT", "kid": self.kid, **header},
        )


def rsa_key(kid: str = "rsa-1") -> Key:
    return Key(rsa.generate_private_key(public_exponent=65537, key_size=2048), kid)


def ec_key(kid: str = "ec-1") -> Key:
    return Key(ec.generate_private_key(ec.SECP256R1()), kid)


def key_set(*keys: Key) -> bytes:
    return json.dumps({"keys": [key.public() for key in keys]}).encode()


def write_keys(path: Path, *keys: Key) -> None:
    write_file(path, key_set(*keys))


def claims(*, now: float, pod: str | None = POD, **changes: Any) -> dict[str, Any]:
    """Return what the token of an agent's pod says, with some claims changed; None removes one."""
    bound: dict[str, Any] = {
        "namespace": "team",
        "serviceaccount": {"name": "fleet-engine", "uid": "22222222"},
    }
    if pod is not None:
        bound["pod"] = {"name": "fleet-main-0", "uid": pod}
    document = {
        "iss": ISSUER,
        "aud": [AUDIENCE],
        "sub": WORKERS,
        "iat": int(now),
        "nbf": int(now),
        "exp": int(now + HOUR),
        "kubernetes.io": bound,
        **changes,
    }
    return {name: value for name, value in document.items() if value is not None}


def watcher(*, now: float, **changes: Any) -> dict[str, Any]:
    """Return what the operator's token says."""
    return claims(now=now, pod=None, sub=OPERATOR, **changes)

"""Certificates as an organisation's own authority issues them, for tests."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

NOW = 1_800_000_000.0
HOST = "f-aggregator.ns.svc.cluster.local"
DAYS = 7_300
BEGINS = NOW - 86_400.0 * DAYS / 2
"""Valid now as well as then: a real client looks at the real clock."""

_Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True)
class Issued:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: _Key

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def key_pem(self) -> str:
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ).decode()


def authority(name: str, *, by: Issued | None = None) -> Issued:
    """Return an authority, signed by itself or by another."""
    return _issued(name, by=by, is_authority=True)


def certificate(
    by: Issued,
    *,
    names: tuple[str, ...] = (HOST,),
    begins: float = BEGINS,
    uses_rsa: bool = False,
    usage: ObjectIdentifier = ExtendedKeyUsageOID.SERVER_AUTH,
) -> Issued:
    """Return a server's certificate."""
    alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
    return _issued(
        "server",
        by=by,
        begins=begins,
        uses_rsa=uses_rsa,
        extensions=(alternatives, x509.ExtendedKeyUsage([usage])),
    )


def secret_data(leaf: Issued, *between: Issued, ca: str) -> dict[str, str]:
    """Return the data of a Secret as cert-manager writes it."""
    chain = "".join(one.pem for one in (leaf, *between))
    return encoded({"tls.crt": chain, "tls.key": leaf.key_pem, "ca.crt": ca})


def encoded(texts: dict[str, str]) -> dict[str, str]:
    return {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}


def _issued(
    name: str,
    *,
    by: Issued | None,
    is_authority: bool = False,
    begins: float = BEGINS,
    uses_rsa: bool = False,
    extensions: tuple[Any, ...] = (),
) -> Issued:
    key: _Key = (
        rsa.generate_private_key(65537, 2048)
        if uses_rsa
        else ec.generate_private_key(ec.SECP256R1())
    )
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = datetime.fromtimestamp(begins, tz=UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if by is None else by.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=DAYS))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return Issued(builder.sign(key if by is None else by.key, hashes.SHA256()), key)

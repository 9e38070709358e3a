"""A certificate of the user's own for an aggregator: whether callers will accept it. Pure.

It is used as the user's Secret has it, so that renewing it is a matter of that Secret alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from specfleet_operator.certificates import pem_certificates, text_of

CA, CERTIFICATE, KEY = "ca.crt", "tls.crt", "tls.key"

_KEYS = (ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey, rsa.RSAPrivateKey)
_PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey


class GivenCertificateError(ValueError):
    """The Secret has nothing that callers would accept; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a Secret of the user's has, as PEM."""

    ca_pem: str
    certificate_pem: str
    """With what leads from it to one of the authorities."""
    key_pem: str
    not_after: float
    """Wall clock second when the certificate ends."""


def given(data: Mapping[str, str] | None, *, host: str, now: float) -> Given:
    """Return what the data of a Secret says; `host` is the name by which callers know the server.

    None is a Secret that is not there.
    """
    if data is None:
        raise GivenCertificateError(f"is not there, expected {CERTIFICATE}, {KEY} and {CA} in it")
    moment = datetime.fromtimestamp(now, tz=UTC)
    authorities, chain = _certificates(data, CA), _certificates(data, CERTIFICATE)
    key = _private_key(data)
    leaf = chain[0]
    if leaf.public_key() != key.public_key():
        raise GivenCertificateError(f"{KEY} is not the key of {CERTIFICATE}")
    names = _names_of(leaf)
    if not any(_covers(name, host) for name in names):
        shown = ", ".join(names) or "no name"
        raise GivenCertificateError(
            f"{CERTIFICATE} is for {shown}, expected {host} among its names"
        )
    if not _is_for_servers(leaf):
        raise GivenCertificateError(
            f"{CERTIFICATE} is not for servers, expected the usage serverAuth"
        )
    _check_time(leaf, moment)
    if not _leads_to(authorities, leaf, chain[1:], moment):
        raise GivenCertificateError(
            f"{CERTIFICATE} is not signed by one of {CA} that is valid now, expected it to be, or"
            " to be followed by the certificates that lead there"
        )
    return Given(
        ca_pem=_pem(authorities),
        certificate_pem=_pem(chain),
        key_pem=key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode(),
        not_after=leaf.not_valid_after_utc.timestamp(),
    )


def _certificates(data: Mapping[str, str], name: str) -> list[x509.Certificate]:
    if name not in data:
        raise GivenCertificateError(f"has no {name}, expected {CERTIFICATE}, {KEY} and {CA}")
    found = pem_certificates(text_of(data, name))
    if not found:
        raise GivenCertificateError(f"{name} has no certificate, expected PEM")
    return found


def _private_key(data: Mapping[str, str]) -> _PrivateKey:
    if KEY not in data:
        raise GivenCertificateError(f"has no {KEY}, expected {CERTIFICATE}, {KEY} and {CA}")
    try:
        found = serialization.load_pem_private_key(text_of(data, KEY).encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise GivenCertificateError(f"{KEY} is no key as PEM without a password") from error
    if not isinstance(found, _KEYS):
        raise GivenCertificateError(f"{KEY} is of a kind that is not known, expected RSA or EC")
    return found


def _check_time(leaf: x509.Certificate, now: datetime) -> None:
    if now < leaf.not_valid_before_utc:
        raise GivenCertificateError(
            f"{CERTIFICATE} begins to be valid at {leaf.not_valid_before_utc:%Y-%m-%d %H:%M} UTC,"
            " expected one that is valid now"
        )
    if now >= leaf.not_valid_after_utc:
        raise GivenCertificateError(
            f"{CERTIFICATE} was valid until {leaf.not_valid_after_utc:%Y-%m-%d %H:%M} UTC,"
            " expected one that is valid now"
        )


def _leads_to(
    authorities: Sequence[x509.Certificate],
    leaf: x509.Certificate,
    between: Sequence[x509.Certificate],
    now: datetime,
) -> bool:
    """Say whether valid certificates lead from the first to one that is trusted."""
    current, left = leaf, list(between)
    while True:
        if current in authorities or any(_signs(one, current, now) for one in authorities):
            return True
        following = next((one for one in left if _signs(one, current, now)), None)
        if following is None:
            return False
        left.remove(following)
        current = following


def _signs(issuer: x509.Certificate, certificate: x509.Certificate, now: datetime) -> bool:
    if not issuer.not_valid_before_utc <= now < issuer.not_valid_after_utc:
        return False
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _is_for_servers(leaf: x509.Certificate) -> bool:
    try:
        usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    wanted = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)
    return any(one in wanted for one in usage)


def _names_of(leaf: x509.Certificate) -> list[str]:
    try:
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return found.value.get_values_for_type(x509.DNSName)


def _covers(name: str, host: str) -> bool:
    """Say whether a certificate's name is a host's; a star stands for the first part."""
    name, host = name.lower(), host.lower()
    return name == host or (name.startswith("*.") and name[2:] == host.partition(".")[2])


def _pem(certificates: Iterable[x509.Certificate]) -> str:
    encoding = serialization.Encoding.PEM
    return "".join(one.public_bytes(encoding).decode() for one in certificates)

"""A fleet's own certificate authority and the certificate of its aggregator. Pure.

Both are replaced when two thirds of their life are over. A new authority is trusted first and
signs later, so that callers that read the bundle now and then trust every certificate they meet.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from specfleet_operator.naming import aggregator_name

CA_DAYS = 3650
LEAF_DAYS = 90
SKEW_SECONDS = 600
"""Certificates are valid from a little earlier, for machines whose clocks are behind."""
OVERLAP_SECONDS = 86_400
"""Until a new authority signs, and until an old one is forgotten."""

NewKey = Callable[[], ec.EllipticCurvePrivateKey]

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----\n?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Material:
    """Certificates and keys as PEM; authorities are newest first, `ca_key_pem` is the first's."""

    ca_pem: str
    ca_key_pem: str
    certificate_pem: str
    key_pem: str
    not_after: float
    """Wall clock second when the aggregator's certificate ends."""
    is_new: bool
    """Something was made, so it is not what the Secrets have."""


@dataclass(frozen=True, slots=True)
class _Signed:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def key_pem(self) -> str:
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()


def new_key() -> ec.EllipticCurvePrivateKey:
    """Return a new random key."""
    return ec.generate_private_key(ec.SECP256R1())


def pem_certificates(text: str) -> list[x509.Certificate]:
    """Return the certificates in a text, none when one of them is damaged."""
    try:
        return [x509.load_pem_x509_certificate(one.encode()) for one in _PEM.findall(text)]
    except (ValueError, x509.InvalidVersion):
        return []


def text_of(data: Mapping[str, str], name: str) -> str:
    """Return one value of a Secret, empty when it is missing or no text."""
    try:
        return base64.b64decode(data.get(name, ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def server_names(fleet: str, *, namespace: str, cluster_domain: str) -> tuple[str, ...]:
    """Return the names under which callers may know the aggregator."""
    name = aggregator_name(fleet)
    service = f"{name}.{namespace}.svc"
    return name, f"{name}.{namespace}", service, f"{service}.{cluster_domain}"


def material(
    authority: Mapping[str, str] | None,
    certificate: Mapping[str, str] | None,
    *,
    fleet: str,
    names: Sequence[str],
    now: float,
    make_key: NewKey,
) -> Material:
    """Return what should be in the two Secrets, given the data of those that are there.

    What is good stays as it is, to the byte; what is missing, damaged or due is made anew.
    """
    moment = datetime.fromtimestamp(now, tz=UTC)
    is_new = False
    signer = _read_pair(authority, "ca.crt", "ca.key")
    bundle = [] if authority is None else pem_certificates(text_of(authority, "ca.crt"))
    if signer is None or _is_due(signer.certificate, moment):
        is_new = True
        signer = _new_authority(fleet, moment, make_key)
        bundle = [signer.certificate, *bundle]
    leaf = _read_pair(certificate, "tls.crt", "tls.key")
    if leaf is None or _has_to_go(leaf.certificate, signer.certificate, bundle, names, moment):
        is_new = True
        leaf = _new_leaf(signer, names, moment, make_key)
    kept = [
        one
        for one in bundle
        if one == signer.certificate or _is_needed(one, leaf.certificate, moment)
    ]
    return Material(
        ca_pem="".join(_pem(one) for one in kept),
        ca_key_pem=signer.key_pem,
        certificate_pem=_pem(leaf.certificate),
        key_pem=leaf.key_pem,
        not_after=leaf.certificate.not_valid_after_utc.timestamp(),
        is_new=is_new,
    )


def _has_to_go(
    leaf: x509.Certificate,
    authority: x509.Certificate,
    bundle: Sequence[x509.Certificate],
    names: Sequence[str],
    now: datetime,
) -> bool:
    if _is_due(leaf, now) or _names_of(leaf) != list(names):
        return True
    if _is_issued_by(leaf, authority):
        return False
    if any(_is_issued_by(leaf, one) and one.not_valid_after_utc > now for one in bundle):
        return _age(authority, now) > timedelta(seconds=OVERLAP_SECONDS)
    return True


def _is_needed(authority: x509.Certificate, leaf: x509.Certificate, now: datetime) -> bool:
    if authority.not_valid_after_utc <= now:
        return False
    if _is_issued_by(leaf, authority):
        return True
    # Old certificates may still be shown by an aggregator that has not read the new one yet.
    return _age(leaf, now) <= timedelta(seconds=OVERLAP_SECONDS)


def _is_due(certificate: x509.Certificate, now: datetime) -> bool:
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now < begin or now >= begin + (end - begin) * 2 / 3


def _age(certificate: x509.Certificate, now: datetime) -> timedelta:
    return now - certificate.not_valid_before_utc - timedelta(seconds=SKEW_SECONDS)


def _new_authority(fleet: str, now: datetime, make_key: NewKey) -> _Signed:
    key = make_key()
    # The date in the name tells one authority of a fleet from the next.
    name = _name(f"specfleet {fleet} {now:%Y-%m-%d}"[:64])
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    built = (
        _builder(name, name, key, now, days=CA_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return _Signed(built.sign(key, hashes.SHA256()), key)


def _new_leaf(authority: _Signed, names: Sequence[str], now: datetime, make_key: NewKey) -> _Signed:
    key = make_key()
    issuer = authority.certificate
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    built = (
        _builder(_name(names[0][:64]), issuer.subject, key, now, days=LEAF_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in names]), False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), False
        )
    )
    return _Signed(built.sign(authority.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    *,
    days: int,
) -> x509.CertificateBuilder:
    digest = hashes.Hash(hashes.SHA256())
    digest.update(
        key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        # As random as the key it comes from; 159 bits, of at most 160.
        .serial_number(int.from_bytes(digest.finalize()[:20]) >> 1)
        .not_valid_before(now - timedelta(seconds=SKEW_SECONDS))
        .not_valid_after(now + timedelta(days=days))
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _names_of(certificate: x509.Certificate) -> list[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return found.value.get_values_for_type(x509.DNSName)


def _is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _read_pair(data: Mapping[str, str] | None, certificate: str, key: str) -> _Signed | None:
    """Return the first certificate and its key; None when they are not there or do not match."""
    if data is None:
        return None
    found = pem_certificates(text_of(data, certificate))
    try:
        public = found[0].public_key() if found else None
        private = serialization.load_pem_private_key(text_of(data, key).encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    if not isinstance(private, ec.EllipticCurvePrivateKey) or public != private.public_key():
        return None
    return _Signed(found[0], private)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()

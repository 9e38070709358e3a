"""The server's certificate: read again when its files change; open connections stay open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import grpc
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from specfleet_common.files import read_small
from specfleet_common.following import Followed


class CertificateError(ValueError):
    """The files cannot be used; the message names the one that is wrong."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """What callers are shown, and the wall clock second until which they believe it."""

    configuration: grpc.ServerCertificateConfiguration
    expires_at: float


class ServerCertificate:
    """The pair in two files; CertificateError when they do not fit together at the start.

    While they do not later on, the last ones that did are used.
    """

    def __init__(self, certificate_file: Path, key_file: Path) -> None:
        def read() -> _Pair:
            key, certificate = read_small(key_file), read_small(certificate_file)
            fault = pair_fault(certificate, key)
            if fault is not None:
                raise CertificateError(f"{certificate_file}, {key_file}: {fault}")
            return _Pair(
                grpc.ssl_server_certificate_configuration([(key, certificate)]),
                _expiry(certificate),
            )

        try:
            self._followed = Followed(read, certificate_file, key_file)
        except OSError as error:
            raise CertificateError(f"{error.filename}: cannot be read: {error.strerror}") from error

    def expires_at(self) -> float:
        """Return the wall clock second when callers stop believing what they are shown."""
        return self._followed.value.expires_at

    def credentials(self) -> grpc.ServerCredentials:
        """Return credentials for a server."""
        first = used = self._followed.value.configuration

        def fetch() -> grpc.ServerCertificateConfiguration | None:
            """Return what is new, None for nothing; gRPC asks at each connection, in threads."""
            nonlocal used
            newest = self._followed.value.configuration
            if newest is used:
                return None
            used = newest
            return newest

        # The stubs do not know that None is an answer.
        return grpc.dynamic_ssl_server_credentials(
            first, cast("Callable[[], grpc.ServerCertificateConfiguration]", fetch)
        )


def _expiry(certificate: bytes) -> float:
    """Return when the first certificate of a chain to end does so."""
    chain = x509.load_pem_x509_certificates(certificate)
    return min(one.not_valid_after_utc for one in chain).timestamp()


def pair_fault(certificate: bytes, key: bytes) -> str | None:
    """Say why a certificate (the first of a chain) and a key are no pair, None when they are."""
    try:
        chain = x509.load_pem_x509_certificates(certificate)
        public = chain[0].public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        return f"the certificate is not PEM: {error}"
    try:
        private = serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        return f"the key is not PEM without a password: {error}"
    if public != private.public_key():
        return "the certificate is of another key"
    return None

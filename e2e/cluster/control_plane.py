"""A real API server with its etcd on this machine: all that tests of the API itself need.

No root, no nodes: what is created is stored, and nothing runs. `local` adds the rest of a cluster.
"""

from __future__ import annotations

import secrets
import shutil
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from e2e.cluster.client import Client
from e2e.cluster.processes import Programs, running_programs
from specfleet_cli.place import free_ports

LOOPBACK = "127.0.0.1"
SERVICE_RANGE = "10.96.0.0/16"
ISSUER = "https://kubernetes.default.svc.cluster.local"

_START_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running API server; `kubeconfig` is an administrator's."""

    url: str
    etcd_url: str
    kubeconfig: Path
    directory: Path
    binaries: Path
    certificate: Path
    signing_key: Path
    """With which the controller manager would sign the tokens of service accounts."""
    programs: Programs

    @property
    def client(self) -> Client:
        """Return the administrator's."""
        return Client(self.binaries, self.kubeconfig)

    def restart_api_server(self) -> None:
        """End the API server, and start it again on the same port with the same data."""
        self.programs.end("kube-apiserver")
        _start_api_server(self)


@contextmanager
def control_plane(
    binaries: Path,
    directory: Path,
    *,
    address: str = LOOPBACK,
    environment: Mapping[str, str],
) -> Iterator[ControlPlane]:
    """Run etcd and an API server that listens on `address` alone; empties `directory`."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with running_programs(directory, environment) as programs:
        (api_port,) = free_ports(1, address)
        etcd_port, peer_port = free_ports(2)
        plane = ControlPlane(
            url=f"https://{address}:{api_port}",
            etcd_url=f"http://{LOOPBACK}:{etcd_port}",
            kubeconfig=directory / "kubeconfig",
            directory=directory,
            binaries=binaries,
            certificate=directory / "pki" / "apiserver.crt",
            signing_key=directory / "pki" / "sa.key",
            programs=programs,
        )
        _write_credentials(plane)
        _start_etcd(plane, peer_url=f"http://{LOOPBACK}:{peer_port}")
        _start_api_server(plane)
        plane.kubeconfig.write_text(_kubeconfig(plane))
        yield plane


def _write_credentials(plane: ControlPlane) -> None:
    pki = plane.signing_key.parent
    pki.mkdir()
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    plane.signing_key.write_bytes(_pem(key))
    (pki / "sa.pub").write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    _write_client(pki)
    (pki / "tokens.csv").write_text(f"{secrets.token_hex(16)},admin,admin,system:masters\n")


def _write_client(pki: Path) -> None:
    """Write the certificate by which kubelets know the API server; it is its own authority."""
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters"),
            x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver"),
        ]
    )
    today = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=365))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (pki / "kubelet-client.key").write_bytes(_pem(key))
    (pki / "kubelet-client.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _start_etcd(plane: ControlPlane, *, peer_url: str) -> None:
    # What is lost with the machine is only a test's.
    flags = ["--unsafe-no-fsync", "--log-level", "warn"]
    addresses = [
        *("--listen-client-urls", plane.etcd_url, "--advertise-client-urls", plane.etcd_url),
        *("--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url),
        *("--initial-cluster", f"default={peer_url}"),
    ]
    data = plane.directory / "etcd"
    plane.programs.start("etcd", [plane.binaries / "etcd", "--data-dir", data, *flags, *addresses])
    plane.programs.wait_until(
        "etcd", lambda: _answers(f"{plane.etcd_url}/health"), seconds=_START_SECONDS
    )


def _start_api_server(plane: ControlPlane) -> None:
    pki = plane.signing_key.parent
    address, _, port = plane.url.removeprefix("https://").rpartition(":")
    command: list[str | Path] = [
        plane.binaries / "kube-apiserver",
        *("--etcd-servers", plane.etcd_url),
        *("--cert-dir", pki, "--bind-address", address, "--advertise-address", address),
        *("--secure-port", port, "--token-auth-file", pki / "tokens.csv"),
        *("--service-account-issuer", ISSUER, "--service-account-key-file", pki / "sa.pub"),
        *("--service-account-signing-key-file", plane.signing_key),
        *("--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction"),
        *("--service-cluster-ip-range", SERVICE_RANGE, "--allow-privileged=true"),
        "--kubelet-preferred-address-types=InternalIP",
        *("--kubelet-client-certificate", pki / "kubelet-client.crt"),
        *("--kubelet-client-key", pki / "kubelet-client.key"),
    ]
    plane.programs.start("kube-apiserver", command)
    plane.programs.wait_until(
        "kube-apiserver",
        lambda: (
            plane.certificate.exists()
            and _answers(f"{plane.url}/readyz", token=_token(plane), certificate=plane.certificate)
        ),
        seconds=_START_SECONDS,
    )


def _token(plane: ControlPlane) -> str:
    return (plane.signing_key.parent / "tokens.csv").read_text().partition(",")[0]


def _kubeconfig(plane: ControlPlane) -> str:
    cluster = {"server": plane.url, "certificate-authority": str(plane.certificate)}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "local", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": _token(plane)}}],
            "contexts": [{"name": "local", "context": {"cluster": "local", "user": "admin"}}],
            "current-context": "local",
        }
    )


def _answers(url: str, *, token: str | None = None, certificate: Path | None = None) -> bool:
    request = urllib.request.Request(url)
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    context = None if certificate is None else ssl.create_default_context(cafile=str(certificate))
    try:
        with urllib.request.urlopen(request, timeout=5, context=context) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False

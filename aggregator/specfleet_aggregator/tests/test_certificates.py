"""Whom callers trust: certificates over real connections."""

from __future__ import annotations

import shutil
from pathlib import Path
from ssl import DER_cert_to_PEM_cert

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from specfleet_aggregator.certificate import CertificateError, ServerCertificate, pair_fault
from specfleet_aggregator.settings import Settings
from specfleet_aggregator.tests.builders import FakeWorker, joined, settings
from specfleet_aggregator.tests.securing import (
    serving_at,
)
from specfleet_common.store.tests.certificates import Certificates, certificates
from specfleet_common.wire.access import access_by_files
from specfleet_common.wire.client import AggregatorClient, Unreachable


async def test_a_server_with_a_certificate_is_trusted_by_those_who_know_its_authority(
    tmp_path: Path,
) -> None:
    ours, others = authority(tmp_path, "ours"), authority(tmp_path, "others")
    async with (
        serving_at(with_certificate(tmp_path, ours)) as address,
        AggregatorClient(address, access_by_files(ca_file=ours.authority)) as friend,
        AggregatorClient(address, access_by_files(ca_file=others.authority)) as stranger,
        AggregatorClient(address) as open_,
    ):
        reply = await FakeWorker(friend, tmp_path).heartbeat()
        with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            await FakeWorker(stranger, tmp_path).heartbeat()
        with pytest.raises(Unreachable):
            await FakeWorker(open_, tmp_path).heartbeat()

    assert reply.stock_wanted


async def test_a_new_certificate_breaks_no_stream_and_is_shown_to_who_comes_next(
    tmp_path: Path,
) -> None:
    old, new = authority(tmp_path, "old"), authority(tmp_path, "new")
    chosen = with_certificate(tmp_path, old)
    async with (
        serving_at(chosen) as address,
        AggregatorClient(address, access_by_files(ca_file=old.authority)) as early,
        AggregatorClient(address, access_by_files(ca_file=new.authority)) as late,
        AggregatorClient(address, access_by_files(ca_file=old.authority)) as outdated,
    ):
        states = early.watch_state()
        before = await anext(states)
        install(new, tmp_path)
        await FakeWorker(late, tmp_path, "late").heartbeat()
        after = await anext(states)
        await FakeWorker(early, tmp_path, "early").heartbeat()
        with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            await FakeWorker(outdated, tmp_path, "outdated").heartbeat()
        await states.aclose()

    assert before.lineage is None
    assert after.lineage is not None


async def test_a_caller_trusts_a_new_authority_as_soon_as_its_file_says_so(tmp_path: Path) -> None:
    old, new = authority(tmp_path, "old"), authority(tmp_path, "new")
    trusted = tmp_path / "ca.crt"
    shutil.copy(old.authority, trusted)
    chosen = with_certificate(tmp_path, old)
    async with (
        serving_at(chosen) as address,
        AggregatorClient(address, access_by_files(ca_file=trusted)) as client,
    ):
        worker = FakeWorker(client, tmp_path)
        await worker.heartbeat()
        states = client.watch_state()
        await anext(states)
        install(new, tmp_path)
        trusted.write_bytes(old.authority.read_bytes() + new.authority.read_bytes())
        await worker.heartbeat()
        trusted.write_bytes(new.authority.read_bytes())
        await joined(worker)
        state = await anext(states)
        await states.aclose()

    assert state.fleet == "fleet"


async def test_while_key_and_certificate_do_not_fit_the_last_pair_is_used(tmp_path: Path) -> None:
    ours, others = authority(tmp_path, "ours"), authority(tmp_path, "others")
    chosen = with_certificate(tmp_path, ours)
    async with serving_at(chosen) as address:
        shutil.copy(others.key, tmp_path / "tls.key")
        async with AggregatorClient(address, access_by_files(ca_file=ours.authority)) as client:
            await FakeWorker(client, tmp_path).heartbeat()
        shutil.copy(others.server, tmp_path / "tls.crt")
        async with AggregatorClient(address, access_by_files(ca_file=others.authority)) as client:
            await FakeWorker(client, tmp_path).heartbeat()


async def test_a_caller_whose_own_files_are_missing_says_which(tmp_path: Path) -> None:
    missing, empty = tmp_path / "missing", tmp_path / "empty"
    empty.write_bytes(b"\n")
    for access, reason in (
        (access_by_files(token_file=missing), f"{missing}: cannot be read: No such file"),
        (access_by_files(ca_file=missing), f"{missing}: cannot be read: No such file"),
        (access_by_files(ca_file=empty), f"{empty}: is empty"),
    ):
        async with AggregatorClient("127.0.0.1:1", access) as client:
            with pytest.raises(Unreachable, match=reason):
                await FakeWorker(client, tmp_path).heartbeat()


async def test_a_start_needs_a_certificate_with_its_key(tmp_path: Path) -> None:
    ours, others = authority(tmp_path, "ours"), authority(tmp_path, "others")
    chosen = with_certificate(tmp_path, ours)
    shutil.copy(others.key, tmp_path / "tls.key")

    with pytest.raises(CertificateError, match=r"tls\.key: the certificate is of another key"):
        async with serving_at(chosen):
            pass


def test_a_certificate_of_an_unknown_version_is_named(tmp_path: Path) -> None:
    ours = authority(tmp_path, "ours")
    known = x509.load_pem_x509_certificate(ours.server.read_bytes()).public_bytes(Encoding.DER)
    unknown = known.replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x1e", 1)

    fault = pair_fault(DER_cert_to_PEM_cert(unknown).encode(), ours.key.read_bytes())

    assert fault == "the certificate is not PEM: 30 is not a valid X509 version"


def test_until_when_callers_believe_the_certificate_follows_its_file(tmp_path: Path) -> None:
    first, second = authority(tmp_path, "first", days=1), authority(tmp_path, "second", days=30)
    install(first, tmp_path)
    shown = ServerCertificate(tmp_path / "tls.crt", tmp_path / "tls.key")

    before = shown.expires_at()
    install(second, tmp_path)
    after = shown.expires_at()

    assert after - before == pytest.approx(29 * 86_400.0, abs=60.0)


def authority(directory: Path, name: str, *, days: int = 1) -> Certificates:
    folder = directory / name
    folder.mkdir()
    return certificates(folder, days=days)


def with_certificate(directory: Path, theirs: Certificates) -> Settings:
    install(theirs, directory)
    return settings(
        directory, tls_certificate_file=directory / "tls.crt", tls_key_file=directory / "tls.key"
    )


def install(theirs: Certificates, directory: Path) -> None:
    shutil.copy(theirs.key, directory / "tls.key")
    shutil.copy(theirs.server, directory / "tls.crt")

from __future__ import annotations

import os
from pathlib import Path

import pytest

from specfleet_agent.situation import Files
from specfleet_agent.tests.builders import LINEAGE, STOCK_DIGEST, digest, orders, report, weights
from specfleet_agent.tests.promoting import WALKING, last_stable, walk
from specfleet_agent.volume import STABLE, Volume
from specfleet_common.exchange import ORDERS, REPORT, WALKS, WalkReport, write_message
from specfleet_common.exchange import WALKING as WALKING_FILE
from specfleet_common.files import write_file


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    for name in ("state", "shm"):
        (tmp_path / name).mkdir()
    return Volume(tmp_path / "state", tmp_path / "shm")


def test_an_empty_volume_holds_nothing(volume: Volume) -> None:
    assert volume.read(stock_file="stock.safetensors") == Files()


def test_everything_is_found_again(volume: Volume) -> None:
    write_message(volume.state / ORDERS, orders())
    write_message(volume.state / REPORT, report())
    (volume.state / "version-3.safetensors").write_bytes(weights(3))
    (volume.state / "delta-2.bin").write_bytes(b"the aggregator judges it")
    (volume.shared / "stock.safetensors").write_bytes(weights(0))
    volume.remember_stable(last_stable(2))
    volume.write_walking(WALKING)

    files = volume.read(stock_file="stock.safetensors")

    assert files == Files(
        versions={3: digest(3)},
        orders=orders(),
        report=report(),
        stock_digest=STOCK_DIGEST,
        deltas=frozenset({2}),
        stable=last_stable(2),
        walking=WALKING,
    )


def test_stock_is_not_looked_for_before_an_engine_names_it(volume: Volume) -> None:
    (volume.shared / "stock.safetensors").write_bytes(weights(0))

    assert volume.read(stock_file=None).stock_digest is None


@pytest.mark.parametrize("damage", [b"", b"not safetensors", weights(3)[:-1]])
def test_a_damaged_version_has_no_digest(volume: Volume, damage: bytes) -> None:
    (volume.state / "version-3.safetensors").write_bytes(damage)

    assert volume.read(stock_file=None).versions == {3: ""}


def test_a_version_that_changes_under_the_agent_is_noticed(volume: Volume) -> None:
    path = volume.state / "version-3.safetensors"
    path.write_bytes(weights(3))
    volume.read(stock_file=None)

    write_file(path, weights(4))

    assert volume.read(stock_file=None).versions == {3: digest(4)}


def test_a_version_that_was_gone_is_read_again(volume: Volume, tmp_path: Path) -> None:
    path, kept = volume.state / "version-3.safetensors", tmp_path / "kept"
    path.write_bytes(weights(3))
    os.link(path, kept)
    before = os.stat(path)
    volume.read(stock_file=None)
    path.unlink()
    volume.read(stock_file=None)

    # The same file by inode, time and size: only forgetting it shows its new content.
    kept.write_bytes(weights(4))
    os.utime(kept, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.link(kept, path)

    assert volume.read(stock_file=None).versions == {3: digest(4)}


def test_a_partial_download_is_no_version(volume: Volume) -> None:
    (volume.state / ".version-3.safetensors.partial").write_bytes(weights(3))

    assert volume.read(stock_file=None).versions == {}


@pytest.mark.parametrize("content", [b"", b"{", b'{"round": 1}', b"[]"])
def test_messages_of_another_version_count_as_none(volume: Volume, content: bytes) -> None:
    for name in (ORDERS, REPORT, WALKING_FILE, WALKS, STABLE):
        (volume.state / name).write_bytes(content)

    files = volume.read(stock_file=None)

    assert (files, volume.walks()) == (Files(), None)


def test_what_the_trainer_has_walked_is_read_again_when_it_grows(volume: Volume) -> None:
    before = volume.walks()
    found = []
    for names in ("a", "ab"):
        walks = WalkReport("3-candidate", LINEAGE.id, tuple(walk(name) for name in names))
        write_message(volume.state / WALKS, walks)
        found.append(volume.walks() == walks)

    assert (before, found) == (None, [True, True])


def test_walking_ends_when_its_file_goes(volume: Volume) -> None:
    volume.write_walking(WALKING)

    volume.write_walking(None)
    volume.write_walking(None)

    assert volume.read(stock_file=None).walking is None


def test_the_stamp_changes_with_every_report(volume: Volume) -> None:
    path = volume.state / REPORT
    before = volume.report_stamp()
    write_message(path, report())
    first = volume.report_stamp()
    os.utime(path, ns=(0, 1))

    assert before is None
    assert first is not None
    assert volume.report_stamp() == 1


def test_removing_twice_is_harmless(volume: Volume) -> None:
    (volume.state / "delta-2.bin").touch()

    volume.remove(("delta-2.bin",))
    volume.remove(("delta-2.bin",))

    assert list(volume.state.iterdir()) == []

"""Memory as the kernel counts it, from the files of both versions of cgroups."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from specfleet_agent.memory import find_cgroup, private_bytes
from specfleet_agent.tests.processes import eventually

MIB = 1 << 20
POD = "/kubepods/burstable/pod1/agent"

# file counts shared memory too; active_file and inactive_file do not.
STAT_2 = f"""\
anon {300 * MIB}
file {230 * MIB}
shmem {30 * MIB}
inactive_file {150 * MIB}
active_file {50 * MIB}
slab_reclaimable {10 * MIB}
slab_unreclaimable {5 * MIB}
"""
STAT_1 = f"""\
cache {230 * MIB}
rss {300 * MIB}
inactive_file {1 * MIB}
active_file {1 * MIB}
total_inactive_file {150 * MIB}
total_active_file {50 * MIB}
"""


def version_2(directory: Path, *, limit: str) -> None:
    (directory / "memory.max").write_text(f"{limit}\n")
    (directory / "memory.current").write_text(f"{600 * MIB}\n")
    (directory / "memory.stat").write_text(STAT_2)


def version_1(directory: Path, *, limit: str) -> None:
    (directory / "memory.limit_in_bytes").write_text(f"{limit}\n")
    (directory / "memory.usage_in_bytes").write_text(f"{600 * MIB}\n")
    (directory / "memory.stat").write_text(STAT_1)


Write = Callable[..., None]


@pytest.mark.parametrize(
    ("folder", "write", "own", "limit", "left"),
    [
        pytest.param("", version_2, "0::/", 1024 * MIB, 634 * MIB, id="v2-container"),
        pytest.param("", version_2, "0::/", "max", None, id="v2-no-limit"),
        pytest.param(POD, version_2, f"0::{POD}", 1024 * MIB, 634 * MIB, id="v2-host"),
        pytest.param("memory", version_1, f"4:memory:{POD}", 1024 * MIB, 624 * MIB, id="v1"),
        pytest.param(
            "memory", version_1, f"4:hugetlb,memory:{POD}", 1024 * MIB, 624 * MIB, id="v1-joint"
        ),
        pytest.param(
            f"memory{POD}", version_1, f"4:memory:{POD}\n0::/", 500 * MIB, 100 * MIB, id="v1-host"
        ),
        pytest.param(
            "memory", version_1, "4:memory:/\n0::/", 9223372036854771712, None, id="v1-no-limit"
        ),
    ],
)
def test_what_the_container_may_still_take(
    tmp_path: Path, folder: str, write: Write, own: str, limit: object, left: int | None
) -> None:
    directory = tmp_path / "cgroup" / folder.lstrip("/")
    directory.mkdir(parents=True)
    write(directory, limit=str(limit))
    (tmp_path / "own").write_text(f"1:cpu,cpuacct:/\n{own}\n")

    cgroup = find_cgroup(tmp_path / "cgroup", tmp_path / "own")

    assert cgroup is not None
    assert cgroup.left_bytes() == left


def test_the_limit_of_a_cgroup_around_it_holds_too(tmp_path: Path) -> None:
    inner = tmp_path / "init" / "agent"
    inner.mkdir(parents=True)
    version_2(inner, limit="max")
    version_2(tmp_path, limit=str(1024 * MIB))
    (tmp_path / "own").write_text("0::/init/agent\n")

    cgroup = find_cgroup(tmp_path, tmp_path / "own")

    assert cgroup is not None
    assert cgroup.left_bytes() == 634 * MIB


@pytest.mark.parametrize(
    ("folder", "write", "own", "file"),
    [
        pytest.param("", version_2, "0::/", "memory.events", id="v2"),
        pytest.param("memory", version_1, "4:memory:/", "memory.oom_control", id="v1"),
    ],
)
def test_kills_by_the_kernel_are_counted(
    tmp_path: Path, folder: str, write: Write, own: str, file: str
) -> None:
    directory = tmp_path / folder
    directory.mkdir(exist_ok=True)
    write(directory, limit="1000")
    (tmp_path / "own").write_text(f"{own}\n")
    cgroup = find_cgroup(tmp_path, tmp_path / "own")
    assert cgroup is not None

    unknown = cgroup.oom_kills()
    (directory / file).write_text("oom_kill_disable 0\noom_kill 3\n")

    assert (unknown, cgroup.oom_kills()) == (0, 3)


def test_where_no_cgroup_can_be_seen_nothing_is_limited(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("0::/\n")

    assert find_cgroup(tmp_path, tmp_path / "own") is None
    assert find_cgroup(tmp_path, tmp_path / "missing") is None


def test_a_cgroup_that_is_gone_limits_nothing(tmp_path: Path) -> None:
    version_2(tmp_path, limit="1000")
    (tmp_path / "own").write_text("0::/\n")
    cgroup = find_cgroup(tmp_path, tmp_path / "own")
    assert cgroup is not None

    (tmp_path / "memory.current").unlink()

    assert cgroup.left_bytes() is None


def test_mapped_files_do_not_count_and_filled_memory_does(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(64 * MIB))
    before = private_bytes(os.getpid())

    with file.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    assert sum(mapped[:: mmap.PAGESIZE]) == 0
    after_mapping = private_bytes(os.getpid())
    filled = bytearray(b"x") * (64 * MIB)
    after_filling = private_bytes(os.getpid())

    mapped.close()
    assert after_mapping - before < 8 * MIB
    assert after_filling - after_mapping > 60 * MIB
    assert len(filled) == 64 * MIB


def test_a_process_that_has_ended_holds_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])

    eventually(lambda: private_bytes(process.pid) == 0, what="a zombie holds nothing")
    process.wait()

    assert private_bytes(process.pid) == 0

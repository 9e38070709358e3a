"""Reading what the kernel says of processors and of processes."""

from __future__ import annotations

from pathlib import Path

from e2e.bench.machine import Processor, parse_processor
from e2e.bench.memory import Peak

CPUINFO = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 26
model\t\t: 2
model name\t: AMD EPYC 9755: 128 cores
flags\t\t: fpu avx2 avx512f avx512_bf16 sse2
power management:

processor\t: 1
model name\t: another
"""


def test_the_first_processor_is_read() -> None:
    expected = Processor("AMD EPYC 9755: 128 cores", 26, 2, ("avx2", "avx512f", "avx512_bf16"))

    assert parse_processor(CPUINFO) == expected


def test_the_machine_of_this_test_can_be_read() -> None:
    assert parse_processor(Path("/proc/cpuinfo").read_text()).family > 0


def test_a_peak_is_the_most_of_all_samples() -> None:
    peak = Peak()

    for resident, anonymous in ((10, 8), (30, 20), (30, 5)):
        peak.take(f"Name:\tpython\nVmHWM:\t  {resident} kB\nRssAnon:\t {anonymous} kB\n")

    assert peak == Peak(resident_bytes=30 << 10, anonymous_bytes=20 << 10)


def test_a_process_that_has_ended_changes_no_peak() -> None:
    peak = Peak(resident_bytes=1, anonymous_bytes=1)

    peak.take("Name:\tpython\nState:\tZ (zombie)\n")

    assert peak == Peak(resident_bytes=1, anonymous_bytes=1)

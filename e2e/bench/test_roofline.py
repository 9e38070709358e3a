"""The least time of work: bound by arithmetic or by memory, one operation after the other."""

from __future__ import annotations

import pytest

from e2e.bench.roofline import Peaks, Work, product, seconds

PEAKS = Peaks(flops_per_second=100.0, bytes_per_second=10.0)


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        pytest.param(Work("product", flops=200.0, bytes=10.0), 2.0, id="arithmetic"),
        pytest.param(Work("copy", flops=0.0, bytes=30.0), 3.0, id="memory"),
    ],
)
def test_an_operation_waits_for_the_slower_of_both(work: Work, expected: float) -> None:
    assert work.seconds(PEAKS) == expected


def test_a_product_moves_each_of_its_matrices_once() -> None:
    work = product("p", 2, 3, 5, item_bytes=4)

    assert (work.flops, work.bytes) == (60.0, 4.0 * (6 + 15 + 10))


def test_operations_do_not_overlap() -> None:
    work = [Work("a", 100.0, 0.0), Work("b", 0.0, 20.0)]

    assert seconds(work, PEAKS) == 3.0

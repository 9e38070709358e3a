"""The work of a step by the usual count: six operations for each weight and row."""

from __future__ import annotations

import pytest

from e2e.bench.shapes import QWEN
from e2e.bench.work import Looked, StepSize, step_work

NO_SEARCH = Looked(shared=0, own=0, searches=0.0)


def flops(size: StepSize, looked: Looked) -> float:
    return sum(work.flops for work in step_work(QWEN, size, looked))


def test_a_row_costs_six_operations_for_each_weight() -> None:
    size = StepSize(rows=100, queries=100, depths=3, item_bytes=2)

    assert flops(size, NO_SEARCH) == pytest.approx(6 * QWEN.weights * 100 * 3)


def test_rows_of_context_cost_keys_values_and_what_they_are_made_of() -> None:
    alone = StepSize(rows=100, queries=100, depths=3, item_bytes=2)
    within = StepSize(rows=300, queries=100, depths=3, item_bytes=2)
    sizes = QWEN.matrices
    weights = sum(inner * outer for inner, outer in (sizes["input_proj"], sizes["k_proj"]))
    weights += sizes["v_proj"][0] * sizes["v_proj"][1]

    assert flops(within, NO_SEARCH) - flops(alone, NO_SEARCH) == pytest.approx(6 * weights * 200)


def test_the_full_vocabulary_costs_four_operations_for_each_of_its_numbers() -> None:
    size = StepSize(rows=10, queries=10, depths=1, item_bytes=2)
    full = Looked(shared=QWEN.vocabulary, own=0, searches=0.0)

    extra = flops(size, full) - flops(size, NO_SEARCH)

    assert extra == pytest.approx(4 * QWEN.vocabulary * QWEN.hidden * 10)


def test_a_search_costs_a_product_with_all_tokens() -> None:
    size = StepSize(rows=10, queries=10, depths=1, item_bytes=2)

    extra = flops(size, Looked(0, 0, searches=0.5)) - flops(size, NO_SEARCH)

    assert extra == pytest.approx(0.5 * 2 * QWEN.vocabulary * QWEN.hidden * 10)


def test_what_is_between_products_grows_with_the_rows_and_with_the_numbers_bytes() -> None:
    passes = {
        (rows, item_bytes): sum(
            work.bytes
            for work in step_work(QWEN, StepSize(rows, rows, 3, item_bytes), NO_SEARCH)
            if work.flops == 0 and work.name != "optimiser"
        )
        for rows, item_bytes in ((100, 2), (200, 2), (100, 4))
    }

    assert passes[100, 2] > 8 * QWEN.intermediate * 300 * 2
    assert passes[200, 2] == passes[100, 4] == 2 * passes[100, 2]

"""Which batch sizes are recorded as CUDA graphs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_common.commands.graphs import capture_sizes, graph_arguments


def test_sizes_are_whole_decoding_batches_up_to_the_concurrency() -> None:
    assert capture_sizes(20, speculative_tokens=3) == (4, 8, 16, 32, 64, 80)


@given(st.integers(1, 2048), st.integers(1, 8))
def test_the_widest_decoding_batch_is_always_among_them(concurrency: int, tokens: int) -> None:
    sizes = capture_sizes(concurrency, speculative_tokens=tokens)

    assert sizes[-1] == concurrency * (tokens + 1)
    assert list(sizes) == sorted(set(sizes))
    assert all(size % (tokens + 1) == 0 for size in sizes)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--max-num-seqs", "2"], id="two-items"),
        pytest.param(["--max-num-seqs=2"], id="one-item"),
        pytest.param(["--max_num_seqs=2"], id="underscores"),
        pytest.param(["--max-num-seqs", "9", "--max-num-seqs", "2"], id="the-last-counts"),
    ],
)
def test_the_users_concurrency_is_recognised(arguments: list[str]) -> None:
    found = graph_arguments(arguments, speculative_tokens=1)

    assert found == ("--cudagraph-capture-sizes", "2", "4")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="no-concurrency"),
        pytest.param(["--max-num-seqs"], id="no-number"),
        pytest.param(["--max-num-seqs=many"], id="not-a-number"),
        pytest.param(["--max-num-seqs=2", "--enforce-eager"], id="no-graphs"),
        pytest.param(["--max-num-seqs=2", "--cudagraph-capture-sizes", "1"], id="sizes"),
        pytest.param(["--max-num-seqs=2", "--max_cudagraph_capture_size=8"], id="largest-size"),
        pytest.param(["--max-num-seqs=2", "--compilation-config.mode=0"], id="configuration"),
        pytest.param(["--max-num-seqs=2", "-cc.mode=0"], id="short-configuration"),
        pytest.param(["--max-num-seqs=2", "-O0"], id="level"),
    ],
)
def test_nothing_is_set_where_the_user_decides(arguments: list[str]) -> None:
    assert graph_arguments(arguments, speculative_tokens=1) == ()

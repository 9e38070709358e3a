"""Arguments and variables that specfleet owns are refused however they are spelt."""

from __future__ import annotations

import pytest

from specfleet_common.api.engine_options import argument_refusal, variable_refusal


@pytest.mark.parametrize(
    "argument",
    [
        "--model",
        "--model=x",
        "--served_model_name",
        "--served-model-name=x",
        "--speculative-config.num_speculative_tokens",
        "--speculative_config",
        "--spec-tok",
        "-sc",
        "-tp",
        "-tp=2",
        "-dpl",
        "--data-parallel-size",
        "--data-parallel-rpc-port",
        "--tensor",
        "--config",
    ],
)
def test_an_owned_argument_is_refused_with_its_name(argument: str) -> None:
    refusal = argument_refusal(argument)

    assert refusal is not None
    assert "is set by specfleet" in refusal


@pytest.mark.parametrize(
    "argument",
    [
        "--trust-remote-code",
        "--max-num-seqs",
        "16",
        "--no-enable-prefix-caching",
        "--model-impl",
        "--config-format",
        "--dtype-of-something-else",
        "-O3",
        "-1",
        '--override-generation-config={"model": 1}',
    ],
)
def test_other_arguments_are_the_users(argument: str) -> None:
    refusal = argument_refusal(argument)

    assert refusal is None


def test_two_arguments_in_one_item_are_refused() -> None:
    refusal = argument_refusal("--max-num-seqs 16")

    assert refusal is not None
    assert "one argument per list item" in refusal


def test_only_the_variables_specfleet_needs_are_refused() -> None:
    refusals = [
        variable_refusal(name) for name in ("SPECFLEET_X", "VLLM_PLUGINS", "VLLM_CPU_KVCACHE_SPACE")
    ]

    assert [refusal is None for refusal in refusals] == [False, False, True]

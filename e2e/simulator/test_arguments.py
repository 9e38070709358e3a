"""What specfleet renders is understood, what else vLLM takes is ignored and told."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.simulator.arguments import Speculation, read_arguments
from e2e.simulator.drafter import SimulatedDrafter
from e2e.simulator.model import ModelError, read_model
from e2e.simulator.running import MODEL
from specfleet_engine.layouts import LayoutError

RENDERED = ("--model", str(MODEL), "--host", "::", "--port", "8000", "--dtype", "float32")


def test_rendered_arguments_are_understood_and_others_reported() -> None:
    arguments = read_arguments(
        [
            *RENDERED,
            *("--served-model-name", "tiny", "--max-model-len", "512", "--enforce-eager"),
            *("--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}'),
            *("--max-num-seqs", "16", "--cudagraph-capture-sizes", "4", "8"),
        ]
    )

    assert (arguments.host, arguments.port, arguments.served_model_name) == ("::", 8000, "tiny")
    assert (arguments.dtype, arguments.max_model_len) == ("float32", 512)
    assert arguments.speculation == Speculation("mtp", 3)
    assert arguments.max_num_seqs == 16
    assert arguments.ignored == ("--enforce-eager", "--cudagraph-capture-sizes", "4", "8")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--model", "/nowhere"], "/nowhere: no config.json, expected a model's folder"),
        ([*RENDERED, "--speculative-config", "mtp"], "expected JSON with method"),
        ([*RENDERED, "--dtype", "int4"], "invalid choice"),
    ],
)
def test_what_vllm_could_not_use_ends_with_a_sentence(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        read_arguments(argv)

    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_auto_serves_a_float32_model_in_bfloat16_as_vllm_does_on_cpu() -> None:
    assert read_model(MODEL, dtype="auto", max_model_len=None).dtype == "bfloat16"
    assert read_model(MODEL, dtype="auto", max_model_len=None).max_model_len == 2048


def test_the_drafters_lineage_follows_the_serving_dtype() -> None:
    models = [read_model(MODEL, dtype=dtype, max_model_len=512) for dtype in ("float32", "auto")]

    drafters = [SimulatedDrafter(model, method="mtp") for model in models]

    lineages = [drafter.lineage() for drafter in drafters]
    assert [lineage.dtype for lineage in lineages] == ["float32", "bfloat16"]
    assert lineages[0].target_digest == lineages[1].target_digest
    assert drafters[0].stock_digest != drafters[1].stock_digest


def test_a_drafter_that_the_plugin_could_not_adapt_is_refused() -> None:
    model = read_model(MODEL, dtype="float32", max_model_len=512)

    with pytest.raises(LayoutError, match="method 'eagle3'"):
        SimulatedDrafter(model, method="eagle3")


def test_a_vocabulary_too_small_for_bytes_is_refused(tmp_path: Path) -> None:
    text = (MODEL / "config.json").read_text()
    (tmp_path / "config.json").write_text(text.replace('"vocab_size": 2048', '"vocab_size": 200'))

    with pytest.raises(ModelError, match="vocabulary of 200, expected more than 271"):
        read_model(tmp_path, dtype="auto", max_model_len=None)

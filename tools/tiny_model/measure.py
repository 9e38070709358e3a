"""Measure the small model in vLLM: acceptance length, tok/s and the break-even acceptance length.

Runs the model without speculation and with its stock drafter, on the same held-out prompts, and
adds the figures to `figures.json`. Break-even is the acceptance length at which speculation is as
fast as none: the tok/s without it, divided by the verify steps per second with it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HOLDOUT_EVERY = 10
MAX_TOKENS = 64
CONCURRENCY = 8


def prompts(texts: Path, language: str) -> list[str]:
    """Return the first half of every held-out document."""
    lines = (texts / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()
    held_out = [json.loads(line)["text"] for line in lines[::HOLDOUT_EVERY]]
    return [text[: len(text) // 2] for text in held_out]


def run(model: Path, texts: Path, speculative_tokens: int) -> dict[str, dict[str, Any]]:
    """Generate for every language in this process and return its figures."""
    os.environ |= {
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_LOGGING_LEVEL": "ERROR",
    }
    from vllm import LLM, SamplingParams

    speculative = {"method": "mtp", "num_speculative_tokens": speculative_tokens}
    llm = LLM(
        str(model),
        speculative_config=speculative if speculative_tokens else None,
        max_model_len=512,
        max_num_seqs=CONCURRENCY,
        enforce_eager=True,
        dtype="float32",
        trust_remote_code=True,
        enable_prefix_caching=False,
        disable_log_stats=False,
    )

    def counters() -> tuple[float, float]:
        values = {metric.name: getattr(metric, "value", 0.0) for metric in llm.get_metrics()}
        return (
            values.get("vllm:spec_decode_num_drafts", 0.0),
            values.get("vllm:spec_decode_num_accepted_tokens", 0.0),
        )

    parameters = SamplingParams(temperature=0, max_tokens=MAX_TOKENS)
    llm.generate(prompts(texts, "en")[:CONCURRENCY], parameters, use_tqdm=False)
    figures = {}
    for language in ("hi", "ja", "en", "py"):
        before, began = counters(), time.monotonic()
        outputs = llm.generate(prompts(texts, language), parameters, use_tqdm=False)
        seconds = time.monotonic() - began
        drafts, accepted = (new - old for new, old in zip(counters(), before, strict=True))
        tokens = [list(output.outputs[0].token_ids) for output in outputs]
        figures[language] = {
            "tokens_per_second": sum(map(len, tokens)) / seconds,
            "acceptance_length": 1 + accepted / drafts if drafts else None,
            "outputs": hashlib.sha256(json.dumps(tokens).encode()).hexdigest(),
        }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=Path, default=Path("examples/text"))
    parser.add_argument("--model", type=Path, default=Path("examples/tiny-mimo"))
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only is not None:
        print(json.dumps(run(arguments.model, arguments.texts, arguments.only)))
        return

    plain, stock = (
        json.loads(
            subprocess.run(
                [sys.executable, *sys.argv, "--only", str(tokens)],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            ).stdout.splitlines()[-1]
        )
        for tokens in (0, 3)
    )
    path = arguments.model / "figures.json"
    figures = json.loads(path.read_text())
    for language, measured in stock.items():
        ratio = measured["tokens_per_second"] / plain[language]["tokens_per_second"]
        figures[language]["in_vllm"] = {
            "acceptance_length": round(measured["acceptance_length"], 3),
            "speed_against_no_speculation": round(ratio, 2),
            "break_even_acceptance_length": round(measured["acceptance_length"] / ratio, 2),
            "outputs_equal": measured["outputs"] == plain[language]["outputs"],
        }
    path.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()

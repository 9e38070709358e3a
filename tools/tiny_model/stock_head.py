"""Train the stock drafter of the small model on English and Python, and write the checkpoint.

The head, its loss and its optimiser are the product's. It learns from what the target itself
writes, as in a fleet; Hindi and Japanese it hardly sees, so that is where adaptation pays. Every
tenth document is held out, and acceptance lengths are step walks over those.

Writes the model's folder (bfloat16, to be served in float32) and `figures.json` in it.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast, Qwen2ForCausalLM

from specfleet_trainer.batch import pack, training_rows
from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.heads import new_head
from specfleet_trainer.heads.mimo import MimoHead
from specfleet_trainer.sequences import Sequence, recorded
from specfleet_trainer.step import TrainingStep
from specfleet_trainer.walk import step_walk, total
from target import CONFIG, END_OF_TEXT, LANGUAGES, PADDING, build_target, read_texts

DEPTHS = 3
DEPTH_WEIGHTS = (0.51, 0.31, 0.18)
PROMPT_TOKENS = (16, 32, 48, 64)
OUTPUT_TOKENS = 96
HOLDOUT_EVERY = 10
STOCK_LANGUAGES = ("en", "py")
SEQUENCES_PER_STEP = 16
PEAK_LEARNING_RATE = 3e-3

MODEL_CONFIG = CONFIG | {
    "architectures": ["MiMoForCausalLM"],
    "model_type": "mimo",
    "auto_map": {"AutoConfig": "configuration_mimo.MiMoConfig"},
    "dtype": "float32",
    "rope_parameters": {"rope_type": "default", "rope_theta": CONFIG["rope_theta"]},
    "attention_bias": True,
    "attention_dropout": 0.0,
    "num_nextn_predict_layers": 1,
    "bos_token_id": None,
    "eos_token_id": END_OF_TEXT,
    "pad_token_id": PADDING,
    "sliding_window": None,
    "use_sliding_window": False,
    "max_window_layers": CONFIG["num_hidden_layers"],
}
CONFIGURATION_CODE = '''"""Lets transformers read the configuration of the MiMo layout."""

from transformers.models.qwen2.configuration_qwen2 import Qwen2Config


class MiMoConfig(Qwen2Config):
    model_type = "mimo"
'''


@torch.no_grad()
def continuations(
    target: Qwen2ForCausalLM, documents: Iterable[list[int]], rng: random.Random
) -> list[Sequence]:
    """Return what the target writes, greedily, after the beginning of each document."""
    by_length: dict[int, list[list[int]]] = {length: [] for length in PROMPT_TOKENS}
    for document in documents:
        fitting = [length for length in PROMPT_TOKENS if length + 16 < len(document)]
        if fitting:
            length = rng.choice(fitting)
            by_length[length].append(document[:length])
    sequences = []
    for length, prompts in by_length.items():
        for first in range(0, len(prompts), 64):
            inputs = torch.tensor(prompts[first : first + 64])
            outputs = target.generate(
                inputs,
                attention_mask=torch.ones_like(inputs),
                max_new_tokens=OUTPUT_TOKENS,
                do_sample=False,
                eos_token_id=END_OF_TEXT,
                pad_token_id=PADDING,
            )
            sequences += [_recorded(target, row.tolist(), length) for row in outputs]
    return [sequence for sequence in sequences if sequence.rows > sequence.prompt_tokens + 8]


def _recorded(target: Qwen2ForCausalLM, tokens: list[int], prompt_tokens: int) -> Sequence:
    """Cut at the end of the text and record the target's states before its final norm."""
    output = tokens[prompt_tokens:]
    if END_OF_TEXT in output:
        output = output[: output.index(END_OF_TEXT) + 1]
    kept = torch.tensor(tokens[:prompt_tokens] + output)
    states: list[torch.Tensor] = []
    hook = target.model.norm.register_forward_pre_hook(lambda _, inputs: states.append(inputs[0]))
    target.model(kept[None, :-1])
    hook.remove()
    return recorded(kept.numpy().astype("int32"), states[0][0].numpy(), prompt_tokens=prompt_tokens)


def distinct_fourgrams(sequences: Iterable[Sequence]) -> float:
    """Return the share of distinct 4-grams in the outputs: loops bring it near zero."""
    distinct = total = 0
    for sequence in sequences:
        output = sequence.tokens[sequence.prompt_tokens :].tolist()
        grams = [tuple(output[at : at + 4]) for at in range(len(output) - 3)]
        distinct, total = distinct + len(set(grams)), total + len(grams)
    return distinct / max(1, total)


def acceptance_length(head: MimoHead, tables: Tables, sequences: Iterable[Sequence]) -> float:
    """Return tokens per verify step of walks over the sequences."""
    walked = total([step_walk(head, tables, one, DEPTHS) for one in sequences], DEPTHS)
    return walked.tokens / walked.verify_steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=Path, default=Path("examples/text"))
    parser.add_argument("--target", type=Path, required=True, help="folder that target.py wrote")
    parser.add_argument("--out", type=Path, default=Path("examples/tiny-mimo"))
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    rng = random.Random(1)

    tokenizer = Tokenizer.from_file(str(arguments.target / "tokenizer.json"))
    weights = {
        name: value.to(torch.bfloat16)
        for name, value in load_file(arguments.target / "target.safetensors").items()
    }
    target = build_target()
    target.load_state_dict({name: value.float() for name, value in weights.items()})
    target.eval()
    tables = Tables(
        embedding=target.model.embed_tokens.weight.detach(),
        lm_head=target.lm_head.weight.detach(),
    )

    began = time.monotonic()
    learned: dict[str, list[Sequence]] = {}
    held_out: dict[str, list[Sequence]] = {}
    for language, texts in read_texts(arguments.texts).items():
        documents = [[*tokenizer.encode(text).ids, END_OF_TEXT] for text in texts]
        for name, split in (("learned", learned), ("held out", held_out)):
            chosen = [
                document
                for index, document in enumerate(documents)
                if (index % HOLDOUT_EVERY == 0) == (split is held_out)
            ]
            if split is held_out or language in STOCK_LANGUAGES:
                split[language] = continuations(target, chosen, rng)
                print(
                    f"{language}: {len(split[language])} {name} continuations, distinct 4-grams "
                    f"{distinct_fourgrams(split[language]):.3f}  {time.monotonic() - began:.0f} s",
                    flush=True,
                )

    head = new_head("mtp", "mimo", MODEL_CONFIG)
    assert isinstance(head, MimoHead)
    step = TrainingStep(head, tables, learning_rate=PEAK_LEARNING_RATE, depth_weights=DEPTH_WEIGHTS)
    pool = [sequence for language in STOCK_LANGUAGES for sequence in learned[language]]
    for number in range(1, arguments.steps + 1):
        rate = PEAK_LEARNING_RATE * min(1.0, number / 50) * (1 - 0.95 * number / arguments.steps)
        step.follow(learning_rate=rate, depth_weights=DEPTH_WEIGHTS)
        chosen_sequences = rng.sample(pool, SEQUENCES_PER_STEP)
        result = step.run(pack([(s, training_rows(s, DEPTHS)) for s in chosen_sequences], DEPTHS))
        if number % 100 == 0:
            lengths = {k: round(acceptance_length(head, tables, held_out[k]), 3) for k in LANGUAGES}
            losses = " ".join(f"{loss:.2f}" for loss in result.losses)
            print(f"step {number}/{arguments.steps}  loss {losses}  held out {lengths}", flush=True)

    drafter = {
        name: torch.from_numpy(value).to(torch.bfloat16)
        for name, value in head.to_checkpoint().items()
    }
    head.load_checkpoint({name: value.float().numpy() for name, value in drafter.items()})
    figures = {
        language: {
            "distinct_fourgrams": round(distinct_fourgrams(held_out[language]), 3),
            "stock_acceptance_length": round(
                acceptance_length(head, tables, held_out[language]), 3
            ),
            "held_out_requests": len(held_out[language]),
        }
        for language in LANGUAGES
    }
    write_model(arguments.out, weights | drafter, arguments.target / "tokenizer.json", figures)
    print(json.dumps(figures, indent=1))


def write_model(
    out: Path, weights: dict[str, torch.Tensor], tokenizer: Path, figures: dict[str, Any]
) -> None:
    """Write a folder that vLLM and transformers can load."""
    out.mkdir(parents=True, exist_ok=True)
    PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_file(str(tokenizer)),
        eos_token="<|endoftext|>",
        pad_token="<|pad|>",
    ).save_pretrained(out)
    save_file(
        {name: value.contiguous() for name, value in weights.items()},
        out / "model.safetensors",
        metadata={"format": "pt"},
    )
    (out / "config.json").write_text(json.dumps(MODEL_CONFIG, indent=1) + "\n")
    (out / "configuration_mimo.py").write_text(CONFIGURATION_CODE)
    (out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()

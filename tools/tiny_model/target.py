"""Train the tokenizer and the target of the small model: a Qwen2 block in the MiMo layout, fp32.

The target learns its corpus by heart, on purpose: a small model that has not loops when it decodes
greedily, and loops are drafted perfectly by any head. First it learns whole documents, each from
position 0 to the end-of-text token and never in one context with another. Then it learns windows
of them, and to look ahead: two small heads, thrown away later, must read the second and third next
token in its hidden states. A target trained jointly with multi-token prediction, as models in this
layout are, has them there; without, a drafter would find nothing that it could read.

Writes `tokenizer.json` and `target.safetensors` to --out, after every tenth of each phase.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor
from torch.nn import functional
from transformers import Qwen2Config, Qwen2ForCausalLM

LANGUAGES = ("hi", "ja", "en", "py")
END_OF_TEXT, PADDING = 0, 1
VOCABULARY = 2048
IGNORED_LABEL = -100
TOKENS_PER_STEP = 1024
PEAK_LEARNING_RATE = 3e-3
LOOKAHEAD_LEARNING_RATE = 2e-3
LOOKAHEAD = (0.7, 0.4)
"""Weights of the loss of the second and of the third next token."""
SHORTEST_WINDOW, LONGEST_WINDOW = 32, 160

CONFIG: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 128,
    "intermediate_size": 384,
    "num_hidden_layers": 16,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "hidden_act": "silu",
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
}


def read_texts(folder: Path) -> dict[str, list[str]]:
    """Return the documents of every language."""
    return {
        language: [
            json.loads(line)["text"]
            for line in (folder / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        for language in LANGUAGES
    }


def train_tokenizer(texts: dict[str, list[str]]) -> Tokenizer:
    """Train a byte-level BPE tokenizer on all documents."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<|endoftext|>", "<|pad|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((t for ts in texts.values() for t in ts), trainer)
    return tokenizer


def build_target() -> Qwen2ForCausalLM:
    """Return the target with fresh weights."""
    return Qwen2ForCausalLM(Qwen2Config(**CONFIG, attn_implementation="sdpa")).float()


def batches(documents: list[list[int]], rng: random.Random) -> Iterator[list[list[int]]]:
    """Yield groups of documents of like length, for ever."""
    while True:
        order = sorted(documents, key=lambda document: len(document) + rng.random() * 24)
        groups: list[list[list[int]]] = [[]]
        for document in order:
            if groups[-1] and (len(groups[-1]) + 1) * len(document) > TOKENS_PER_STEP:
                groups.append([])
            groups[-1].append(document)
        rng.shuffle(groups)
        yield from groups


def padded(documents: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Return (inputs, labels) [documents, longest]; padding has no label."""
    longest = max(map(len, documents))
    inputs = torch.full((len(documents), longest), PADDING)
    labels = torch.full((len(documents), longest), IGNORED_LABEL)
    for row, document in enumerate(documents):
        inputs[row, : len(document)] = labels[row, : len(document)] = torch.tensor(document)
    return inputs, labels


def plain_loss(model: Qwen2ForCausalLM, documents: list[list[int]]) -> Tensor:
    """Return the cross-entropy of the next token."""
    inputs, labels = padded(documents)
    loss: Tensor = model(inputs, labels=labels).loss
    return loss


def window(document: list[int], rng: random.Random) -> list[int]:
    """Return a stretch of the document, in half of the cases from its beginning."""
    begin = 0 if rng.random() < 0.5 else rng.randrange(max(1, len(document) - SHORTEST_WINDOW))
    return document[begin : begin + LONGEST_WINDOW]


class LookaheadLoss(torch.nn.Module):
    """The cross-entropy of the next token, plus those of the tokens after it."""

    def __init__(self, model: Qwen2ForCausalLM, rng: random.Random) -> None:
        super().__init__()
        hidden = CONFIG["hidden_size"]
        self._rng = rng
        self._norm = torch.nn.RMSNorm(hidden)
        self._heads = torch.nn.ModuleList(torch.nn.Linear(hidden, hidden) for _ in LOOKAHEAD)
        self._out = torch.nn.RMSNorm(hidden)
        self._before_norm = torch.empty(0)
        self.parts: list[float] = []
        model.model.norm.register_forward_pre_hook(self._keep)

    def _keep(self, _: torch.nn.Module, inputs: tuple[Tensor]) -> None:
        self._before_norm = inputs[0]

    def forward(self, model: Qwen2ForCausalLM, documents: list[list[int]]) -> Tensor:
        """Return the loss of one window of each document."""
        inputs, labels = padded([window(document, self._rng) for document in documents])
        loss: Tensor = model(inputs, labels=labels).loss
        self.parts = [loss.item()]
        hidden = self._norm(self._before_norm)
        for ahead, (head, weight) in enumerate(zip(self._heads, LOOKAHEAD, strict=True), start=2):
            states = self._out(hidden + functional.silu(head(hidden)))[:, :-ahead]
            logits = model.lm_head(states).flatten(0, 1)
            part = functional.cross_entropy(
                logits, labels[:, ahead:].flatten(), ignore_index=IGNORED_LABEL
            )
            self.parts.append(part.item())
            loss = loss + weight * part
        return loss


def main() -> None:
    """Train, from the beginning or from the weights of an earlier run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=Path, default=Path("examples/text"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--lookahead-steps", type=int, default=2000)
    parser.add_argument("--only-lookahead", action="store_true", help="go on from --out")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)

    texts = read_texts(arguments.texts)
    if not arguments.only_lookahead:
        train_tokenizer(texts).save(str(out / "tokenizer.json"))
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    documents = [[*tokenizer.encode(t).ids, END_OF_TEXT] for ts in texts.values() for t in ts]
    print(f"{len(documents)} documents, {sum(map(len, documents))} tokens", flush=True)

    model = build_target()
    if arguments.only_lookahead:
        model.load_state_dict(load_file(out / "target.safetensors"))
    else:
        train(
            model,
            list(model.parameters()),
            documents,
            plain_loss,
            steps=arguments.steps,
            peak_learning_rate=PEAK_LEARNING_RATE,
            out=out,
        )
    lookahead = LookaheadLoss(model, random.Random(1))
    train(
        model,
        [*model.parameters(), *lookahead.parameters()],
        documents,
        lookahead,
        steps=arguments.lookahead_steps,
        peak_learning_rate=LOOKAHEAD_LEARNING_RATE,
        out=out,
    )


def train(
    model: Qwen2ForCausalLM,
    parameters: list[torch.nn.Parameter],
    documents: list[list[int]],
    loss_of: Callable[[Qwen2ForCausalLM, list[list[int]]], Tensor],
    *,
    steps: int,
    peak_learning_rate: float,
    out: Path,
) -> None:
    """Take AdamW steps with a rate that rises for 200 of them and then falls linearly."""
    optimizer = torch.optim.AdamW(parameters, betas=(0.9, 0.95), weight_decay=0.01, fused=True)
    average, began = 0.0, time.monotonic()
    groups = batches(documents, random.Random(0))
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = peak_learning_rate * min(1.0, step / 200) * (1 - 0.98 * step / steps)
        loss = loss_of(model, next(groups))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        average = loss.item() if step == 1 else 0.98 * average + 0.02 * loss.item()
        if step % 100 == 0:
            parts = " ".join(f"{part:.2f}" for part in getattr(loss_of, "parts", ()))
            seconds = time.monotonic() - began
            print(f"step {step}/{steps}  loss {average:.3f} {parts} {seconds:.0f} s", flush=True)
        if step % max(1, steps // 10) == 0:
            weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
            save_file(weights, out / "target.safetensors")


if __name__ == "__main__":
    main()

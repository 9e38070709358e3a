"""A tiny model in the Qwen3.5 layout with an MTP head, made in seconds and never trained.

Its LM head is its embedding in another order, so the target mostly continues a token with the one
that follows it in that order, and a head that passes the token on drafts the same. What the layers
add at random makes both stray: some drafts are accepted, and most say something of every weight.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

from specfleet_trainer.heads import new_head

TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
CONFIG: dict[str, Any] = {
    "vocab_size": 2048,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "layer_types": ["linear_attention", "full_attention"],
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "hidden_act": "silu",
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "linear_conv_kernel_dim": 4,
    # vLLM's linear attention on CPU has no kernel for heads of 32.
    "linear_key_head_dim": 64,
    "linear_value_head_dim": 64,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "partial_rotary_factor": 0.25,
    },
    "model_type": "qwen3_5_text",
    "mtp_num_hidden_layers": 1,
    "attn_output_gate": True,
    "eos_token_id": 0,
    "pad_token_id": 1,
}
WITHIN = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "model_type": "qwen3_5",
    "dtype": "bfloat16",
    "vision_config": {
        "depth": 1,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_heads": 2,
        "out_hidden_size": 128,
        "num_position_embeddings": 64,
    },
    "image_token_id": 2,
    "video_token_id": 3,
    "vision_start_token_id": 4,
    "vision_end_token_id": 5,
}
"""What surrounds the language model in released checkpoints."""
MROPE = {"mrope_interleaved": True, "mrope_section": [2, 1, 1]}

EMBEDDING_SIZE = 0.0075
"""So small that the layers, random as transformers makes them, have a say in what comes next."""
STRAYING = 4.0
"""How much the head's layer adds to the token: with less, every draft would be accepted."""


def write_model(folder: Path, *, tokenizer: Path) -> Path:
    """Write a served model's folder, with the tokenizer of another, and return it.

    Everything is named as in released checkpoints, whose model also reads images; what reads them
    is left out.
    """
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    weights = {
        re.sub("^model", "model.language_model", name): value.bfloat16()
        for name, value in (_target() | _drafter()).items()
    }
    rope = CONFIG["rope_parameters"] | MROPE
    config = WITHIN | {"text_config": CONFIG | {"rope_parameters": rope}}
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    for name in TOKENIZER:
        shutil.copy(tokenizer / name, folder)
    return folder


def _target() -> dict[str, Tensor]:
    model = Qwen3_5ForCausalLM(Qwen3_5TextConfig.from_dict(CONFIG))
    weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
    vocabulary, hidden = CONFIG["vocab_size"], CONFIG["hidden_size"]
    embedding = torch.randn(vocabulary, hidden)
    weights["model.embed_tokens.weight"] = EMBEDDING_SIZE * embedding
    weights["lm_head.weight"] = embedding[torch.randperm(vocabulary)] / math.sqrt(hidden)
    return weights


def _drafter() -> dict[str, Tensor]:
    """Return weights of which every part matters to what is drafted."""
    shapes = {
        name: value.shape
        for name, value in new_head("mtp", "qwen3_5", CONFIG).to_checkpoint().items()
    }
    weights = {
        name: 0.5 * torch.randn(shape)
        if len(shape) == 1
        else torch.randn(shape) / math.sqrt(shape[1])
        for name, shape in shapes.items()
    }
    for name in ("mtp.layers.0.self_attn.o_proj.weight", "mtp.layers.0.mlp.down_proj.weight"):
        weights[name] *= STRAYING
    of_token, of_state = weights["mtp.fc.weight"].chunk(2, dim=1)
    of_token.copy_(torch.eye(CONFIG["hidden_size"]))
    of_state.mul_(0.3)
    return weights

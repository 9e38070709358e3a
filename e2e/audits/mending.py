"""Mends a sampler of vLLM that the audit of sampling has found to be wrong, as a plugin of vLLM.

The CPU build of vLLM 0.32.0 verifies drafts under a temperature, a top-p or a top-k that are not
the request's but whatever memory held: its stand-in for the kernel that repeats them for every
draft writes into a copy unless they are int64 (the same symptom as vllm-project/vllm#42638).
Nothing else is changed. Other builds do not use this stand-in.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from e2e.engines import ROOT

_ENTRY_POINT = "[vllm.general_plugins]\nspecfleet_mending = e2e.audits.mending:register\n"


def register() -> None:
    """Take the stand-in's place; vLLM calls this in its workers before it looks for stand-ins."""
    from vllm.utils import cpu_triton_utils

    cpu_triton_utils._expand_kernel_impl = expand


def expand(
    output: Any,
    values: Any,
    ends: Any,
    replace_from: float,
    replace_to: float,
    MAX_NUM_TOKENS: int = 0,
) -> None:
    """Repeat each value up to its end, with one value replaced by another."""
    replaced = values.masked_fill(values == replace_from, replace_to)
    begins = ends.roll(1)
    begins[0] = 0
    output.copy_(replaced.repeat_interleave((ends - begins).long()))


def environment(folder: Path) -> dict[str, str]:
    """Return the variables with which an engine finds this plugin, described in `folder`."""
    described = folder / "specfleet_mending-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: specfleet-mending\nVersion: 1\n"
    )
    (described / "entry_points.txt").write_text(_ENTRY_POINT)
    path = [str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, path))}

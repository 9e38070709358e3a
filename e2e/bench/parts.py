"""The parts of the measurements, and running one in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from e2e.bench.part import FIGURES
from specfleet_cli.logs import tail

ENGINE_ENVIRONMENT = {
    "SPECFLEET_ENGINE_FLEET": "bench",
    "SPECFLEET_ENGINE_MAX_TOKENS": "384",
    "SPECFLEET_ENGINE_KEY_TOKENS": "16",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_USE_V2_MODEL_RUNNER": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
}

PARTS: Mapping[str, dict[str, str]] = {
    "machine": {},
    "trainer": {},
    "capture": ENGINE_ENVIRONMENT,
    "swap": ENGINE_ENVIRONMENT,
    "transfers": {},
}
"""Names of modules here that have a `measure`, and the environment each needs."""


def run(name: str, log: Path) -> Any:
    """Return the figures of one part; what it prints goes to the log."""
    with tempfile.TemporaryDirectory(prefix="specfleet-bench-") as folder:
        environment = {"SPECFLEET_ENGINE_SHM_DIRECTORY": folder} | PARTS[name]
        command = [sys.executable, "-m", "e2e.bench.part", name, folder]
        with log.open("wb") as output:
            ended = subprocess.run(
                command,
                env=os.environ | environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if ended.returncode != 0:
            lines = [f"{name} failed, the end of {log}:", *tail(log, 30)]
            raise SystemExit("\n".join(lines))
        return json.loads((Path(folder) / FIGURES).read_bytes())

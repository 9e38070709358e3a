"""The tutorial for one machine can be typed as it is written, and the README shows its commands."""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.engines import ROOT
from e2e.fleets import ready

TUTORIAL = ROOT / "docs" / "tutorial-local.md"
STOP_SECONDS = 40
SHORTER = ("--duration 120", "--duration 10")


def typed() -> list[str]:
    """Return what a reader of the tutorial types, block by block."""
    return re.findall(r"^```bash\n(.*?)^```$", TUTORIAL.read_text("utf-8"), flags=re.M | re.S)


def place(folder: Path) -> None:
    """Make a folder look like the checkout, with nothing in it from another run."""
    (folder / ".venv").symlink_to(sys.prefix)
    examples = folder / "examples"
    examples.mkdir()
    shutil.copy(ROOT / "examples" / "fleet.yaml", examples)
    for name in ("tiny-mimo", "text"):
        (examples / name).symlink_to(ROOT / "examples" / name)


def test_the_readme_shows_the_commands_of_the_tutorial() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = re.findall(r"^\$ (\.venv/bin/specfleet .*)$", readme, flags=re.M)

    assert shown
    assert set(shown) <= {block.strip() for block in typed()}


@pytest.mark.e2e
def test_the_tutorial_can_be_typed(tmp_path: Path) -> None:
    place(tmp_path)
    start, *then = typed()
    log = tmp_path / "run.log"
    with log.open("wb") as output:
        run = subprocess.Popen(
            shlex.split(start), cwd=tmp_path, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        asyncio.run(ready(run, tmp_path / "out" / "tiny"))
        printed = [type_(block, tmp_path) for block in then]
    finally:
        run.send_signal(signal.SIGINT)
        code = run.wait(STOP_SECONDS)

    traffic, status, versions, _ = printed
    assert '"errors"' in traffic
    assert "push" in status
    assert "0" in versions.split()
    assert code == 0, log.read_text()[-2000:]


def type_(block: str, folder: Path) -> str:
    """Run a block in a folder and return what it prints; AssertionError when it fails."""
    assert "--duration" not in block or SHORTER[0] in block
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.replace(*SHORTER)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
    return done.stdout

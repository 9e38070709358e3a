"""Images are built from a base by its digest, with a torch for CPUs, and each has its bill."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from images.choose_torch import LOCKED, split
from tools.build_images import NAMES, BuildError, Options, bill_of, check, command
from tools.sbom import ROOT, packages

INDEX = "https://index.example.com/cpu"
OPTIONS = Options(
    base=f"python:3.11-slim-bookworm@sha256:{'0' * 64}",
    torch_index=INDEX,
    torch_sha256="",
    registry="registry.example.com/team/",
    program="docker",
    version="1.2.3",
    revision="abc",
)
LOCK = (ROOT / "images" / "agent" / "requirements.txt").read_text()


def names(bill: dict[str, object]) -> dict[str, str]:
    components = bill["components"]
    assert isinstance(components, list)
    return {one["name"]: one["version"] for one in components}


def test_there_is_a_build_for_every_dockerfile() -> None:
    assert set(NAMES) == {file.parent.name for file in ROOT.glob("images/*/Dockerfile")}


def test_only_the_agent_needs_torch() -> None:
    agent, operator = command("agent", OPTIONS), command("operator", OPTIONS)

    assert f"TORCH_INDEX={INDEX}" in agent
    assert not any("TORCH" in part for part in operator)
    assert operator[:4] == [
        *("docker", "build", "--tag", "registry.example.com/team/specfleet-operator:1.2.3")
    ]
    assert f"BASE={OPTIONS.base}" in operator


@pytest.mark.parametrize(
    ("options", "built", "words"),
    [
        pytest.param(
            replace(OPTIONS, base="python:3.11"), NAMES, "--base: is 'python:3.11'", id="no-digest"
        ),
        pytest.param(
            replace(OPTIONS, torch_index=""), NAMES, "--torch-index: is missing", id="no-index"
        ),
        pytest.param(OPTIONS, ("agents",), "agents: is no image", id="unknown"),
    ],
)
def test_what_would_not_be_what_is_meant_is_refused(
    options: Options, built: tuple[str, ...], words: str
) -> None:
    with pytest.raises(BuildError) as refused:
        check(options, built)

    assert words in str(refused.value)


def test_without_torch_an_index_is_not_needed() -> None:
    check(replace(OPTIONS, torch_index=""), ("operator",))


def test_the_bill_is_of_the_image_and_has_no_cuda() -> None:
    found = bill_of("agent", "sha256:1234", OPTIONS)

    held = names(found)
    assert held["torch"].endswith("+cpu")
    assert [name for name in held if name.startswith(("nvidia-", "cuda-", "triton"))] == []
    about = found["metadata"]["component"]["properties"]
    assert {"name": "specfleet:id", "value": "sha256:1234"} in about
    assert {"name": "specfleet:base", "value": OPTIONS.base} in about


def test_with_the_locked_torch_the_bill_says_so() -> None:
    held = names(bill_of("agent", "sha256:1", replace(OPTIONS, torch_index=LOCKED)))

    assert "+" not in held["torch"]
    assert any(name.startswith("nvidia-") for name in held)


def test_all_else_of_the_lock_stays_as_it_is() -> None:
    rest, torch = split(LOCK, sha256="f" * 64)

    before = {package for package in packages(LOCK) if not is_for_cuda(package.name)}
    assert set(packages(rest)) == before
    assert torch == f"torch=={version('torch')}+cpu --hash=sha256:{'f' * 64}\n"


@pytest.mark.parametrize("index", ["", LOCKED])
def test_where_torch_is_there_the_lock_is_used_as_it_is(index: str, tmp_path: Path) -> None:
    lock = ROOT / "images" / "agent" / "requirements.txt"
    script = ROOT / "images" / "choose_torch.py"

    subprocess.run([sys.executable, script, lock, "--index", index, "--into", tmp_path], check=True)

    assert (tmp_path / "locked.txt").read_text() == LOCK
    assert (tmp_path / "torch.txt").read_text() == ""


def test_a_build_that_would_bring_cuda_unasked_ends(tmp_path: Path) -> None:
    lock = ROOT / "images" / "agent" / "requirements.txt"
    script = ROOT / "images" / "choose_torch.py"

    done = subprocess.run(
        [sys.executable, "-S", "-I", script, lock, "--into", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "TORCH_INDEX is not given" in done.stderr


def is_for_cuda(name: str) -> bool:
    return name in ("torch", "triton") or name.startswith(("nvidia-", "cuda-"))


def version(name: str) -> str:
    return next(package.version for package in packages(LOCK) if package.name == name)

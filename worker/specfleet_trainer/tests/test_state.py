from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from specfleet_trainer import state
from specfleet_trainer.batch import Batch, pack, training_rows
from specfleet_trainer.progress import Progress
from specfleet_trainer.residual import Residual
from specfleet_trainer.state import StateError
from specfleet_trainer.step import TrainingStep
from specfleet_trainer.tests.builders import sequence, tiny

PROGRESS = Progress(lineage_id="lineage", round=3, version=2, digest="d", local_steps=7)
RESIDUAL = Residual(
    kept={"a": np.array([0.1, -3e-39], np.float32)}, pending={"a": np.ones(2, np.float32)}
)


def batch(seed: int) -> Batch:
    item = sequence(rows=16, seed=seed)
    return pack([(item, training_rows(item, 2))], 2)


def training(directory: Path, seed: int = 0) -> TrainingStep:
    head, tables = tiny(directory, seed)
    return TrainingStep(head, tables, learning_rate=1e-2, depth_weights=(1.0, 0.5))


def test_a_restored_trainer_makes_exactly_the_steps_it_would_have_made(tmp_path: Path) -> None:
    lived, restored = training(tmp_path), training(tmp_path, seed=1)
    for seed in range(3):
        lived.run(batch(seed))
    (tmp_path / "state").write_bytes(state.encode(lived, PROGRESS, RESIDUAL))

    found = state.restore(tmp_path / "state", restored, lineage_id="lineage")

    assert found is not None
    progress, residual = found
    assert progress == PROGRESS
    np.testing.assert_array_equal(residual.kept["a"], RESIDUAL.kept["a"])
    np.testing.assert_array_equal(residual.pending["a"], RESIDUAL.pending["a"])
    for seed in range(3, 6):
        assert restored.run(batch(seed)) == lived.run(batch(seed))
    weights = lived.head.to_checkpoint()
    for name, array in restored.head.to_checkpoint().items():
        assert np.array_equal(array, weights[name])


def test_a_state_before_the_first_step_has_no_moments(tmp_path: Path) -> None:
    lived, restored = training(tmp_path), training(tmp_path, seed=1)
    (tmp_path / "state").write_bytes(state.encode(lived, PROGRESS, RESIDUAL))

    state.restore(tmp_path / "state", restored, lineage_id="lineage")

    assert restored.moments() == {}
    assert restored.run(batch(0)) == lived.run(batch(0))


def test_a_state_from_before_training_could_start_again_counts_as_the_first(
    tmp_path: Path,
) -> None:
    step, path = training(tmp_path), tmp_path / "state"
    path.write_bytes(state.encode(step, PROGRESS, RESIDUAL))
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in list(file.keys())}
        metadata = file.metadata()
    older = json.loads(metadata["progress"])
    del older["fresh"]
    save_file(tensors, path, metadata | {"progress": json.dumps(older)})

    found = state.restore(path, step, lineage_id="lineage")

    assert found is not None and found[0].fresh == 0


def test_no_file_is_no_state(tmp_path: Path) -> None:
    assert state.restore(tmp_path / "none", training(tmp_path), lineage_id="lineage") is None


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    data = state.encode(training(tmp_path), PROGRESS, RESIDUAL)
    (tmp_path / "state").write_bytes(data[:-10])

    with pytest.raises(StateError, match="not safetensors"):
        state.restore(tmp_path / "state", training(tmp_path), lineage_id="lineage")


def test_the_state_of_another_lineage_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(state.encode(training(tmp_path, seed=5), PROGRESS, RESIDUAL))
    step = training(tmp_path)
    before = step.head.to_checkpoint()

    with pytest.raises(StateError, match="lineage is lineage, expected other"):
        state.restore(tmp_path / "state", step, lineage_id="other")

    assert all(np.array_equal(before[n], a) for n, a in step.head.to_checkpoint().items())


def test_the_state_of_another_head_is_refused(tmp_path: Path) -> None:
    step = training(tmp_path)
    path = tmp_path / "state"
    path.write_bytes(state.encode(step, PROGRESS, RESIDUAL))
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in list(file.keys())}
        metadata = file.metadata()
    tensors["weight.input_proj.weight"] = tensors["weight.input_proj.weight"][:2].clone()
    save_file(tensors, path, metadata)

    with pytest.raises(StateError, match=r"input_proj.weight is \(2, 32\), expected \(16, 32\)"):
        state.restore(path, step, lineage_id="lineage")


def test_other_safetensors_are_refused(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "state")

    with pytest.raises(StateError, match="format is None, expected '1'"):
        state.restore(tmp_path / "state", training(tmp_path), lineage_id="lineage")

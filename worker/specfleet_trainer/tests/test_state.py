from __future__ import annotations

import json
import re
from collections.abc import Mapping
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
NORM = "model.mtp_layers.0.token_layernorm.weight"
INPUT = "weight.input_proj.weight"


def batch(seed: int) -> Batch:
    item = sequence(rows=16, seed=seed)
    return pack([(item, training_rows(item, 2))], 2)


def training(directory: Path, seed: int = 0) -> TrainingStep:
    head, tables = tiny(directory, seed)
    return TrainingStep(head, tables, learning_rate=1e-2, depth_weights=(1.0, 0.5))


def residual(step: TrainingStep) -> Residual:
    """Return what encoding left over, with a value that only just is one."""
    weights = step.head.to_checkpoint()
    kept = {name: np.full_like(array, -3e-39) for name, array in weights.items()}
    return Residual(kept, {name: np.ones_like(array) for name, array in weights.items()})


def changed(path: Path, tensors: Mapping[str, torch.Tensor | None]) -> None:
    """Put tensors into a state file, or take them out."""
    with safe_open(path, framework="pt") as file:
        found = {name: file.get_tensor(name) for name in list(file.keys())}
        metadata = file.metadata()
    found |= {name: tensor for name, tensor in tensors.items() if tensor is not None}
    save_file({n: t for n, t in found.items() if tensors.get(n, t) is not None}, path, metadata)


def test_a_restored_trainer_makes_exactly_the_steps_it_would_have_made(tmp_path: Path) -> None:
    lived, restored = training(tmp_path), training(tmp_path, seed=1)
    for seed in range(3):
        lived.run(batch(seed))
    owed = residual(lived)
    (tmp_path / "state").write_bytes(state.encode(lived, PROGRESS, owed))

    found = state.restore(tmp_path / "state", restored, lineage_id="lineage")

    assert found is not None
    progress, restored_residual = found
    assert progress == PROGRESS
    for name in owed.kept:
        np.testing.assert_array_equal(restored_residual.kept[name], owed.kept[name])
        np.testing.assert_array_equal(restored_residual.pending[name], owed.pending[name])
    for seed in range(3, 6):
        assert restored.run(batch(seed)) == lived.run(batch(seed))
    weights = lived.head.to_checkpoint()
    for name, array in restored.head.to_checkpoint().items():
        assert np.array_equal(array, weights[name])


def test_a_state_before_the_first_step_has_no_moments(tmp_path: Path) -> None:
    lived, restored = training(tmp_path), training(tmp_path, seed=1)
    (tmp_path / "state").write_bytes(state.encode(lived, PROGRESS, Residual()))

    state.restore(tmp_path / "state", restored, lineage_id="lineage")

    assert restored.moments() == {}
    assert restored.run(batch(0)) == lived.run(batch(0))


def test_a_state_from_before_training_could_start_again_counts_as_the_first(
    tmp_path: Path,
) -> None:
    step, path = training(tmp_path), tmp_path / "state"
    path.write_bytes(state.encode(step, PROGRESS, Residual()))
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
    data = state.encode(training(tmp_path), PROGRESS, Residual())
    (tmp_path / "state").write_bytes(data[:-10])

    with pytest.raises(StateError, match="not safetensors"):
        state.restore(tmp_path / "state", training(tmp_path), lineage_id="lineage")


def test_the_state_of_another_lineage_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(state.encode(training(tmp_path, seed=5), PROGRESS, Residual()))
    step = training(tmp_path)
    before = step.head.to_checkpoint()

    with pytest.raises(StateError, match='lineage is "lineage", expected other'):
        state.restore(tmp_path / "state", step, lineage_id="other")

    assert all(np.array_equal(before[n], a) for n, a in step.head.to_checkpoint().items())


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        pytest.param(
            {INPUT: torch.zeros(2, 32)},
            f'"{INPUT}" is F32 (2, 32), expected F32 (16, 32)',
            id="shape",
        ),
        pytest.param(
            {INPUT: torch.zeros(16, 32).half()},
            f'"{INPUT}" is F16 (16, 32), expected F32 (16, 32)',
            id="dtype",
        ),
        pytest.param({INPUT: None}, f'"{INPUT}" is not there, expected F32 (16, 32)', id="missing"),
        pytest.param(
            {"weight.other": torch.zeros(2)},
            '"weight.other" is F32 (2,), expected not there',
            id="unknown",
        ),
        pytest.param(
            {"moment.input_proj.weight.exp_avg": torch.zeros(2)},
            '"moment.input_proj.weight.exp_avg" is F32 (2,), expected F32 (16, 32)',
            id="shape-of-moments",
        ),
        pytest.param(
            {"moment.input_proj.weight.step": None},
            '"moment.input_proj.weight.step" is not there, expected F32 ()',
            id="one-moment-missing",
        ),
        pytest.param(
            {f"residual.kept.{NORM}": torch.zeros(1)},
            f'"residual.kept.{NORM}" is F32 (1,), expected F32 (16,)',
            id="shape-of-a-residual",
        ),
        pytest.param(
            {f"residual.pending.{NORM}": None},
            f'"residual.pending.{NORM}" is not there, expected F32 (16,)',
            id="part-of-a-residual",
        ),
        pytest.param(
            {INPUT: torch.full((16, 32), torch.nan)},
            f"{INPUT}: some values are not finite",
            id="nan",
        ),
        pytest.param(
            {"moment.input_proj.weight.exp_avg_sq": torch.full((16, 32), -1.0)},
            "moment.input_proj.weight.exp_avg_sq: some values are negative",
            id="negative-square",
        ),
    ],
)
def test_a_state_that_is_none_of_this_head_is_refused_and_changes_nothing(
    tmp_path: Path, tensors: Mapping[str, torch.Tensor | None], words: str
) -> None:
    lived, step, path = training(tmp_path), training(tmp_path, seed=1), tmp_path / "state"
    lived.run(batch(0))
    path.write_bytes(state.encode(lived, PROGRESS, residual(lived)))
    changed(path, tensors)
    before = step.head.to_checkpoint()

    with pytest.raises(StateError, match=re.escape(words)):
        state.restore(path, step, lineage_id="lineage")

    assert all(np.array_equal(before[n], a) for n, a in step.head.to_checkpoint().items())
    assert step.moments() == {}


@pytest.mark.parametrize("progress", ["", "{}", '{"round": -1}', "[" * 5000])
def test_a_state_whose_progress_is_none_is_refused(tmp_path: Path, progress: str) -> None:
    step, path = training(tmp_path), tmp_path / "state"
    save_file({}, path, {"format": "1", "progress": progress})

    with pytest.raises(StateError, match="its progress is not readable"):
        state.restore(path, step, lineage_id="lineage")


def test_other_safetensors_are_refused(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "state")

    with pytest.raises(StateError, match='format is "", expected "1"'):
        state.restore(tmp_path / "state", training(tmp_path), lineage_id="lineage")

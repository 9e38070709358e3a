"""What a trainer finds on its volume and in the directory of the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from safetensors.torch import load, save

from specfleet_trainer import state
from specfleet_trainer.checkpoint import CheckpointError, read_config, read_tables
from specfleet_trainer.heads import new_head
from specfleet_trainer.state import StateError
from tools.bad_input.case import Case, Section
from tools.fuzz.borders import training

_NORM = "token_layernorm.weight"
_HUGE = 1 << 60


def sections() -> tuple[Section, ...]:
    """Return this section."""
    return (
        Section(
            "What a trainer reads",
            "A state that is refused is logged as `state_unusable`, and the trainer begins with "
            "the newest version, as one that joins does. A model that is refused ends the trainer "
            "with the words; it is tried again, and parked after ten times "
            "([SpecfleetTrainerParked](runbooks/SpecfleetTrainerParked.md)). The engine serves on.",
            (
                Case("a state that is cut", StateError, _state(lambda data: data[:-1])),
                Case("a state of another lineage", StateError, _foreign),
                _tensors("a state with another shape", {f"weight.{_NORM}": torch.ones(8)}),
                _tensors("a state in half precision", {f"weight.{_NORM}": torch.ones(4).half()}),
                _tensors("a state with more", {"weight.other": torch.ones(1)}),
                _tensors("a state with NaN", {f"weight.{_NORM}": torch.full((4,), torch.nan)}),
                _tensors(
                    "a state with a negative square",
                    {f"moment.{_NORM}.exp_avg_sq": -torch.ones(4)},
                ),
                Case("a state with progress that is none", StateError, _no_progress),
                _config("a config that is no JSON", "{"),
                _config("a config without a size", "{}"),
                _config("a size of 2^60", json.dumps({"hidden_size": _HUGE})),
                _config("another rotary embedding", json.dumps(_YARN)),
                Case("a model without its table", CheckpointError, _no_tables),
            ),
        ),
    )


_YARN = {"rope_parameters": {"rope_type": "yarn"}}


def _state(spoil: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    def hand_in(place: Path) -> object:
        path = place / "trainer.state"
        path.write_bytes(spoil(training.states()[0]))
        return state.restore(path, training.step(), lineage_id=training.LINEAGE)

    return hand_in


def _tensors(what: str, changes: Mapping[str, torch.Tensor]) -> Case:
    metadata = {"format": state.FORMAT, "progress": json.dumps(training.PROGRESS)}
    return Case(what, StateError, _state(lambda data: save({**load(data), **changes}, metadata)))


def _no_progress(place: Path) -> object:
    return _state(lambda data: save(load(data), {"format": state.FORMAT, "progress": "[]"}))(place)


def _foreign(place: Path) -> object:
    path = place / "trainer.state"
    path.write_bytes(training.states()[0])
    return state.restore(path, training.step(), lineage_id="f" * 16)


def _config(what: str, text: str) -> Case:
    def hand_in(place: Path) -> object:
        (place / "config.json").write_text(text)
        return new_head("mtp", "mimo", read_config(place))

    return Case(what, CheckpointError, hand_in)


def _no_tables(place: Path) -> object:
    (place / "config.json").write_text("{}")
    (place / "model.safetensors").write_bytes(save({"other": torch.ones(1)}))
    return read_tables(place)

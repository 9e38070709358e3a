"""What the tests of a whole trainer share: its directories, its engine's ring, and itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from specfleet_common.shm.ring import RingWriter
from specfleet_trainer.loop import Trainer
from specfleet_trainer.settings import Settings
from specfleet_trainer.tests import engine
from specfleet_trainer.tests.builders import write_model
from specfleet_trainer.tests.running import NewTrainer


@pytest.fixture
def state(tmp_path: Path) -> Path:
    directory = tmp_path / "state"
    directory.mkdir()
    return directory


@pytest.fixture
def ring(tmp_path: Path) -> RingWriter:
    return engine.new_ring(tmp_path / "shm")


@pytest.fixture
def new_trainer(tmp_path: Path, state: Path) -> NewTrainer:
    """Return a function that starts a trainer on the same directories, as after a crash."""
    model = write_model(tmp_path / "model")
    settings = Settings(state_directory=state, shm_directory=tmp_path / "shm", model=model)
    ticks = iter(range(10**9))
    return lambda: Trainer(settings, clock=lambda: float(next(ticks)))

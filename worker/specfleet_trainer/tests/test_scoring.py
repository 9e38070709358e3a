from __future__ import annotations

from pathlib import Path

import pytest

from specfleet_trainer.batch import output_rows, pack
from specfleet_trainer.scoring import mean_losses
from specfleet_trainer.step import TrainingStep
from specfleet_trainer.tests.builders import sequence, tiny

DEPTHS = 3


def test_one_sequence_at_a_time_gives_the_losses_of_all_together(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)
    step = TrainingStep(head, tables, learning_rate=1e-2, depth_weights=(1.0,) * DEPTHS)
    items = [sequence(rows=rows, seed=rows) for rows in (2, 9, 30)]

    losses = mean_losses(step, items)

    together = pack([(item, output_rows(item)) for item in items], DEPTHS)
    assert losses == pytest.approx(step.losses(together))

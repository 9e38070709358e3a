from __future__ import annotations

from pathlib import Path

from specfleet_trainer.session import Session
from specfleet_trainer.settings import Settings
from specfleet_trainer.tests import engine
from specfleet_trainer.tests.builders import sequence, write_model


def test_scoring_gives_a_sign_of_life_after_every_request(tmp_path: Path) -> None:
    state, model = tmp_path / "state", write_model(tmp_path / "model")
    settings = Settings(state_directory=state, shm_directory=tmp_path / "shm", model=model)
    orders = engine.give_orders(state)
    session = Session(settings, engine.layout(), orders, clock=lambda: 0.0)
    session.begin(orders)
    for seed in range(3):
        session.take(sequence(rows=20, seed=seed, prompt_tokens=4, held_out=True))
    signs: list[None] = []

    session.score(orders, lambda: signs.append(None))

    # The loss and the walk of each, with the local weights and with those of the version.
    assert len(signs) == 3 * 2 * 2

"""What bad workers do is what the report says of them."""

from __future__ import annotations

import numpy as np
import pytest

from e2e.experiments.misbehaving import FLIPPED_TIMES, NOISE_TIMES, Fault, seen, sent
from specfleet_common.tensors import norm
from specfleet_trainer.sequences import recorded

DELTA = {
    "a": np.random.default_rng(1).standard_normal((30, 40), np.float32),
    "b": np.random.default_rng(2).standard_normal(50, np.float32),
}
REQUEST = recorded(np.arange(25, dtype=np.int32), np.ones((24, 8), np.float32), prompt_tokens=4)


def test_an_honest_worker_sends_its_delta_and_sees_its_requests() -> None:
    assert sent(DELTA, None, np.random.default_rng(1)) is DELTA
    assert seen([REQUEST], None, seed=1) == [REQUEST]


def test_a_flipped_delta_points_the_other_way_and_is_longer() -> None:
    flipped = sent(DELTA, Fault.FLIPPED, np.random.default_rng(1))

    for name, array in DELTA.items():
        np.testing.assert_allclose(flipped[name], -FLIPPED_TIMES * array, rtol=1e-6)


def test_noise_is_that_much_longer_than_the_delta_and_says_nothing_about_it() -> None:
    noise = sent(DELTA, Fault.NOISE, np.random.default_rng(3))

    assert norm(noise) == pytest.approx(NOISE_TIMES * norm(DELTA), rel=0.1)
    product = sum(float((noise[name] * DELTA[name]).sum()) for name in DELTA)
    assert abs(product) < 0.1 * norm(noise) * norm(DELTA)


def test_shuffled_tokens_are_the_same_ones_beside_the_same_hidden_states() -> None:
    (shuffled,) = seen([REQUEST], Fault.LABELS, seed=1)

    assert not np.array_equal(shuffled.tokens, REQUEST.tokens)
    np.testing.assert_array_equal(np.sort(shuffled.tokens), REQUEST.tokens)
    np.testing.assert_array_equal(shuffled.fed, shuffled.tokens[1:])
    assert shuffled.hidden is REQUEST.hidden

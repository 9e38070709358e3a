"""Federations in one process: the same seed gives the same, and codecs change the bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from e2e.engines import MODEL
from e2e.experiments import captures
from e2e.experiments.federating import Plan, Recipe, Round, federate
from e2e.experiments.misbehaving import Fault
from specfleet_common.codecs.codec import Codec
from specfleet_common.diloco.rule import Rule
from specfleet_common.tensors import TensorMap, decode, norm
from specfleet_trainer.checkpoint import Tables, read_config, read_tables, read_tensors
from specfleet_trainer.heads import new_head
from specfleet_trainer.sequences import Sequence as Rows
from specfleet_trainer.sequences import recorded

PLAN = Plan(
    rounds=2,
    local_steps=2,
    rows_per_step=64,
    learning_rate=1e-3,
    depth_weights=(1.0, 0.5),
    outer_learning_rate=0.7,
    outer_momentum=0.9,
    dtype="float32",
)


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read_tables(MODEL)


@pytest.fixture(scope="module")
def stock() -> TensorMap:
    names = new_head("mtp", "mimo", read_config(MODEL)).to_checkpoint()
    return {name: tensor.numpy() for name, tensor in read_tensors(MODEL, names).items()}


def requests(seed: int, number: int = 4) -> list[Rows]:
    random = np.random.default_rng(seed)
    return [
        recorded(
            random.integers(0, 2048, 25, dtype=np.int32),
            random.standard_normal((24, 128), np.float32),
            prompt_tokens=4,
        )
        for _ in range(number)
    ]


def federated(
    stock: TensorMap, tables: Tables, recipe: Recipe, *, seed: int = 1, num_workers: int = 2
) -> Sequence[Round]:
    shares = [requests(worker) for worker in range(1, num_workers + 1)]
    return list(federate(stock, tables, shares, recipe, PLAN, seed=seed))


def test_the_same_seed_gives_the_same_versions(stock: TensorMap, tables: Tables) -> None:
    one, again = (federated(stock, tables, Recipe()) for _ in range(2))
    other = federated(stock, tables, Recipe(), seed=2)

    assert [round_.version for round_ in one] == [round_.version for round_ in again]
    assert one[-1].version != other[-1].version
    assert [round_.positions for round_ in one] == [round_.positions for round_ in other]


def test_a_smaller_encoding_sends_fewer_bytes_for_other_versions(
    stock: TensorMap, tables: Tables
) -> None:
    rounds = {codec: federated(stock, tables, Recipe(codec=codec)) for codec in Codec}

    up = [rounds[codec][-1].up_bytes for codec in Codec]
    assert up == sorted(up, reverse=True)
    assert len({rounds[codec][-1].version for codec in Codec}) == len(Codec)
    assert all(0 < round_.patch_bytes < len(round_.version) for round_ in rounds[Codec.FLOAT32])


def test_without_the_last_worker_the_others_learn_as_if_there_were_no_more(
    stock: TensorMap, tables: Tables
) -> None:
    absent = federated(stock, tables, Recipe(fault=Fault.ABSENT), num_workers=3)
    two = federated(stock, tables, Recipe(), num_workers=2)

    assert [round_.version for round_ in absent] == [round_.version for round_ in two]


@pytest.mark.parametrize("rule", [Rule.COORDINATE_MEDIAN, Rule.TRIMMED_MEAN])
def test_a_robust_rule_is_not_led_as_far_away_by_noise_as_the_mean_is(
    stock: TensorMap, tables: Tables, rule: Rule
) -> None:
    def step_norm(recipe: Recipe) -> float:
        first, *_ = federated(stock, tables, recipe, num_workers=3)
        after = decode(first.version)
        return norm({name: after[name] - stock[name] for name in stock})

    honest = step_norm(Recipe())
    led_away = step_norm(Recipe(fault=Fault.NOISE))
    robust = step_norm(Recipe(combine=rule, fault=Fault.NOISE))

    assert honest < robust < led_away / 2


@pytest.mark.parametrize("fault", [Fault.FLIPPED, Fault.NOISE])
def test_the_trimmed_mean_learns_as_if_a_worker_with_far_too_long_deltas_were_absent(
    stock: TensorMap, tables: Tables, fault: Fault
) -> None:
    bad = federated(stock, tables, Recipe(combine=Rule.TRIMMED_MEAN, fault=fault), num_workers=3)
    absent = federated(stock, tables, Recipe(fault=Fault.ABSENT), num_workers=3)

    assert [round_.version for round_ in bad] == [round_.version for round_ in absent]


def test_the_norms_of_deltas_and_who_was_left_out_are_noted(
    stock: TensorMap, tables: Tables
) -> None:
    recipe = Recipe(combine=Rule.TRIMMED_MEAN, fault=Fault.FLIPPED)

    rounds = federated(stock, tables, recipe, num_workers=3)

    for round_ in rounds:
        assert round_.left_out == ("2",)
        assert round_.norms[2] > 3 * max(round_.norms[:2])


def test_captured_requests_survive_their_file(tmp_path: Path) -> None:
    some = [replace(rows, first_position=3, complete=False) for rows in requests(1)]

    captures.save(tmp_path / "file.npz", {"sent": some, "held_out": requests(2, 2)})
    loaded = captures.load(tmp_path / "file.npz")

    assert [len(loaded[name]) for name in ("sent", "held_out")] == [4, 2]
    for rows, found in zip(some, loaded["sent"], strict=True):
        np.testing.assert_array_equal(rows.hidden, found.hidden)
        np.testing.assert_array_equal(rows.tokens, found.tokens)
        np.testing.assert_array_equal(rows.fed, found.fed)
        assert (found.prompt_tokens, found.first_position, found.complete) == (4, 3, False)

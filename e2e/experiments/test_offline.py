"""What the experiments without a fleet make of their runs."""

from __future__ import annotations

import numpy as np
import pytest

from e2e.experiments import bytes as bytes_experiment
from e2e.experiments import learning, robust
from e2e.experiments.federating import Plan, Round
from e2e.experiments.misbehaving import Fault
from e2e.experiments.offline import Run, mean_lengths
from specfleet_common.codecs.codec import Codec
from specfleet_common.diloco.rule import Rule
from specfleet_common.tensors import encode

PLAN = Plan(
    rounds=2,
    local_steps=1,
    rows_per_step=1,
    learning_rate=0.1,
    depth_weights=(1.0,),
    outer_learning_rate=1.0,
    outer_momentum=0.0,
    dtype="float32",
)


def run(last: float, *, up_bytes: float = 4000.0, seed: int = 1) -> Run:
    """Return a run of two rounds over 1,000 weights whose stock takes a step for every token."""
    rounds = [
        Round(
            number=number,
            version=encode({"w": np.full(1000, 1.0 + number / 1024, np.float32)}),
            up_bytes=up_bytes,
            patch_bytes=100,
            cpu_seconds=2.0,
            positions=500,
            norms=(1.0, 1.0, 10.0),
            left_out=("2",),
        )
        for number in (1, 2)
    ]
    return Run(seed, tuple(rounds), (1.0, 1.2, last))


def test_codecs_are_compared_with_float32_on_the_same_seeds() -> None:
    runs = {
        Codec.FLOAT32.value: [run(1.5), run(1.7, seed=2)],
        Codec.TERNARY.value: [run(1.4, up_bytes=160.0), run(1.6, up_bytes=160.0, seed=2)],
    }

    figures = bytes_experiment.up_figures(runs, 1000)

    ternary = figures[Codec.TERNARY.value]
    assert ternary["times_smaller"] == 25.0
    assert ternary["bits_per_weight"] == pytest.approx(1.28)
    assert ternary["held_out_gain_percent"] == pytest.approx(50.0)
    assert ternary["loss_points"] == pytest.approx(10.0)
    assert figures[Codec.FLOAT32.value]["loss_points"] == 0.0


def test_versions_that_differ_little_have_small_patches_in_either_dtype() -> None:
    figures = bytes_experiment.down_figures([run(1.5)])

    assert figures["float32"]["whole_bytes"] > figures["bfloat16"]["whole_bytes"] > 2000
    assert all(figures[dtype]["times_smaller"] > 5 for dtype in figures)


def test_choices_are_compared_with_the_first() -> None:
    runs = {name: [run(1.5 + 0.1 * place)] for place, name in enumerate(learning.RECIPES)}

    rows = learning.rows(learning.figures(runs))

    assert rows[0][1:] == ("+50.0 %", "+50.0", "+0.0 points", "250")
    assert rows[1][3] == "+10.0 points"


def test_what_a_bad_worker_costs_is_a_share_of_the_gain_with_it_honest_and_without_it() -> None:
    runs = {name: [run(1.4), run(1.6)] for name in robust.RECIPES}
    runs[robust.TWO_ALONE] = [run(1.35), run(1.45)]
    bad = robust.name_of(Rule.COORDINATE_MEDIAN, Fault.FLIPPED)
    runs[bad] = [run(1.2), run(1.4)]

    figures = robust.figures(runs)

    assert figures[robust.THREE_HONEST]["less_than_three_honest_percent"] == 0.0
    assert figures[bad]["less_than_three_honest_percent"] == pytest.approx(40.0)
    assert figures[bad]["less_than_two_alone_percent"] == pytest.approx(25.0)
    assert figures[bad]["norms_to_median"] == [1.0, 1.0, 10.0]
    assert figures[bad]["left_out_deltas"] == {"2": 4}


def test_the_table_says_who_did_what_and_what_that_cost() -> None:
    runs = {name: [run(1.5)] for name in robust.RECIPES}
    bad = robust.name_of(Rule.MEAN, Fault.FLIPPED)
    runs[bad] = [run(0.9)]
    figures = robust.figures(runs)

    cells = dict(zip(figures, robust.rows(figures), strict=True))

    assert cells[robust.THREE_HONEST] == ("is honest", "Mean", "+50.0 %", "+50.0", "0.0 %", "")
    assert cells[bad][:2] == ("sends its delta times −5", "Mean")
    assert cells[bad][2:] == ("-10.0 %", "-10.0", "120.0 %", "120.0 %")


def test_every_rule_meets_every_fault() -> None:
    met = {(recipe.combine, recipe.fault) for recipe in robust.RECIPES.values()}

    # Without the third worker there are two deltas, of which every rule makes the mean.
    wanted = {(rule, fault) for rule in Rule for fault in (None, *Fault)}
    assert wanted - met == {(rule, Fault.ABSENT) for rule in Rule if rule is not Rule.MEAN}


def test_the_curve_of_several_seeds_is_their_mean() -> None:
    assert mean_lengths([run(1.5), run(1.7)]) == {0: 1.0, 1: 1.2, 2: pytest.approx(1.6)}


def test_reports_show_their_tables() -> None:
    codecs = {codec.value: [run(1.5)] for codec in Codec}
    up = bytes_experiment.up_figures(codecs, 1000)
    lengths = {name: mean_lengths(some) for name, some in codecs.items()}
    content = {
        "seeds": (1,),
        "codecs": up,
        "versions": bytes_experiment.down_figures([run(1.5)]),
        "lengths": lengths,
    }

    page = bytes_experiment.rendered(content, PLAN)

    for cell in bytes_experiment.COLUMNS:
        assert f"<th>{cell}</th>" in page
    assert "<td>Ternary</td><td>4.0</td>" in page

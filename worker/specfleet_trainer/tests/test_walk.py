from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_trainer.replay import compare_drafts
from specfleet_trainer.sequences import Drafts
from specfleet_trainer.tests.builders import sequence, tiny
from specfleet_trainer.walk import RequestWalk, Walk, step_walk, total, walk, walks

DEPTHS = 3


@pytest.mark.parametrize(
    ("acceptable", "expected"),
    [
        pytest.param([0, 0, 0], Walk(3, 3, (0, 0, 0)), id="nothing-accepted"),
        pytest.param([3, 9, 9, 9, 1, 9], Walk(2, 6, (2, 1, 1)), id="jumps-over-what-is-accepted"),
        pytest.param([0, 2, 9], Walk(2, 3, (1, 1, 0)), id="the-end-is-inside-a-jump"),
        pytest.param([], Walk(0, 0, (0, 0, 0)), id="nothing-to-draft"),
    ],
)
def test_walk(acceptable: list[int], expected: Walk) -> None:
    assert walk(acceptable, DEPTHS) == expected


@given(st.lists(st.integers(0, DEPTHS), max_size=30))
def test_a_walk_needs_at_least_one_step_for_every_depths_plus_one_tokens(
    acceptable: list[int],
) -> None:
    result = walk(acceptable, DEPTHS)

    assert len(acceptable) / (DEPTHS + 1) <= result.verify_steps <= len(acceptable)
    assert list(result.accepted) == sorted(result.accepted, reverse=True)


def test_the_walk_equals_drafting_after_each_row_in_turn(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)
    item = sequence(rows=40, prompt_tokens=5)
    item.tokens[20:] = item.tokens[20]
    item.fed[:] = item.tokens[1:]

    result = step_walk(head, tables, item, DEPTHS)

    row, steps, accepted = 4, 0, [0] * DEPTHS
    while row < item.rows - 1:
        true = [int(token) for token in item.tokens[row + 2 : row + 2 + DEPTHS]]
        drafted = replace(item, drafts={row: Drafts("x", (*true, *[0] * (DEPTHS - len(true))))})
        parities = compare_drafts(head, tables, drafted, DEPTHS)
        right = 0
        while right < len(true) and parities[right].equal:
            accepted[right] += 1
            right += 1
        steps, row = steps + 1, row + right + 1
    assert result == Walk(steps, item.rows - 5, tuple(accepted))


def test_heads_walk_together_as_each_would_alone(tmp_path: Path) -> None:
    first, tables = tiny(tmp_path)
    second, _ = tiny(tmp_path, seed=1)
    requests = [
        replace(sequence(rows=30, seed=5, prompt_tokens=3), key=77),
        sequence(rows=4, seed=6, prompt_tokens=5, complete=False),
    ]
    requests[0].tokens[12:] = requests[0].tokens[12]
    requests[0].fed[:] = requests[0].tokens[1:]

    found = walks([first, second], tables, requests, DEPTHS)

    alone = [step_walk(head, tables, requests[0], DEPTHS) for head in (first, second)]
    assert found == [
        RequestWalk(
            key=77,
            serial=5,
            complete=True,
            tokens=27,
            verify_steps=(alone[0].verify_steps, alone[1].verify_steps),
            accepted=(alone[0].accepted, alone[1].accepted),
        ),
        RequestWalk(
            key=0,
            serial=6,
            complete=False,
            tokens=0,
            verify_steps=(0, 0),
            accepted=((0,) * DEPTHS,) * 2,
        ),
    ]


def test_a_sequence_without_output_walks_nowhere(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)

    result = step_walk(head, tables, sequence(rows=4, prompt_tokens=5), DEPTHS)

    assert result == Walk(0, 0, (0, 0, 0))


def test_walks_add_up() -> None:
    assert total([Walk(1, 2, (1, 0)), Walk(2, 3, (1, 1))], 2) == Walk(3, 5, (2, 1))

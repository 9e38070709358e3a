from __future__ import annotations

import numpy as np
import torch

from specfleet_trainer.batch import NO_LABEL, output_rows, pack, pack_drafts, training_rows
from specfleet_trainer.sequences import Drafts, Sequence, recorded
from specfleet_trainer.tests.builders import HIDDEN, sequence


def counting(rows: int, **fields: int) -> Sequence:
    """Return a sequence whose token at row t is 10 + t."""
    tokens = np.arange(10, 11 + rows, dtype=np.int32)
    return recorded(tokens, np.zeros((rows, HIDDEN), np.float32), **fields)


def test_depth_k_is_fed_the_token_before_the_one_it_should_predict() -> None:
    batch = pack([(counting(6), range(6))], 3)

    assert batch.chain[0].tolist() == [11, 12, 13]
    assert batch.labels[0].tolist() == [12, 13, 14]


def test_labels_end_with_the_true_tokens() -> None:
    batch = pack([(counting(6), range(6))], 3)

    assert batch.labels[4:].tolist() == [[16, NO_LABEL, NO_LABEL], [NO_LABEL] * 3]


def test_training_rows_draft_the_targets_own_tokens_and_have_every_label() -> None:
    item = counting(10, prompt_tokens=4)

    rows = training_rows(item, 3)

    assert rows == range(3, 7)
    labels = pack([(item, rows)], 3).labels
    assert labels.min() == 10 + 5


def test_a_prompt_that_was_partly_cached_counts_from_the_first_row() -> None:
    item = sequence(rows=10, first_position=100, prompt_tokens=104)

    assert training_rows(item, 3) == range(3, 7)


def test_a_sequence_that_is_too_short_has_no_training_rows() -> None:
    assert len(training_rows(counting(5, prompt_tokens=4), 3)) == 0


def test_output_rows_draft_at_least_one_token_of_the_target() -> None:
    assert output_rows(counting(10, prompt_tokens=4)) == range(3, 9)


def test_a_row_that_was_fed_an_untrue_token_has_no_labels() -> None:
    item = sequence(rows=6)
    item.fed[2] += 1

    batch = pack([(item, range(6))], 2)

    assert batch.labels[2].tolist() == [NO_LABEL, NO_LABEL]
    assert batch.chain[2, 0] == item.fed[2]


def test_positions_are_absolute_and_queries_point_into_the_pack() -> None:
    first, second = sequence(rows=4), sequence(rows=5, first_position=20)

    batch = pack([(first, range(1, 3)), (second, range(2))], 2)

    assert batch.positions.tolist() == [0, 1, 2, 3, 20, 21, 22, 23, 24]
    assert batch.queries.tolist() == [1, 2, 4, 5]


def test_bfloat16_hidden_states_are_upcast_exactly() -> None:
    values = torch.randn(5, HIDDEN).bfloat16()
    raw = values.view(torch.uint16).numpy()
    item = Sequence(
        tokens=np.zeros(6, np.int32), fed=np.zeros(5, np.int32), hidden=raw, prompt_tokens=0
    )

    batch = pack([(item, range(5))], 1)

    assert torch.equal(batch.hidden, values.float())


def test_drafts_are_fed_to_their_own_chain() -> None:
    item = sequence(rows=6, drafts={1: Drafts("stock", (7, 8, 9)), 3: Drafts("stock", (4, 5, 6))})

    batch = pack_drafts(item, 3)

    assert batch.chain[1].tolist() == [item.fed[1], 7, 8]
    assert batch.labels[[1, 3]].tolist() == [[7, 8, 9], [4, 5, 6]]
    assert batch.labels[0].tolist() == [NO_LABEL] * 3

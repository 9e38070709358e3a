from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from specfleet_trainer.checkpoint import Tables
from specfleet_trainer.heads import Head
from specfleet_trainer.replay import compare_drafts
from specfleet_trainer.sequences import Drafts, Sequence
from specfleet_trainer.tests.builders import CONFIG, VOCABULARY, sequence, tiny
from specfleet_trainer.tests.naive import NaiveEngine

DEPTHS = 3


def drafted_by_the_naive_engine(head: Head, tables: Tables, item: Sequence) -> dict[int, Drafts]:
    """Draft greedily after every row, each depth fed with the draft before it."""
    engine = NaiveEngine(
        weights={name: w.astype(np.float64) for name, w in head.to_checkpoint().items()},
        config=CONFIG,
        embedding=tables.embedding.double().numpy(),
    )
    lm_head = tables.lm_head.double().numpy()
    drafts = {}
    for row in range(item.rows):
        tokens = [int(item.fed[row])]
        for _ in range(DEPTHS):
            outputs = engine.draft(item.hidden[row].astype(np.float64), row, tokens, row)
            tokens.append(int((lm_head @ outputs[-1]).argmax()))
        engine.draft(item.hidden[row].astype(np.float64), row, tokens[:1], row)
        drafts[row] = Drafts("stock", tuple(tokens[1:]))
    return drafts


def test_the_head_drafts_what_the_engine_drafted(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)
    item = sequence(rows=10)
    item = replace(item, drafts=drafted_by_the_naive_engine(head, tables, item))

    parities = compare_drafts(head, tables, item, DEPTHS)

    assert [(p.equal, p.total) for p in parities] == [(10, 10)] * DEPTHS


def test_another_draft_is_reported_with_the_gap_between_the_logits(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)
    item = sequence(rows=6)
    drafts = drafted_by_the_naive_engine(head, tables, item)
    wrong = (drafts[2].tokens[2] + 1) % VOCABULARY
    drafts[2] = Drafts("stock", (*drafts[2].tokens[:2], wrong))

    parities = compare_drafts(head, tables, replace(item, drafts=drafts), DEPTHS)

    assert [p.equal for p in parities] == [6, 6, 5]
    (difference,) = parities[2].differences
    assert (difference.row, difference.engine_token) == (2, wrong)
    assert difference.gap_sigmas > 0.0


def test_rows_that_drafted_nothing_are_not_compared(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)
    item = sequence(rows=6)
    drafts = drafted_by_the_naive_engine(head, tables, item)

    parities = compare_drafts(head, tables, replace(item, drafts={4: drafts[4]}), DEPTHS)

    assert [(p.equal, p.total) for p in parities] == [(1, 1)] * DEPTHS


def test_a_sequence_without_drafts_compares_nothing(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)

    parities = compare_drafts(head, tables, sequence(rows=3), DEPTHS)

    assert [p.total for p in parities] == [0, 0, 0]


def test_the_gap_is_zero_for_an_exact_tie(tmp_path: Path) -> None:
    head, tables = tiny(tmp_path)
    item = sequence(rows=3)
    drafts = drafted_by_the_naive_engine(head, tables, item)
    best = drafts[2].tokens[0]
    other = (best + 1) % VOCABULARY
    lm_head = tables.lm_head.clone()
    lm_head[other] = lm_head[best]
    tied = Tables(embedding=tables.embedding, lm_head=lm_head)

    parity = compare_drafts(
        head, tied, replace(item, drafts={2: Drafts("stock", (max(best, other),))}), 1
    )[0]

    assert all(difference.gap_sigmas == 0.0 for difference in parity.differences)
    assert torch.is_tensor(tied.lm_head) and parity.total == 1

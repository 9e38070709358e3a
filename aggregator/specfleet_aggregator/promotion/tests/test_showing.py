"""What watchers see of promotions."""

from __future__ import annotations

import json
import math
from typing import Literal

from specfleet_aggregator.promotion.history import History, Promotion, fold
from specfleet_aggregator.promotion.judging import look, open_case
from specfleet_aggregator.promotion.showing import closed_sets, show
from specfleet_aggregator.promotion.tests.worlds import kinds, opened, policy, version
from specfleet_common.judge.records import Records
from specfleet_common.judge.tests.building import OPENED, STOCK, blocks, requests, walks
from specfleet_common.store.entries import Entry, PromotionAdvanced, PromotionEnded, StableWithdrawn
from specfleet_common.store.evidence import Batch

WALKS = Batch("1", Records(tuple(walks(60, gain=0.05))))


def history(*entries: Entry) -> History:
    return fold(History(), [version(0), version(1, digest=OPENED.digest), OPENED, *entries])


def advanced(phase: Literal["Replay", "Canary"]) -> PromotionAdvanced:
    return PromotionAdvanced(
        "promotion_advanced", 2.0, OPENED.promotion, phase, f"{phase}.", "e" * 64, 60
    )


def ended(outcome: Literal["Promoted", "Rejected", "Inconclusive"]) -> PromotionEnded:
    return PromotionEnded(
        "promotion_ended", 3.0, OPENED.promotion, outcome, "Rolling", "Over.", "", 0, False
    )


def test_an_open_promotion_shows_what_the_evidence_says_so_far() -> None:
    seen = look(open_case(Promotion(OPENED), stock_digest=STOCK), [WALKS])
    assert seen is not None

    (shown,) = show(
        history(),
        policy(),
        {"a": OPENED.digest, "b": "stock"},
        looks={OPENED.promotion: seen},
        verdicts={},
    )

    assert (shown.phase, shown.outcome, shown.finished_at) == ("Pending", "", 0.0)
    assert (shown.engines, shown.candidate_engines) == (2, 1)
    assert shown.sentence.startswith("Passed: candidate over stable")
    assert shown.effects[0].lower > 0.005


def test_guards_that_do_not_hold_are_named() -> None:
    records = Records(blocks=tuple(blocks(12)), requests=tuple(requests(10, slower=1.0)))
    promotion = Promotion(OPENED, (advanced("Replay"), advanced("Canary")))
    seen = look(open_case(promotion, stock_digest=STOCK), [Batch("1", records)])
    assert seen is not None

    (shown,) = show(
        history(*promotion.advanced), policy(), {}, looks={OPENED.promotion: seen}, verdicts={}
    )

    assert "time per output token rose by +" in shown.breaches[0]
    assert shown.breached_guards == ("tpot",)
    assert shown.evidence_digest == "e" * 64


def test_an_ended_promotion_shows_the_verdict_that_is_in_the_store() -> None:
    seen = look(open_case(Promotion(OPENED), stock_digest=STOCK), [WALKS])
    assert seen is not None

    (shown,) = show(
        history(advanced("Replay"), ended("Rejected")),
        policy(),
        {},
        looks={},
        verdicts={OPENED.promotion: seen.stored()},
    )

    assert (shown.phase, shown.outcome, shown.sentence) == ("Done", "Rejected", "Over.")
    assert (shown.started_at, shown.finished_at) == (OPENED.at, 3.0)
    assert shown.effects[0].num_records == 60


def test_what_is_not_known_or_not_bounded_is_no_number() -> None:
    promotion = Promotion(OPENED, (advanced("Replay"), advanced("Canary")))
    seen = look(open_case(promotion, stock_digest=STOCK), [WALKS])
    assert seen is not None
    stored = seen.stored()
    assert json.loads(stored.judgement_bytes)["verdict"]["effects"][0]["upper"] is None

    (shown,) = show(
        history(*promotion.advanced, ended("Inconclusive")),
        policy(),
        {},
        looks={},
        verdicts={OPENED.promotion: stored},
    )

    assert math.isnan(shown.effects[0].gain)
    assert shown.effects[0].upper == math.inf


def test_a_withdrawn_version_shows_as_rolled_back_with_its_last_verdict() -> None:
    withdrawn = StableWithdrawn(
        "stable_withdrawn", 9.0, OPENED.promotion, 1, OPENED.digest, "Harmful.", "f" * 64, 80
    )
    told = history(advanced("Replay"), ended("Promoted"), withdrawn)

    (shown,) = show(told, policy(), {}, looks={}, verdicts={})

    assert (shown.outcome, shown.sentence, shown.finished_at) == ("RolledBack", "Harmful.", 9.0)
    assert shown.evidence_digest == "f" * 64
    assert closed_sets(told, policy()) == {f"{OPENED.promotion}-after"}


def test_one_that_waits_for_a_user_says_so() -> None:
    steps = [advanced("Replay"), advanced("Canary"), advanced("Canary")]

    (shown,) = show(history(*steps), policy(mode="Manual"), {}, looks={}, verdicts={})

    assert shown.waits_for_approval
    assert shown.sentence == "Waits for a user's approval. Canary."


def test_the_newest_are_shown_first_and_old_ones_not_at_all() -> None:
    entries: list[Entry] = [version(0)]
    for number in (1, 2, 3):
        start = opened(number)
        over = PromotionEnded(
            "promotion_ended", 3.0, start.promotion, "Rejected", "Replay", "", "", 0, False
        )
        entries += [version(number), start, over]

    shown = show(fold(History(), entries), policy(history_limit=2), {}, looks={}, verdicts={})

    assert [one.number for one in shown] == [3, 2]
    assert kinds(entries).count("Rejected") == 3

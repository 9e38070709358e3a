from dataclasses import replace

from specfleet_common.judge.canary import LiveComparison, judge_canary
from specfleet_common.judge.deciding import Budget
from specfleet_common.judge.records import Block
from specfleet_common.judge.tests.building import DIGESTS, PLAN, blocks
from specfleet_common.judge.verdicts import Effect, Outcome, Verdict

COMPARISON = LiveComparison(PLAN, "candidate", "stable", DIGESTS)
BUDGET = Budget(passing=0.05, failing=0.05)


def judged(records: list[Block], replayed: Effect | None = None) -> Verdict:
    return judge_canary(records, COMPARISON, margin=0.02, budget=BUDGET, replayed=replayed)


def promised(gain: float) -> Effect:
    return Effect(
        "candidate over stable in replay", "tokens per verify step", gain, gain / 2, 0.03,
        2 * gain, 0.05, 400, 300, 280.0,
    )  # fmt: skip


def test_an_equal_head_passes_once_a_loss_of_the_margin_is_excluded() -> None:
    verdict = judged(blocks(60))

    assert verdict.outcome is Outcome.PASSED
    assert (
        "tokens per busy second" in verdict.sentence
        and "120 blocks of 60 pairs" in verdict.sentence
    )


def test_a_slow_draft_is_harmful() -> None:
    assert judged(blocks(20, effect=-0.1)).outcome is Outcome.HARMFUL


def test_before_any_pair_is_complete_there_is_no_data() -> None:
    assert judged(blocks(1)[:1]).outcome is Outcome.NO_DATA


def test_few_pairs_are_too_little_traffic() -> None:
    verdict = judged(blocks(4))

    assert verdict.outcome is Outcome.TOO_LITTLE_TRAFFIC
    assert verdict.more_needed == 12


def test_an_engine_that_reports_another_digest_is_never_counted() -> None:
    strange = [replace(block, digest="other") for block in blocks(60, effect=-0.5)]

    assert judged(strange).outcome is Outcome.NO_DATA
    assert judged([*blocks(60, engine="engine-1"), *strange]).outcome is Outcome.PASSED


def test_a_much_slower_engine_does_not_hide_or_show_anything() -> None:
    records = [*blocks(40), *blocks(40, engine="engine-1", speed=10.0)]

    assert judged(records).outcome is Outcome.PASSED


def test_engines_that_contradict_each_other_are_an_outcome_of_their_own() -> None:
    records = [*blocks(40, effect=0.1), *blocks(40, engine="engine-1", effect=-0.1)]

    verdict = judged(records)

    assert verdict.outcome is Outcome.CONTRADICTORY_ARMS
    assert "candidate over stable on engine-0 is surely a gain" in verdict.sentence
    assert "candidate over stable on engine-1 surely a loss" in verdict.sentence


def test_live_acceptance_that_contradicts_replay_is_no_pass() -> None:
    records = blocks(60, acceptance=-0.05)

    assert judged(records).outcome is Outcome.PASSED
    assert judged(records, promised(0.02)).outcome is Outcome.CONTRADICTORY_ARMS


def test_a_small_share_of_blocks_finds_a_stable_that_is_worse_than_stock() -> None:
    comparison = LiveComparison(replace(PLAN, one_pair_in=4), "stable", "stock", COMPARISON.digests)
    records = blocks(200, effect=-0.06, plan=comparison.plan)

    verdict = judge_canary(records, comparison, margin=0.02, budget=BUDGET)

    assert verdict.outcome is Outcome.HARMFUL
    assert verdict.sentence.startswith("Harmful: stable over stock -")

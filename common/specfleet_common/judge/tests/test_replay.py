import json
import random

import pytest

from specfleet_common.judge.deciding import Budget
from specfleet_common.judge.records import Walk
from specfleet_common.judge.replay import (
    CONVERSATION_TOKENS,
    ReplayPolicy,
    judge_replay,
    judgeable_domains,
)
from specfleet_common.judge.tests.building import walks
from specfleet_common.judge.verdicts import Outcome, Verdict, canonical

POLICY = ReplayPolicy(minimum_gain=0.005, margin=0.01)
BUDGET = Budget(passing=0.03, failing=0.05)


def judged(records: list[Walk], policy: ReplayPolicy = POLICY) -> Verdict:
    return judge_replay(records, policy, BUDGET)


@pytest.mark.parametrize(
    ("records", "outcome", "begins"),
    [
        pytest.param([], Outcome.NO_DATA, "No data: there are no requests yet", id="nothing"),
        pytest.param(
            walks(40, gain=0.05, each=4),
            Outcome.TOO_LITTLE_TRAFFIC,
            "Too little traffic: 40 requests of 10 conversations",
            id="few-conversations",
        ),
        pytest.param(
            walks(200, gain=0.03), Outcome.PASSED, "Passed: candidate over stable +", id="better"
        ),
        pytest.param(
            walks(200, gain=-0.03), Outcome.HARMFUL, "Harmful: candidate over stable -", id="worse"
        ),
        pytest.param(
            walks(3000, gain=0.002), Outcome.NOT_BETTER, "Not better: ", id="better-by-too-little"
        ),
        pytest.param(
            walks(60, gain=0.012), Outcome.UNDECIDED, "Undecided: candidate over", id="not-yet"
        ),
        pytest.param(
            walks(300, gain=0.05, over_stock=-0.05),
            Outcome.CONTRADICTORY_ARMS,
            "Contradictory: candidate over stable is surely a gain",
            id="better-than-stable-worse-than-stock",
        ),
        pytest.param(
            walks(300, gain=-0.05, over_stock=0.05),
            Outcome.HARMFUL,
            "Harmful: candidate over stable -",
            id="worse-than-stable-better-than-stock",
        ),
    ],
)
def test_outcome(records: list[Walk], outcome: Outcome, begins: str) -> None:
    verdict = judged(records)

    assert verdict.outcome is outcome
    assert verdict.sentence.startswith(begins)
    assert verdict.reasons


def test_what_is_undecided_says_how_many_requests_it_needs() -> None:
    verdict = judged(walks(60, gain=0.012))

    assert verdict.more_needed is not None and verdict.more_needed > 0
    assert f"needs about {verdict.more_needed} more requests" in verdict.sentence


def test_a_fix_passes_over_a_broken_stable() -> None:
    assert judged(walks(300, gain=0.3, over_stock=0.0)).outcome is Outcome.PASSED


def test_a_candidate_that_forgets_a_domain_of_the_genesis_set_is_harmful() -> None:
    policy = ReplayPolicy(minimum_gain=0.005, margin=0.01, genesis_domains=("ja", "py"))
    records = [
        *walks(300, gain=0.05),
        *walks(60, domain="py", gain=0.0),
        *walks(60, domain="ja", gain=-0.2),
    ]

    verdict = judged(records, policy)

    assert verdict.outcome is Outcome.HARMFUL
    assert "candidate over stock in genesis ja" in verdict.sentence


def test_a_domain_counts_once_it_has_been_walked_enough() -> None:
    records = [*walks(300, gain=0.05), *walks(19, domain="ja"), *walks(20, domain="py")]

    assert judgeable_domains(records) == ("py",)


def test_a_domain_of_the_genesis_set_that_was_not_walked_is_missing_data() -> None:
    policy = ReplayPolicy(minimum_gain=0.005, margin=0.01, genesis_domains=("ja",))

    assert judged(walks(300, gain=0.05), policy).outcome is Outcome.NO_DATA


def test_one_endless_conversation_weighs_no_more_than_its_cap() -> None:
    endless = [
        Walk(f"endless-{n}", "endless", "", CONVERSATION_TOKENS, 2000, 1000, 1000)
        for n in range(100)
    ]

    verdict = judged([*walks(400, gain=0.03), *endless])

    assert verdict.outcome is not Outcome.HARMFUL
    assert verdict.effects[0].gain > 0


def test_repeating_one_prompt_a_thousand_times_proves_nothing() -> None:
    repeated = [Walk(f"r{n}", "same", "", 200, 80, 100, 100) for n in range(1000)]

    assert judged(repeated).outcome is Outcome.TOO_LITTLE_TRAFFIC


def test_the_same_evidence_in_any_order_gives_the_same_bytes() -> None:
    records = walks(150, gain=0.01, each=2)
    shuffled = [*records, *records[:40]]
    random.Random(5).shuffle(shuffled)

    assert canonical(judged(shuffled)) == canonical(judged(records))


def test_a_verdict_without_bounds_is_still_json() -> None:
    document = json.loads(canonical(judged(walks(5))))

    assert document["effects"][0]["upper"] is None
    assert document["outcome"] == "TooLittleTraffic"

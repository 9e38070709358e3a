from specfleet_common.judge.canary import LiveComparison
from specfleet_common.judge.guards import Guards, breaches, rises
from specfleet_common.judge.records import Request
from specfleet_common.judge.tests.building import DIGESTS, PLAN, requests
from specfleet_common.judge.verdicts import ReasonCode

COMPARISON = LiveComparison(PLAN, "candidate", "stable", DIGESTS)
GUARDS = Guards(tpot=0.05, ttft=0.1, errors=0.001, preemptions=0.1)


def broken(records: list[Request]) -> list[str]:
    found = breaches(records, COMPARISON, GUARDS, alpha=0.01)
    assert all(breach.reason.code is ReasonCode.GUARD_BREACHED for breach in found)
    return [breach.reason.subject for breach in found]


def test_equal_arms_breach_nothing() -> None:
    assert broken(requests(60)) == []


def test_no_requests_breach_nothing() -> None:
    assert broken([]) == []


def test_a_slower_arm_breaches_the_time_per_token() -> None:
    found = breaches(requests(30, slower=0.3), COMPARISON, GUARDS, alpha=0.01)

    assert [breach.reason.subject for breach in found] == ["time per output token"]
    assert found[0].sentence.startswith("time per output token rose by +")
    assert found[0].sentence.endswith("allowed is +5.00 %")


def test_a_rise_within_the_limit_is_allowed_however_sure_it_is() -> None:
    assert broken(requests(400, slower=0.03)) == []


def test_a_drafter_that_makes_everything_twice_as_slow_is_stopped_at_once() -> None:
    assert broken(requests(1, each=20, slower=1.0)) == ["time per output token"]


def test_failing_requests_of_one_arm_are_a_breach() -> None:
    assert broken(requests(10, failing=0.3)) == ["failed requests"]


def test_one_failed_request_is_not_yet_evidence() -> None:
    (first, *rest) = requests(10)
    assert broken([_failed(first), *rest]) == []


def test_what_holds_is_measured_as_well() -> None:
    found = rises(requests(400, slower=0.03), COMPARISON, GUARDS, alpha=0.01)

    assert [one.name for one in found if one.is_breach] == []
    assert found[0].name == "time per output token"
    assert abs(found[0].rise - 0.03) < 0.01


def test_nothing_is_measured_without_requests() -> None:
    found = rises([], COMPARISON, GUARDS, alpha=0.01)

    assert [one.name for one in found if one.rise == one.rise] == []


def _failed(request: Request) -> Request:
    return Request(
        request.request, request.engine, request.started, (), True, 0.0, 0.0, request.preemptions
    )

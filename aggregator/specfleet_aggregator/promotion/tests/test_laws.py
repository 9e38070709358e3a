"""What must hold whatever happens, in whatever order."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from specfleet_aggregator.promotion.history import History, fold
from specfleet_aggregator.promotion.policy import SUPERSEDED_AFTER_SECONDS
from specfleet_aggregator.promotion.tests.worlds import World, policy
from specfleet_common.api.promotion import Decision
from specfleet_common.judge.verdicts import Outcome
from specfleet_common.store.entries import (
    Entry,
    PromotionAdvanced,
    PromotionEnded,
    PromotionOpened,
    StableWithdrawn,
    TrainingRestarted,
    VersionPublished,
)

_LIVE = [one for one in Outcome if one is not Outcome.NOT_EQUIVALENT]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens in a world."""

    kind: str
    outcome: Outcome = Outcome.UNDECIDED
    digest: int = 0
    seconds: float = 0.0
    breached: bool = False


_GOOD = Event("good", Outcome.PASSED)
events = st.lists(
    st.one_of(
        st.builds(Event, st.just("publish"), digest=st.integers(0, 4)),
        st.builds(Event, st.just("judge"), st.sampled_from(_LIVE), breached=st.booleans()),
        # Most stories would end early if good news were as rare as any other.
        st.just(_GOOD),
        st.just(_GOOD),
        st.builds(Event, st.just("judge"), st.just(Outcome.HARMFUL)),
        st.builds(Event, st.just("wait"), seconds=st.sampled_from([1.0, 30.0, 61.0, 4000.0])),
        st.builds(
            Event,
            st.sampled_from(["abort", "approve", "automatic", "manual", "paused", "pin"]),
        ),
    ),
    max_size=40,
)


def happen(world: World, event: Event) -> None:
    """Change what is true; decisions come after."""
    open_ = world.open
    match event.kind:
        case "publish":
            world.publish(digest=f"{event.digest:064x}" if event.digest else "")
        case "judge" | "good":
            world.judged(event.outcome, breached="tpot" if event.breached else "")
            world.is_rolled_out = event.kind == "good"
        case "wait":
            world.now += event.seconds
        case "abort" | "approve":
            decision = Decision.ABORT if event.kind == "abort" else Decision.APPROVE
            decisions = {**world.policy.decisions, open_.id: decision} if open_ else {}
            world.policy = policy(decisions)
        case "automatic" | "manual" | "paused":
            world.policy = policy(dict(world.policy.decisions), mode=event.kind.title())
        case "pin":
            world.policy = policy(dict(world.policy.decisions), pin=0)


def lived(story: list[Event]) -> World:
    world = World()
    for event in story:
        happen(world, event)
        world.settle()
    return world


@given(events, st.integers(0, 100))
def test_a_restart_at_any_entry_knows_what_was_known(story: list[Event], at: int) -> None:
    entries = lived(story).entries
    before = fold(History(), entries[:at])

    after = fold(before, entries[at:])

    assert after == fold(History(), entries)


@given(events)
def test_every_version_has_one_promotion_and_every_promotion_one_end(story: list[Event]) -> None:
    entries = lived(story).entries

    opened = [entry.number for entry in entries if isinstance(entry, PromotionOpened)]
    ended = [entry.promotion for entry in entries if isinstance(entry, PromotionEnded)]
    assert len(set(opened)) == len(opened)
    assert len(set(ended)) == len(ended)
    assert len(opened) - len(ended) in (0, 1)


@given(events)
def test_phases_come_in_order_and_nothing_follows_an_end(story: list[Event]) -> None:
    order = ["", "Replay", "Canary", "Rolling"]
    phase: str | None = None
    for entry in lived(story).entries:
        match entry:
            case PromotionOpened():
                assert phase is None
                phase = ""
            case PromotionAdvanced():
                assert phase is not None
                step = order.index(entry.phase) - order.index(phase)
                assert step == 1 or (step == 0 and phase == "Canary")
                phase = entry.phase
            case PromotionEnded():
                assert phase is not None
                assert entry.phase == (phase or "Pending")
                assert entry.outcome != "Promoted" or phase == "Rolling"
                phase = None


@given(events)
def test_a_rejected_digest_is_never_a_candidate_again(story: list[Event]) -> None:
    digests: dict[str, str] = {}
    rejected: set[str] = set()
    for entry in lived(story).entries:
        match entry:
            case PromotionOpened():
                assert entry.digest not in rejected
                digests[entry.promotion] = entry.digest
            case PromotionEnded() if entry.outcome == "Rejected":
                rejected.add(digests[entry.promotion])
            case StableWithdrawn():
                rejected.add(entry.digest)


@given(events)
def test_no_candidate_is_superseded_before_it_had_time_for_evidence(story: list[Event]) -> None:
    opened_at = 0.0
    for entry in lived(story).entries:
        match entry:
            case PromotionOpened():
                opened_at = entry.at
            case PromotionEnded() if entry.outcome == "Superseded":
                assert entry.at - opened_at >= SUPERSEDED_AFTER_SECONDS
                assert entry.phase == "Pending"


@given(events)
def test_an_open_promotion_can_be_aborted_at_any_moment(story: list[Event]) -> None:
    world = lived(story)
    open_ = world.open
    if open_ is None:
        return
    world.policy = policy({open_.id: Decision.ABORT}, mode="Paused")

    entry = world.decide()

    assert isinstance(entry, PromotionEnded)
    assert entry.outcome == "Aborted"


@given(events)
def test_numbers_have_no_gaps_and_a_restart_is_followed_by_its_version(
    story: list[Event],
) -> None:
    base: tuple[int, int] | None = None
    numbers: list[int] = []
    for entry in lived(story).entries:
        match entry:
            case TrainingRestarted():
                base = (entry.after, entry.number)
            case VersionPublished():
                numbers.append(entry.number)
                if base is not None and entry.number == base[0] + 1:
                    assert entry.parent == base[1]
    assert numbers == list(range(len(numbers)))


@given(events, st.data())
def test_of_two_aggregators_one_decides(story: list[Event], data: st.DataObject) -> None:
    alone, world = World(), World()
    known = [History(), History()]
    for event in story:
        happen(alone, event)
        alone.settle()
        happen(world, event)
        _race(world, known, data)
    assert world.entries == alone.entries


def _race(world: World, known: list[History], data: st.DataObject) -> None:
    """Let two decide by what each has read; whoever finds the ledger longer reads it first."""
    idle: set[int] = set()
    while len(idle) < len(known):
        mine = data.draw(st.sampled_from([one for one in range(len(known)) if one not in idle]))
        entry = world.decide(known[mine]) if known[mine].length else None
        if known[mine].length != len(world.entries):
            known[mine] = fold(known[mine], world.entries[known[mine].length :])
        elif entry is None:
            idle.add(mine)
        else:
            _append(world, entry)
            idle.clear()


def _append(world: World, entry: Entry) -> None:
    world.entries.append(entry)
    if not isinstance(entry, PromotionAdvanced) or entry.phase != "Replay":
        world.judgements.clear()

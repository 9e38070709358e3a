"""Laws of promotions: whatever happens, what the fleet decides is shown, and decisions arrive."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from specfleet_common.api.promotion import PromotionStatus
from specfleet_common.api.status import FleetStatus
from specfleet_common.wire.messages import PromotionState
from specfleet_operator.naming import promotion_name
from specfleet_operator.tests.building import ended, promotion
from specfleet_operator.tests.world import World

FEW = settings(max_examples=60, deadline=None)
PHASES = ("Pending", "Replay", "Canary", "Rolling")


@dataclass
class Story:
    """A fleet whose aggregator remembers all promotions and shows the newest."""

    world: World = field(default_factory=World)
    all: list[PromotionState] = field(default_factory=list)
    """The oldest first; only the last may be open."""
    limit: int = 10
    aborted: set[str] = field(default_factory=set)
    """Promotions whose Abort the aggregator was told."""

    @property
    def open(self) -> PromotionState | None:
        """Return the promotion that is open."""
        return self.all[-1] if self.all and self.all[-1].phase != "Done" else None

    def begin(self) -> None:
        """Open a promotion unless one is open."""
        if self.open is None:
            self._add(promotion(len(self.all) + 1, "Pending"))

    def go_on(self) -> None:
        """Enter the next phase, or end after the last."""
        if (one := self.open) is not None:
            number = PHASES.index(one.phase) + 1
            if number == len(PHASES):
                self.end("Promoted")
            else:
                self._put(replace(one, phase=PHASES[number], engines=number))

    def end(self, outcome: str) -> None:
        """End the open promotion."""
        if (one := self.open) is not None:
            self._put(ended(one.number, outcome))

    def supersede(self) -> None:
        """End the open promotion and open the next."""
        self.end("Superseded")
        self.begin()

    def decide(self, decision: str | None) -> None:
        """Decide on what is shown of the open promotion; an Abort is not taken back."""
        if self.open is None:
            return
        name = promotion_name("demo", self.open.id)
        item = self.world.shown.get(name)
        if item is not None and item["spec"].get("decision") not in ("Abort", decision):
            self.world.decide(name, decision)

    def keep(self, limit: int) -> None:
        """Have so many promotions shown."""
        self.limit = limit
        self.world.edit(promotion__historyLimit=limit)
        self._tell()

    def lose_objects(self) -> None:
        """Have somebody delete all DrafterPromotions."""
        self.world.lose("DrafterPromotion")

    def turn(self) -> None:
        """Have the aggregator go away, or come back."""
        self.world.is_reachable = not self.world.is_reachable

    def look(self) -> None:
        """Make one pass."""
        self.world.reconcile()
        told = self.world.decisions
        self.aborted |= {one for one, decision in told.items() if decision == "Abort"}

    def settle(self) -> None:
        """Let everything come to rest."""
        self.world.is_reachable = True
        self.world.settle()

    def _add(self, one: PromotionState) -> None:
        self.all.append(one)
        self._tell()

    def _put(self, one: PromotionState) -> None:
        self.all[-1] = one
        self._tell()

    def _tell(self) -> None:
        self.world.promotions = tuple(self.all[: -self.limit - 1 : -1])


def decide(decision: str | None) -> Callable[[Story], None]:
    return lambda story: story.decide(decision)


def end(outcome: str) -> Callable[[Story], None]:
    return lambda story: story.end(outcome)


def keep(limit: int) -> Callable[[Story], None]:
    return lambda story: story.keep(limit)


STEPS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                Story.begin,
                Story.go_on,
                Story.supersede,
                Story.look,
                Story.turn,
                Story.lose_objects,
            ]
        ),
        st.sampled_from(["Approve", "Abort", None]).map(decide),
        st.sampled_from(["Rejected", "Aborted", "Inconclusive"]).map(end),
        st.integers(1, 4).map(keep),
    ),
    max_size=25,
)


def played(steps: list[Callable[[Story], None]]) -> Story:
    story = Story()
    for step in steps:
        step(story)
    return story


@FEW
@given(STEPS)
def test_a_carried_out_plan_leaves_nothing_to_do(steps: list[Callable[[Story], None]]) -> None:
    story = played(steps)
    story.settle()

    todo = story.world.reconcile()

    assert (todo.apply, todo.statuses, todo.delete, todo.events) == ((), (), (), ())


@FEW
@given(STEPS)
def test_objects_show_the_newest_promotions_as_they_are(
    steps: list[Callable[[Story], None]],
) -> None:
    story = played(steps)

    story.settle()

    newest = {promotion_name("demo", one.id): one for one in story.all[: -story.limit - 1 : -1]}
    shown = story.world.shown
    assert shown.keys() == newest.keys()
    for name, one in newest.items():
        status = shown[name]["status"]
        assert (status["phase"], status.get("outcome", "")) == (one.phase, one.outcome)
        assert status["observedGeneration"] == shown[name]["metadata"]["generation"]


@FEW
@given(STEPS)
def test_decisions_arrive_in_whatever_order_things_happen(
    steps: list[Callable[[Story], None]],
) -> None:
    story = played(steps)

    story.settle()

    one, told = story.open, story.world.decisions
    wished = {}
    if one is not None:
        spec = story.world.shown[promotion_name("demo", one.id)]["spec"]
        wish = "Abort" if one.id in story.aborted else spec.get("decision")
        wished = {one.id: wish} if wish is not None else {}
    assert told == wished


@FEW
@given(STEPS)
def test_an_abort_that_was_told_is_told_until_its_promotion_has_ended(
    steps: list[Callable[[Story], None]],
) -> None:
    story = Story()

    for step in steps:
        step(story)
        story.look()

        if story.open is not None and story.open.id in story.aborted:
            assert story.world.decisions[story.open.id] == "Abort"


@FEW
@given(STEPS)
def test_whatever_is_written_fits_its_schema(steps: list[Callable[[Story], None]]) -> None:
    story = Story()

    for step in steps:
        step(story)
        todo = story.world.reconcile()

        FleetStatus.model_validate_json(json.dumps(todo.status))
        for item in todo.statuses:
            PromotionStatus.model_validate_json(json.dumps(item["status"]))

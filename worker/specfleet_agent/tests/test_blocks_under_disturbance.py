"""Laws of block records, over an engine and an agent to which anything happens at any time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from specfleet_agent.blocks import Watched, watch
from specfleet_agent.engine_page import EnginePage
from specfleet_agent.situation import Written
from specfleet_agent.switchback import Running
from specfleet_agent.tests.builders import digest, drafter_content, page
from specfleet_agent.tests.promoting import in_force
from specfleet_common.judge.records import Block, union

TICK_SECONDS = 0.1
TICKS = 350
PAGE_TICKS = 3
RUNNING = in_force()
DISTURBANCES = ("engine", "agent", "lease", "anchor", "swap", "swaps")


@dataclass(frozen=True)
class Step:
    """A step that the engine has really done."""

    ended: float
    digest: str
    band: int


@dataclass
class Engine:
    """Does one step of a tick's length per tick while it is busy, and writes a page."""

    live: str = digest(2)
    swaps: int = 0
    incarnation: int = 0
    beats: int = 0
    counted: dict[str, dict[int, tuple[int, int, float]]] = field(default_factory=dict)
    written_page: EnginePage | None = None
    steps: list[Step] = field(default_factory=list)

    def swap(self, wanted: str) -> None:
        if wanted != self.live:
            self.live, self.swaps = wanted, self.swaps + 1

    def work(self, now: float, band: int) -> None:
        bands = self.counted.setdefault(self.live, {})
        steps, tokens, seconds = bands.get(band, (0, 0, 0.0))
        bands[band] = (steps + 1, tokens + 2, seconds + TICK_SECONDS)
        self.steps.append(Step(now, self.live, band))

    def write(self) -> None:
        self.beats += 1
        self.written_page = page(
            observed=self.live,
            drafters=tuple(drafter_content(n, bands=b) for n, b in self.counted.items()),
            swaps=self.swaps,
            beats=self.beats,
            incarnation=f"{self.incarnation:016x}",
        )

    def restart(self) -> None:
        self.incarnation, self.beats, self.swaps, self.counted = self.incarnation + 1, 0, 0, {}
        self.live, self.written_page = digest(0), None


@dataclass
class Agent:
    """Looks at the page as the observer does, and keeps what it sends."""

    running: Running
    watched: Watched | None = None
    looked_at: float = float("-inf")
    beat: tuple[str, int] = ("", 0)
    written: Written = field(default_factory=lambda: Written(0.0, 0.0))

    def look(self, engine: Engine, now: float, *, leased: bool) -> tuple[Block, ...]:
        shown = engine.written_page
        if shown is None:
            return ()
        if (shown.incarnation, shown.beats) != self.beat:
            self.beat = (shown.incarnation, shown.beats)
            self.written = Written(self.looked_at, now)
        self.looked_at = now
        running = self.running if leased else None
        self.watched, records = watch(self.watched, running, shown, self.written)
        return records


@dataclass
class Story:
    """What was sent, with the comparison as it was in force, and what had really been done."""

    engine: Engine = field(default_factory=Engine)
    sent: list[tuple[Running, Block]] = field(default_factory=list)


def happen(
    disturbances: dict[int, str], *, busy: list[int], look_ticks: int, swap_ticks: int
) -> Story:
    """Let the engine alternate, and the agent watch, for some blocks of time."""
    story = Story()
    engine = story.engine
    agent = Agent(RUNNING)
    unleased_until = foreign_until = -1
    for tick in range(1, TICKS):
        # Between the times that blocks begin, so that no border is met by accident of rounding.
        now = tick * TICK_SECONDS + 0.003
        match disturbances.get(tick):
            case "engine":
                engine.restart()
            case "agent":
                agent = Agent(agent.running)
            case "lease":
                unleased_until = tick + 12
            case "anchor":
                agent.running = replace(RUNNING, began=agent.running.began + 1.5)
            case "swap":
                foreign_until = tick + 15
            case "swaps":
                engine.swap(digest(7))
                engine.work(now, 1)
        if tick < foreign_until:
            engine.swap(digest(8))
        elif tick >= unleased_until:
            engine.swap(
                agent.running.version(max(0, agent.running.block(now - swap_ticks / 10))).digest
            )
        band = busy[tick % len(busy)]
        if band:
            engine.work(now, band)
        if tick % PAGE_TICKS == 0:
            engine.write()
        if tick % look_ticks == 0:
            found = agent.look(engine, now, leased=tick >= unleased_until)
            story.sent += [(agent.running, record) for record in found]
    return story


def really_done(story: Story, running: Running, record: Block) -> int:
    """Return the steps of a record's drafter and band in the settled part of its block."""
    begin = running.settles_at(record.block)
    end = running.begins_at(record.block + 1)
    return sum(
        begin <= step.ended < end and (step.digest, step.band) == (record.digest, record.band)
        for step in story.engine.steps
    )


traffic = st.lists(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=40)
trouble = st.dictionaries(st.integers(1, TICKS - 1), st.sampled_from(DISTURBANCES), max_size=6)


@settings(max_examples=25, deadline=None)
@given(
    disturbances=trouble,
    busy=traffic,
    look_ticks=st.integers(1, 5),
    swap_ticks=st.integers(0, 60),
)
def test_no_record_claims_what_was_not_done_in_the_settled_part_of_its_block(
    disturbances: dict[int, str], busy: list[int], look_ticks: int, swap_ticks: int
) -> None:
    story = happen(disturbances, busy=busy, look_ticks=look_ticks, swap_ticks=swap_ticks)

    for running, record in story.sent:
        assert record.verify_steps <= really_done(story, running, record)
        assert record.tokens == 2 * record.verify_steps


@settings(max_examples=25, deadline=None)
@given(disturbances=trouble, busy=traffic, look_ticks=st.integers(1, 5))
def test_nothing_is_sent_twice(
    disturbances: dict[int, str], busy: list[int], look_ticks: int
) -> None:
    disturbances = {tick: kind for tick, kind in disturbances.items() if kind != "anchor"}

    story = happen(disturbances, busy=busy, look_ticks=look_ticks, swap_ticks=3)

    records = [record for _, record in story.sent]
    assert union(records) == tuple(sorted(records, key=lambda record: record.key))


@settings(max_examples=15, deadline=None)
@given(busy=traffic, look_ticks=st.integers(1, 3), swap_ticks=st.integers(0, 15))
def test_undisturbed_blocks_are_recorded_nearly_whole_and_of_their_own_drafter_only(
    busy: list[int], look_ticks: int, swap_ticks: int
) -> None:
    story = happen({}, busy=busy, look_ticks=look_ticks, swap_ticks=swap_ticks)

    for block in range(3):
        mine = [(running, record) for running, record in story.sent if record.block == block]
        claimed = sum(record.verify_steps for _, record in mine)
        done = sum(really_done(story, running, record) for running, record in mine)
        assert done - claimed <= 14
        assert {record.digest for _, record in mine} <= {r.version(block).digest for r, _ in mine}
        assert bool(mine) or sum(map(bool, busy)) / len(busy) < 0.5


@settings(max_examples=25, deadline=None)
@given(
    tick=st.integers(140, 180),
    kind=st.sampled_from(["engine", "agent", "lease", "anchor", "swap"]),
    look_ticks=st.integers(1, 4),
)
def test_a_disturbed_block_is_not_counted(tick: int, kind: str, look_ticks: int) -> None:
    story = happen({tick: kind}, busy=[1], look_ticks=look_ticks, swap_ticks=2)

    of_the_block = [record for _, record in story.sent if record.block == 1]

    own = RUNNING.version(1).digest
    assert not of_the_block or {record.digest for record in of_the_block} > {own}

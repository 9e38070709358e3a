from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_agent.supervision import (
    FASTEST_GROWTH,
    HEALTHY_SECONDS,
    LONGEST_LOOK_SECONDS,
    MAX_FAILURES,
    PARKED_SECONDS,
    RESERVE_BYTES,
    SHORTEST_LOOK_SECONDS,
    Action,
    Kill,
    Limits,
    Memory,
    Start,
    Trainer,
    ended,
    heard,
    look_again_seconds,
    memory_left,
    next_action,
    phase,
    started,
)

LIMITS = Limits(memory_bytes=1000, silence_seconds=60.0)


def crash_looping(times: int, *, life_seconds: float = 1.0) -> tuple[Trainer, float]:
    """Return a trainer that ended `times` times, started whenever it may, and the time then."""
    trainer, now = Trainer(), 0.0
    for _ in range(times):
        now = max(now, trainer.start_at)
        trainer = started(trainer, now=now)
        now += life_seconds
        trainer = ended(trainer, "exit status 1", now=now)
    return trainer, now


@pytest.mark.parametrize(
    ("trainer", "trainer_bytes", "now", "action"),
    [
        pytest.param(Trainer(), 0, 0.0, Start(), id="first-start-is-at-once"),
        pytest.param(Trainer(start_at=4.0), 0, 3.9, None, id="backing-off"),
        pytest.param(Trainer(start_at=4.0), 0, 4.0, Start(), id="back-off-is-over"),
        pytest.param(started(Trainer(), now=0.0), 1000, 60.0, None, id="running-within-limits"),
        pytest.param(
            started(Trainer(), now=0.0),
            1001,
            1.0,
            Kill("memory", "uses 1001 bytes of memory, allowed are 1000"),
            id="over-its-memory",
        ),
        pytest.param(
            started(Trainer(), now=0.0),
            0,
            60.1,
            Kill("hang", "no new report for 60 s"),
            id="never-reported",
        ),
        pytest.param(
            heard(started(Trainer(), now=0.0), now=50.0), 0, 110.0, None, id="reported-in-time"
        ),
        pytest.param(
            heard(started(Trainer(), now=0.0), now=50.0),
            0,
            110.1,
            Kill("hang", "no new report for 60 s"),
            id="hanging",
        ),
    ],
)
def test_next_action(trainer: Trainer, trainer_bytes: int, now: float, action: Action) -> None:
    assert next_action(trainer, LIMITS, memory=Memory(trainer_bytes), now=now) == action


@pytest.mark.parametrize(
    ("left_bytes", "cause"),
    [
        pytest.param(None, None, id="no-limit"),
        pytest.param(RESERVE_BYTES, None, id="enough-left"),
        pytest.param(RESERVE_BYTES - 1, "memory", id="close-to-the-limit"),
        pytest.param(-1, "memory", id="over-the-limit"),
    ],
)
def test_a_trainer_ends_before_its_container_does(left_bytes: int | None, cause: str) -> None:
    memory = Memory(10, left_bytes)

    action = next_action(started(Trainer(), now=0.0), LIMITS, memory=memory, now=1.0)

    assert (action.cause if isinstance(action, Kill) else None) == cause


@given(st.integers(0, 1 << 40), st.none() | st.integers(0, 1 << 40))
def test_a_trainer_is_looked_at_before_it_can_take_what_is_left(
    trainer_bytes: int, left_bytes: int | None
) -> None:
    limits = Limits(memory_bytes=1 << 34, silence_seconds=60.0)
    memory = Memory(trainer_bytes, left_bytes)

    pause = look_again_seconds(limits, memory)

    left = memory_left(limits, memory)
    assert left is not None
    assert SHORTEST_LOOK_SECONDS <= pause <= LONGEST_LOOK_SECONDS
    assert pause == SHORTEST_LOOK_SECONDS or pause * FASTEST_GROWTH <= left


def test_memory_is_not_watched_without_a_limit() -> None:
    limits = Limits(memory_bytes=None, silence_seconds=60.0)

    action = next_action(started(Trainer(), now=0.0), limits, memory=Memory(10**15, 0), now=1.0)

    assert action is None


def test_a_killed_trainer_is_back_within_a_quarter_of_a_second() -> None:
    trainer = ended(started(Trainer(), now=0.0), "signal 9", now=10.0)

    assert trainer.start_at == 10.25
    assert trainer.reason == "signal 9; next start in 0.25 s"


def test_a_crash_loop_backs_off_and_is_parked_at_the_tenth_failure() -> None:
    pauses = []
    for times in range(1, MAX_FAILURES + 1):
        trainer, now = crash_looping(times)
        pauses.append(trainer.start_at - now)

    assert pauses == [0.25, 0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0, PARKED_SECONDS]
    assert trainer.parked


def test_a_parked_trainer_is_tried_every_five_minutes_for_ever() -> None:
    trainer, now = crash_looping(MAX_FAILURES + 50)

    assert trainer.parked
    assert trainer.start_at - now == PARKED_SECONDS


def test_a_parked_trainer_that_lives_is_no_longer_parked() -> None:
    trainer, _ = crash_looping(MAX_FAILURES)
    trainer = started(trainer, now=trainer.start_at)

    trainer = ended(trainer, "signal 9", now=trainer.started_at + HEALTHY_SECONDS)

    assert not trainer.parked
    assert trainer.start_at - trainer.failures[-1] == 0.25


def test_a_parked_trainer_is_cleared_while_it_lives() -> None:
    trainer, _ = crash_looping(MAX_FAILURES)
    trainer = started(trainer, now=trainer.start_at)

    young = heard(trainer, now=trainer.started_at + HEALTHY_SECONDS - 1.0)
    old = heard(young, now=trainer.started_at + HEALTHY_SECONDS)

    assert young.parked
    assert not old.parked
    assert old.failures == ()


def test_failures_older_than_the_window_do_not_park() -> None:
    trainer = Trainer(failures=tuple(float(n) for n in range(MAX_FAILURES - 1)))

    trainer = ended(started(trainer, now=700.0), "exit status 1", now=701.0)

    assert not trainer.parked
    assert trainer.failures == (701.0,)


def test_a_trainer_that_could_not_be_started_is_tried_again() -> None:
    trainer = ended(Trainer(), "cannot be started: no such file", now=5.0)

    assert next_action(trainer, LIMITS, memory=Memory(), now=5.25) == Start()


@pytest.mark.parametrize(
    ("trainer", "reported", "expected"),
    [
        pytest.param(started(Trainer(), now=0.0), None, "waiting", id="first-start"),
        pytest.param(
            started(Trainer(), now=0.0), "delivered", "waiting", id="report-of-an-earlier-life"
        ),
        pytest.param(
            heard(started(Trainer(), now=0.0), now=1.0), "training", "training", id="running"
        ),
        pytest.param(crash_looping(1)[0], "training", "restarting", id="between-two-lives"),
        pytest.param(
            started(crash_looping(1)[0], now=9.0), "training", "restarting", id="not-yet-back"
        ),
        pytest.param(crash_looping(MAX_FAILURES)[0], "training", "parked", id="parked"),
    ],
)
def test_phase(trainer: Trainer, reported: str | None, expected: str) -> None:
    assert phase(trainer, reported) == expected


@given(st.lists(st.floats(0.0, 3600.0), min_size=1, max_size=40))
def test_whatever_lives_it_has_a_trainer_is_always_started_again(lives: list[float]) -> None:
    trainer, now = Trainer(), 0.0
    for life_seconds in lives:
        trainer = started(trainer, now=now)
        now += life_seconds
        trainer = ended(trainer, "exit status 1", now=now)
        pause, now = trainer.start_at - now, trainer.start_at

        assert 0.2 < pause <= PARKED_SECONDS + 0.1
        assert len(trainer.failures) <= MAX_FAILURES
        assert next_action(trainer, LIMITS, memory=Memory(), now=now) == Start()

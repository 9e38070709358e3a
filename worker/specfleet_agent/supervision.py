"""When to start and when to kill the trainer. Pure: processes and the clock are elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

from specfleet_common.back_off import back_off_seconds

WINDOW_SECONDS = 600.0
MAX_FAILURES = 10
PARKED_SECONDS = 300.0
HEALTHY_SECONDS = WINDOW_SECONDS / MAX_FAILURES
"""Lives longer than this can never add up to `MAX_FAILURES` in a window, so they clear the past."""
RESERVE_BYTES = 64 << 20
"""The container is kept this far from where the kernel would kill all that is in it."""
FASTEST_GROWTH = 4 << 30
"""Bytes per second that a process can fill memory with."""
KILLED = "signal 9"
CAUSES = EXIT, MEMORY, HANG = ("exit", "memory", "hang")
SHORTEST_LOOK_SECONDS, LONGEST_LOOK_SECONDS = 0.01, 0.1


@dataclass(frozen=True, slots=True)
class Limits:
    """What a living trainer may do; `memory_bytes` None means that nobody watches its memory."""

    memory_bytes: int | None
    silence_seconds: float


@dataclass(frozen=True, slots=True)
class Memory:
    """What the trainer holds, and what its container may still take; None without a limit."""

    trainer_bytes: int = 0
    container_left_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Trainer:
    """The trainer over all its lives."""

    running: bool = False
    started_at: float = 0.0
    heard_at: float | None = None
    """When its report was last seen to change; None while this life has not reported."""
    start_at: float = 0.0
    failures: tuple[float, ...] = ()
    parked: bool = False
    reason: str = "not started yet"


@dataclass(frozen=True, slots=True)
class Start:
    """Start the trainer now."""


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill the trainer now; its end will be put down to `cause`, and `reason` says more."""

    cause: str
    reason: str


Action = Start | Kill | None


def started(trainer: Trainer, *, now: float) -> Trainer:
    """Return the trainer at the beginning of a life."""
    return replace(trainer, running=True, started_at=now, heard_at=None, reason="running")


def heard(trainer: Trainer, *, now: float) -> Trainer:
    """Return the trainer after its report changed; the past of one that lives long is cleared."""
    if now - trainer.started_at >= HEALTHY_SECONDS:
        return replace(trainer, heard_at=now, failures=(), parked=False)
    return replace(trainer, heard_at=now)


def ended(trainer: Trainer, reason: str, *, now: float) -> Trainer:
    """Return the trainer after a life ended; every end that nobody asked for is a failure."""
    recent = tuple(at for at in trainer.failures if now - at < WINDOW_SECONDS)
    healthy = trainer.running and now - trainer.started_at >= HEALTHY_SECONDS
    failures = (now,) if healthy else (*recent, now)[-MAX_FAILURES:]
    parked = not healthy and (trainer.parked or len(failures) >= MAX_FAILURES)
    pause = PARKED_SECONDS if parked else back_off_seconds(len(failures))
    return replace(
        trainer,
        running=False,
        heard_at=None,
        start_at=now + pause,
        failures=failures,
        parked=parked,
        reason=f"{reason}; next start in {pause:g} s",
    )


def why_ended(ending: str, killed: Kill | None, *, oom_kills: int) -> Kill:
    """Return what an end is put down to; `oom_kills` are the kernel's during the trainer's life."""
    if killed is not None:
        return killed
    if ending == KILLED and oom_kills > 0:
        return Kill(MEMORY, "killed by the kernel: its container was out of memory")
    return Kill(EXIT, ending)


def next_action(trainer: Trainer, limits: Limits, *, memory: Memory, now: float) -> Action:
    """Say what to do with the trainer, None for nothing."""
    if not trainer.running:
        return Start() if now >= trainer.start_at else None
    left = memory_left(limits, memory)
    if left is not None and left < 0:
        return Kill(MEMORY, _too_much(limits, memory))
    last_sign = trainer.started_at if trainer.heard_at is None else trainer.heard_at
    if now - last_sign > limits.silence_seconds:
        return Kill(HANG, f"no new report for {limits.silence_seconds:g} s")
    return None


def memory_left(limits: Limits, memory: Memory) -> int | None:
    """Return how much the trainer may still take, None when nobody watches its memory."""
    if limits.memory_bytes is None:
        return None
    left = limits.memory_bytes - memory.trainer_bytes
    if memory.container_left_bytes is None:
        return left
    return min(left, memory.container_left_bytes - RESERVE_BYTES)


def look_again_seconds(limits: Limits, memory: Memory) -> float:
    """Return how long the trainer may go unseen: not long enough to take what is left."""
    left = memory_left(limits, memory)
    if left is None:
        return LONGEST_LOOK_SECONDS
    return min(max(left / FASTEST_GROWTH, SHORTEST_LOOK_SECONDS), LONGEST_LOOK_SECONDS)


def _too_much(limits: Limits, memory: Memory) -> str:
    if limits.memory_bytes is not None and memory.trainer_bytes > limits.memory_bytes:
        return f"uses {memory.trainer_bytes} bytes of memory, allowed are {limits.memory_bytes}"
    return (
        f"uses {memory.trainer_bytes} bytes of memory, and its container may take only "
        f"{memory.container_left_bytes} more, expected at least {RESERVE_BYTES}"
    )


def phase(trainer: Trainer, reported: str | None) -> str:
    """Return the phase for the heartbeat; `reported` is what the trainer last said, if anything."""
    if not trainer.running:
        return "parked" if trainer.parked else "restarting"
    if trainer.heard_at is not None and reported is not None:
        return reported
    return "restarting" if trainer.failures else "waiting"

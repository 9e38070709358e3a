"""When to start and when to kill the trainer. Pure: processes and the clock are elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

from specfleet_common.back_off import back_off_seconds

WINDOW_SECONDS = 600.0
MAX_FAILURES = 10
PARKED_SECONDS = 300.0
HEALTHY_SECONDS = WINDOW_SECONDS / MAX_FAILURES
"""Lives longer than this can never add up to `MAX_FAILURES` in a window, so they clear the past."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a living trainer may do; `memory_bytes` None means that nobody watches its memory."""

    memory_bytes: int | None
    silence_seconds: float


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
    """Return the trainer after its report changed."""
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


def next_action(trainer: Trainer, limits: Limits, *, resident_bytes: int, now: float) -> Action:
    """Say what to do with the trainer, None for nothing."""
    if not trainer.running:
        return Start() if now >= trainer.start_at else None
    if limits.memory_bytes is not None and resident_bytes > limits.memory_bytes:
        used = f"uses {resident_bytes} bytes of memory, allowed are {limits.memory_bytes}"
        return Kill("memory", used)
    last_sign = trainer.started_at if trainer.heard_at is None else trainer.heard_at
    if now - last_sign > limits.silence_seconds:
        return Kill("hang", f"no new report for {limits.silence_seconds:g} s")
    return None


def phase(trainer: Trainer, reported: str | None) -> str:
    """Return the phase for the heartbeat; `reported` is what the trainer last said, if anything."""
    if not trainer.running:
        return "parked" if trainer.parked else "restarting"
    if trainer.heard_at is not None and reported is not None:
        return reported
    return "restarting" if trainer.failures else "waiting"

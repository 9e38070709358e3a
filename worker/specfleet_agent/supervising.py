"""Keep the trainer running as `supervision` wants."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from specfleet_agent import supervision
from specfleet_agent.instruments import Instruments
from specfleet_agent.memory import Cgroup
from specfleet_agent.supervision import Kill, Limits, Memory, Start, Trainer
from specfleet_agent.trainer_process import TrainerProcess
from specfleet_agent.volume import Volume

log = structlog.get_logger()

STOP_SECONDS = 5.0


class Supervisor:
    """Watches one trainer; `process` None means that this worker does not train."""

    def __init__(
        self,
        process: TrainerProcess | None,
        limits: Limits,
        volume: Volume,
        instruments: Instruments,
        *,
        cgroup: Cgroup | None,
        clock: Callable[[], float],
    ) -> None:
        self.trainer = Trainer()
        self.memory = Memory()
        self._process = process
        self._limits = limits
        self._volume = volume
        self._instruments = instruments
        self._cgroup = cgroup
        self._clock = clock
        self._stamp: int | None = None
        self._killed: Kill | None = None
        self._oom_kills_at_start = 0

    def phase(self, reported: str | None) -> str:
        """Return the trainer's phase for the heartbeat."""
        if self._process is None:
            return "off"
        return supervision.phase(self.trainer, reported)

    async def watch(self) -> float:
        """Look after the trainer once; return the pause before the next look."""
        if self._process is not None:
            self._look_after(self._process)
        return supervision.look_again_seconds(self._limits, self.memory)

    def _look_after(self, process: TrainerProcess) -> None:
        now = self._clock()
        if self.trainer.running and (ending := process.ending()) is not None:
            self._ended(ending, now=now)
        stamp = self._volume.report_stamp()
        if self.trainer.running and stamp != self._stamp:
            self.trainer = supervision.heard(self.trainer, now=now)
        self._stamp = stamp
        self.memory = self._memory(process) if self.trainer.running else Memory()
        match supervision.next_action(self.trainer, self._limits, memory=self.memory, now=now):
            case Start():
                self._start(process, now=now)
            case Kill() as kill if self._killed is None:
                log.warning("trainer_killed", cause=kill.cause, reason=kill.reason)
                self._killed = kill
                process.kill()

    def _memory(self, process: TrainerProcess) -> Memory:
        left_bytes = None
        if self._cgroup is not None and self._limits.memory_bytes is not None:
            left_bytes = self._cgroup.left_bytes()
        return Memory(process.memory_bytes(), left_bytes)

    def _oom_kills(self) -> int:
        return 0 if self._cgroup is None else self._cgroup.oom_kills()

    def _start(self, process: TrainerProcess, *, now: float) -> None:
        self._killed = None
        self._oom_kills_at_start = self._oom_kills()
        try:
            pid = process.start()
        except OSError as error:
            self._ended(f"cannot be started: {error}", now=now)
            return
        self.trainer = supervision.started(self.trainer, now=now)
        log.info("trainer_started", pid=pid, failures=len(self.trainer.failures))

    def _ended(self, ending: str, *, now: float) -> None:
        oom_kills = self._oom_kills() - self._oom_kills_at_start
        why = supervision.why_ended(ending, self._killed, oom_kills=oom_kills)
        self.trainer = supervision.ended(self.trainer, why.reason, now=now)
        self._instruments.trainer_restarts.labels(cause=why.cause).inc()
        log.warning(
            "trainer_ended",
            cause=why.cause,
            reason=self.trainer.reason,
            parked=self.trainer.parked,
        )

    async def stop(self) -> None:
        """End the trainer."""
        if self._process is not None:
            await asyncio.to_thread(self._process.stop, grace_seconds=STOP_SECONDS)

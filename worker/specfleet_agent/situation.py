"""What an agent knows when it decides: its own identity, and what it last read and heard."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from specfleet_agent.break_even import BreakEven
from specfleet_agent.engine_page import EnginePage
from specfleet_common.exchange import Orders, TrainerReport, Walking
from specfleet_common.wire.messages import HeartbeatReply, VersionRef


class Serve(enum.StrEnum):
    """Which drafter the engine should run."""

    STOCK = "Stock"
    STABLE = "Stable"
    LOCAL = "Local"


@dataclass(frozen=True, slots=True)
class Worker:
    """Who this agent is, the same after every restart."""

    id: str
    cohort: str
    trains: bool
    serve: Serve


@dataclass(frozen=True, slots=True)
class Anchor:
    """When a comparison began by this agent's own clock."""

    comparison: str
    began: float


@dataclass(frozen=True, slots=True)
class Reply:
    """The last answer to a heartbeat, the lineage it is about, and when it was asked for.

    `anchor` is that of the comparison which the answer names, None when it names none.
    """

    lineage_id: str
    message: HeartbeatReply
    asked_at: float
    anchor: Anchor | None = None


@dataclass(frozen=True, slots=True)
class LastStable:
    """The stable version as last heard, and how long that is good for without another answer."""

    lineage_id: str
    number: int
    digest: str
    lease_seconds: float


@dataclass(frozen=True, slots=True)
class Files:
    """What lies on the pod's volume and beside the engine.

    Digests are of the content as it is now; None means there is no such file, and an empty digest
    that the file is not safetensors.
    """

    versions: Mapping[int, str] = field(default_factory=dict)
    orders: Orders | None = None
    report: TrainerReport | None = None
    stock_digest: str | None = None
    deltas: frozenset[int] = frozenset()
    stable: LastStable | None = None
    walking: Walking | None = None

    def hold(self, version: VersionRef | None) -> bool:
        """Return whether exactly this version is here."""
        return version is not None and self.versions.get(version.number) == version.digest


@dataclass(frozen=True, slots=True)
class Written:
    """When the engine wrote what is on its page: after one time and by another, as far as known."""

    after: float
    by: float


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything a decision looks at; `page` is None while there is no engine to adapt.

    `engine_problem` says why the engine serves without being adapted, nothing while it is adapted.
    """

    page: EnginePage | None = None
    engine_problem: str = ""
    reply: Reply | None = None
    files: Files = field(default_factory=Files)
    started_at: float = 0.0
    """When this agent started, by the clock that replies are stamped with."""
    page_written: Written | None = None
    break_even: BreakEven = field(default_factory=BreakEven)

    @property
    def answer(self) -> HeartbeatReply | None:
        """Return the last reply if it is about the drafters that fit the engine of now."""
        if self.page is None or self.reply is None:
            return None
        return self.reply.message if self.reply.lineage_id == self.page.lineage.id else None

    def leased(self, now: float) -> HeartbeatReply | None:
        """Return the last reply while the lease that it gave lasts."""
        answer = self.answer
        if answer is None or self.reply is None:
            return None
        return answer if now - self.reply.asked_at <= answer.lease_seconds else None

    def has(self, version: VersionRef) -> bool:
        """Return whether a version is on the volume or, as stock, beside the engine."""
        is_stock = self.page is not None and version.digest == self.page.stock_digest
        return is_stock or self.files.hold(version)

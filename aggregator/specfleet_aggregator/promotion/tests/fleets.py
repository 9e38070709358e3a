"""Engines that obey, and who is told what."""

from __future__ import annotations

from dataclasses import dataclass, field

from specfleet_aggregator.promotion.assigning import (
    Engines,
    Roster,
    Traffic,
    next_roster,
)
from specfleet_aggregator.promotion.history import Promotion
from specfleet_aggregator.promotion.telling import Scene, Told, tell
from specfleet_aggregator.promotion.tests.worlds import in_phase, settings
from specfleet_common.api.learning import PromotionSettings
from specfleet_common.wire.messages import VersionRef

CANDIDATE, STABLE = VersionRef(1, f"{1:064x}", 10), VersionRef(0, f"{0:064x}", 10)
VERSIONS = {0: STABLE, 1: CANDIDATE}


@dataclass
class Fleet:
    """Engines that obey, and the aggregator's idea of who does what."""

    settings: PromotionSettings = field(default_factory=settings)
    running: Promotion | None = field(default_factory=lambda: in_phase("Canary"))
    observed: dict[str, str] = field(default_factory=dict)
    roster: Roster = field(default_factory=Roster)
    idle: set[str] = field(default_factory=set)
    """Engines without traffic."""
    quiet: set[str] = field(default_factory=set)
    """Engines whose last request was a while ago."""
    now: float = 100.0

    @property
    def engines(self) -> Engines:
        return {name: digest for name, digest in self.observed.items() if digest}

    def join(self, *names: str) -> None:
        self.observed |= dict.fromkeys(names, STABLE.digest)

    def assign(self, *, may_choose: bool = True, known: frozenset[str] = frozenset()) -> None:
        self.roster = next_roster(
            self.roster,
            self.engines,
            self.settings,
            running=self.running,
            watched=None,
            traffic=Traffic(
                busy=frozenset(self.observed) - self.idle - self.quiet, idle=frozenset(self.idle)
            ),
            known=known,
            may_choose=may_choose,
            now=self.now,
        )

    def told(self, name: str) -> Told:
        scene = Scene(self.running, None, VERSIONS, sets=(self.running.id,) if self.running else ())
        return tell(scene, self.roster, name, trains=True, now=self.now)

    def obey(self, *names: str) -> None:
        """Let engines run what they are told; those that compare run the candidate now."""
        for name in names or tuple(self.observed):
            told = self.told(name)
            runs = told.comparison.trial if told.comparison else told.serve
            self.observed[name] = (runs or STABLE).digest

    def serving(self) -> set[str]:
        return {name for name in self.observed if self.told(name).serve is not None}

    def comparing(self) -> set[str]:
        return {name for name in self.observed if self.told(name).comparison is not None}


def fleet(*names: str, phase: str = "Canary", **changes: object) -> Fleet:
    found = Fleet(settings(**changes), in_phase(phase))
    found.join(*names)
    return found

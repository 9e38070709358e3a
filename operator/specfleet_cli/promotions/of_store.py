"""Promotions of a store, and of the run on this machine that writes it."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from specfleet_cli.promotions.cases import promotions_of
from specfleet_cli.promotions.deciding import DecisionError, check, named, what_next
from specfleet_cli.promotions.listing import Listed, with_live_states
from specfleet_cli.promotions.live import live_states
from specfleet_cli.promotions.places import OwnedStore, Run, opened
from specfleet_cli.promotions.settings import read_settings, write_decision
from specfleet_cli.promotions.sources import Stored
from specfleet_common.api.promotion import Decision
from specfleet_common.store.location import Location
from specfleet_common.wire.access import access_by_files
from specfleet_common.wire.messages import PromotionState

NOT_TOLD = "the aggregator says nothing about it: what is open is shown as the store has it"


class StoreSource:
    """All lineages of one store; `run` is the fleet that writes it, if one is named."""

    def __init__(
        self, location: Location, environment: Mapping[str, str], run: Run | None = None
    ) -> None:
        self.note = ""
        self._location = location
        self._environment = environment
        self._run = run

    @cached_property
    def _owned(self) -> OwnedStore:
        return opened(self._location, self._environment)

    def promotions(self) -> tuple[Listed, ...]:
        """Return all of them, the newest first; open ones as the running aggregator tells them."""
        decisions = read_settings(self._run.settings_file).decisions if self._run else {}
        owned = self._owned
        found = promotions_of(owned.store, fleet=owned.fleet, decisions=decisions)
        return with_live_states(found, self._live(found))

    def promotion(self, name: str) -> Listed:
        """Return one with all that is known of it."""
        return named(self.promotions(), name)

    def decide(self, name: str, decision: Decision) -> str:
        """Write the decision into the run's settings, where the aggregator sees it at once."""
        if self._run is None:
            raise DecisionError("a store decides nothing, name the directory of a run")
        promotions = self.promotions()
        promotion = named(promotions, name)
        settings = self._run.settings_file
        check(promotion, decision, read_settings(settings).promotion.mode)
        still_open = {one.name for one in promotions if not one.has_ended}
        write_decision(settings, name, decision, open_promotions=still_open)
        follow = ["specfleet", "promotions", name, "--directory", str(self._run.directory)]
        return what_next(promotion, decision, follow=shlex.join(follow))

    def stored(self, name: str) -> Stored:
        """Return one with the store of its evidence."""
        return Stored(self.promotion(name), self._owned.store)

    def _live(self, promotions: Sequence[Listed]) -> tuple[PromotionState, ...]:
        wanted = [one.state.id for one in promotions if not one.has_ended]
        if self._run is None or not wanted:
            return ()
        fleet = self._run.fleet
        access = access_by_files(token_file=Path(fleet.token_file))
        states = asyncio.run(live_states(fleet.aggregator_address, access, wanted))
        self.note = NOT_TOLD if states is None else ""
        return states or ()

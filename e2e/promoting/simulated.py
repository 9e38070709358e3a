"""A fleet on this machine that judges what it learns, with simulated engines, under traffic."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e.cluster_traffic.background import running_traffic
from e2e.cluster_traffic.driving import Load
from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.cluster_traffic.watching import Watch
from e2e.engines import ROOT
from e2e.fleets import STORE, prepare, ready, running, write_manifest
from e2e.observing import Observer, watching
from e2e.promoting.fleet import NO_NEW_VERSIONS, judging
from e2e.simulator.running import set_behaviour, simulated
from specfleet_cli.endpoints import Fleet
from specfleet_cli.plan import SETTINGS_FILE_NAME
from specfleet_cli.traffic.prompts import read_documents
from specfleet_common.api.learning import parse_settings
from specfleet_common.files import write_file
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.entries import Entry
from specfleet_common.store.ledger import Ledger
from specfleet_common.store.versions import lineages
from specfleet_common.wire.messages import PromotionState

PATIENCE_SECONDS = 600.0
LOAD = Load(clients=4, max_tokens=48, distinct_prompts=400)
BETTER = {"stock": [0.5, 0.2, 0.1], "default": [0.9, 0.8, 0.7]}
"""How often drafts are accepted: what was learnt is much better than stock."""

Change = Callable[[dict[str, Any]], None]


@dataclass(slots=True)
class Judging:
    """The running fleet, as a story sees it."""

    fleet: Fleet
    observer: Observer
    out: Path
    traffic: list[Watch] = field(default_factory=list)

    def promotions(self) -> tuple[PromotionState, ...]:
        """Return what the aggregator tells, the newest first."""
        return self.observer.state.promotions if self.observer.state else ()

    def entries(self, promotion: str) -> list[Entry]:
        """Return what the ledger says of a promotion."""
        store = DirectoryStore(self.out / STORE)
        (lineage,) = lineages(store)
        entries = Ledger(store, lineage).entries()
        return [entry for entry in entries if getattr(entry, "promotion", None) == promotion]

    def set(self, **behaviour: Any) -> None:
        """Change how all engines behave."""
        for worker in self.fleet.workers:
            set_behaviour(worker.engine.url, behaviour)

    def stop_learning(self) -> None:
        """Have the open round go on for ever."""
        path = self.out / SETTINGS_FILE_NAME
        settings = parse_settings(path.read_bytes())
        endless = settings.model_copy(update={"local_steps": NO_NEW_VERSIONS})
        write_file(path, endless.to_json().encode())

    async def next(self, *, after: int = 0) -> PromotionState:
        """Wait for a promotion of a version above a number that is not over."""
        return await self._first(
            lambda one: one.number > after and one.phase != "Done", f"a candidate after {after}"
        )

    async def until(self, promotion: str, *phases: str) -> PromotionState:
        """Wait until a promotion is in one of some phases."""
        return await self._first(
            lambda one: one.id == promotion and one.phase in phases, f"{promotion} in {phases}"
        )

    async def until_it_is(self, promotion: str, outcome: str) -> PromotionState:
        """Wait until a promotion has some outcome."""
        return await self._first(
            lambda one: (one.id, one.outcome) == (promotion, outcome), f"{promotion} {outcome}"
        )

    async def until_all_run(self, drafter: str, *, seconds: float = 30.0) -> None:
        """Wait until every engine was last seen to run a drafter: a digest, or `stock`."""

        def do_all_run() -> bool:
            runs = {one.worker: (one.observed, one.digest) for one in self.observer.observations}
            return all(drafter in runs.get(worker.name, ()) for worker in self.fleet.workers)

        assert await self.observer.until(do_all_run, seconds=seconds) is not None, (
            self.observer.observations[-6:]
        )

    def assert_nobody_noticed(self) -> None:
        """Fail when a request failed, or when an answer was another one than before."""
        for watch in self.traffic:
            for window in watch.windows():
                assert_no_failures(window, minimum=30)
                assert_same_answers(window)

    async def _first(self, fits: Callable[[PromotionState], bool], what: str) -> PromotionState:
        found: list[PromotionState] = []

        def has_come() -> bool:
            found[:] = [one for one in self.promotions() if fits(one)]
            return bool(found)

        in_time = await self.observer.until(has_come, seconds=PATIENCE_SECONDS)
        assert in_time is not None, f"{what}: not seen; {self.promotions()}"
        return found[0]


@asynccontextmanager
async def judging_fleet(
    out: Path,
    *,
    engines: int = 2,
    promotion: Mapping[str, Any] | None = None,
) -> AsyncIterator[Judging]:
    """Run a fleet that learns and judges, with traffic on every engine, for a `with` block."""

    def change(spec: dict[str, Any]) -> None:
        spec.update(judging(engines))
        spec["promotion"]["canary"]["blockSeconds"] = 2
        spec["promotion"].update(promotion or {})
        spec["aggregation"]["localSteps"] = 20
        spec["trainer"]["capture"]["holdoutPercent"] = 60
        spec["trainer"]["publishEverySteps"] = 0
        acceptance = {"name": "SIMULATOR_ACCEPTANCE", "value": json.dumps(BETTER)}
        spec["engine"]["env"].append(acceptance)

    prepare(out)
    manifest = write_manifest(ROOT / "examples/demo.yaml", out, change=change)
    documents = read_documents(ROOT / "examples/text/hi.jsonl")
    with _simulated(), running(manifest, out) as process:
        fleet = await ready(process, out)
        observer = Observer(fleet)
        async with watching(observer):
            with ExitStack() as stack:
                story = Judging(fleet, observer, out)
                for worker in fleet.workers:
                    traffic = running_traffic(worker.engine.url, LOAD, documents)
                    story.traffic.append(stack.enter_context(traffic))
                yield story


@contextmanager
def _simulated() -> Iterator[None]:
    """Have what is started meanwhile take the simulator for vLLM."""
    before = os.environ.get("PYTHONPATH")
    os.environ.update(simulated(os.environ))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before

"""A fleet that learns under traffic, and what must hold whatever happens to it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e.cluster_traffic.background import running_traffic
from e2e.cluster_traffic.driving import Load
from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.cluster_traffic.watching import Watch
from e2e.cluster_traffic.windows import Window
from e2e.engines import ROOT
from e2e.failures.asking import sample
from e2e.failures.clocks import Clocks
from e2e.failures.gateway import Gateway, gateway
from e2e.failures.history import History, read_history
from e2e.fleets import prepare, ready, running, write_manifest
from e2e.joining_engine import joining, unchanged
from e2e.observing import Observer, watching
from e2e.simulator.running import simulated
from specfleet_cli.endpoints import FILE_NAME, Fleet, Worker, read_fleet
from specfleet_cli.plan import WorkerPlan
from specfleet_cli.traffic.prompts import Document, read_documents
from specfleet_common.exchange import REPORT, TrainerReport, read_message
from specfleet_common.store.directory import DirectoryStore
from specfleet_common.store.testing import BUCKET, ENVIRONMENT, s3_server
from specfleet_common.store.versions import read_content, read_manifest
from specfleet_common.tensors import Array, decode
from specfleet_common.wire.messages import FleetState

PATIENCE_SECONDS = 180.0
LEASE_SECONDS = 8
LOCAL_STEPS = 6
ENOUGH_REQUESTS = 10
LOAD = Load(clients=2, max_tokens=32, distinct_prompts=400)
_ACCEPTANCE = '{"stock": [0.5, 0.2, 0.1], "default": [0.9, 0.8, 0.7]}'
_PREFIX = "failures"
_KEY = f"{_PREFIX}/default/demo"


@dataclass(slots=True)
class Story:
    """The running fleet, as a test sees it."""

    fleet: Fleet
    manifest: Path
    observer: Observer
    root: Path
    """Where the fleet's entries are files: past every trouble of the gateway."""
    gateway: Gateway
    clocks: Clocks
    documents: Sequence[Document]
    traffic: dict[str, Watch] = field(default_factory=dict)

    @property
    def store(self) -> DirectoryStore:
        """Return the store, read past the gateway."""
        return DirectoryStore(self.root)

    @property
    def out(self) -> Path:
        """Return the directory of the run."""
        return self.manifest.parent

    @property
    def trainers(self) -> tuple[Worker, ...]:
        """Return the workers that train."""
        return tuple(worker for worker in self.fleet.workers if worker.train)

    @property
    def number(self) -> int:
        """Return the number of the newest version that was told of."""
        return max((one.number for one in self.observer.published), default=-1)

    @property
    def state(self) -> FleetState:
        """Return what the aggregator told last."""
        assert self.observer.state is not None, "the aggregator has told nothing yet"
        return self.observer.state

    @property
    def store_error(self) -> str:
        """Return what the aggregator told last of the store, nothing while all is well."""
        return self.observer.state.store_error if self.observer.state else ""

    def steps(self) -> tuple[int, ...]:
        """Return how many steps each trainer has made in its lives."""
        return tuple(self.report(worker).total_steps for worker in self.trainers)

    def report(self, worker: Worker) -> TrainerReport:
        """Return what a worker's trainer has said last."""
        found = read_message(Path(worker.state_directory) / REPORT, TrainerReport)
        assert found is not None, f"the trainer of {worker.name} has never reported"
        return found

    def is_apart(self, worker: Worker) -> bool:
        """Say whether the aggregator does not answer a worker."""
        return sample(worker.agent, "specfleet_agent_connected") == 0

    def is_live(self, worker: Worker) -> bool:
        """Say whether a worker has a lease."""
        told = self.observer.worker(worker.worker_id)
        return told is not None and told.live

    def has_run_newer(self, worker: Worker, number: int) -> bool:
        """Say whether an engine was seen to run a version with a higher number."""
        newer = (one for one in self.observer.published if one.number > number)
        return any(self.observer.has_run(worker.name, one) for one in newer)

    def engine_problem(self, worker: Worker) -> str:
        """Return why a worker's engine is not adapted, nothing while it is."""
        told = self.observer.worker(worker.worker_id)
        return "" if told is None else told.engine_problem

    def phase(self, worker: Worker) -> str:
        """Return what a worker's trainer does, nothing before it has reported."""
        told = self.observer.worker(worker.worker_id)
        return "" if told is None else told.trainer.phase

    def weights(self) -> Mapping[str, Array]:
        """Return the newest version."""
        base = self.state.base
        assert base is not None, "there is no version yet"
        manifest = read_manifest(self.store, self.state.lineage_id, base.number)
        assert manifest is not None, f"version {base.number} is in the store"
        return decode(read_content(self.store, manifest, manifest.drafter))

    def files(self, pattern: str) -> list[Path]:
        """Return files of the store."""
        return sorted(self.root.glob(pattern))

    def number_with(self, worker: Worker) -> int | None:
        """Return the newest version that a worker's delta is part of."""
        versions = self.history().versions
        return max(
            (n for n, one in versions.items() if worker.worker_id in one.workers), default=None
        )

    def now(self) -> Fleet:
        """Return which processes the fleet has at this moment."""
        return read_fleet(self.out / FILE_NAME)

    def log(self, name: str) -> str:
        """Return what a process has written: `aggregator`, `agent-push-0` ..."""
        return (self.out / "logs" / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def history(self) -> History:
        """Return what the store says has been published."""
        return read_history(self.store)

    async def until(
        self, condition: Callable[[], bool], what: str, *, seconds: float = PATIENCE_SECONDS
    ) -> float:
        """Wait for a condition; return how long that took."""
        took = await self.observer.until(condition, seconds=seconds)
        assert took is not None, (
            f"{what}: not within {seconds:g} s; {self.observer.state}; "
            f"aggregator: {self.log('aggregator')[-2000:]}"
        )
        return took

    async def next_version(self, *, more: int = 1) -> float:
        """Wait until so many versions came that were not there yet; return how long that took."""
        before = self.number
        return await self.until(
            lambda: self.number >= before + more, f"{more} versions after {before}"
        )

    @asynccontextmanager
    async def surviving(self, what: str, *, but: Collection[str] = ()) -> AsyncIterator[None]:
        """Have something happen in a `with` block, and fail when anybody noticed.

        No request fails or is answered otherwise than before, except by the engines of `but`, whose
        own death it is. A version follows, and no number was skipped or used again.
        """
        before = self.history()
        for watch in self.traffic.values():
            watch.mark(what)
        yield
        await self.next_version()
        for name, watch in self.traffic.items():
            window = await _window(watch, what)
            assert_same_answers(window)
            if name not in but:
                assert_no_failures(window, minimum=ENOUGH_REQUESTS)
        after = self.history()
        after.check(before, told=self.observer.published)

    @asynccontextmanager
    async def joined(
        self, what: str, *, change: Callable[[WorkerPlan], WorkerPlan] = unchanged
    ) -> AsyncIterator[Worker]:
        """Have one more worker, with traffic of its own, and nobody notice: see `surviving`."""
        async with (
            self.surviving(what),
            joining(self.manifest, self.fleet, self.out, change=change) as worker,
        ):
            self.observer.watch_also(worker)
            with running_traffic(worker.engine.url, LOAD, self.documents) as watch:
                watch.mark(what)
                yield worker
                window = await _window(watch, what)
            assert_no_failures(window, minimum=ENOUGH_REQUESTS)


@asynccontextmanager
async def story(out: Path) -> AsyncIterator[Story]:
    """Run a fleet of three simulated engines, two of which train, with its store in a bucket."""
    with ExitStack() as stack:
        server = stack.enter_context(s3_server(out.parent / "s3"))
        between = stack.enter_context(gateway(server.endpoint))
        clocks = Clocks(out.parent)
        variables = simulated(os.environ) | ENVIRONMENT | clocks.environment
        stack.enter_context(_environment(variables))
        prepare(out)
        manifest = write_manifest(ROOT / "examples/demo.yaml", out, change=_quick(between))
        process = stack.enter_context(running(manifest, out))
        fleet = await ready(process, out)
        observer = Observer(fleet)
        documents = read_documents(ROOT / "examples/text/hi.jsonl")
        told = Story(fleet, manifest, observer, server.root / _KEY, between, clocks, documents)
        async with watching(observer):
            with ExitStack() as asking:
                for worker in fleet.workers:
                    traffic = running_traffic(worker.engine.url, LOAD, documents)
                    told.traffic[worker.name] = asking.enter_context(traffic)
                await told.next_version(more=2)
                yield told


async def _window(watch: Watch, name: str) -> Window:
    """Return a window that has enough requests which began after what happened in it."""
    await asyncio.to_thread(watch.until, requests=ENOUGH_REQUESTS, seconds=PATIENCE_SECONDS)
    return await asyncio.to_thread(watch.window, name)


def _quick(between: Gateway) -> Callable[[dict[str, Any]], None]:
    def change(spec: dict[str, Any]) -> None:
        spec["store"] = {"s3": {"endpoint": between.endpoint, "bucket": BUCKET, "prefix": _PREFIX}}
        spec["cohorts"][1]["replicas"] = 2
        spec["aggregation"].update(localSteps=LOCAL_STEPS, leaseSeconds=LEASE_SECONDS)
        # One of two is enough: a round waits for nobody who is in trouble.
        spec["aggregation"]["quorum"] = {"minimum": 1, "percent": 50}
        spec["trainer"]["rowsPerStep"] = 128
        # Nothing is judged here, and scoring what is held out takes longer than a round.
        spec["trainer"]["capture"]["holdoutPercent"] = 0
        spec["engine"]["env"].append({"name": "SIMULATOR_ACCEPTANCE", "value": _ACCEPTANCE})

    return change


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Have what is started meanwhile find these variables."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)

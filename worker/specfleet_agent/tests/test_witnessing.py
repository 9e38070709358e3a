from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from specfleet_agent.instruments import Instruments
from specfleet_agent.observing import Observer
from specfleet_agent.outbox import Outbox
from specfleet_agent.situation import Anchor, Reply
from specfleet_agent.tests.builders import (
    LINEAGE,
    answer,
    page_content,
    start_engine,
    weights,
    worker,
)
from specfleet_agent.tests.promoting import comparison, drafter_of, finished_content, in_force
from specfleet_agent.volume import Volume
from specfleet_agent.witnessing import Witness
from specfleet_common.shm.names import FRONTEND_PAGE_FILE
from specfleet_common.shm.pages import PageWriter
from specfleet_common.wire.messages import Evidence


class Watching:
    """A witness with an engine's pages, and a clock that the test moves.

    The comparison begins at 0, and blocks last ten seconds of which two are washout.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.engine = start_engine(directory)
        self.registry = CollectorRegistry()
        self.now = 0.5
        self._beats = 1
        volume = Volume(directory, directory)
        self.observer = Observer(volume, engine_silence_seconds=1e9, clock=self.clock)
        self.outbox = Outbox("worker-1")
        self.witness = Witness(
            worker(),
            directory,
            self.observer,
            self.outbox,
            Instruments(self.registry),
            clock=self.clock,
        )
        for number in (2, 3):
            (directory / f"version-{number}.safetensors").write_bytes(weights(number))
        self.hear()

    def clock(self) -> float:
        return self.now

    def hear(self) -> None:
        told = comparison(elapsed_seconds=self.now)
        reply = answer(comparison=told)
        self.observer.reply = Reply(LINEAGE.id, reply, self.now, Anchor(told.id, 0.0))

    async def see(self, at: float, **content: Any) -> None:
        """Look at a page that has just been written."""
        self.now = at - 0.01
        await self.observer.look()
        self._beats += 1
        self.engine.write(page_content(beats=self._beats, **content))
        self.now = at
        await self.witness.watch()

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"specfleet_agent_{name}_total", labels)


@pytest.fixture
def watching(tmp_path: Path) -> Watching:
    return Watching(tmp_path)


async def test_blocks_and_requests_are_queued_for_their_comparison(watching: Watching) -> None:
    mine = in_force().version(0).digest
    frontend = PageWriter.create(watching.directory / FRONTEND_PAGE_FILE)
    named = ({"request": "a", "ended": 8.0, "digests": [mine]},)
    await watching.see(1.0, observed=mine, drafters=(drafter_of(mine, steps=1),))
    await watching.see(3.0, observed=mine, drafters=(drafter_of(mine, steps=2),))
    frontend.write({"requests": [finished_content("a", started=3.0, ended=8.0)]})
    await watching.see(8.5, observed=mine, drafters=(drafter_of(mine, steps=7),), requests=named)

    await watching.see(10.5, observed=mine, drafters=(drafter_of(mine, steps=9),), requests=named)

    batch = watching.outbox.next_batch()
    assert isinstance(batch, Evidence)
    assert (batch.lineage_id, batch.set) == (LINEAGE.id, "3-candidate")
    assert [(one.block, one.digest, one.verify_steps) for one in batch.blocks] == [(0, mine, 5)]
    assert [(one.request, one.started, one.digests) for one in batch.requests] == [
        ("a", 3.0, (mine,))
    ]
    assert watching.value("blocks") == 1.0
    assert watching.value("requests", result="recorded") == 1.0


async def test_without_a_comparison_nothing_is_queued(watching: Watching) -> None:
    watching.observer.reply = None
    mine = in_force().version(0).digest

    for at in (1.0, 3.0, 8.5, 10.5):
        await watching.see(at, observed=mine, drafters=(drafter_of(mine, steps=int(at)),))

    assert len(watching.outbox) == 0


async def test_a_page_that_cannot_be_had_for_a_moment_ends_no_block(watching: Watching) -> None:
    mine = in_force().version(0).digest
    await watching.see(1.0, observed=mine, drafters=(drafter_of(mine, steps=1),))
    await watching.see(3.0, observed=mine, drafters=(drafter_of(mine, steps=2),))
    watching.engine.write({"adapting": True})
    await watching.witness.watch()
    await watching.see(8.5, observed=mine, drafters=(drafter_of(mine, steps=7),))

    await watching.see(10.5, observed=mine, drafters=(drafter_of(mine, steps=9),))

    assert len(watching.outbox) == 1


async def test_a_frontend_page_of_another_version_is_logged_once(
    watching: Watching, capsys: pytest.CaptureFixture[str]
) -> None:
    PageWriter.create(watching.directory / FRONTEND_PAGE_FILE).write({"requests": [{}]})

    for at in (1.0, 1.5):
        await watching.see(at)

    assert capsys.readouterr().out.count("the API server's page is not one of this version") == 1

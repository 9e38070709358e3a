"""When the bank is filled: at the borders of blocks, and with nothing that is not wanted."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import CollectorRegistry

from specfleet_agent.bank import Bank
from specfleet_agent.delivering import POLL_SECONDS, Delivery
from specfleet_agent.instruments import Instruments
from specfleet_agent.observing import Observer
from specfleet_agent.situation import Anchor, Reply
from specfleet_agent.tests.builders import LINEAGE, answer, start_engine, version, weights, worker
from specfleet_agent.tests.promoting import comparison
from specfleet_agent.volume import Volume
from specfleet_common.shm.bank import BankReader
from specfleet_common.wire.messages import HeartbeatReply


class Delivering:
    """A delivery with an engine and all versions; its clock stands until it is moved."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.now = 100.0
        start_engine(directory)
        for number in (1, 2, 3):
            (directory / f"version-{number}.safetensors").write_bytes(weights(number))
        volume = Volume(directory, directory)
        self.observer = Observer(volume, engine_silence_seconds=1e9, clock=self.clock)
        self.instruments = Instruments(CollectorRegistry())
        self.delivery = Delivery(
            worker(),
            volume,
            self.observer,
            Bank(directory),
            self.instruments,
            clock=self.clock,
        )

    def clock(self) -> float:
        return self.now

    def hear(self, reply: HeartbeatReply, *, began: float = 0.0) -> None:
        told = reply.comparison
        anchor = None if told is None else Anchor(told.id, began)
        self.observer.reply = Reply(LINEAGE.id, reply, self.now, anchor)

    def bank(self) -> str | None:
        """Return the digest of the newest entry."""
        path = self.directory / "weights.bank"
        entry = BankReader.attach(path).read() if path.exists() else None
        return None if entry is None else entry.digest


async def test_the_next_look_is_due_where_the_block_ends(tmp_path: Path) -> None:
    delivering = Delivering(tmp_path)
    delivering.hear(answer(comparison=comparison()), began=90.5)

    far = await delivering.delivery.deliver()
    delivering.now = 100.375
    near = await delivering.delivery.deliver()

    assert (far, near) == (POLL_SECONDS, 0.125)


async def test_without_a_comparison_looks_come_at_their_own_pace(tmp_path: Path) -> None:
    delivering = Delivering(tmp_path)
    delivering.hear(answer(stable=version(1)))

    assert await delivering.delivery.deliver() == POLL_SECONDS
    assert delivering.bank() == version(1).digest


async def test_a_withdrawn_comparison_puts_stable_back_at_the_next_look(tmp_path: Path) -> None:
    delivering = Delivering(tmp_path)
    delivering.hear(answer(stable=version(1), comparison=comparison()))
    await delivering.delivery.deliver()
    compared = delivering.bank()
    delivering.hear(answer(stable=version(1)))

    await delivering.delivery.deliver()

    assert compared in (version(2).digest, version(3).digest)
    assert delivering.bank() == version(1).digest

"""Does an engine measure no difference where there is none? The A/A test, with real swaps.

`python -m e2e.audits.equivalence --out out/audit-equivalence.json` runs the blocks of a switchback
with the same drafter in both arms, which is written into the engine anew for every block, under
traffic that never stops. Documented in docs/audits.md.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from e2e.audits.pair import conclude, prompts, tell
from e2e.engines import Engine, running_engine
from specfleet_agent import blocks
from specfleet_agent.engine_page import decode
from specfleet_agent.observing import Observer
from specfleet_agent.switchback import Running
from specfleet_agent.volume import Volume
from specfleet_common.judge.equivalence import judge_equivalence
from specfleet_common.judge.records import Block
from specfleet_common.judge.switchback import Arm, Switchback
from specfleet_common.judge.verdicts import Outcome, Verdict
from specfleet_common.shm.bank import BankWriter
from specfleet_common.shm.names import BANK_FILE, STOCK_FILE
from specfleet_common.tensors import content_digest
from specfleet_common.wire.messages import VersionRef

LOOK_SECONDS = 0.1
SILENCE_SECONDS = 120.0
MOST_TRIES = 20
"""An engine that comes to so few blocks of so many is not worth waiting for."""


@dataclass(frozen=True, slots=True)
class Options:
    """How long to measure, how, and what difference would matter."""

    pairs: int
    """That were measured from end to end: on a busy machine more are begun."""
    block_seconds: float
    washout_seconds: float
    margin: float
    alpha: float
    clients: int
    max_tokens: int
    seed: int

    @property
    def plan(self) -> Switchback:
        """Return which arm runs when."""
        return Switchback(f"equivalence-{self.seed}", self.block_seconds, self.washout_seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audit; 0 says that both arms surely differ by less than the margin."""
    parser = argparse.ArgumentParser(prog="python -m e2e.audits.equivalence", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/audit-equivalence.json"))
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--block-seconds", type=float, default=10.0)
    parser.add_argument("--washout-seconds", type=float, default=2.5)
    parser.add_argument("--margin", type=float, default=0.05)
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    given = vars(parser.parse_args(arguments))
    out, options = given.pop("out"), Options(**given)
    with tempfile.TemporaryDirectory() as folder, running_engine(Path(folder)) as engine:
        report = audit(engine, options)
    return conclude(out, report, lines(report))


def audit(engine: Engine, options: Options) -> dict[str, Any]:
    """Measure, judge, and report."""
    digest = content_digest((engine.shm / STOCK_FILE).read_bytes())
    with traffic(engine, options):
        records = measured(engine, options)
    verdict = judged(records, options, digest=digest)
    control = judged(slowed(records, options), options, digest=digest)
    return {
        "problems": problems(verdict, control),
        **asdict(options),
        "swaps": sum({(one.engine, one.block): one.swaps for one in records}.values()),
        "verdict": asdict(verdict),
        "control": asdict(control),
        "blocks": [asdict(one) for one in records],
    }


@contextmanager
def traffic(engine: Engine, options: Options) -> Iterator[None]:
    """Have clients ask one question after the other for the time of a `with` block."""
    done = threading.Event()
    texts = itertools.cycle(prompts(64, seed=options.seed))

    def ask() -> None:
        while not done.is_set():
            engine.complete([next(texts)], max_tokens=options.max_tokens)

    threads = [threading.Thread(target=ask) for _ in range(options.clients)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


def measured(engine: Engine, options: Options) -> list[Block]:
    """Return what the engine did in the blocks of the plan, told from its pages as an agent does.

    The engine gets its drafter anew for each block.
    """
    stock = (engine.shm / STOCK_FILE).read_bytes()
    layout = decode(engine.page()).layout
    bank = BankWriter.create(engine.shm / BANK_FILE, layout, slot_bytes=2 * len(stock))
    version = VersionRef(0, content_digest(stock), len(stock))
    observer = Observer(
        Volume(engine.shm, engine.shm),
        engine_silence_seconds=SILENCE_SECONDS,
        clock=time.monotonic,
    )
    running = Running(
        id="equivalence",
        lineage_id=layout.lineage_id,
        plan=options.plan,
        trial=version,
        base=version,
        engine="engine",
        began=time.monotonic(),
    )
    watched: blocks.Watched | None = None
    records: list[Block] = []
    newest = -1
    while num_pairs(records) < options.pairs:
        assert newest < MOST_TRIES * 2 * options.pairs, f"{len(records)} records: {watched}"
        seen = asyncio.run(observer.look())
        assert seen.page is not None and seen.page_written is not None, seen.engine_problem
        watched, found = blocks.watch(watched, running, seen.page, seen.page_written)
        pairs = num_pairs(records)
        records += found
        if num_pairs(records) > pairs:
            tell(f"pair {num_pairs(records)} of {options.pairs}")
        now = time.monotonic()
        if running.block(now) > newest:
            newest = running.block(now)
            bank.publish([stock], version.digest, "stock", anew=True)
        time.sleep(min(LOOK_SECONDS, max(0.0, running.seconds_to_border(now))))
    return records


def num_pairs(records: Sequence[Block]) -> int:
    """Return how many pairs have records of both their blocks."""
    measured = {one.block for one in records}
    return sum(block + 1 in measured for block in measured if block % 2 == 0)


def judged(records: Sequence[Block], options: Options, *, digest: str) -> Verdict:
    """Return the product's verdict."""
    return judge_equivalence(
        records, options.plan, digest=digest, margin=options.margin, alpha=options.alpha
    )


def slowed(records: Sequence[Block], options: Options) -> list[Block]:
    """Return the records as they were if one arm lost twice the margin and a half to its swaps."""
    factor = 1 / (1 - 2.5 * options.margin)
    return [
        replace(one, busy_seconds=factor * one.busy_seconds)
        if options.plan.arm(one.engine, one.block) is Arm.TRIAL
        else one
        for one in records
    ]


def problems(verdict: Verdict, control: Verdict) -> list[str]:
    """Say what is wrong with the engine, or keeps the audit from showing anything."""
    found = [] if verdict.outcome is Outcome.PASSED else [verdict.sentence]
    if control.outcome is not Outcome.NOT_EQUIVALENT:
        found.append(f"control: one slower arm was not found: {control.sentence}")
    return found


def lines(report: dict[str, Any]) -> list[str]:
    """Return what was found, and that a difference would have been."""
    return [
        f"{report['swaps']} swaps in {len({one['block'] for one in report['blocks']})} blocks",
        report["verdict"]["sentence"],
        f"control: {report['control']['sentence']}",
    ]


if __name__ == "__main__":
    sys.exit(main())

"""Stands in for the trainer: `python -m e2e.bench.trainer_stand_in DELTA LOCAL`.

Whatever the round, it hands in the delta and the local weights that it was started with, at once.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

from specfleet_common import exchange
from specfleet_common.exchange import Orders, TrainerReport, read_message, write_message
from specfleet_common.tensors import content_digest_of_file

POLL_SECONDS = 0.05


def main() -> int:
    """Follow the orders until the agent is gone."""
    delta, local = map(Path, sys.argv[1:])
    state = Path(os.environ["SPECFLEET_TRAINER_STATE_DIRECTORY"])
    agent = os.getppid()
    digests = content_digest_of_file(delta), content_digest_of_file(local)
    done: Orders | None = None
    while os.getppid() == agent:
        orders = read_message(state / exchange.ORDERS, Orders)
        if orders is not None and orders != done:
            _put(delta, state / exchange.delta_file(orders.round))
            _put(local, state / exchange.LOCAL_WEIGHTS)
            done = orders
        write_message(state / exchange.REPORT, _report(done, *digests))
        time.sleep(POLL_SECONDS)
    return 0


def _put(source: Path, target: Path) -> None:
    partial = target.with_name(f".{target.name}.partial")
    shutil.copyfile(source, partial)
    partial.replace(target)


def _report(orders: Orders | None, delta_digest: str, local_digest: str) -> TrainerReport:
    if orders is None:
        return TrainerReport(os.getpid(), "waiting", "", 0, 0, 0, 0, 0, 0.0, (), 0, "", 0, "", 0)
    return TrainerReport(
        pid=os.getpid(),
        phase="delivered",
        lineage_id=orders.lineage_id,
        round=orders.round,
        version=orders.version,
        local_steps=orders.local_steps,
        total_steps=orders.local_steps,
        positions=1000,
        positions_per_second=1.0,
        loss=(1.0,),
        requests=1,
        local_digest=local_digest,
        delta_round=orders.round,
        delta_digest=delta_digest,
        delta_positions=1000,
        attempt=orders.attempt,
    )


if __name__ == "__main__":
    sys.exit(main())

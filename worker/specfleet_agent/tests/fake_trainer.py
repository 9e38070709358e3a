"""A trainer without torch: `python -m specfleet_agent.tests.fake_trainer`.

It "trains" by adding a constant, and misbehaves as FAKE_TRAINER says: exit, orphan (exit and leave
a child behind), hang or grow.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from specfleet_common.exchange import (
    LOCAL_WEIGHTS,
    ORDERS,
    REPORT,
    Orders,
    TrainerReport,
    delta_file,
    read_message,
    write_message,
)
from specfleet_common.files import write_file
from specfleet_common.tensors import content_digest, decode, encode


def main() -> int:
    """Follow the orders until the agent is gone."""
    state = Path(os.environ["SPECFLEET_TRAINER_STATE_DIRECTORY"])
    parent = int(os.environ["SPECFLEET_TRAINER_PARENT_PID"])
    mode = os.environ.get("FAKE_TRAINER", "train")
    if mode == "orphan" and os.fork() == 0:
        time.sleep(0.2)
        return 0
    if mode in ("exit", "orphan"):
        return 7
    hoard: list[bytearray] = []
    while os.getppid() == parent:
        if mode == "grow":
            hoard.append(bytearray(b"x") * (8 << 20))
        if mode != "hang":
            write_message(state / REPORT, report(state))
        time.sleep(0.02)
    return 0


def report(state: Path) -> TrainerReport:
    """Finish the round that is ordered, and say so."""
    orders = read_message(state / ORDERS, Orders)
    if orders is None:
        return TrainerReport(os.getpid(), "waiting", "", 0, 0, 0, 0, 0, 0.0, (), 0, "", 0, "", 0)
    base = decode((state / orders.base_file).read_bytes())
    local = encode({name: value + 0.5 for name, value in base.items()}, orders.dtype)
    delta = encode({name: value * 0 - 0.5 for name, value in base.items()})
    write_file(state / LOCAL_WEIGHTS, local)
    write_file(state / delta_file(orders.round), delta)
    return TrainerReport(
        pid=os.getpid(),
        phase="delivered",
        lineage_id=orders.lineage_id,
        round=orders.round,
        version=orders.version,
        local_steps=orders.local_steps,
        total_steps=orders.local_steps * (orders.round + 1),
        positions=100,
        positions_per_second=10.0,
        loss=(1.0, 2.0),
        requests=5,
        local_digest=content_digest(local),
        delta_round=orders.round,
        delta_digest=content_digest(delta),
        delta_positions=100,
    )


if __name__ == "__main__":
    sys.exit(main())

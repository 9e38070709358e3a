"""Small fleets and recordings for the tests of reports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from e2e.blocks import Block
from e2e.checks import Observation, Published
from e2e.comparing import Comparison
from e2e.demo_report import NONE, STOCK, Facts
from e2e.driving import Leg
from e2e.timeline import Count, Training
from specfleet_cli.endpoints import Endpoint, Fleet, Worker
from specfleet_cli.traffic.comparison import Difference
from specfleet_cli.traffic.driving import Result
from specfleet_cli.traffic.tally import EngineResult
from specfleet_common.store.location import DirectoryLocation


def worker(name: str, cohort: str, *, train: bool) -> Worker:
    """Return a worker that exists on paper."""
    return Worker(
        name=name,
        cohort=cohort,
        serve="Local" if train else "Stock",
        train=train,
        worker_id=f"{name}-id",
        shm_directory="",
        state_directory="",
        engine=_endpoint(f"engine-{name}"),
        agent=_endpoint(f"agent-{name}"),
    )


def fleet(*workers: Worker) -> Fleet:
    """Return a fleet of these workers."""
    return Fleet(
        fleet="demo",
        pid=1,
        served_model_name="demo",
        store=DirectoryLocation(path=Path("store")),
        aggregator_address="127.0.0.1:1",
        token_file="token",
        aggregator=_endpoint("aggregator"),
        workers=workers,
    )


def counts(name: str, lengths: Mapping[float, float]) -> list[Count]:
    """Return readings of an engine, one verify step in a millisecond: seconds -> acceptance."""
    found = [Count(0.0, name, 0, (0, 0), 0)]
    for seconds, length in lengths.items():
        before = found[-1]
        steps = round(1000 * (seconds - before.seconds))
        accepted = round(steps * (length - 1))
        found.append(
            Count(
                seconds=seconds,
                worker=name,
                verify_steps=before.verify_steps + steps,
                accepted=(before.accepted[0] + accepted, 0),
                output_tokens=before.output_tokens + steps + accepted,
            )
        )
    return found


def leg(
    seconds: float,
    *engines: str,
    errors: Mapping[str, int] | None = None,
    differences: tuple[Difference, ...] = (),
) -> Leg:
    """Return traffic of 100 requests to each engine, the first being the reference."""
    errors = errors or {}
    results = {
        name: EngineResult(
            requests=100,
            errors={"HTTP 500": errors[name]} if name in errors else {},
            tokens=1000,
            tokens_per_second=1000 / seconds,
            acceptance_length=1.0,
            acceptance_over_time=(),
            compared=100,
            different=0,
        )
        for name in engines
    }
    return Leg(0.0, seconds, Result(seconds, engines[0], results, differences))


def block(round_: int, arm: str, speed: float, accepted: int = 0) -> Block:
    """Return a block of 100 tokens."""
    steps = 0 if arm == NONE else 100
    return Block(round_, arm, 100 / speed, 100, steps, accepted)


FACTS = Facts(
    cohorts={"control": ("control-0",), "push": ("push-0",)},
    seconds=400.0,
    ready_seconds=50.0,
    counts=(
        *counts("control-0", dict.fromkeys(range(1, 91), 1.0)),
        *counts("push-0", {at: 1.0 if at <= 30 else 1.5 for at in range(1, 91)}),
    ),
    trainings=(Training(10.0, "push-0", "training", 1, 0, 5, 500, 90.0, (2.0, 2.5)),),
    published=(Published(0.0, 0, "a" * 64), Published(30.0, 1, "b" * 64)),
    observations=(
        Observation(0.0, "push-0", 0, "stock", "a" * 64),
        Observation(20.0, "push-0", 1, "local", "c" * 64),
    ),
    leg=leg(90.0, "control-0", "push-0"),
    moment=None,
    versions=((0, "a" * 64), (1, "b" * 64)),
    compared=Comparison(
        tuple(
            block(round_, arm, speed, accepted)
            for round_ in range(2)
            for arm, speed, accepted in ((NONE, 200, 0), (STOCK, 100, 0), ("version 1", 130, 30))
        ),
        compared=60,
        different=0,
    ),
    walked={"hi": {0: 1.0, 1: 1.4}, "en": {0: 1.2, 1: 0.9}},
    judged=None,
    seed=1,
)
"""A demo of two engines and one new version, which judged no candidate."""


def _endpoint(name: str) -> Endpoint:
    return Endpoint(name=name, url="http://127.0.0.1:1", pid=1, starts=1, log="")

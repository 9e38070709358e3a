"""Finds out which engines traffic goes to, and which one's answers count as right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from specfleet_cli.endpoints import Fleet, read_fleet
from specfleet_cli.traffic.completions import make_client, served_model
from specfleet_cli.traffic.driving import Engine
from specfleet_common.api.values import Serve


class TargetsError(ValueError):
    """The arguments name no engines."""


async def find_engines(targets: Sequence[str]) -> tuple[tuple[Engine, ...], str]:
    """Return the engines of a fleet.json, or at the given URLs, and the name of the reference."""
    if all(target.startswith(("http://", "https://")) for target in targets):
        async with make_client(connections=1) as client:
            urls = [target.rstrip("/") for target in targets]
            engines = tuple(
                [Engine(name=url, url=url, model=await served_model(client, url)) for url in urls]
            )
        return engines, engines[0].name
    if len(targets) > 1:
        raise TargetsError(
            f"{' '.join(targets)}: expected either one fleet.json or URLs of engines"
        )
    fleet = read_fleet(Path(targets[0]))
    return engines_of(fleet), reference_of(fleet)


def engines_of(fleet: Fleet) -> tuple[Engine, ...]:
    """Return every engine of the fleet, under its worker's name."""
    return tuple(
        Engine(name=worker.name, url=worker.engine.url, model=fleet.served_model_name)
        for worker in fleet.workers
    )


def reference_of(fleet: Fleet) -> str:
    """Return the first worker that serves the stock drafter, or the first of all."""
    stock = (worker.name for worker in fleet.workers if worker.serve == Serve.STOCK.value)
    return next(stock, fleet.workers[0].name)

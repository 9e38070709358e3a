"""Is break-even what engines say it is? Held to an engine without speculation.

`python -m e2e.audits.break_even --out out/audit-break-even.json` gives two engines with the same
target the same questions, one after the other and several times, and asks the one that speculates
what its agent would. Documented in docs/audits.md.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from e2e.audits.pair import Meter, conclude, prompts, running_pair, tell
from e2e.engines import Engine
from specfleet_agent.break_even import SPACING_SECONDS, Window, break_even
from specfleet_agent.engine_page import EnginePage, decode

PROMPT_CHARACTERS = 32
"""So few that reading them takes next to nothing of the time of an answer."""


@dataclass(frozen=True, slots=True)
class Options:
    """How much to ask, and which error is one too large."""

    clients: tuple[int, ...]
    seconds: float
    times: int
    max_tokens: int
    margin: float


@dataclass(frozen=True, slots=True)
class Size:
    """What so many clients at a time got, in tokens per second; and what the pages say of it."""

    clients: int
    plain: float
    speculating: float
    acceptance_length: float
    told: float | None
    """None if too few steps were like each other to say anything."""

    @property
    def true(self) -> float:
        """Return the acceptance length at which both would be as fast as each other."""
        return self.acceptance_length * self.plain / self.speculating


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audit; 0 says that for every number of clients break-even was told right."""
    parser = argparse.ArgumentParser(prog="python -m e2e.audits.break_even", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/audit-break-even.json"))
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--seconds", type=float, default=25.0)
    parser.add_argument("--times", type=int, default=6)
    parser.add_argument("--max-tokens", type=int, default=192)
    parser.add_argument("--margin", type=float, default=0.15)
    given = vars(parser.parse_args(arguments))
    out, clients = given.pop("out"), tuple(given.pop("clients"))
    options = Options(clients=clients, **given)
    with tempfile.TemporaryDirectory() as folder, running_pair(Path(folder)) as pair:
        sizes = [
            measured(pair.plain, pair.speculating, clients, options) for clients in options.clients
        ]
    report = {
        "problems": problems(sizes, margin=options.margin),
        **asdict(options),
        "sizes": [asdict(one) | {"true": one.true} for one in sizes],
    }
    return conclude(out, report, lines(sizes))


def measured(plain: Engine, speculating: Engine, clients: int, options: Options) -> Size:
    """Return what so many clients get of each engine, by turns."""
    for engine in (plain, speculating):
        rate(engine, clients, options, seconds=options.seconds / 5)
    meter, before = Meter(speculating), told(speculating)
    rates: dict[str, list[float]] = {"plain": [], "speculating": []}
    for turn in range(options.times):
        tell(f"{clients} clients: turn {turn + 1} of {options.times}")
        rates["speculating"].append(rate(speculating, clients, options, seconds=options.seconds))
        rates["plain"].append(rate(plain, clients, options, seconds=options.seconds))
    window = Window().plus(before, now=0.0).plus(told(speculating), now=SPACING_SECONDS)
    found = break_even(window).speculation
    return Size(
        clients=clients,
        plain=sum(rates["plain"]) / options.times,
        speculating=sum(rates["speculating"]) / options.times,
        acceptance_length=meter.read().acceptance_length,
        told=None if found is None else found.break_even_length,
    )


def rate(engine: Engine, clients: int, options: Options, *, seconds: float) -> float:
    """Return the tokens per second of clients that ask one question after the other."""
    began = time.monotonic()
    texts = [text[:PROMPT_CHARACTERS] for text in prompts(64, seed=clients)]

    def ask(first: int) -> int:
        tokens = 0
        for text in itertools.cycle(texts[first:] + texts[:first]):
            if time.monotonic() > began + seconds:
                return tokens
            tokens += len(engine.complete([text], max_tokens=options.max_tokens)[0].output)
        raise AssertionError("cycles do not end")

    with ThreadPoolExecutor(clients) as pool:
        tokens = sum(pool.map(ask, range(clients)))
    return tokens / (time.monotonic() - began)


def told(engine: Engine) -> EnginePage:
    """Return the page when it has told all that was done."""
    time.sleep(1.0)
    return decode(engine.page())


def problems(sizes: Iterable[Size], *, margin: float) -> list[str]:
    """Say where break-even was told wrong."""
    found = []
    for one in sizes:
        if one.told is None:
            found.append(f"{one.clients} clients: no break-even was told")
        elif abs(one.told / one.true - 1) > margin:
            found.append(
                f"{one.clients} clients: break-even was told to be {one.told:.2f}, "
                f"expected {one.true:.2f} within {100 * margin:g} %"
            )
    return found


def lines(sizes: Iterable[Size]) -> list[str]:
    """Return what was found, a line for each number of clients."""
    return [
        f"{one.clients} clients: {one.plain:.0f} tokens/s without speculation, "
        f"{one.speculating:.0f} with it at {one.acceptance_length:.2f} tokens per step, "
        f"so that break-even is {one.true:.2f}; told: "
        + ("nothing" if one.told is None else f"{one.told:.2f}")
        for one in sizes
    ]


if __name__ == "__main__":
    sys.exit(main())

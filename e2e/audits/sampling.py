"""Are sampled outputs distributed as the target's own under speculation and swaps?

`python -m e2e.audits.sampling --out out/audit-sampling.json` samples many continuations of a few
contexts from an engine that speculates, and holds how often each token came after each prefix to
the probabilities of an engine that does not. Documented in docs/audits.md.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from e2e.audits.asking import Tokens, distribution, rated, sampled
from e2e.audits.goodness import CONTROL_FACTOR, POWER, examine, holm
from e2e.audits.pair import (
    DTYPE,
    Drafting,
    Meter,
    Pair,
    conclude,
    prompts,
    running_pair,
    tell,
)
from e2e.audits.swapping import drafters_of, swapping
from e2e.audits.trees import Cell, cell, nodes
from e2e.engines import Engine

STOCK, SWAPPED = "stock", "swapped"
CANDIDATES = 8
"""Beginnings of texts that are looked at for each context that is chosen."""
PATH_PROBABILITY = 0.3
"""Of the most likely continuation: some samples leave it, and enough stay on it to the end."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to sample, and how often a right engine may fail the audit by chance."""

    contexts: int
    samples: int
    tokens: int
    min_visits: int
    temperature: float
    alpha: float
    seed: int


@dataclass(frozen=True, slots=True)
class Arm:
    """Continuations of every context from one engine."""

    continuations: Mapping[Tokens, Sequence[Tokens]]
    drafting: Drafting
    swaps: int = 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audit; 0 says that no difference was found, and that one would have been."""
    parser = argparse.ArgumentParser(prog="python -m e2e.audits.sampling", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/audit-sampling.json"))
    parser.add_argument("--contexts", type=int, default=12)
    parser.add_argument("--samples", type=int, default=500, help="per context, %(default)s")
    parser.add_argument("--tokens", type=int, default=5, help="per sample, %(default)s")
    parser.add_argument("--min-visits", type=int, default=50, help="of a prefix, %(default)s")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--alpha", type=float, default=1e-3, help="of a false alarm, %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mended", action="store_true", help="with vLLM's CPU sampler mended")
    given = vars(parser.parse_args(arguments))
    out, mended = given.pop("out"), given.pop("mended")
    with (
        tempfile.TemporaryDirectory() as folder,
        running_pair(Path(folder), mended=mended) as pair,
    ):
        report = audit(pair, Options(**given)) | {"mended": mended}
    return conclude(out, report, lines(report))


def audit(pair: Pair, options: Options) -> dict[str, Any]:
    """Sample, ask the plain engine what should have come, and report."""
    contexts = chosen(pair.plain, options)
    arms = drawn(pair.speculating, contexts, options)
    groups = grouped(pair.plain, arms, options)
    rng = np.random.default_rng(options.seed)
    level = options.alpha / max(1, len(groups))
    tested = {name: examine(cells, level=level, rng=rng) for name, cells in groups.items() if cells}
    p_values = holm({name: one.p_value for name, one in tested.items()})
    control = holm({name: one.control_p_value for name, one in tested.items()})
    return {
        "problems": [
            *untested(arms, groups),
            *(
                f"{name}: p = {p:.2g} of {options.alpha:g}: not the target's distribution"
                for name, p in p_values.items()
                if p < options.alpha
            ),
            *(
                f"{name}: control: a distribution that is wrong by "
                f"{CONTROL_FACTOR * tested[name].found_distance:.3f} was not found (p = {p:.2g})"
                for name, p in control.items()
                if p >= options.alpha
            ),
        ],
        "dtype": DTYPE,
        **asdict(options),
        "power": POWER,
        "control_factor": CONTROL_FACTOR,
        "arms": {
            name: {
                "samples": sum(map(len, arm.continuations.values())),
                "acceptance_length": arm.drafting.acceptance_length,
                "swaps": arm.swaps,
            }
            for name, arm in arms.items()
        },
        "groups": {
            name: {
                **asdict(one),
                "p_value_holm": p_values[name],
                "control_p_value_holm": control[name],
            }
            for name, one in tested.items()
        },
    }


def chosen(plain: Engine, options: Options) -> list[Tokens]:
    """Return contexts whose continuations are neither certain nor all different."""
    texts = prompts(CANDIDATES * options.contexts, seed=options.seed)
    answers = plain.complete(texts, max_tokens=options.tokens - 1)

    def distance(path: float) -> float:
        return abs(path - math.log(PATH_PROBABILITY))

    paths = {
        answer.prompt: sum(rating.logprob for rating in rated(plain, answer)) for answer in answers
    }
    return sorted(paths, key=lambda prompt: distance(paths[prompt]))[: options.contexts]


def drawn(engine: Engine, contexts: Sequence[Tokens], options: Options) -> dict[str, Arm]:
    """Return samples with the stock drafter, and while drafters are swapped."""

    def draw(name: str) -> dict[Tokens, list[Tokens]]:
        found = {}
        for number, context in enumerate(contexts, start=1):
            tell(f"{name}: context {number} of {len(contexts)}")
            found[context] = sampled(
                engine,
                context,
                count=options.samples,
                tokens=options.tokens,
                temperature=options.temperature,
            )
        return found

    meter = Meter(engine)
    stock = Arm(draw(STOCK), meter.read())
    meter = Meter(engine)
    with swapping(engine, drafters_of(engine)) as swaps:
        continuations = draw(SWAPPED)
        seen = swaps.number
    return {STOCK: stock, SWAPPED: Arm(continuations, meter.read(), seen)}


def grouped(plain: Engine, arms: Mapping[str, Arm], options: Options) -> dict[str, list[Cell]]:
    """Return the draws to test: of each arm, the tokens at one place of the answer are a group."""
    told: dict[Tokens, dict[int, float]] = {}

    def likely(prefix: Tokens) -> dict[int, float]:
        if prefix not in told:
            told[prefix] = distribution(plain, prefix, temperature=options.temperature)
        return told[prefix]

    groups: dict[str, list[Cell]] = {
        f"{name}, token {place}": [] for name in arms for place in range(1, options.tokens + 1)
    }
    for name, arm in arms.items():
        for context, continuations in arm.continuations.items():
            for node in nodes(continuations, min_visits=options.min_visits):
                found = cell(node, likely(context + node.prefix))
                if found is not None:
                    groups[f"{name}, token {node.place}"].append(found)
    return groups


def untested(arms: Mapping[str, Arm], groups: Mapping[str, Sequence[Cell]]) -> list[str]:
    """Say what keeps the audit from showing anything."""
    found = [
        f"{name}: no prefix came often enough, expected more samples or fewer tokens"
        for name, cells in groups.items()
        if not cells
    ]
    found += [
        f"{name}: the engine accepted no draft, so speculation was not audited"
        for name, arm in arms.items()
        if not arm.drafting.accepted
    ]
    if not arms[SWAPPED].swaps:
        found.append(f"{SWAPPED}: no swap while samples were drawn, expected at least one")
    return found


def lines(report: Mapping[str, Any]) -> list[str]:
    """Return a line for every arm and group."""
    arms = [
        f"{name}: {arm['samples']} samples, acceptance length {arm['acceptance_length']:.2f}, "
        f"{arm['swaps']} swaps"
        for name, arm in report["arms"].items()
    ]
    groups = [
        f"{name}: {one['visits']} tokens after {one['cells']} prefixes, p = {one['p_value']:.3f} "
        f"({one['p_value_holm']:.3f} after Holm); a distance of {one['found_distance']:.3f} would "
        f"be found, control p = {one['control_p_value']:.1e}"
        for name, one in report["groups"].items()
    ]
    return arms + groups


if __name__ == "__main__":
    sys.exit(main())

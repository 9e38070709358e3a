"""Do outputs stay the target's under speculation and swaps? Token by token, greedily.

`python -m e2e.audits.greedy --out out/audit-greedy.json` gives the same prompts to an engine
without speculation, to one with the stock drafter, and to that one while its drafter is swapped.
The plain engine then rates every token that was emitted. Documented in docs/audits.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from e2e.audits.asking import Rating, rated
from e2e.audits.margins import Judged, Verdict, counted, judge, with_second_choice
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
from e2e.engines import Answer, Engine

MARGIN = 1e-3
"""In nats. Float32 sums of other batches differ by less than a tenth of it."""
RATED_AT_ONCE = 4

PLAIN, PLAIN_AGAIN, STOCK, SWAPPED = "plain", "plain again", "stock", "swapped"


@dataclass(frozen=True, slots=True)
class Options:
    """What to ask, and what counts as a near-tie."""

    prompts: int
    max_tokens: int
    margin: float
    seed: int


@dataclass(frozen=True, slots=True)
class Arm:
    """What an engine answered; the plain one drafts nothing."""

    answers: Sequence[Answer]
    drafting: Drafting | None = None
    swaps: int = 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audit; 0 says that every token was the target's."""
    parser = argparse.ArgumentParser(prog="python -m e2e.audits.greedy", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/audit-greedy.json"))
    parser.add_argument("--prompts", type=int, default=96)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--margin", type=float, default=MARGIN, help="in nats, %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    options = Options(given.prompts, given.max_tokens, given.margin, given.seed)
    with tempfile.TemporaryDirectory() as folder, running_pair(Path(folder)) as pair:
        report = audit(pair, options)
    return conclude(given.out, report, lines(report))


def audit(pair: Pair, options: Options) -> dict[str, Any]:
    """Ask both engines, rate what they answered, and report."""
    texts = prompts(options.prompts, seed=options.seed)
    arms = answered(pair, texts, max_tokens=options.max_tokens)
    reference = arms[PLAIN].answers
    ratings = rate(pair.plain, [answer for arm in arms.values() for answer in arm.answers])
    judged = {
        name: [
            judge(answer.output, right.output, ratings[answer], margin=options.margin)
            for answer, right in zip(arm.answers, reference, strict=True)
        ]
        for name, arm in arms.items()
    }
    control = wrong_answers(pair.plain, reference, ratings, margin=options.margin)
    return {
        "problems": problems(arms, judged, control),
        "dtype": DTYPE,
        **asdict(options),
        "arms": {name: figures(arm, judged[name]) for name, arm in arms.items()},
        "differences": differences(arms, judged),
        "control": {
            "wrong_answers": len(control),
            "found": sum(one.verdict is Verdict.VIOLATION for one in control),
            "smallest_gap": min((one.largest_gap for one in control), default=None),
        },
    }


def answered(pair: Pair, texts: Sequence[str], *, max_tokens: int) -> dict[str, Arm]:
    """Return the answers of every arm to the same prompts."""
    arms = {}
    for name in (PLAIN, PLAIN_AGAIN):
        tell(f"{name}: {len(texts)} prompts")
        arms[name] = Arm(pair.plain.complete(texts, max_tokens=max_tokens))
    engine = pair.speculating
    meter = Meter(engine)
    tell(f"{STOCK}: {len(texts)} prompts")
    arms[STOCK] = Arm(engine.complete(texts, max_tokens=max_tokens), meter.read())
    meter = Meter(engine)
    tell(f"{SWAPPED}: {len(texts)} prompts")
    with swapping(engine, drafters_of(engine)) as swaps:
        answers = engine.complete(texts, max_tokens=max_tokens)
        seen = swaps.number
    arms[SWAPPED] = Arm(answers, meter.read(), seen)
    return arms


def rate(plain: Engine, answers: Sequence[Answer]) -> Mapping[Answer, Sequence[Rating]]:
    """Return the plain engine's ratings of all tokens, each answer rated once."""
    distinct = list(dict.fromkeys(answers))
    tell(f"{len(distinct)} answers to rate")
    with ThreadPoolExecutor(RATED_AT_ONCE) as pool:
        found = list(pool.map(lambda answer: rated(plain, answer), distinct))
    return dict(zip(distinct, found, strict=True))


def wrong_answers(
    plain: Engine,
    answers: Sequence[Answer],
    ratings: Mapping[Answer, Sequence[Rating]],
    *,
    margin: float,
) -> list[Judged]:
    """Judge answers whose last token is the target's second choice: all have to be violations."""
    made = [
        (answer, Answer(answer.prompt, wrong))
        for answer in answers
        if (wrong := with_second_choice(answer.output, ratings[answer], margin=margin))
    ]
    again = rate(plain, [wrong for _, wrong in made])
    return [
        judge(wrong.output, answer.output, again[wrong], margin=margin) for answer, wrong in made
    ]


def problems(
    arms: Mapping[str, Arm], judged: Mapping[str, Sequence[Judged]], control: Sequence[Judged]
) -> list[str]:
    """Say what is wrong with the engine, or keeps the audit from showing anything."""
    found = [
        f"{name}: {bad} of {len(some)} answers have a token that the target would not choose"
        for name, some in judged.items()
        if (bad := counted(some)[Verdict.VIOLATION])
    ]
    found += [
        f"{name}: the engine accepted no draft, so speculation was not audited"
        for name, arm in arms.items()
        if arm.drafting is not None and not arm.drafting.accepted
    ]
    if not arms[SWAPPED].swaps:
        found.append(f"{SWAPPED}: no swap while the prompts were answered, expected at least one")
    missed = sum(one.verdict is not Verdict.VIOLATION for one in control)
    if missed or not control:
        found.append(f"control: {missed} of {len(control)} wrong answers were not found")
    return found


def figures(arm: Arm, judged: Sequence[Judged]) -> dict[str, Any]:
    """Return what the report says about an arm."""
    return {
        "tokens": sum(len(answer.output) for answer in arm.answers),
        "answers": counted(judged),
        "different_texts": sum(one.difference is not None for one in judged),
        "largest_gap": max(one.largest_gap for one in judged),
        "acceptance_length": arm.drafting.acceptance_length if arm.drafting else None,
        "swaps": arm.swaps,
    }


def differences(
    arms: Mapping[str, Arm], judged: Mapping[str, Sequence[Judged]]
) -> list[dict[str, Any]]:
    """Return all that is not equal to the plain engine's answer, whatever its verdict."""
    return [
        {"arm": name, "prompt": number, **asdict(one)}
        for name in arms
        for number, one in enumerate(judged[name])
        if one.verdict is not Verdict.EQUAL
    ]


def lines(report: Mapping[str, Any]) -> list[str]:
    """Return a line for every arm."""
    return [
        f"{name:12} {arm['tokens']} tokens, answers: {arm['answers']}, "
        f"largest gap {arm['largest_gap']:.1e} nats, "
        f"acceptance length {arm['acceptance_length'] or 1:.2f}, {arm['swaps']} swaps"
        for name, arm in report["arms"].items()
    ] + [f"{'control':12} {report['control']}"]


if __name__ == "__main__":
    sys.exit(main())

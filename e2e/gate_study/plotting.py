"""The study's figure: one judgement, how often gates are wrong, how soon they are right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from e2e.gate_study.errors import WORLD
from e2e.gate_study.findings import Finding, Size
from e2e.gate_study.lineages import ALPHA, fresh_conversations
from e2e.gate_study.power import DISAGREEMENTS, FIRST_ALPHA, REQUESTS, STEPS, promoted
from e2e.gate_study.walks import walk_with_gain
from specfleet_common.judge.replay import LIVE


def plot(path: Path, findings: Sequence[Finding], size: Size, seed: int) -> None:
    """Draw the figure into a PNG file."""
    with mpl.rc_context({"font.size": 8, "axes.grid": True, "grid.alpha": 0.3}):
        figure = Figure(figsize=(12, 4), layout="constrained")
        one, wrong, soon = figure.subplots(1, 3)
        _one_judgement(one, size, seed)
        _wrong(wrong, findings)
        _soon(soon, size, seed)
        figure.savefig(path, dpi=130)


def _one_judgement(axes: Axes, size: Size, seed: int) -> None:
    walked = walk_with_gain(WORLD, 0.01, size.conversations, seed)
    evidence = fresh_conversations(walked, REQUESTS, null=False)(np.random.default_rng(seed), 1)
    steps = evidence.steps[0]
    bounds = [
        100 * bound[0]
        for bound in (
            LIVE.lower(evidence.totals, FIRST_ALPHA),
            evidence.totals.gain,
            LIVE.upper(evidence.totals, ALPHA),
        )
    ]
    axes.fill_between(steps, bounds[0], bounds[2], alpha=0.25, label="bounds that always hold")
    axes.plot(steps, bounds[1], label="estimate")
    axes.axhline(1.0, color="black", linestyle=":", label="truth")
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set(
        ylim=(-4, 4),
        xlabel="verify steps of stable",
        ylabel="gain, %",
        title="A +1 % candidate in replay",
    )
    axes.legend()


def _wrong(axes: Axes, findings: Sequence[Finding]) -> None:
    shown = [one for one in findings if one.at_most and one.limit in (ALPHA, None)]
    rows = np.arange(len(shown))
    axes.barh(rows - 0.2, [100 * one.value for one in shown], 0.4, label="product")
    axes.barh(rows + 0.2, [100 * (one.naive or 0.0) for one in shown], 0.4, label="naive")
    axes.axvline(100 * ALPHA, color="black", linestyle="--", label="error budget")
    axes.set_yticks(rows, [one.name for one in shown])
    axes.invert_yaxis()
    axes.set(xlabel="wrong decisions, %", title="How often a gate is wrong")
    axes.legend()


def _soon(axes: Axes, size: Size, seed: int) -> None:
    for disagreement in DISAGREEMENTS:
        ended, differ = promoted(size, disagreement, 0.01, 0.0, seed)
        steps = np.sort(ended.steps)
        share = 100 * np.arange(1, len(steps) + 1) / len(steps)
        axes.plot(steps, share, label=f"{100 * differ:.0f} % of positions differ")
    axes.axvline(STEPS, color="black", linestyle="--", label=f"{STEPS:,} steps")
    axes.set(
        xlim=(0, 2 * STEPS),
        xlabel="verify steps of stable",
        ylabel="promoted, %",
        title="How soon a +1 % candidate is promoted",
    )
    axes.legend()

"""The demo's report for people: a page, and a few lines for the terminal. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from e2e.demo_report import STOCK, Facts, Judged
from e2e.documents import LANGUAGES
from e2e.report.figures import bars, by_number
from e2e.report.fleet import fleet_sections
from e2e.report.page import Section, Table, render
from specfleet_cli.drawing import plot
from specfleet_cli.evidence_plot import drawing


def summary(report: Mapping[str, Any]) -> str:
    """Return the report in a few lines."""
    gain, arms = report["blocks"]["gain"], report["blocks"]["arms"]
    others = {name: g for name, g in report["held_out"]["gain_percent"].items() if name != "Hindi"}
    speeds = ", ".join(f"{arm} {one['tokens_per_second']:.0f}" for arm, one in arms.items())
    return "\n".join(
        [
            "",
            f"held-out Hindi  {_percent(report['held_out_gain_percent'])} tokens per verify step, "
            f"last of {len(report['versions']) - 1} versions against stock",
            "other languages " + ", ".join(f"{name} {_percent(g)}" for name, g in others.items()),
            f"tokens/s        {_percent(gain['percent'])} against stock with training paused "
            f"({_percent(gain['low_percent'])} to {_percent(gain['high_percent'])})",
            f"                {speeds}; {verdict(report)}",
            f"live            {_percent(report['live_gain_percent'])} acceptance length against "
            f"the control, above it from {_seconds(report['crossover_seconds'])} on",
            *_promotion_lines(report),
            f"outputs         {report['output_mismatches']} different; "
            f"{report['request_errors']} errors in {report['requests']} requests",
        ]
    )


def _promotion_lines(report: Mapping[str, Any]) -> list[str]:
    return [
        f"candidate {one['id']:<14} {one['outcome']}, {one['traffic_percent']:.1f} % of the "
        f"tokens in {one['seconds']:.0f} s"
        for one in report["promotions"]
    ]


def verdict(report: Mapping[str, Any]) -> str:
    """Say whether speculation pays at all here, with the drafter that has learnt."""
    gain = report["blocks"]["gain_over_no_speculation"]["percent"]
    even = report["blocks"]["break_even_acceptance_length"]
    than = "faster" if gain > 0 else "still slower"
    return (
        f"speculation with what was learnt is {than} than none ({_percent(gain)}), "
        f"break-even is at {even:.2f} tokens per verify step"
    )


def page(facts: Facts, report: Mapping[str, Any]) -> str:
    """Return report.html."""
    return render(
        "What a fleet learnt from Hindi traffic",
        f"{sum(map(len, facts.cohorts.values()))} engines of the small model, "
        f"{facts.leg.ended - facts.leg.began:.0f} seconds of Hindi "
        "traffic. Documents of which every tenth is never sent; held-out figures are of those. "
        "The outputs of the target are compared, answer by answer, with those of an engine "
        "that runs the stock drafter.",
        [
            ("held-out Hindi, tokens per verify step", _percent(report["held_out_gain_percent"])),
            ("tokens/s, training paused", _percent(report["tokens_per_second_gain_percent"])),
            ("live acceptance length", _percent(report["live_gain_percent"])),
            ("until it stays above the control", _seconds(report["crossover_seconds"])),
            ("different outputs", str(report["output_mismatches"])),
            ("errors / requests", f"{report['request_errors']} / {report['requests']}"),
        ],
        sections(facts, report),
    )


def sections(facts: Facts, report: Mapping[str, Any]) -> list[Section]:
    """Return the parts of report.html."""
    crossover = report["crossover_seconds"]
    marks = {} if crossover is None else {f"above control from {crossover:.0f} s": crossover}
    return [
        *fleet_sections(facts.recording, marks=marks),
        _held_out_section(facts, report),
        _blocks_section(facts, report),
        *_promotion_sections(facts.judged, report),
    ]


def _held_out_section(facts: Facts, report: Mapping[str, Any]) -> Section:
    named = {LANGUAGES[language]: lengths for language, lengths in facts.walked.items()}
    last = facts.versions[-1][0]
    return Section(
        "Held-out documents, version by version",
        "Step walks: finished requests of documents that were never sent, replayed with every "
        "version. Version 0 is stock. The fleet saw Hindi only, so what the others lose is the "
        "price of learning it.",
        by_number(named, label="tokens per verify step", xlabel="version"),
        Table(
            ("language", "stock", "last version", "gain"),
            tuple(
                (
                    name,
                    f"{lengths[0]:.3f}",
                    f"{lengths[last]:.3f}",
                    _percent(report["held_out"]["gain_percent"][name]),
                )
                for name, lengths in named.items()
            ),
        ),
    )


def _blocks_section(facts: Facts, report: Mapping[str, Any]) -> Section:
    gain, arms = report["blocks"]["gain"], report["blocks"]["arms"]
    rounds = range(gain["rounds"])
    speeds = {(block.round, block.arm): block.tokens_per_second for block in facts.compared.blocks}
    return Section(
        "Speed with training paused",
        "The fleet has ended. One engine answers the same held-out prompts in blocks, alternately "
        "with stock and with the last version, in random order within each round; another one "
        f"answers them without speculation. Gain over stock {_percent(gain['percent'])}, 95 % "
        f"bootstrap interval over {gain['rounds']} rounds {_percent(gain['low_percent'])} to "
        f"{_percent(gain['high_percent'])}; {verdict(report)}. "
        f"{report['blocks']['answers_different']} of {report['blocks']['answers_compared']} "
        "answers differ.",
        bars(
            [str(round_ + 1) for round_ in rounds],
            {arm: [speeds[round_, arm] for round_ in rounds] for arm in arms},
            label="tokens per second",
            xlabel="round",
            reference=STOCK,
        ),
        Table(
            ("drafter", "tokens/s", "tokens per verify step"),
            tuple(
                (
                    arm,
                    f"{one['tokens_per_second']:.0f}",
                    "-" if one["acceptance_length"] is None else f"{one['acceptance_length']:.3f}",
                )
                for arm, one in arms.items()
            ),
        ),
    )


def _promotion_sections(judged: Judged | None, report: Mapping[str, Any]) -> list[Section]:
    """Return one section for each candidate, with what it was decided on."""
    if judged is None:
        return []
    return [
        Section(
            f"{what}: {one['outcome']}",
            f"{one['sentence']} It took {one['seconds']:.0f} s, and "
            f"{one['traffic_percent']:.1f} % of the tokens meanwhile came from engines that ran "
            f"it. {more}",
            plot(drawing(judged.panels[one["id"]])),
        )
        for (what, more), one in zip(
            (
                (
                    "A candidate that was learnt",
                    f"All engines ran it {report['promoted_everywhere_seconds']:.0f} s after it "
                    "was there.",
                ),
                (
                    "A candidate that was damaged",
                    "Each of its weights got as much noise as there is weight.",
                ),
                (
                    "A candidate that is better, and slow",
                    "Its engine is stopped half of the time while it runs, which no replay can "
                    f"see. All engines were back {report['slow_gone_seconds']:.1f} s later.",
                ),
            ),
            report["promotions"],
            strict=True,
        )
    ]


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:+.1f} %"


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.0f} s"

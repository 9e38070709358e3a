"""A demo's recording says all that its report needs, and nothing of the machine."""

from __future__ import annotations

import gzip
import itertools
import math
import re
from dataclasses import replace
from pathlib import Path

from e2e import testing
from e2e.demo_page import page
from e2e.demo_recording import load, save
from e2e.demo_report import Facts, Judged, content
from e2e.moments import Moment
from e2e.pictures.recorded import DEMO
from e2e.promoting.story import Story
from e2e.promoting.watching import Told
from specfleet_cli.evidence_plot import AnyPanel, Guard, GuardPanel, Mark, Panel, Point
from specfleet_common.wire.messages import EffectState, FleetState, PromotionState


def judged_facts() -> Facts:
    effect = EffectState("candidate over stable", "tokens", 0.25, -math.inf, math.inf, 9, 9)
    promotion = PromotionState("1-b", 1, "b" * 64, "Done", "Promoted", "Passed.", 1.0)
    promotion = replace(promotion, effects=(effect,))
    told = Told(promotion, (("Replay", 1.0), ("Done", 9.0)), 0.0, 9.0, 10, 100)
    panels: tuple[AnyPanel, ...] = (
        Panel("Replay", "tokens", "requests", (Point(9, 0.25, -math.inf, 0.5),), 0.5, "least"),
        GuardPanel("Guards", (Guard("errors", ((9, 0.5),)),), (Mark(9, "Promoted"),)),
    )
    state = FleetState(
        fleet="demo",
        lineage=None,
        round=1,
        base=None,
        stable=None,
        deltas=0,
        quorum=1,
        reason="",
        live_workers=0,
        training_workers=0,
        round_seconds=0.5,
        store_error="",
        workers=(),
        promotions=(promotion,),
    )
    return replace(
        testing.FACTS,
        judged=Judged(
            story=Story(told, 1.0, told, told, 2.0),
            leg=testing.leg(100.0, "main-0"),
            panels={"1-b": panels},
            moment=Moment(state, {"main-0": "main-0-id"}, {"main-0": 1.5}),
        ),
    )


def test_what_was_saved_is_loaded_and_saved_again_the_same(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("first", "second", "third")]
    save(paths[0], judged_facts())

    for before, after in itertools.pairwise(paths):
        save(after, load(before))

    assert load(paths[2]).judged == judged_facts().judged
    assert paths[2].read_bytes() == paths[1].read_bytes()


def test_the_committed_recording_makes_a_report_of_a_run_without_errors() -> None:
    report = content(load(DEMO))

    assert report["held_out_gain_percent"] > 50
    assert report["request_errors"] == report["output_mismatches"] == 0
    assert report["promotions"][0]["outcome"] == "Promoted"
    assert "tokens per verify step" in page(load(DEMO), report)


def test_the_committed_recording_tells_nothing_of_the_machine() -> None:
    text = gzip.decompress(DEMO.read_bytes()).decode()

    assert re.findall(r"/[\w.-]+/", text) == []

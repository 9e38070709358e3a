"""What an aggregator did not keep is named, with what was expected."""

from __future__ import annotations

from dataclasses import replace

import pytest

from e2e.audits.beats import OUTER_STEP, QUIET, UPLOADING, Beat, Span, latencies
from e2e.audits.footprint import Holding
from e2e.audits.limits import problems
from e2e.audits.load import Options, Seen
from specfleet_common.codecs.codec import Codec

OPTIONS = Options(
    agents=2, rounds=1, part=0.1, codec=Codec.TERNARY, watchers=1, patience_seconds=60, seed=1
)
QUICK = Beat(1.0, 1.1)


def seen(
    *,
    beat: Beat = QUICK,
    outer_step_ended: float = 15.0,
    fewest_live: int = 2,
    version: int = 1,
    peak: Holding | None = None,
    descriptors_left: int = 0,
) -> Seen:
    """Return what is seen of an aggregator that keeps everything else."""
    before = Holding(50 << 20, 20)
    after = replace(before, file_descriptors=20 + descriptors_left)
    return Seen(
        beats=[beat],
        spans=[
            Span(QUIET, 0.0, 2.0),
            Span(UPLOADING, 2.0, 10.0),
            Span(OUTER_STEP, 10.0, outer_step_ended),
        ],
        states=5,
        fewest_live=fewest_live,
        version=version,
        held=[before, after],
        all_along=[before, after, *([peak] if peak else [])],
    )


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        pytest.param(seen(), None, id="keeps-all"),
        pytest.param(
            seen(beat=Beat(11.0, 14.0)),
            "heartbeats, outer step: the 99th percentile is 3.00 s, expected at most 1 s",
            id="slow-heartbeats",
        ),
        pytest.param(
            seen(beat=replace(QUICK, failure="UNAVAILABLE: away")),
            "heartbeats: 1 failed, the first with UNAVAILABLE: away",
            id="failed-heartbeats",
        ),
        pytest.param(
            seen(outer_step_ended=32.0), "a round took 10 s longer than its 20 s", id="late-round"
        ),
        pytest.param(
            seen(fewest_live=1), "leases: 1 of 2 agents counted as live", id="a-lease-lost"
        ),
        pytest.param(seen(version=0), "versions: 0 is the newest, expected 1", id="no-version"),
        pytest.param(
            seen(peak=Holding(5 << 30, 20)),
            "memory: 5.00 GiB that are not of files, expected at most 4 GiB",
            id="memory",
        ),
        pytest.param(
            seen(peak=Holding(0, 99)), "file descriptors: 99, expected at most 56", id="descriptors"
        ),
        pytest.param(
            seen(descriptors_left=51),
            "file descriptors: 51 more after the rounds than before them",
            id="descriptors-left",
        ),
    ],
)
def test_problems(what: Seen, sentence: str | None) -> None:
    found = problems(what, latencies(what.beats, what.spans), OPTIONS)

    if sentence is None:
        assert found == []
    else:
        assert sentence in found

"""Heartbeats are sorted into the parts of a round and summed up."""

from __future__ import annotations

import pytest

from e2e.audits.beats import OUTER_STEP, QUIET, UPLOADING, Beat, Span, latencies, part

SPANS = [Span(UPLOADING, 10.0, 20.0), Span(OUTER_STEP, 20.0, 30.0)]


@pytest.mark.parametrize(
    ("began", "ended", "name"),
    [
        pytest.param(1.0, 2.0, QUIET, id="before"),
        pytest.param(9.0, 11.0, UPLOADING, id="into-the-uploads"),
        pytest.param(19.0, 21.0, OUTER_STEP, id="into-the-outer-step"),
        pytest.param(1.0, 99.0, OUTER_STEP, id="all-along"),
        pytest.param(30.0, 31.0, QUIET, id="after"),
    ],
)
def test_part_of_a_heartbeat(began: float, ended: float, name: str) -> None:
    assert part(Beat(began, ended), SPANS) == name


def test_every_part_is_summed_up_with_what_failed() -> None:
    quick = [Beat(0.0, 0.1) for _ in range(99)]
    slow = Beat(21.0, 25.0, failure="deadline")

    found = latencies([*quick, slow], SPANS)

    assert set(found) == {QUIET, OUTER_STEP}
    assert found[QUIET].p99_seconds == pytest.approx(0.1)
    assert (found[OUTER_STEP].beats, found[OUTER_STEP].failed) == (1, 1)
    assert found[OUTER_STEP].longest_seconds == 4.0

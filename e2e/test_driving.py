"""The picture of a running fleet compares every engine with the control."""

from __future__ import annotations

from e2e import testing
from e2e.driving import picture
from e2e.observing import Observer
from e2e.timeline import Count, Training


def test_the_picture_compares_the_last_seconds_with_the_control() -> None:
    fleet = testing.fleet(
        testing.worker("control-0", "control", train=False),
        testing.worker("push-0", "push", train=True),
    )
    observer = Observer(fleet)
    observer.counts = [
        Count(-10.0, "control-0", 0, (0,), 0),
        Count(-5.0, "control-0", 100, (0,), 100),
        Count(-10.0, "push-0", 0, (0,), 0),
        Count(-5.0, "push-0", 100, (50,), 150),
    ]
    observer.trainings = [Training(-1.0, "push-0", "training", 3, 2, 77, 900, 250.0, (1.5, 2.0))]

    shown = picture(fleet, observer)

    assert shown.headline == "the aggregator has not told anything yet"
    control, push = shown.rows
    assert control[2:] == ("1.00", "+0.0 %", "-", "-", "-", "-")
    assert push[2:] == ("1.50", "+50.0 %", "training", "77", "250", "1.50 2.00")

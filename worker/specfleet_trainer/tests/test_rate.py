from __future__ import annotations

from specfleet_trainer.rate import Rate


def test_the_rate_is_the_mean_since_the_start_at_first() -> None:
    rate = Rate(window_seconds=30.0, now=100.0)

    rate.add(50, now=105.0)

    assert rate.per_second(now=110.0) == 5.0


def test_what_is_older_than_the_window_does_not_count() -> None:
    rate = Rate(window_seconds=30.0, now=0.0)
    rate.add(1000, now=10.0)
    rate.add(60, now=50.0)

    assert rate.per_second(now=60.0) == 2.0


def test_there_is_no_rate_before_any_time_has_passed() -> None:
    assert Rate(window_seconds=30.0, now=1.0).per_second(now=1.0) == 0.0

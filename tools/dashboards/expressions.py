"""The parts that PromQL expressions of panels are put together from.

Grafana puts values in place of words with a dollar: the variables, and the time that is shown.
"""

from __future__ import annotations

FLEET = 'namespace=~"$namespace",fleet=~"$fleet"'
COHORT = f'{FLEET},cohort=~"$cohort"'
POD = f'{COHORT},pod=~"$pod"'

RATE = "$__rate_interval"
"""Long enough for a rate at every step of a curve."""
SHOWN = "$__range"
"""The whole time that the dashboard shows."""


def total(metric: str, *, by: str = "", where: str = FLEET, window: str = RATE) -> str:
    """Return the growth per second of a counter, summed by some labels."""
    return f"sum {_by(by)}(rate({metric}{{{where}}}[{window}]))"


def growth(metric: str, *, by: str = "", where: str = FLEET, window: str = RATE) -> str:
    """Return the growth of a counter within a window, summed by some labels."""
    return f"sum {_by(by)}(increase({metric}{{{where}}}[{window}]))"


def ratio(
    over: str, under: str, *, by: str = "", where: str = FLEET, window: str = RATE, least: float = 0
) -> str:
    """Return how much of one counter came for each of another, where that grew at all."""
    numerator = total(over, by=by, where=where, window=window)
    denominator = total(under, by=by, where=where, window=window)
    return f"{numerator} / ({denominator} > {least:g})"


def acceptance_length(*, by: str = "", where: str = FLEET, window: str = RATE) -> str:
    """Return tokens per verify step."""
    return ratio(
        "specfleet_agent_output_tokens_total",
        "specfleet_agent_verify_steps_total",
        by=by,
        where=where,
        window=window,
    )


def speed(*, by: str = "", where: str = FLEET, window: str = RATE) -> str:
    """Return tokens per second in which the engine was busy."""
    return ratio(
        "specfleet_agent_output_tokens_total",
        "specfleet_agent_busy_seconds_total",
        by=by,
        where=where,
        window=window,
    )


def gain(value: str, reference: str) -> str:
    """Return by which fraction each series exceeds a reference that is one number."""
    return f"({value}) / on () group_left () ({reference}) - 1"


def mean(expression: str) -> str:
    """Return the mean of an expression over the time shown, where it had a value.

    Comparisons are made at each moment and then averaged: load changes with time, and two drafters
    are seldom served equally long of the day.
    """
    return f"avg_over_time(({expression})[{SHOWN}:$__interval])"


def quantile(q: float, metric: str, *, by: str = "", where: str = FLEET) -> str:
    """Return a quantile of a histogram."""
    buckets = total(f"{metric}_bucket", by=f"{by}, le".lstrip(", "), where=where)
    return f"histogram_quantile({q:g}, {buckets})"


def newest(metric: str, *, by: str = "", where: str = FLEET) -> str:
    """Return a gauge that several lineages or restarted pods may show: the largest."""
    return f"max {_by(by)}({metric}{{{where}}})"


def last(metric: str, *, by: str = "", where: str = FLEET) -> str:
    """Return what a gauge that comes and goes was last, within the time shown."""
    return f"max {_by(by)}(last_over_time({metric}{{{where}}}[{SHOWN}]))"


def or_none(expression: str, label: str, text: str = "none") -> str:
    """Return an expression that is one zero, named by `text`, while nothing has been counted."""
    return f'{expression} or on () label_replace(vector(0), "{label}", "{text}", "", "")'


def _by(labels: str) -> str:
    return f"by ({labels}) " if labels else ""

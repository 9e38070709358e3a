"""The names of the rules by which the deltas of a round become one."""

from __future__ import annotations

import enum


class Rule(enum.StrEnum):
    """What the outer step gets of several deltas; the names are those of the manifest."""

    MEAN = "Mean"
    """Every delta counts alike: the most is learned, and one bad worker can undo all of it."""
    COORDINATE_MEDIAN = "CoordinateMedian"
    """The median of every weight: up to half of the workers may send anything."""
    TRIMMED_MEAN = "TrimmedMean"
    """The mean of every weight without the outermost values and without deltas far too long."""

"""What the aggregator has to keep under the load of many agents. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from e2e.audits.beats import OUTER_STEP, Latency
from e2e.audits.footprint import most
from e2e.audits.load import Options, Seen

MAX_P99_SECONDS = 1.0
"""A heartbeat that takes longer than the pause between two delays the next one."""
MAX_ANONYMOUS_BYTES = 4 << 30
MAX_DESCRIPTORS_PER_AGENT = 3
"""A connection, the file of an upload, and its mapping."""
FEW_DESCRIPTORS = 50


def problems(seen: Seen, by_part: Mapping[str, Latency], options: Options) -> list[str]:
    """Say what the aggregator did not keep."""
    return [*_late(seen, by_part, options), *_lost(seen, options), *_held(seen, options)]


def _late(seen: Seen, by_part: Mapping[str, Latency], options: Options) -> Iterator[str]:
    for name, one in by_part.items():
        if one.p99_seconds > MAX_P99_SECONDS:
            yield (
                f"heartbeats, {name}: the 99th percentile is {one.p99_seconds:.2f} s, "
                f"expected at most {MAX_P99_SECONDS:g} s"
            )
    for uploading, outer_step in pairwise(seen.spans):
        late = outer_step.ended - uploading.began - options.period_seconds
        if outer_step.name == OUTER_STEP and late > 0:
            yield f"a round took {late:.0f} s longer than its {options.period_seconds:.0f} s"


def _lost(seen: Seen, options: Options) -> Iterator[str]:
    failures = [beat.failure for beat in seen.beats if beat.failure]
    if failures:
        yield f"heartbeats: {len(failures)} failed, the first with {failures[0]}"
    if seen.version != options.rounds:
        yield f"versions: {seen.version} is the newest, expected {options.rounds}"
    if seen.states and seen.fewest_live < options.agents:
        yield f"leases: {seen.fewest_live} of {options.agents} agents counted as live"


def _held(seen: Seen, options: Options) -> Iterator[str]:
    peak = most(seen.all_along)
    if peak.anonymous_bytes > MAX_ANONYMOUS_BYTES:
        yield (
            f"memory: {peak.anonymous_bytes / 2**30:.2f} GiB that are not of files, expected at "
            f"most {MAX_ANONYMOUS_BYTES >> 30} GiB"
        )
    limit = MAX_DESCRIPTORS_PER_AGENT * options.agents + FEW_DESCRIPTORS
    if peak.file_descriptors > limit:
        yield f"file descriptors: {peak.file_descriptors}, expected at most {limit}"
    left = seen.held[-1].file_descriptors - seen.held[0].file_descriptors
    if left > FEW_DESCRIPTORS:
        yield f"file descriptors: {left} more after the rounds than before them"

"""Where the recording is that pictures and tests of reports are made of."""

from __future__ import annotations

from pathlib import Path

DEMO = Path(__file__).with_name("demo.json.gz")
"""A run of `make demo`, as it writes one into its folder as recording.json.gz.

This one is of before it did: it was put together from that run's report, store and logs, so that
counters differ from the true ones by up to 3 %.
"""

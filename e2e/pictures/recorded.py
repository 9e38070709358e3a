"""Where the recording is that pictures and tests of reports are made of."""

from __future__ import annotations

from pathlib import Path

DEMO = Path(__file__).with_name("demo.json.gz")
"""What `make demo` wrote into its folder as recording.json.gz."""

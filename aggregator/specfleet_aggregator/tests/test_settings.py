"""Settings come from the environment and wrong ones are named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from specfleet_aggregator.tests.builders import settings


def test_depth_weights_need_one_that_is_positive(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="all depth weights are zero"):
        settings(tmp_path, depth_weights=(0.0, 0.0))


def test_wrong_settings_end_the_process_with_the_field_named() -> None:
    environment = {**os.environ, "SPECFLEET_AGGREGATOR_QUORUM_PERCENT": "0"}

    result = subprocess.run(
        [sys.executable, "-m", "specfleet_aggregator"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert result.returncode == 2
    assert "quorum_percent" in result.stderr
    assert "store_directory" in result.stderr

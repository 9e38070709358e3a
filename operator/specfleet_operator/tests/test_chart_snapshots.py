"""The rendered chart is what it was."""

from __future__ import annotations

from specfleet_operator.tests.chart_snapshots import DIRECTORY, rendered
from specfleet_operator.tests.charts import Helm


def test_the_chart_renders_as_in_the_snapshots(helm: Helm) -> None:
    kept = {path.name: path.read_text() for path in DIRECTORY.iterdir()}

    assert rendered(helm) == kept, (
        "read the difference; if it is meant, run "
        "`python -m specfleet_operator.tests.chart_snapshots` and commit the result"
    )

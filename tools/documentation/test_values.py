"""The reference of the chart, and that every value is explained."""

from __future__ import annotations

from tools.documentation.values import values_page
from tools.generate_pages import ROOT

TEXT = """# All of it.

# The name.
name: ""

images:
  # Where they are.
  registry: example.com
  # The first.
  first:
    # Below the registry.
    repository: one
  # What it takes.
  resources:
    limits:
      memory: 1Gi
"""


def test_a_value_is_a_row_with_its_comment() -> None:
    page = values_page(TEXT)

    assert '| `name` | `""` | The name. |' in page
    assert "| `images.registry` | `example.com` | Where they are. |" in page


def test_what_a_group_is_stands_before_what_its_value_is() -> None:
    assert "| `images.first.repository` | `one` | The first. Below the registry. |" in values_page(
        TEXT
    )


def test_what_nothing_below_explains_is_one_value() -> None:
    assert '| `images.resources` | `{"limits": {"memory": "1Gi"}}` | What it takes. |' in (
        values_page(TEXT)
    )


def test_every_value_of_the_chart_says_what_it_means() -> None:
    page = values_page((ROOT / "charts/specfleet/values.yaml").read_text("utf-8"))

    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert [row for row in rows if row.endswith("|  |")] == []

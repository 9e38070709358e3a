"""The manifests in the documentation are right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from specfleet_common.api.loading import parse_fleet
from specfleet_common.api.testing import manifest

_PAGE = Path(__file__).parents[4] / "docs" / "store.md"
_STORES = re.findall(r"^```yaml\n(store:.*?)^```", _PAGE.read_text("utf-8"), re.DOTALL | re.M)


@pytest.mark.parametrize("text", _STORES, ids=["directory", "s3"])
def test_a_store_of_the_documentation_is_accepted(text: str) -> None:
    fleet = parse_fleet(manifest(spec__store=yaml.safe_load(text)["store"]), source="store.md")

    store = fleet.spec.store
    assert (store.directory or store.s3) is not None

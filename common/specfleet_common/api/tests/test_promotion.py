"""What is said of a promotion, and how a fleet is told to judge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_common.api.learning import parse_settings
from specfleet_common.api.loading import ManifestError, parse_fleet
from specfleet_common.api.promotion import Decision, promotion_id
from specfleet_common.api.testing import learning, manifest


@given(st.integers(1, 10**12 - 1), st.text("0123456789abcdef", min_size=64, max_size=64))
def test_the_id_of_every_promotion_can_be_decided_on(number: int, digest: str) -> None:
    decided = {promotion_id(number, digest): Decision.ABORT}

    settings = learning(decisions=decided)

    assert parse_settings(settings.to_json().encode()).decisions == decided


def test_a_canary_that_ends_before_it_has_tried_both_versions_is_refused() -> None:
    text = manifest(spec__promotion__canary={"blockSeconds": 60, "maxSeconds": 119})

    with pytest.raises(ManifestError, match="maxSeconds has to be at least twice blockSeconds"):
        parse_fleet(text, source="fleet.yaml")

"""How a decision gets into the settings of a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_cli.promotions.settings import (
    SettingsFileError,
    decided,
    read_settings,
    write_decision,
)
from specfleet_common.api.promotion import Decision
from specfleet_common.api.testing import learning

NAME, OTHER = "12-aaaaaaaaaaaa", "10-bbbbbbbbbbbb"
names = st.sampled_from([NAME, OTHER, "11-cccccccccccc"])


def test_a_decision_is_added_and_all_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(learning(local_steps=77).to_json())

    write_decision(path, NAME, Decision.ABORT, open_promotions={NAME})

    assert read_settings(path) == learning(local_steps=77, decisions={NAME: "Abort"})


def test_decisions_about_what_has_ended_are_dropped() -> None:
    before = {OTHER: Decision.ABORT}

    assert decided(before, NAME, Decision.APPROVE, {NAME}) == {NAME: Decision.APPROVE}


@given(st.dictionaries(names, st.sampled_from(Decision)), names, st.sampled_from(Decision))
def test_an_abort_is_never_taken_back(
    before: dict[str, Decision], name: str, decision: Decision
) -> None:
    after = decided(before, name, decision, set(before))

    assert after.keys() == before.keys() | {name}
    assert all(after[one] is Decision.ABORT for one in before if before[one] is Decision.ABORT)


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")

    with pytest.raises(SettingsFileError, match=r"settings.json: cannot be used: .*fleetUid"):
        write_decision(path, NAME, Decision.ABORT, open_promotions={NAME})

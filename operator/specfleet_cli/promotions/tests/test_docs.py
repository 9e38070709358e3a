"""The commands of the page about promotions do what it says, on one machine and in a cluster."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from specfleet_cli.app import app
from specfleet_cli.promotions.tests.lineages import FakeLineage, promoted, rejected, waiting
from specfleet_cli.promotions.tests.pages import PAGE, commands
from specfleet_cli.promotions.tests.runs import run_in
from specfleet_common.api.learning import PromotionSettings
from specfleet_common.api.promotion import Outcome, Phase
from specfleet_common.api.testing import manifest
from specfleet_common.store.directory import DirectoryStore


def test_the_commands_for_one_machine_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_in(tmp_path / "out" / "tiny", promotion={"mode": "Manual"})
    lineage = FakeLineage(DirectoryStore(run / "store"))
    promoted(lineage, 12)
    rejected(lineage, 20)
    waiting(lineage, 30)
    (tmp_path / "fleet.yaml").write_text(
        manifest(spec__store={"directory": {"path": "out/tiny/store"}})
    )
    monkeypatch.chdir(tmp_path)

    ended = [(line, CliRunner().invoke(app, line)) for line in commands("specfleet")]

    assert len(ended) >= 8
    assert [(line, one.stderr) for line, one in ended if one.exit_code] == []
    assert (tmp_path / "evidence.html").exists()


def test_the_commands_for_a_cluster_are_the_same() -> None:
    here = {arguments[0] for arguments in commands("specfleet")}

    assert {arguments[0] for arguments in commands("kubectl specfleet")} == here


@pytest.mark.parametrize("word", [*Phase, *Outcome])
def test_the_page_explains_every_phase_and_outcome(word: str) -> None:
    assert re.search(rf"^\| `{word}` \|", PAGE, flags=re.M)


def test_the_page_explains_every_setting() -> None:
    rows = re.findall(r"^\| (`promotion\..*?) \|", PAGE, flags=re.M)
    explained = {name.split(".")[-1] for row in rows for name in re.findall(r"`(.*?)`", row)}

    settings = {
        "replaySeconds": "maxSeconds",
        "canarySeconds": "maxSeconds",
        "canaryEngines": "engines",
        "washoutSeconds": "blockSeconds",
    }
    fields = {field.alias or "" for field in PromotionSettings.model_fields.values()}
    assert {settings.get(field, field) for field in fields} == explained

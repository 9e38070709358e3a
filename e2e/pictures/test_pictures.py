"""The pictures of the documentation are those of the recording, and ask nobody for anything."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from e2e.demo_recording import load
from e2e.engines import ROOT
from e2e.pictures.__main__ import plots, terminals
from e2e.pictures.recorded import DEMO

FOLDER = ROOT / "docs/pictures"
LARGEST_BYTES = 400_000


def test_a_terminal_is_shown_with_what_the_fleet_did() -> None:
    shown = terminals(load(DEMO))

    words = {
        name: " ".join(ElementTree.fromstring(picture).itertext()).replace(
            "\N{NO-BREAK SPACE}", " "
        )
        for name, picture in shown.items()
    }
    assert "control-0" in words["terminal-learning.svg"]
    assert "promotion" in words["terminal-promotion.svg"]
    for picture in shown.values():
        addresses = set(re.findall(r"https?://[^\s\"')]+", picture))
        assert addresses <= {"http://www.w3.org/2000/svg"}


@pytest.mark.e2e
def test_committed_pictures_are_drawn_from_the_committed_recording() -> None:
    facts = load(DEMO)

    for name, picture in {**plots(facts), **terminals(facts)}.items():
        committed = (FOLDER / name).read_text(encoding="utf-8")
        assert committed == picture, f"{name}: run `make pictures` and commit the result"


def test_pictures_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in FOLDER.iterdir() if path.is_file()}

    assert sizes
    assert {name for name, size in sizes.items() if size > LARGEST_BYTES} == set()

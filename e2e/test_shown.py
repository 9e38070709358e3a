"""Commands and manifests that the pages show are ones that are taken."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from e2e.cluster.programs import ROOT
from specfleet_cli.app import app
from specfleet_common.api.fleet import FleetSpec

PAGES = sorted((ROOT / "README.md", *ROOT.glob("docs/**/*.md")))
VALUES = ROOT / "charts" / "specfleet" / "values.yaml"
ENOUGH: dict[str, Any] = {
    "target": {"model": "m"},
    "drafter": {"family": "mtp"},
    "store": {"directory": {"path": "store"}},
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_is_one_and_has_its_options(page: Path) -> None:
    assert {shown: lost for shown in commands(page) if (lost := wrong(shown))} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_part_of_a_fleet_is_taken(page: Path) -> None:
    for part in parts(page):
        FleetSpec.model_validate_json(json.dumps({**ENOUGH, **part}))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_a_shell_can_be_read_by_one(page: Path) -> None:
    text = "\n".join(blocks(page, "sh", "bash"))
    read = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)

    assert read.returncode == 0, read.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_value_that_is_set_is_one_of_the_chart(page: Path) -> None:
    text = "".join(blocks(page, "sh", "bash"))

    assert [name for name in re.findall(r"--set '?([\w.]+)=", text) if not is_value(name)] == []


def commands(page: Path) -> Iterator[str]:
    """Yield what a page shows of the command, without its name: lines of blocks, and words."""
    shells = "\n".join(blocks(page, "sh", "bash", "console")).replace("\\\n", " ")
    words = re.findall(r"`((?:kubectl )?specfleet [^`\n]+)`", page.read_text("utf-8"))
    for line in (*shells.splitlines(), *words):
        found = re.search(r"^ *(?:\$ )?(?:\S*/|kubectl )?specfleet ([a-z].*)$", line)
        if found:
            yield found[1].split(" # ")[0].split("|")[0].strip()


def wrong(shown: str) -> list[str]:
    """Return what of a command does not exist."""
    name, *arguments = shlex.split(shown)
    if name not in options():
        return [name]
    given = [one.partition("=")[0] for one in arguments if one.startswith("-")]
    return [one for one in given if one not in options()[name]]


@cache
def options() -> dict[str, set[str]]:
    """Return the options of every command."""
    found: Any = typer.main.get_command(app)
    return {
        name: {option for one in command.params for option in one.opts} | {"--help"}
        for name, command in found.commands.items()
    }


def is_value(path: str) -> bool:
    """Say whether a path leads to a value of the chart, or into one whose names are the user's."""
    values: Any = yaml.safe_load(VALUES.read_text("utf-8"))
    for name in path.split("."):
        if values == {}:
            return True
        if not isinstance(values, dict) or name not in values:
            return False
        values = values[name]
    return True


def parts(page: Path) -> Iterator[dict[str, Any]]:
    """Yield what a page shows of a fleet's spec."""
    for block in blocks(page, "yaml"):
        document = yaml.safe_load(block)
        if isinstance(document, dict) and set(document) == {"spec"}:
            yield document["spec"]


def blocks(page: Path, *languages: str) -> list[str]:
    """Return the blocks of some languages, without the indentation of the list they are in."""
    written = rf"^( *)```(?:{'|'.join(languages)})\n(.*?)^ *```$"
    found = re.findall(written, page.read_text("utf-8"), flags=re.M | re.S)
    return [re.sub(rf"^{indent}", "", block, flags=re.M) for indent, block in found]

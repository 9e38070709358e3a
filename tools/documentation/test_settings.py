"""The reference of the settings, and that every setting is explained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field, PositiveFloat
from pydantic_settings import BaseSettings

from tools.documentation.settings import Program, meanings, settings_page
from tools.generate_pages import PROGRAMS


class Some(BaseSettings):
    """A program's settings."""

    name: str
    """Who it is."""
    port: Annotated[int, Field(ge=0, le=65535)] = 0
    """0 takes any | the other end
    of the line."""
    pause_seconds: PositiveFloat = 2.0
    place: Path | None = None


@dataclass(frozen=True, slots=True)
class Plain:
    """Settings without pydantic."""

    fleet: str
    """Its name."""
    capture: bool = True


@pytest.fixture
def page() -> str:
    return settings_page([Program("Thing", "What it is.", "T_", Some)])


@pytest.mark.parametrize(
    "row",
    [
        "| **`T_NAME`** | string |  | Who it is. |",
        "| `T_PORT` | integer, 0 to 65535 | `0` | 0 takes any \\| the other end of the line. |",
        "| `T_PAUSE_SECONDS` | number, more than 0 | `2.0` |  |",
        "| `T_PLACE` | path |  |  |",
    ],
)
def test_a_setting_is_a_row(page: str, row: str) -> None:
    assert row in page.splitlines()


def test_settings_may_be_a_plain_dataclass() -> None:
    page = settings_page([Program("Plugin", "Inside.", "P_", Plain)])

    assert "| **`P_FLEET`** | string |  | Its name. |" in page
    assert "| `P_CAPTURE` | boolean | `true` |  |" in page


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.title)
def test_every_setting_says_what_it_means(program: Program) -> None:
    told = set(meanings(program.settings))

    fields = getattr(program.settings, "model_fields", None) or program.settings.__annotations__
    assert set(fields) == told

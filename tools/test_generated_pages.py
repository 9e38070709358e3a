"""The generated pages of docs/ are what `make generate` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.generate_pages import files


@pytest.mark.parametrize(
    ("path", "text"), [pytest.param(path, text, id=path.name) for path, text in files().items()]
)
def test_a_page_is_up_to_date(path: Path, text: str) -> None:
    assert path.read_text("utf-8") == text, "run `make generate` and commit the result"

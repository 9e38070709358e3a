"""The documentation site is built without a warning, and has every page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.generate_pages import ROOT


@pytest.mark.e2e
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert built.returncode == 0, built.stderr
    pages = {page.relative_to(ROOT / "docs") for page in ROOT.glob("docs/**/*.md")}
    assert {page.with_suffix(".html") for page in pages} <= {
        page.relative_to(tmp_path) for page in tmp_path.rglob("*.html")
    }

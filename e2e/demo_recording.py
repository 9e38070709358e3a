"""Everything that a demo saw as a file, so that its report can be drawn again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from pydantic import TypeAdapter

from e2e.demo_report import Facts
from e2e.report.writing import rounded

FILE_NAME = "recording.json.gz"
DIGITS = 6

_FACTS = TypeAdapter(Facts)


def save(path: Path, facts: Facts) -> None:
    """Write the facts, numbers with six digits after the point; the same facts give the same file.

    Bounds of evidence may be infinite, which Python's JSON can say and pydantic's cannot.
    """
    content = rounded(_FACTS.dump_python(facts), digits=DIGITS)
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def load(path: Path) -> Facts:
    """Return what `save` has written."""
    return _FACTS.validate_python(json.loads(gzip.decompress(path.read_bytes())))

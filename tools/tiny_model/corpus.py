"""Collect the small text corpus: LibreOffice help in three languages and Python's own library.

Writes one JSON line per document to `examples/text/<language>.jsonl`, with the source of each.
It needs Debian's package tools and a network; the corpus it made is part of the repository.
"""

from __future__ import annotations

import argparse
import ast
import html
import json
import random
import re
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

HELP_PACKAGES = {
    "hi": "libreoffice-help-hi",
    "ja": "libreoffice-help-ja",
    "en": "libreoffice-help-en-us",
}
HELP_FOLDERS = {"hi": "hi", "ja": "ja", "en": "en-US"}
BUDGET_BYTES = {"hi": 240_000, "ja": 170_000, "en": 130_000, "py": 140_000}
DOCUMENT_BYTES = {"hi": (380, 1300), "ja": (450, 1000), "en": (280, 800), "py": (250, 800)}

Document = dict[str, str]


def share_of(text: str, first: int, last: int) -> float:
    """Return the share of characters whose code points lie in [first, last]."""
    return sum(first <= ord(character) <= last for character in text) / max(1, len(text))


IS_IN_LANGUAGE: dict[str, Callable[[str], bool]] = {
    "hi": lambda text: share_of(text, 0x900, 0x97F) > 0.5,
    "ja": lambda text: share_of(text, 0x3040, 0x9FFF) > 0.55,
    "en": lambda text: share_of(text, 32, 126) > 0.99,
}


def paragraphs(page: str) -> Iterator[str]:
    """Yield the text of each paragraph in the main part of one help page."""
    body = page[page.find('id="DisplayArea"') : page.find('class="relatedtopics"')]
    for match in re.findall(r'<p id="par_[^>]*>(.*?)</p>', body, flags=re.S):
        text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", match))).strip()
        if len(text) > 30:
            yield text


def help_documents(root: Path, language: str) -> list[Document]:
    """Join neighbouring paragraphs of a page into documents of a useful length, each once."""
    shortest, longest = DOCUMENT_BYTES[language]
    seen: set[str] = set()
    documents = []
    for path in sorted(root.rglob("*.html")):
        pending: list[str] = []
        for text in paragraphs(path.read_text(encoding="utf-8", errors="replace")):
            if text in seen or not IS_IN_LANGUAGE[language](text):
                continue
            seen.add(text)
            pending.append(text)
            joined = "\n".join(pending)
            if len(joined.encode()) >= shortest:
                if len(joined.encode()) <= longest:
                    source = f"{HELP_PACKAGES[language]}: {path.relative_to(root)}"
                    documents.append({"text": joined, "source": source})
                pending = []
    return documents


def python_documents() -> list[Document]:
    """Return functions and classes of Python's library whose length is useful."""
    shortest, longest = DOCUMENT_BYTES["py"]
    root = Path(sysconfig.get_paths()["stdlib"])
    documents = []
    for path in sorted(root.glob("*.py")):
        source = path.read_text(encoding="utf-8", errors="replace")
        for node in ast.parse(source).body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            segment = ast.get_source_segment(source, node)
            if segment and segment.isascii() and shortest <= len(segment) <= longest:
                documents.append({"text": segment, "source": f"Python library: {path.name}"})
    return documents


def unpack(package: str, folder: Path) -> Path:
    """Download one Debian package and return the folder of its help pages."""
    subprocess.run(["apt-get", "download", "-q", package], cwd=folder, check=True)
    archive = next(folder.glob(f"{package}_*.deb"))
    subprocess.run(["dpkg-deb", "-x", archive.name, package], cwd=folder, check=True)
    return folder / package / "usr/share/libreoffice/help"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("examples/text"))
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        found = {
            language: help_documents(
                unpack(package, Path(folder)) / HELP_FOLDERS[language], language
            )
            for language, package in HELP_PACKAGES.items()
        }
    found["py"] = python_documents()

    for language, documents in found.items():
        random.Random(0).shuffle(documents)
        kept: list[Document] = []
        size = 0
        for document in documents:
            if size < BUDGET_BYTES[language]:
                kept.append({"id": f"{language}-{len(kept):04d}", **document})
                size += len(document["text"].encode())
        lines = [json.dumps(document, ensure_ascii=False) for document in kept]
        (out / f"{language}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{language}: kept {len(kept)} of {len(documents)} documents, {size} bytes")


if __name__ == "__main__":
    main()

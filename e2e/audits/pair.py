"""The two engines of an audit, what is asked of them, and how an audit ends."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.audits.asking import PLAIN_ARGUMENTS
from e2e.audits.mending import environment
from e2e.documents import LANGUAGES, documents
from e2e.engines import Engine, running_engine
from specfleet_cli.traffic.prompts import prompt

DTYPE = "float32"
"""Of both engines, see `running_engine`."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The same target without speculation, and with it."""

    plain: Engine
    speculating: Engine


@contextmanager
def running_pair(folder: Path, *, mended: bool = False) -> Iterator[Pair]:
    """Run both for the time of a `with` block; `mended` as `mending` does it."""
    folders = [folder / name for name in ("plain", "speculating")]
    for one in folders:
        one.mkdir()
    variables = environment(folder) if mended else {}
    with (
        running_engine(folders[0], *PLAIN_ARGUMENTS, speculate=False) as plain,
        running_engine(folders[1], environment=variables) as speculating,
    ):
        yield Pair(plain, speculating)


def prompts(count: int, *, seed: int) -> list[str]:
    """Return beginnings of documents in all languages."""
    texts = [document for language in LANGUAGES for document in documents(language)]
    random.Random(seed).shuffle(texts)
    return [prompt(texts, seed=seed, number=number).text for number in range(count)]


@dataclass(frozen=True, slots=True)
class Drafting:
    """How an engine drafted for a while."""

    verify_steps: int
    accepted: int

    @property
    def acceptance_length(self) -> float:
        """Return tokens per verify step."""
        return 1 + self.accepted / self.verify_steps if self.verify_steps else 1.0


class Meter:
    """Counts what an engine drafts from now on."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._before = engine.counted()

    def read(self) -> Drafting:
        """Return what was drafted since then."""
        steps, accepted = self._engine.counted()
        return Drafting(steps - self._before[0], accepted - self._before[1])


def tell(line: str) -> None:
    """Print a line at once, for whoever watches."""
    print(line, flush=True)


def conclude(out: Path, report: dict[str, Any], lines: Sequence[str]) -> int:
    """Print the lines and the problems, write the report, and return the exit status."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    for line in (*lines, *(f"FAIL {problem}" for problem in report["problems"])):
        tell(line)
    tell(f"report: {out}")
    return int(bool(report["problems"]))

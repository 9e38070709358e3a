"""A case of bad input: what somebody hands in, and the words in which it is refused."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Case:
    """`hand_in` gets an empty directory, and raises one of `refused_as` or returns the words."""

    what: str
    refused_as: type[Exception] | None
    hand_in: Callable[[Path], object]


@dataclass(frozen=True, slots=True)
class Section:
    """Cases of one kind of input, and what becomes of it besides the words."""

    title: str
    text: str
    cases: tuple[Case, ...]


class Taken(AssertionError):
    """Input was taken that should be refused."""


def words(case: Case) -> str:
    """Return the words of the refusal, with `…` for the directory of the case."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        try:
            said = case.hand_in(Path(directory))
        except Exception as error:
            if type(error) is not case.refused_as:
                raise
            return str(error).replace(directory, "…")
    if case.refused_as is None and isinstance(said, str):
        return said
    raise Taken(f"{case.what}: was taken, expected a refusal")


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Have these variables, and none of specfleet's besides."""
    before = dict(os.environ)
    kept = {name: value for name, value in before.items() if not name.startswith("SPECFLEET_")}
    os.environ.clear()
    os.environ.update({**kept, **variables})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)

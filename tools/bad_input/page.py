"""The page of what is refused, made by handing it in. It holds the words of the code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.bad_input import manifests, programs, stored, training, weights
from tools.bad_input.case import Section, words
from tools.documentation.tables import table

_LONGEST = 320
_HEAD = """# Bad input

Made by `make generate`: every line was handed in, and the words are what came back. A test does \
so again.

Whatever comes from outside a process is checked at the border, becomes a value, or is refused \
with a sentence that names the thing, what it is and what was expected. What is refused changes \
nothing. Sizes that somebody claims are compared with what is there, or with what is expected, \
before anything is allocated: a claim of 2^60 bytes costs none. Values of somebody else are \
shortened in a refusal, so that it fits into a status, a log line and the details of a call.

Every decoder on this page is fuzzed: a little in every run of the tests, and by \
`make fuzz SECONDS=600` for as long as one likes, by coverage \
(atheris). What that has found stays in `tools/fuzz/found` \
and is tried again by the tests.
"""


def sections() -> tuple[Section, ...]:
    """Return all sections of the page."""
    modules = (manifests, programs, weights, stored, training)
    return tuple(section for module in modules for section in module.sections())


def bad_input_page() -> str:
    """Return the page, Markdown."""
    return "\n".join([_HEAD, *(line for section in sections() for line in _section(section))])


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.title}\n"
    yield f"{section.text}\n"
    rows: Sequence[tuple[str, str]] = [(case.what, _quoted(words(case))) for case in section.cases]
    yield from table(("handed in", "refused in the words"), rows)


def _quoted(text: str) -> str:
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
    return f"`{short.replace('`', chr(39))}`"

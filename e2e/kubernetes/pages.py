"""What engines say of themselves on their pages, read by the agents beside them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from e2e.kubernetes.fleet import AGENT, Fleet
from e2e.kubernetes.waiting import until


@dataclass(frozen=True, slots=True)
class Page:
    """One engine: what it was last seen to run, and what it has put out with whom."""

    observed: str
    swaps: int
    tokens: Mapping[str, int]
    """By the drafter's digest; `stock` for the one as shipped."""


def pages(fleet: Fleet) -> dict[str, Page]:
    """Return the page of every engine by its pod's identity."""
    found = {}
    for pod in fleet.pods():
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        found[uid] = Page(**json.loads(fleet.python(name, AGENT, _READ)))
    return found


def until_all_run(fleet: Fleet, digest: str, *, seconds: float = 60.0) -> None:
    """Wait until every engine says by itself that it runs a drafter."""
    until(
        lambda: {engine: page.observed for engine, page in pages(fleet).items()},
        lambda observed: set(observed.values()) == {digest},
        what=f"all engines run {digest[:12]}",
        seconds=seconds,
    )


def share(before: Mapping[str, Page], after: Mapping[str, Page], digest: str) -> float:
    """Return the share of what engines have put out meanwhile that a drafter was used for."""
    mine = _tokens(after.values(), digest) - _tokens(before.values(), digest)
    everything = _tokens(after.values()) - _tokens(before.values())
    return mine / max(1, everything)


def _tokens(found: Iterable[Page], digest: str | None = None) -> int:
    return sum(
        tokens for page in found for name, tokens in page.tokens.items() if digest in (None, name)
    )


# In a container with the agent.
_READ = """
import json, pathlib
from specfleet_common.shm.names import page_file
from specfleet_common.shm.pages import PageReader

page = PageReader.attach(pathlib.Path("/dev/shm/specfleet") / page_file(0)).read()
tokens = {drafter["digest"]: drafter["output_tokens"] for drafter in page["drafters"]}
print(json.dumps({"observed": page["observed_digest"], "swaps": page["swaps"], "tokens": tokens}))
"""

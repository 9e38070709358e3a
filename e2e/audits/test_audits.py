"""The audits in small: real engines, and a real aggregator with a few dozen agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.audits import greedy, sampling, scale
from e2e.audits.limits import FEW_DESCRIPTORS
from e2e.audits.load import Options
from e2e.audits.pair import Pair, running_pair
from specfleet_common.codecs.codec import Codec

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with running_pair(tmp_path_factory.mktemp("pair"), mended=True) as running:
        yield running


@pytest.mark.long
def test_greedy_outputs_are_those_of_the_target(pair: Pair) -> None:
    options = greedy.Options(prompts=16, max_tokens=32, margin=greedy.MARGIN, seed=1)

    report = greedy.audit(pair, options)

    print(*greedy.lines(report), sep="\n")
    assert report["problems"] == []
    assert [arm["different_texts"] for arm in report["arms"].values()] == [0, 0, 0, 0]


@pytest.mark.long
def test_sampled_outputs_are_distributed_as_those_of_the_target(pair: Pair) -> None:
    options = sampling.Options(
        contexts=3, samples=200, tokens=3, min_visits=40, temperature=0.8, alpha=1e-3, seed=1
    )

    report = sampling.audit(pair, options)

    print(*sampling.lines(report), sep="\n")
    assert report["problems"] == []


def test_an_aggregator_keeps_many_agents(tmp_path: Path) -> None:
    """Whether it is quick enough is for the command: this machine may be busy with other tests."""
    options = Options(
        agents=40,
        rounds=2,
        part=0.005,
        codec=Codec.TERNARY,
        watchers=1,
        patience_seconds=120.0,
        seed=1,
    )

    report = scale.audit(tmp_path, options)

    print(*scale.lines(report), sep="\n")
    assert report["versions"] == 2
    assert report["fewest_live_workers"] == 40
    assert all(one["failed"] == 0 for one in report["heartbeats"].values())
    left = report["after_rounds"][-1]["file_descriptors"] - report["before"]["file_descriptors"]
    assert left <= FEW_DESCRIPTORS

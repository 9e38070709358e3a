"""The checks of the smoke story fail when they should."""

from __future__ import annotations

import pytest

from e2e.checks import (
    Observation,
    Published,
    check_acceptance,
    check_observed,
    check_stock,
    check_swaps,
    check_versions,
)
from specfleet_cli.acceptance import Reading

VERSIONS = [Published(float(n), n, f"{n}" * 64) for n in range(3)]


def observed(*digests: str, worker: str = "push-0", observed: str = "local") -> list[Observation]:
    """Return one observation per digest, each after one more swap."""
    return [
        Observation(float(swaps), worker, swaps, observed, digest)
        for swaps, digest in enumerate(digests)
    ]


def test_two_versions_without_a_gap_pass() -> None:
    assert check_versions(VERSIONS, [0, 1, 2]).passed


@pytest.mark.parametrize(
    ("published", "stored"),
    [
        pytest.param(VERSIONS[:2], [0, 1], id="one-version"),
        pytest.param(VERSIONS, [0, 2], id="gap"),
    ],
)
def test_too_few_versions_or_a_gap_fail(published: list[Published], stored: list[int]) -> None:
    assert not check_versions(published, stored).passed


def test_running_only_local_weights_is_not_running_versions() -> None:
    assert not check_observed("push-0", VERSIONS, observed("a", "1" * 64, "b")).passed
    assert check_observed("push-0", VERSIONS, observed("1" * 64, "a", "2" * 64)).passed


@pytest.mark.parametrize(
    ("seen", "passed"),
    [
        pytest.param(observed("a", "b", "a"), True, id="every-swap-changes"),
        pytest.param(observed("a", "a"), False, id="a-swap-without-effect"),
        pytest.param(observed("a"), False, id="no-swap"),
        pytest.param(observed("a", "b", observed="mismatch"), False, id="mismatch"),
    ],
)
def test_every_swap_has_to_change_the_weights(seen: list[Observation], passed: bool) -> None:
    assert check_swaps("push-0", seen).passed == passed


def test_the_control_may_run_nothing_but_stock() -> None:
    assert check_stock("c", observed("a", worker="c", observed="stock")).passed
    assert not check_stock("c", observed("a", "b", worker="c")).passed
    assert not check_stock("c", []).passed


@pytest.mark.parametrize(
    ("accepted", "stock", "passed"),
    [
        pytest.param((0, 100, 220, 360), (0, 100, 200, 300), True, id="better"),
        pytest.param((0, 140, 280, 420), (0, 100, 200, 300), True, id="better-from-the-start"),
        pytest.param((0, 100, 200, 310), (0, 100, 200, 300), False, id="hardly-better"),
        pytest.param((0, 50, 120, 200), (0, 100, 200, 300), False, id="worse-than-control"),
    ],
)
def test_acceptance_has_to_exceed_the_controls(
    accepted: tuple[int, ...], stock: tuple[int, ...], passed: bool
) -> None:
    readings = {
        name: [Reading(10.0 * n, 100 * n, total) for n, total in enumerate(totals)]
        for name, totals in (("push-0", accepted), ("control-0", stock))
    }

    assert check_acceptance("push-0", "control-0", readings).passed == passed

from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from specfleet_agent.break_even import BreakEven
from specfleet_agent.instruments import Instruments
from specfleet_agent.mirror import Mirror, Reading, served_version
from specfleet_agent.situation import Files
from specfleet_agent.tests.builders import (
    answer,
    digest,
    drafter_content,
    holding,
    page,
    report,
    seen,
    version,
)
from specfleet_common.telemetry import agent as names


def exported(reading: Reading) -> CollectorRegistry:
    registry, mirror = CollectorRegistry(), Mirror()
    mirror.reading = reading
    registry.register(mirror)
    return registry


def full_reading() -> Reading:
    engine = page(
        drafters=(drafter_content("stock"), drafter_content("a" * 64), drafter_content("b" * 64))
    )
    engine = replace(engine, swap_apply_seconds=0.004, mismatches=1)
    known = seen(answer(base=version(3)), Files(report=report()), engine=engine)
    return Reading(
        replace(known, break_even=BreakEven({1: 1.5, 3: 2.5})), held=version(3), connected=True
    )


def test_versions_share_a_label() -> None:
    registry = exported(full_reading())

    def steps(drafter: str) -> float | None:
        name = "specfleet_agent_verify_steps_total"
        return registry.get_sample_value(name, {"drafter": drafter})

    assert (steps("stock"), steps("version"), steps("local")) == (5.0, 10.0, None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("connected", 1.0),
        ("lease_valid", 0.0),
        ("round", 3.0),
        ("version", 3.0),
        ("served_version", 0.0),
        ("swaps_total", 3.0),
        ("swap_apply_seconds", 0.004),
        ("digest_mismatches_total", 1.0),
        ("trainer_steps_total", 36.0),
        ("trainer_local_steps", 6.0),
        ("trainer_positions_total", 640.0),
        ("trainer_positions_per_second", 12.5),
    ],
)
def test_what_was_read_is_shown(name: str, value: float) -> None:
    registry = exported(full_reading())

    assert registry.get_sample_value(f"specfleet_agent_{name}") == value


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("busy_seconds_total", {"drafter": "version"}, 1.0),
        ("accepted_tokens_total", {"drafter": "stock", "position": "2"}, 1.0),
        ("break_even_acceptance_length", {"band": "3"}, 2.5),
        ("trainer_loss", {"depth": "2"}, 3.0),
        ("bank_refusals_total", {"reason": "weights"}, 2.0),
        ("bank_refusals_total", {"reason": "torn"}, 0.0),
    ],
)
def test_what_was_read_is_shown_by_label(name: str, labels: dict[str, str], value: float) -> None:
    registry = exported(full_reading())

    assert registry.get_sample_value(f"specfleet_agent_{name}", labels) == value


@pytest.mark.parametrize("adapting", [True, False])
def test_whether_the_engine_adapts_is_shown(adapting: bool) -> None:
    registry = exported(Reading(seen(None, engine=replace(page(), adapting=adapting))))

    assert registry.get_sample_value("specfleet_agent_engine_adapting") == float(adapting)


def test_what_is_not_known_is_left_out() -> None:
    registry = exported(Reading(seen(None)))

    for name in ("round", "version", "swap_apply_seconds"):
        assert registry.get_sample_value(f"specfleet_agent_{name}") is None
    assert registry.get_sample_value("specfleet_agent_connected") == 0.0


@pytest.mark.parametrize(
    ("observed", "number"),
    [
        pytest.param("stock", 0, id="stock"),
        pytest.param(digest(0), 0, id="stock-by-its-digest"),
        pytest.param(digest(2), 2, id="on-the-volume"),
        pytest.param(digest(3), 3, id="told-by-the-aggregator"),
        pytest.param("local", None, id="local"),
        pytest.param("mismatch", None, id="mismatch"),
        pytest.param("c" * 64, None, id="unknown"),
    ],
)
def test_the_version_that_is_served(observed: str, number: int | None) -> None:
    known = seen(
        answer(serve=version(3)), Files(versions=holding(2)), engine=page(observed=observed)
    )

    assert served_version(known) == number


def test_every_metric_declared_for_the_agent_is_exported() -> None:
    registry = exported(full_reading())
    Instruments(registry)

    shown = {family.name.removesuffix("_total") for family in registry.collect()}

    declared = {metric.name.removesuffix("_total") for metric in names.ALL}
    assert shown == declared, "declare, export or delete the difference"

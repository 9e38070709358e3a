from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from specfleet_agent.instruments import Instruments, Mirror, Reading
from specfleet_agent.situation import Files
from specfleet_agent.tests.builders import answer, drafter_content, page, report, seen, version
from specfleet_common.telemetry import metrics


def exported(reading: Reading) -> CollectorRegistry:
    registry, mirror = CollectorRegistry(), Mirror()
    mirror.reading = reading
    registry.register(mirror)
    return registry


def full_reading() -> Reading:
    engine = page(
        drafters=(drafter_content("stock"), drafter_content("a" * 64), drafter_content("b" * 64))
    )
    files = Files(report=report())
    return Reading(
        seen(answer(base=version(3)), files, engine=engine), held=version(3), connected=True
    )


def test_versions_share_a_label() -> None:
    registry = exported(full_reading())

    def steps(drafter: str) -> float | None:
        name = "specfleet_agent_verify_steps_total"
        return registry.get_sample_value(name, {"drafter": drafter})

    assert (steps("stock"), steps("version"), steps("local")) == (5.0, 10.0, None)


def test_round_version_and_connection_are_shown() -> None:
    registry = exported(full_reading())

    names = ("connected", "round", "version", "swaps_total", "trainer_steps_total")
    values = [registry.get_sample_value(f"specfleet_agent_{name}") for name in names]

    assert values == [1.0, 3.0, 3.0, 3.0, 36.0]


@pytest.mark.parametrize("adapting", [True, False])
def test_whether_the_engine_adapts_is_shown(adapting: bool) -> None:
    registry = exported(Reading(seen(None, engine=replace(page(), adapting=adapting))))

    assert registry.get_sample_value("specfleet_agent_engine_adapting") == float(adapting)


def test_what_is_not_known_is_left_out() -> None:
    registry = exported(Reading(seen(None)))

    assert registry.get_sample_value("specfleet_agent_round") is None
    assert registry.get_sample_value("specfleet_agent_connected") == 0.0


def test_every_metric_declared_for_the_agent_is_exported() -> None:
    registry = exported(full_reading())
    Instruments(registry)

    names = {family.name.removesuffix("_total") for family in registry.collect()}

    declared = {m.name.removesuffix("_total") for m in metrics.ALL if "_agent_" in m.name}
    assert names == declared, "declare, export or delete the difference"

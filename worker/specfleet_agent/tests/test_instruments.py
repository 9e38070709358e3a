from __future__ import annotations

from prometheus_client import CollectorRegistry

from specfleet_agent.instruments import Instruments


def test_every_series_is_there_with_0_before_anything_happens() -> None:
    registry = CollectorRegistry()

    Instruments(registry)

    samples = [sample for family in registry.collect() for sample in family.samples]
    assert {family.name for family in registry.collect() if not family.samples} == set()
    assert {sample.value for sample in samples} == {0.0}


def test_weights_that_were_moved_are_counted_with_their_bytes() -> None:
    registry = CollectorRegistry()
    instruments = Instruments(registry)

    instruments.count_transfer("push_delta", sent_bytes=70)
    instruments.count_transfer("pull", received_bytes=30)

    def bytes_of(direction: str) -> float | None:
        name = "specfleet_agent_transferred_bytes_total"
        return registry.get_sample_value(name, {"direction": direction})

    assert (bytes_of("sent"), bytes_of("received")) == (70.0, 30.0)
    pulls = registry.get_sample_value(
        "specfleet_agent_transfers_total", {"kind": "pull", "result": "ok"}
    )
    assert pulls == 1.0

"""Weights on their way to a device and back."""

from __future__ import annotations

import pytest
import torch

from specfleet_common.tensors import content_digest
from specfleet_engine.layouts import LayoutError
from specfleet_engine.tests.fake_device import FakeDevice
from specfleet_engine.tests.test_layouts import LAYOUT, own
from specfleet_engine.tests.test_live import live
from specfleet_engine.weights.digests import fingerprint
from specfleet_engine.weights.live import LiveDrafter
from specfleet_engine.weights.movers import CHUNK_BYTES, DeviceMover


def parameters(seed: int) -> dict[str, torch.Tensor]:
    """Return parameters of several sizes and kinds, one of more than two chunks."""
    generator = torch.Generator().manual_seed(seed)
    return {
        "large": torch.randn((CHUNK_BYTES // 4, 3), generator=generator),
        "half": torch.randn((5, 3), generator=generator).bfloat16(),
        "one": torch.randn((), generator=generator),
    }


def test_what_is_staged_is_what_was_given() -> None:
    mover = DeviceMover(parameters(0), device := FakeDevice(), device.main)

    staged = mover.stage(parameters(1))

    assert all(torch.equal(staged[name], value) for name, value in parameters(1).items())
    assert set(device.used) == {"side"}


def test_staging_takes_the_same_memory_again() -> None:
    mover = DeviceMover(parameters(0), device := FakeDevice(), device.main)

    first, second = mover.stage(parameters(1)), mover.stage(parameters(2))

    assert all(first[name].data_ptr() == second[name].data_ptr() for name in first)


def test_applying_goes_with_the_runners_work_and_keeps_addresses() -> None:
    live = parameters(0)
    mover = DeviceMover(live, device := FakeDevice(), device.main)
    addresses = {name: value.data_ptr() for name, value in live.items()}
    staged = mover.stage(parameters(1))
    device.used.clear()

    mover.apply(staged, live)

    assert device.used == ["main"]
    assert {name: value.data_ptr() for name, value in live.items()} == addresses
    assert all(torch.equal(live[name], value) for name, value in parameters(1).items())


@pytest.mark.parametrize("reads", [pytest.param(True, id="read"), pytest.param(False, id="stage")])
def test_the_side_stream_waits_for_the_newest_exchange(reads: bool) -> None:
    live = parameters(0)
    mover = DeviceMover(live, device := FakeDevice(), device.main)
    mover.apply(mover.stage(parameters(1)), live)

    if reads:
        mover.fingerprint(live)
    else:
        mover.stage(parameters(2))

    assert mover._side.waited_for == [mover._applied]  # type: ignore[attr-defined]


def test_a_fingerprint_is_that_of_plain_memory() -> None:
    mover = DeviceMover(parameters(0), device := FakeDevice(), device.main)

    assert mover.fingerprint(parameters(3)) == fingerprint(parameters(3))


def test_a_parameter_that_is_a_view_is_refused_by_name() -> None:
    device = FakeDevice()

    with pytest.raises(LayoutError, match="parameter turned is a view"):
        DeviceMover({"turned": torch.zeros(2, 3).T}, device, device.main)


def test_a_live_drafter_on_a_device_swaps_as_one_in_memory() -> None:
    own_ = {name: torch.nn.Parameter(value) for name, value in own(0).items()}
    plain = {name: parameter.data for name, parameter in own_.items()}
    drafter = LiveDrafter(own_, LAYOUT, DeviceMover(plain, d := FakeDevice(), d.main))
    other, wanted = live(1)

    drafter.apply(drafter.stage(other.stock, content_digest(other.stock)))

    assert all(torch.equal(own_[name], wanted[name]) for name in wanted)
    assert drafter.holds_what_it_should()

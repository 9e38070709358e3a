import pytest
import torch

from specfleet_common.tensors import content_digest
from specfleet_engine.layouts import LayoutError
from specfleet_engine.tests.test_layouts import LAYOUT, own
from specfleet_engine.weights.live import LiveDrafter, own_parameters


def live(seed: int) -> tuple[LiveDrafter, dict[str, torch.nn.Parameter]]:
    parameters = {name: torch.nn.Parameter(value) for name, value in own(seed).items()}
    return LiveDrafter(parameters, LAYOUT), parameters


def test_applying_copies_into_the_live_storage() -> None:
    drafter, parameters = live(0)
    other, wanted = live(1)
    addresses = {name: parameter.data_ptr() for name, parameter in parameters.items()}

    drafter.apply(drafter.stage(other.stock, other.stock_digest))

    assert {name: parameter.data_ptr() for name, parameter in parameters.items()} == addresses
    assert all(torch.equal(parameters[name], wanted[name]) for name in wanted)
    assert drafter.digest == other.stock_digest
    assert drafter.holds_what_it_should()


def test_staging_alone_changes_nothing() -> None:
    drafter, parameters = live(0)
    before = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    other, _ = live(1)

    drafter.stage(other.stock, other.stock_digest)

    assert all(torch.equal(parameters[name], before[name]) for name in before)
    assert drafter.digest == drafter.stock_digest


def test_a_changed_storage_is_noticed() -> None:
    drafter, parameters = live(0)

    next(iter(parameters.values())).data.add_(1)

    assert not drafter.holds_what_it_should()


def test_weights_with_another_digest_are_refused() -> None:
    drafter, _ = live(0)
    other, _ = live(1)

    with pytest.raises(LayoutError, match=f"digest {other.stock_digest}, expected 00"):
        drafter.stage(other.stock, "00" * 32)


def test_weights_with_a_missing_tensor_are_refused_by_name() -> None:
    from safetensors.torch import load, save

    drafter, _ = live(0)
    tensors = load(drafter.stock)
    del tensors["model.mtp_layers.0.final_layernorm.weight"]
    data = save(tensors)

    with pytest.raises(LayoutError, match="final_layernorm"):
        drafter.stage(data, content_digest(data))


def test_shared_parameters_are_not_the_drafters_own() -> None:
    target = torch.nn.Linear(2, 3, bias=False)
    drafter = torch.nn.Module()
    drafter.head, drafter.own = target, torch.nn.Linear(3, 3, bias=False)

    assert own_parameters(drafter, target).keys() == {"own.weight"}


def test_a_packed_parameter_is_refused() -> None:
    drafter = torch.nn.Module()
    drafter.weight = torch.nn.Parameter(torch.empty(0))

    with pytest.raises(LayoutError, match="weight has no storage"):
        own_parameters(drafter, torch.nn.Linear(1, 1))

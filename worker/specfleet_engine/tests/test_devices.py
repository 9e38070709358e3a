"""What the plugin asks of CUDA is what torch has: held without a GPU, by signatures."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch

from specfleet_engine.devices import Cuda, Device, Event, Stream
from specfleet_engine.tests.fake_device import FakeDevice, FakeEvent, FakeStream

TORCHS = {Event: torch.cuda.Event, Stream: torch.cuda.Stream}


def methods(protocol: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(value)
        for name, value in vars(protocol).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }


@pytest.mark.parametrize(
    ("protocol", "name"),
    [(protocol, name) for protocol in TORCHS for name in methods(protocol)],
    ids=str,
)
def test_torchs_objects_take_what_the_plugin_gives_them(protocol: type[object], name: str) -> None:
    theirs = inspect.signature(getattr(TORCHS[protocol], name))

    ours = methods(protocol)[name].parameters
    assert [*theirs.parameters] == [*ours]
    assert [one.default for one in theirs.parameters.values()] == [
        one.default for one in ours.values()
    ]


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        pytest.param(torch.cuda.Event.__new__, ((torch.cuda.Event,), {"enable_timing": True})),
        pytest.param(torch.cuda.Stream.__new__, ((torch.cuda.Stream, "cuda:0"), {})),
        pytest.param(torch.cuda.current_stream, (("cuda:0",), {})),
        pytest.param(torch.cuda.stream, ((None,), {})),
    ],
)
def test_torchs_functions_take_what_the_plugin_gives_them(function: Any, arguments: Any) -> None:
    inspect.signature(function).bind(*arguments[0], **arguments[1])


@pytest.mark.parametrize(
    ("stands_in", "protocol"),
    [(FakeDevice, Device), (Cuda, Device), (FakeEvent, Event), (FakeStream, Stream)],
    ids=str,
)
def test_every_stand_in_has_all_methods(stands_in: type, protocol: type) -> None:
    for name, signature in methods(protocol).items():
        assert [*inspect.signature(getattr(stands_in, name)).parameters] == [*signature.parameters]


def test_a_gpu_that_is_not_there_is_only_missed_when_it_is_used() -> None:
    device = Cuda(torch.device("cuda", 0))

    if not torch.cuda.is_available():
        with pytest.raises((RuntimeError, AssertionError)):
            device.empty((1,), torch.uint8)

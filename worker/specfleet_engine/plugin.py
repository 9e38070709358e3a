"""Where the plugin enters vLLM: after a worker's model is loaded, attach a session to its runner.

An engine that lacks a needed hook says so in its log and on its rank page, and serves on.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from specfleet_engine.settings import Settings, SettingsError, read_settings

if TYPE_CHECKING:
    from specfleet_engine.attaching import Attachment

log = logging.getLogger("vllm.specfleet")

INSTALLED = "_specfleet_installed"


def install() -> None:
    """Wrap vLLM's worker so that each model runner gets a session; harmless when repeated."""
    settings = settings_here()
    if settings is None:
        return
    from vllm.v1.worker.worker_base import WorkerWrapperBase

    if getattr(WorkerWrapperBase, INSTALLED, False):
        return
    init_device = WorkerWrapperBase.init_device

    def init_device_and_hook(wrapper: Any) -> None:
        init_device(wrapper)
        _hook_loading(wrapper.worker, settings)

    WorkerWrapperBase.init_device = init_device_and_hook
    setattr(WorkerWrapperBase, INSTALLED, True)


def settings_here() -> Settings | None:
    """Return the settings of this process; None outside of a fleet, and where they are wrong."""
    try:
        return read_settings(os.environ)
    except SettingsError as error:
        log.error("specfleet does not adapt this engine: %s", error)
        return None


def _hook_loading(worker: Any, settings: Settings) -> None:
    """Attach a session once the runner of `worker` has loaded its models, and start it once warm.

    Until then vLLM makes dry runs, and records CUDA graphs, during which no other thread may use
    the device.
    """
    runner, load_model = worker.model_runner, worker.model_runner.load_model
    warm_up = worker.compile_or_warm_up_model
    attachment: Attachment | None = None

    def load_model_and_attach(*args: Any, **kwargs: Any) -> None:
        nonlocal attachment
        with _plain_drafter_linears(runner):
            load_model(*args, **kwargs)
        from specfleet_engine.attaching import attach

        with _serving_on_without(worker, settings):
            attachment = attach(worker, settings)

    def warm_up_and_start() -> Any:
        times = warm_up()
        if attachment is not None:
            with _serving_on_without(worker, settings):
                attachment.start()
        return times

    runner.load_model = load_model_and_attach
    worker.compile_or_warm_up_model = warm_up_and_start


@contextmanager
def _serving_on_without(worker: Any, settings: Settings) -> Iterator[None]:
    """Say why the engine is not adapted where the block fails: it must still serve."""
    from specfleet_engine.opening import say_why

    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is
        log.error("specfleet does not adapt this engine, it serves on without: %s", error)
        say_why(settings, worker.rank, error)


@contextmanager
def _plain_drafter_linears(runner: Any) -> Iterator[None]:
    """Keep the drafter's linears unpacked on CPU while they load.

    There vLLM moves a linear's weight into an opaque packed form and leaves an empty parameter, so
    writing to the parameter would change nothing.
    """
    drafter = getattr(runner, "drafter", None) or getattr(runner, "speculator", None)
    if drafter is None or runner.device.type != "cpu":
        yield
        return
    import torch
    from vllm.model_executor.layers import utils

    pack = utils.dispatch_cpu_unquantized_gemm
    load_drafter = drafter.load_model

    def keep_plain(layer: torch.nn.Module, remove_weight: bool) -> None:
        layer.cpu_linear = torch.nn.functional.linear  # type: ignore[assignment]

    def load_plain(target: torch.nn.Module) -> None:
        utils.dispatch_cpu_unquantized_gemm = keep_plain
        try:
            load_drafter(target)
        finally:
            utils.dispatch_cpu_unquantized_gemm = pack

    drafter.load_model = load_plain
    try:
        yield
    finally:
        del drafter.load_model

"""Where the plugin enters vLLM: after a worker's model is loaded, attach a session to its runner.

An engine that lacks a needed hook says so in its log and on its rank page, and serves on.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from specfleet_engine.settings import Settings, SettingsError, read_settings

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
    """Attach a session once the runner of `worker` has loaded its models."""
    runner = worker.model_runner
    load_model = runner.load_model

    def load_model_and_attach(*args: Any, **kwargs: Any) -> None:
        with _plain_drafter_linears(runner):
            load_model(*args, **kwargs)
        from specfleet_engine.attaching import attach
        from specfleet_engine.opening import say_why

        try:
            attach(worker, settings)
        except Exception as error:  # noqa: BLE001 - an engine that cannot adapt must still serve
            log.error("specfleet does not adapt this engine, it serves on without: %s", error)
            say_why(settings, worker.rank, error)

    runner.load_model = load_model_and_attach


@contextmanager
def _plain_drafter_linears(runner: Any) -> Iterator[None]:
    """Keep the drafter's linears unpacked on CPU while they load.

    There vLLM moves a linear's weight into an opaque packed form and leaves an empty parameter, so
    writing to the parameter would change nothing.
    """
    drafter = getattr(runner, "drafter", None)
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

"""Build the session of one worker whose model is loaded, from the objects vLLM made."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from specfleet_common.shm.layout import Layout
from specfleet_engine.devices import Cuda, Device
from specfleet_engine.fitness import Facts, Unfit, unfitness
from specfleet_engine.layouts import DrafterLayout, find_layout
from specfleet_engine.opening import open_session
from specfleet_engine.runners import v1, v2
from specfleet_engine.runners.at_once import AtOnce
from specfleet_engine.runners.late import LateSteps
from specfleet_engine.runners.slots import Copies, SlotSizes
from specfleet_engine.session import Session
from specfleet_engine.settings import Settings
from specfleet_engine.step import RunnerObserver
from specfleet_engine.weights.digests import target_digest
from specfleet_engine.weights.live import LiveDrafter, Staged, own_parameters
from specfleet_engine.weights.movers import DeviceMover
from specfleet_engine.weights.sharding import ShardedLayout

log = logging.getLogger("vllm.specfleet")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A session that is ready to observe a runner, once that is warm."""

    session: Session[Staged]
    start: Callable[[], None]
    """Observe from now on: called when vLLM has made its last dry run and recorded its graphs."""


def device_of(kind: torch.device) -> Device | None:
    """Return the accelerator that tensors are on, None where they lie in this machine's memory."""
    return None if kind.type == "cpu" else Cuda(kind)


def attach(worker: Any, settings: Settings) -> Attachment:
    """Make a session for the worker's runner, and all memory it needs.

    Raises Unfit, MissingHook or LayoutError when this engine cannot be adapted; nothing of it is
    changed then.
    """
    runner, config = worker.model_runner, worker.vllm_config
    reason = unfitness(_facts(runner, config), try_cuda=settings.try_cuda)
    if reason is not None:
        raise Unfit(reason)
    adapter = _adapter(runner)
    drafter = adapter.drafter_of(runner)
    drafter_layout: DrafterLayout = find_layout(config.speculative_config.method, drafter)
    own = own_parameters(drafter, runner.get_model())
    device = device_of(runner.device)
    mover = None
    if device is not None:
        plain = {name: parameter.data for name, parameter in own.items()}
        mover = DeviceMover(plain, device, device.current_stream())
    folder, num_ranks = _model_folder(config.model_config), _num_ranks(config)
    if num_ranks > 1:
        drafter_layout = ShardedLayout.of(
            drafter_layout, own, folder, rank=worker.rank, num_ranks=num_ranks
        )
    live = LiveDrafter(own, drafter_layout, mover)
    lineage = live.lineage(target_digest(folder))
    dtype = config.model_config.dtype
    layout = Layout(
        family=drafter_layout.family,
        layout=drafter_layout.name,
        lineage_id=lineage.id,
        hidden_size=config.model_config.get_hidden_size(),
        hidden_dtype=str(dtype).removeprefix("torch."),
        num_speculative_tokens=config.speculative_config.num_speculative_tokens,
    )
    session = open_session(
        settings,
        layout=layout,
        lineage=lineage,
        live=live,
        rank=worker.rank,
        num_ranks=num_ranks,
        # Of all ranks of one engine, and no other: it has a port of its own.
        engine=str(worker.distributed_init_method),
    )
    log.info("specfleet adapts this engine: %s, lineage %s", adapter.__name__, lineage.id)
    if device is None or mover is None:
        return _attachment(runner, adapter, session, AtOnce(session), while_idle=lambda: None)
    sizes = SlotSizes(
        requests=config.scheduler_config.max_num_seqs,
        rows=config.scheduler_config.max_num_batched_tokens,
        hidden_size=layout.hidden_size,
        hidden_dtype=dtype,
        num_speculative_tokens=layout.num_speculative_tokens,
    )
    late = LateSteps(session, Copies(sizes, device), mover, device)
    return _attachment(runner, adapter, session, late, while_idle=late.tell)


def _attachment(
    runner: Any,
    adapter: ModuleType,
    session: Session[Staged],
    observer: RunnerObserver,
    *,
    while_idle: Callable[[], None],
) -> Attachment:
    def start() -> None:
        adapter.observe(runner, observer)
        session.start(while_idle)

    return Attachment(session, start)


def _adapter(runner: Any) -> ModuleType:
    """Return the adapter's module: only the second runner has a speculator."""
    return v2 if hasattr(runner, "speculator") else v1


def _num_ranks(config: Any) -> int:
    ranks: int = config.parallel_config.tensor_parallel_size
    return ranks


def _facts(runner: Any, config: Any) -> Facts:
    parallel, speculation = config.parallel_config, config.speculative_config
    drafter = None if speculation is None else speculation.draft_model_config
    return Facts(
        device=runner.device.type,
        pipeline_parallel=parallel.pipeline_parallel_size,
        data_parallel=parallel.data_parallel_size,
        can_sleep=config.model_config.enable_sleep_mode,
        is_quantized=drafter is not None and drafter.quantization is not None,
    )


def _model_folder(model_config: Any) -> Path:
    """Return the folder of the loaded checkpoint; one of the hub lies in the hub's cache."""
    path = Path(model_config.model)
    if path.is_dir():
        return path
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(model_config.model, revision=model_config.revision, local_files_only=True)
    )

"""Build the session of one worker whose model is loaded, from the objects vLLM made."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from specfleet_common.files import write_file
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.names import RING_FILE, STOCK_FILE, page_file
from specfleet_common.shm.pages import PageWriter
from specfleet_engine import runner_v1
from specfleet_engine.capturing import Capture
from specfleet_engine.digests import target_digest
from specfleet_engine.following import Following, FollowPolicy
from specfleet_engine.layouts import find_layout
from specfleet_engine.live import LiveDrafter, own_parameters
from specfleet_engine.records import RingSink
from specfleet_engine.session import Session
from specfleet_engine.settings import Settings

log = logging.getLogger("vllm.specfleet")


def attach(worker: Any, settings: Settings) -> None:
    """Make a session and let it observe the worker's runner.

    Raises MissingHook or LayoutError when this engine cannot be adapted; nothing is changed then.
    """
    runner, config = worker.model_runner, worker.vllm_config
    runner_v1.check(runner)
    world_size = config.parallel_config.world_size
    if world_size != 1:
        raise runner_v1.MissingHook(
            f"world size is {world_size}, expected 1: ranks do not agree on a step to swap at yet"
        )
    drafter = runner.drafter.model
    drafter_layout = find_layout(config.speculative_config.method, drafter)
    live = LiveDrafter(own_parameters(drafter, runner.get_model()), drafter_layout)
    lineage = live.lineage(target_digest(_model_folder(config.model_config)))
    layout = Layout(
        family=drafter_layout.family,
        layout=drafter_layout.name,
        lineage_id=lineage.id,
        hidden_size=config.model_config.get_hidden_size(),
        hidden_dtype=str(config.model_config.dtype).removeprefix("torch."),
        num_speculative_tokens=config.speculative_config.num_speculative_tokens,
    )
    directory = settings.shm_directory
    directory.mkdir(parents=True, exist_ok=True)
    write_file(directory / STOCK_FILE, live.stock)
    session = Session(
        directory=directory,
        layout=layout,
        lineage=lineage,
        live=live,
        capture=_capture(settings, layout),
        page=PageWriter.create(directory / page_file(worker.rank)),
    )
    runner_v1.observe(runner, session, session.fail)
    session.start()
    log.info("specfleet adapts this engine: lineage %s, %s", lineage.id, layout)


def say_why(directory: Path, rank: int, error: Exception) -> None:
    """Leave the reason why this engine is not adapted on the rank page, for the agent."""
    directory.mkdir(parents=True, exist_ok=True)
    page = PageWriter.create(directory / page_file(rank))
    page.write({"adapting": False, "reason": f"{type(error).__name__}: {error}"})


def _capture(settings: Settings, layout: Layout) -> Capture | None:
    if not settings.capture:
        return None
    policy = FollowPolicy(
        fleet=settings.fleet,
        follow_requests=settings.follow_requests,
        max_tokens=settings.max_tokens,
        holdout_percent=settings.holdout_percent,
        key_tokens=settings.key_tokens,
    )
    ring = RingSink.create(settings.shm_directory / RING_FILE, layout, settings.ring_bytes)
    return Capture(Following(policy), ring)


def _model_folder(model_config: Any) -> Path:
    """Return the folder of the loaded checkpoint; one of the hub lies in the hub's cache."""
    path = Path(model_config.model)
    if path.is_dir():
        return path
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(model_config.model, revision=model_config.revision, local_files_only=True)
    )

"""Build the session of one worker whose model is loaded, from the objects vLLM made."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from specfleet_common.shm.layout import Layout
from specfleet_engine import runner_v1
from specfleet_engine.digests import target_digest
from specfleet_engine.layouts import find_layout
from specfleet_engine.live import LiveDrafter, own_parameters
from specfleet_engine.opening import open_session
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
    session = open_session(settings, layout=layout, lineage=lineage, live=live, rank=worker.rank)
    runner_v1.observe(runner, session, session.fail)
    session.start()
    log.info("specfleet adapts this engine: lineage %s, %s", lineage.id, layout)


def _model_folder(model_config: Any) -> Path:
    """Return the folder of the loaded checkpoint; one of the hub lies in the hub's cache."""
    path = Path(model_config.model)
    if path.is_dir():
        return path
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(model_config.model, revision=model_config.revision, local_files_only=True)
    )

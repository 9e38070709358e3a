"""Adapter for vLLM's V1 model runner: wraps four methods of one runner instance.

`propose` alone knows neither request ids nor what is finished, so `execute_model` is wrapped too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from specfleet_engine.runners.hooks import Guard, MissingHook, name_of, scheduled, wrap_steps
from specfleet_engine.step import Batch, Proposal, RunnerObserver, Scheduled

NEEDED_OF_RUNNER = (
    *("execute_model", "sample_tokens", "take_draft_token_ids"),
    *("input_batch", "discard_request_mask", "use_async_scheduling"),
)


def drafter_of(runner: Any) -> torch.nn.Module:
    """Return the draft model; MissingHook when the runner is not one this adapter knows."""
    for name in NEEDED_OF_RUNNER:
        if not hasattr(runner, name):
            raise MissingHook(
                f"model runner {name_of(runner)} has no {name}, expected vLLM's V1 runner"
            )
    drafter: Any = getattr(runner, "drafter", None)
    if not callable(getattr(drafter, "propose", None)):
        raise MissingHook(
            f"model runner {name_of(runner)} has no drafter.propose, expected method 'mtp'"
        )
    if runner.speculative_config.disable_padded_drafter_batch:
        raise MissingHook("disable_padded_drafter_batch is set, expected padded draft batches")
    model: torch.nn.Module = drafter.model
    return model


def observe(runner: Any, observer: RunnerObserver) -> None:
    """Tell `observer` about every step of `runner`, until it fails once."""
    tell = Guard(observer.fail)
    propose, take_draft_token_ids = runner.drafter.propose, runner.take_draft_token_ids
    drafts_in_step: dict[str, list[int]] = {}

    def begins(scheduler_output: Any) -> Scheduled:
        nonlocal drafts_in_step
        drafts_in_step = scheduler_output.scheduled_spec_decode_tokens
        return scheduled(scheduler_output)

    def observed_propose(**kwargs: Any) -> torch.Tensor:
        # `propose` changes its arguments and reuses buffers, so the rows are read before it.
        tell(lambda: observer.verified(_proposal(runner, drafts_in_step, kwargs)))
        drafts: torch.Tensor = propose(**kwargs)
        tell(lambda: observer.drafted(drafts))
        return drafts

    def shortened_take_draft_token_ids() -> Any:
        drafts = take_draft_token_ids()
        if drafts is None or not tell(lambda: observer.wants_plain and _attends_fully(runner)):
            return drafts
        return type(drafts)(drafts.req_ids, [[] for _ in drafts.req_ids])

    wrap_steps(runner, observer, tell, begins)
    runner.drafter.propose = observed_propose
    if not runner.use_async_scheduling:
        # With it the next step is planned before this one's drafts are known: none can be left out.
        runner.take_draft_token_ids = shortened_take_draft_token_ids


def _attends_fully(runner: Any) -> bool:
    """Say whether all layers can do a step of fewer tokens than the one before had accepted.

    Linear attention cannot: its kernels fail, and the engine with them.
    """
    from vllm.v1.kv_cache_interface import FullAttentionSpec

    groups = runner.kv_cache_config.kv_cache_groups
    return all(type(group.kv_cache_spec) is FullAttentionSpec for group in groups)


def _proposal(
    runner: Any, drafts_in_step: Mapping[str, Sequence[int]], kwargs: dict[str, Any]
) -> Proposal:
    metadata, positions = kwargs["common_attn_metadata"], kwargs["target_positions"]
    request_ids = list(runner.input_batch.req_ids[: metadata.num_reqs])
    requests, rejected = len(request_ids), kwargs["num_rejected_tokens_gpu"]
    return Proposal(
        Batch(
            request_ids=request_ids,
            starts=metadata.query_start_loc_cpu[: requests + 1].numpy().astype(np.int64),
            drafted=np.array([len(drafts_in_step.get(name, ())) for name in request_ids], np.int64),
            unfinished=runner.discard_request_mask.np[:requests].copy(),
        ),
        tokens=kwargs["target_token_ids"],
        positions=positions[0] if positions.ndim == 2 else positions,
        next_tokens=kwargs["next_token_ids"][:requests],
        hidden=kwargs["target_hidden_states"],
        rejected=None if rejected is None else rejected[:requests],
    )

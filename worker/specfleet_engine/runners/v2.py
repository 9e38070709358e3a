"""Adapter for vLLM's V2 model runner: wraps three methods of one runner instance.

What its speculator is given names the requests and what was rejected of each; the rest it keeps by
the request's place in its own state.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import torch

from specfleet_engine.runners.hooks import Guard, MissingHook, name_of, scheduled, wrap_steps
from specfleet_engine.step import Batch, Proposal, RunnerObserver, Scheduled

NEEDED_OF_RUNNER = ("execute_model", "sample_tokens", "req_states")
NEEDED_OF_PROPOSE = (
    "input_batch",
    "last_hidden_states",
    "num_sampled",
    "num_rejected",
    "last_sampled",
    "next_prefill_tokens",
    "dummy_run",
)


def drafter_of(runner: Any) -> torch.nn.Module:
    """Return the draft model; MissingHook when the runner is not one this adapter knows."""
    for name in NEEDED_OF_RUNNER:
        if not hasattr(runner, name):
            raise MissingHook(
                f"model runner {name_of(runner)} has no {name}, expected vLLM's V2 runner"
            )
    propose = getattr(runner.speculator, "propose", None)
    model: torch.nn.Module | None = getattr(runner.speculator, "model", None)
    if propose is None or model is None:
        raise MissingHook(
            f"model runner {name_of(runner)} has no speculator with a model, expected method 'mtp'"
        )
    missing = set(NEEDED_OF_PROPOSE) - inspect.signature(propose).parameters.keys()
    if missing:
        raise MissingHook(
            f"{name_of(runner.speculator)}.propose has no {sorted(missing)[0]}, expected"
            f" {', '.join(NEEDED_OF_PROPOSE)}"
        )
    for name, what in (
        ("adaptive_verification", "adaptive verification"),
        ("pcp_manager", "prefill context parallelism"),
    ):
        if getattr(runner, name, None) is not None:
            raise MissingHook(f"{what} is on, expected off: it moves rows about on the device")
    return model


def observe(runner: Any, observer: RunnerObserver) -> None:
    """Tell `observer` about every step of `runner`, until it fails once."""
    tell = Guard(observer.fail)
    propose = runner.speculator.propose
    signature = inspect.signature(propose)
    known: set[str] = set()

    def begins(scheduler_output: Any) -> Scheduled:
        # A request that was preempted comes again as a new one.
        told = scheduled(scheduler_output, known=known)
        known.difference_update(told.finished)
        known.update(request.id for request in told.new)
        return told

    def observed_propose(*args: Any, **kwargs: Any) -> torch.Tensor:
        given = signature.bind(*args, **kwargs).arguments
        if given.get("dummy_run"):
            return propose(*args, **kwargs)  # type: ignore[no-any-return]
        tell(lambda: observer.verified(_proposal(given)))
        drafts: torch.Tensor = propose(*args, **kwargs)
        tell(lambda: observer.drafted(drafts))
        return drafts

    wrap_steps(runner, observer, tell, begins)
    runner.speculator.propose = observed_propose


def _proposal(given: dict[str, Any]) -> Proposal:
    batch = given["input_batch"]
    requests, rows = batch.num_reqs, batch.num_tokens
    drafted = batch.num_draft_tokens_per_req
    done = batch.num_computed_prefill_tokens_np + batch.num_scheduled_tokens
    states = batch.idx_mapping[:requests]
    sampled = given["last_sampled"][states].reshape(-1)
    # The first row has the token after the prefill's so far; others look further ahead.
    of_prompt = given["next_prefill_tokens"].reshape(-1, given["last_sampled"].shape[0])[0][states]
    has_sampled = given["num_sampled"][:requests] > 0
    return Proposal(
        Batch(
            request_ids=list(batch.req_ids[:requests]),
            starts=batch.query_start_loc_np[: requests + 1].astype(np.int64),
            drafted=np.zeros(requests, np.int64) if drafted is None else drafted.astype(np.int64),
            unfinished=done[:requests] < batch.prefill_len_np[:requests],
        ),
        tokens=batch.input_ids[:rows],
        positions=batch.positions[:rows],
        next_tokens=torch.where(has_sampled, sampled, of_prompt.to(sampled.dtype)),
        hidden=given["last_hidden_states"][:rows],
        rejected=given["num_rejected"][:requests],
    )

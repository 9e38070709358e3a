"""Adapter for vLLM's V1 model runner on CPU: wraps three methods of one runner instance.

`propose` alone knows neither request ids nor what is finished, so `execute_model` is wrapped too.
A failure in an observer never reaches vLLM: observing stops, serving goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from specfleet_engine.following import NewRequest
from specfleet_engine.request_names import external_id
from specfleet_engine.step import Scheduled, StepObserver, Verified

NEEDED_OF_RUNNER = ("execute_model", "sample_tokens", "input_batch", "discard_request_mask")


class MissingHook(RuntimeError):
    """This vLLM lacks something the plugin needs; the message names it."""


def check(runner: Any) -> None:
    """Raise MissingHook when the runner is not one this adapter knows."""
    kind = f"{type(runner).__module__}.{type(runner).__qualname__}"
    for name in NEEDED_OF_RUNNER:
        if not hasattr(runner, name):
            raise MissingHook(f"model runner {kind} has no {name}, expected vLLM's V1 runner")
    if not callable(getattr(getattr(runner, "drafter", None), "propose", None)):
        raise MissingHook(f"model runner {kind} has no drafter.propose, expected method 'mtp'")
    if runner.device.type != "cpu":
        raise MissingHook(f"model runner is on {runner.device.type}, expected cpu")


def observe(runner: Any, observer: StepObserver, on_failure: Callable[[Exception], None]) -> None:
    """Tell `observer` about every step of `runner`, until it fails once."""
    check(runner)
    tell = _Guard(on_failure)
    execute_model, sample_tokens = runner.execute_model, runner.sample_tokens
    propose = runner.drafter.propose
    drafts_in_step: dict[str, list[int]] = {}

    def observed_execute_model(scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal drafts_in_step
        drafts_in_step = scheduler_output.scheduled_spec_decode_tokens
        tell(lambda: observer.step_begins(_scheduled(scheduler_output)))
        try:
            output = execute_model(scheduler_output, *args, **kwargs)
        except BaseException:
            tell(observer.step_ends)
            raise
        if output is not None:
            tell(observer.step_ends)
        return output

    def observed_sample_tokens(*args: Any, **kwargs: Any) -> Any:
        try:
            return sample_tokens(*args, **kwargs)
        finally:
            tell(observer.step_ends)

    def observed_propose(**kwargs: Any) -> torch.Tensor:
        # `propose` changes its arguments and reuses buffers, so the rows are read before it.
        tell(lambda: observer.verified(_verified(runner, drafts_in_step, kwargs)))
        drafts: torch.Tensor = propose(**kwargs)
        tell(lambda: observer.drafted(drafts.to(torch.int32).numpy()))
        return drafts

    runner.execute_model = observed_execute_model
    runner.sample_tokens = observed_sample_tokens
    runner.drafter.propose = observed_propose


class _Guard:
    """Calls until one call fails."""

    def __init__(self, on_failure: Callable[[Exception], None]) -> None:
        self._on_failure = on_failure
        self._failed = False

    def __call__(self, action: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            action()
        except Exception as error:  # noqa: BLE001 - serving must go on whatever it is
            self._failed = True
            self._on_failure(error)


def _scheduled(output: Any) -> Scheduled:
    return Scheduled(
        new=[_new_request(request) for request in output.scheduled_new_reqs],
        finished=tuple(output.finished_req_ids),
        request_ids=tuple(output.num_scheduled_tokens),
        num_tokens=output.total_num_scheduled_tokens,
    )


def _new_request(request: Any) -> NewRequest:
    parameters = request.sampling_params
    prompt: Sequence[int] = request.prompt_token_ids or ()
    stop = set(parameters.stop_token_ids or ()) | {parameters.eos_token_id}
    return NewRequest(
        id=request.req_id,
        prompt=prompt,
        computed_tokens=request.num_computed_tokens,
        max_output_tokens=parameters.max_tokens or 1 << 30,
        min_output_tokens=parameters.min_tokens,
        stop_tokens=frozenset(stop - {None}),
        external_id=external_id(request.req_id),
    )


def _verified(
    runner: Any, drafts_in_step: Mapping[str, Sequence[int]], kwargs: dict[str, Any]
) -> Verified:
    metadata = kwargs["common_attn_metadata"]
    num_requests = metadata.num_reqs
    request_ids = list(runner.input_batch.req_ids[:num_requests])
    starts = metadata.query_start_loc_cpu[: num_requests + 1].numpy().astype(np.int64)
    chosen = kwargs["token_indices_to_sample"]  # None in a step without drafts
    last = starts[1:] - 1 if chosen is None else chosen[:num_requests].numpy().astype(np.int64)
    drafted = np.array([len(drafts_in_step.get(name, ())) for name in request_ids], np.int64)
    verified = np.where(drafted > 0, last - starts[:-1] + 1, 1)
    positions = kwargs["target_positions"]
    hidden = kwargs["target_hidden_states"]
    return Verified(
        request_ids=request_ids,
        first=starts[:-1],
        last=last,
        drafted=drafted,
        sampled=np.where(runner.discard_request_mask.np[:num_requests], 0, verified),
        tokens=kwargs["target_token_ids"].to(torch.int32).numpy(),
        positions=(positions[0] if positions.ndim == 2 else positions).numpy(),
        next_tokens=kwargs["next_token_ids"].to(torch.int32).numpy(),
        hidden=(hidden.view(torch.int16) if hidden.dtype == torch.bfloat16 else hidden).numpy(),
    )

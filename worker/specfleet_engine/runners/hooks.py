"""What the adapters of both of vLLM's model runners have in common.

An adapter wraps methods of one runner instance. A failure in what it tells never reaches vLLM:
telling stops, serving goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from specfleet_engine.following import NewRequest
from specfleet_engine.request_names import external_id
from specfleet_engine.step import RunnerObserver, Scheduled

T = TypeVar("T")


class MissingHook(RuntimeError):
    """This vLLM lacks something the plugin needs; the message names it."""


def name_of(runner: Any) -> str:
    """Return the full name of a runner's class."""
    return f"{type(runner).__module__}.{type(runner).__qualname__}"


class Guard:
    """Calls until one call fails; returns nothing from then on."""

    def __init__(self, on_failure: Callable[[Exception], None]) -> None:
        self._on_failure = on_failure
        self._failed = False

    def __call__(self, action: Callable[[], T]) -> T | None:
        """Do it, unless something failed before."""
        if self._failed:
            return None
        try:
            return action()
        except Exception as error:  # noqa: BLE001 - serving must go on whatever it is
            self._failed = True
            self._on_failure(error)
            return None


def wrap_steps(
    runner: Any, observer: RunnerObserver, tell: Guard, begins: Callable[[Any], Scheduled]
) -> None:
    """Tell when steps of `runner` begin and end; `begins` makes of vLLM's object what is told.

    A step is one of the scheduler's: a dry run of the runner is none.
    """
    execute_model, sample_tokens = runner.execute_model, runner.sample_tokens

    def observed_execute_model(scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("dummy_run"):
            return execute_model(scheduler_output, *args, **kwargs)
        tell(lambda: observer.step_begins(begins(scheduler_output)))
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

    runner.execute_model = observed_execute_model
    runner.sample_tokens = observed_sample_tokens


def scheduled(output: Any, *, known: Collection[str] = ()) -> Scheduled:
    """Return what vLLM's scheduler wants; requests that are `known` already are not new."""
    return Scheduled(
        new=[_new_request(one) for one in output.scheduled_new_reqs if one.req_id not in known],
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

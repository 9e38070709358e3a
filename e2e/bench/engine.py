"""A vLLM engine in this process, so that the plugin's part of a step can be timed.

The process must have been started with `parts.ENGINE_ENVIRONMENT`: vLLM and torch read it while
they are imported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from e2e.engines import MODEL
from specfleet_engine.layouts import find_layout
from specfleet_engine.runners import v1
from specfleet_engine.weights.live import LiveDrafter, own_parameters

NOT_FOLLOWED_TOKENS = 400
"""A prompt longer than the plugin follows."""

_observe = v1.observe


@dataclass(slots=True)
class Clock:
    """Processor time of the engine's thread, so that work of other processes does not count."""

    seconds: float = 0.0
    calls: int = 0

    def reset(self) -> None:
        """Start again from zero."""
        self.seconds, self.calls = 0.0, 0

    def timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call with its time added up here."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.thread_time()
            try:
                return call(*args, **kwargs)
            finally:
                self.seconds += time.thread_time() - began
                self.calls += 1

        return timed


class SwitchedCapture:
    """The plugin's capture behind a clock; it sees nothing while it is off."""

    def __init__(self, capture: Any) -> None:
        self.is_on = True
        self.clock = Clock()
        self._capture = capture

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._capture, name)
        if not callable(value):
            return value
        return self.clock.timed(value) if self.is_on else lambda *_: None


@dataclass(slots=True)
class Probe:
    """Stands on both sides of the plugin's hooks in the runner, and before its capture."""

    step: Clock = field(default_factory=Clock)
    outer: Clock = field(default_factory=Clock)
    inner: Clock = field(default_factory=Clock)
    runner: Any = None
    capture: Any = None

    def observe(self, runner: Any, observer: Any) -> None:
        """Do what the plugin's `observe` does, with a clock before and one behind it."""
        self.runner, session = runner, observer.session
        self.capture = session.accounts.capture = SwitchedCapture(session.accounts.capture)
        hooked = ((runner, "execute_model"), (runner, "sample_tokens"), (runner.drafter, "propose"))
        for owner, name in hooked:
            setattr(owner, name, self.inner.timed(getattr(owner, name)))
        _observe(runner, observer)
        for owner, name in hooked:
            setattr(owner, name, self.outer.timed(getattr(owner, name)))
        runner.execute_model = self.step.timed(runner.execute_model)

    def reset(self) -> None:
        """Set all clocks to zero."""
        for clock in (self.step, self.outer, self.inner, self.capture.clock):
            clock.reset()

    @property
    def plugin_seconds(self) -> float:
        """Return what all hooks took, the capture included."""
        return self.outer.seconds - self.inner.seconds

    def live_drafter(self) -> LiveDrafter:
        """Return the drafter of this engine as the plugin holds it."""
        drafter = self.runner.drafter.model
        own = own_parameters(drafter, self.runner.get_model())
        return LiveDrafter(own, find_layout("mtp", drafter))


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine, and the probe in it."""

    llm: Any
    probe: Probe

    def complete(self, prompts: Sequence[str], *, max_tokens: int) -> int:
        """Answer all prompts greedily, 16 at a time; return the number of output tokens."""
        from vllm import SamplingParams

        parameters = SamplingParams(temperature=0.0, max_tokens=max_tokens)
        answers = self.llm.generate(list(prompts), parameters, use_tqdm=False)
        return sum(len(answer.outputs[0].token_ids) for answer in answers)

    def settle(self) -> None:
        """Make one more step, which tells the plugin that all requests are finished."""
        from vllm import SamplingParams

        prompt = {"prompt_token_ids": [5] * NOT_FOLLOWED_TOKENS}
        self.llm.generate([prompt], SamplingParams(max_tokens=1), use_tqdm=False)


@contextmanager
def engine_in_process() -> Iterator[Engine]:
    """Start the small model as the examples' fleet does."""
    probe = Probe()
    setattr(v1, "observe", probe.observe)  # noqa: B010 - the type of a function is its own
    from vllm import LLM

    llm = LLM(
        model=str(MODEL),
        trust_remote_code=True,
        enforce_eager=True,
        dtype="float32",
        max_model_len=512,
        max_num_seqs=16,
        max_num_batched_tokens=1024,
        enable_prefix_caching=False,
        speculative_config={"method": "mtp", "num_speculative_tokens": 3},
        disable_log_stats=True,
    )
    assert probe.runner is not None, "the plugin did not attach to the engine"
    with torch.inference_mode():
        yield Engine(llm, probe)

"""Tells the plugin's session about every step, as the plugin's adapter of vLLM's runner does.

So captures, counters and swaps are made by the plugin's own code. Rejected rows are left out: the
plugin does not look at them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from e2e.simulator.drafter import Checked, SimulatedDrafter
from e2e.simulator.hidden import hidden_states
from e2e.simulator.model import Model
from e2e.simulator.requests import Request
from specfleet_engine.following import NewRequest
from specfleet_engine.request_names import external_id
from specfleet_engine.session import Session
from specfleet_engine.step import Scheduled, Verified


class StepClock:
    """Stands still but for what steps should take: what a loaded machine adds is not counted."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def __call__(self) -> float:
        """Return the time that steps have taken together."""
        return self._seconds

    def pass_by(self, seconds: float) -> None:
        """Let time go by."""
        self._seconds += seconds


class Teller:
    """A session, and the weights that it exchanges."""

    def __init__(
        self,
        session: Session[Checked],
        drafter: SimulatedDrafter,
        clock: StepClock,
        *,
        model: Model,
        depth: int,
    ) -> None:
        self._session = session
        self._clock = clock
        self._drafter = drafter
        self._model = model
        self._depth = depth

    @property
    def drafter(self) -> tuple[str, str]:
        """Return the name under which the live drafter is counted, and its digest."""
        return self._session.drafter, self._drafter.digest

    def start(self) -> None:
        """Read the bank and write the page from now on."""
        self._session.start()

    def step_begins(
        self, new: Sequence[Request], finished: Sequence[str], batch: Sequence[Request]
    ) -> None:
        """Tell which requests are new, over, and in this step; weights are still until its end."""
        tokens = [1 + self._depth if one.is_started else len(one.prompt) for one in batch]
        self._session.step_begins(
            Scheduled(
                new=[_new_request(request) for request in new],
                finished=finished,
                request_ids=[request.id for request in batch],
                num_tokens=sum(tokens),
            )
        )

    def verified(self, batch: Sequence[Request]) -> None:
        """Tell what each request of a step has verified, before it moves on."""
        rows = [request.rows() for request in batch]
        counts = np.array([len(tokens) for _, tokens in rows], np.int64)
        first = np.concatenate([[0], counts.cumsum()[:-1]]).astype(np.int64)
        is_started = np.array([request.is_started for request in batch])
        tokens = list(itertools.chain.from_iterable(tokens for _, tokens in rows))
        positions = [np.arange(position, position + len(tokens)) for position, tokens in rows]
        self._session.verified(
            Verified(
                request_ids=[request.id for request in batch],
                first=first,
                last=first + counts - 1,
                drafted=np.where(is_started, self._depth, 0),
                sampled=np.where(is_started, counts, 1),
                tokens=np.array(tokens, np.int32),
                positions=np.concatenate(positions),
                next_tokens=np.array([request.next_token() for request in batch], np.int32),
                hidden=hidden_states(tokens, size=self._model.hidden_size, dtype=self._model.dtype),
            )
        )

    def drafted(self, drafts: Sequence[Sequence[int]]) -> None:
        """Tell what was drafted after each request of the step."""
        self._session.drafted(np.array(drafts, np.int32))

    def took(self, seconds: float) -> None:
        """Tell how long a part of the step is taken to have lasted."""
        self._clock.pass_by(seconds)

    def step_ends(self) -> None:
        """Let weights change again."""
        self._session.step_ends()


def _new_request(request: Request) -> NewRequest:
    stop = frozenset() if request.stop_token is None else frozenset((request.stop_token,))
    return NewRequest(
        id=request.id,
        prompt=request.prompt,
        computed_tokens=0,
        max_output_tokens=request.max_tokens,
        min_output_tokens=0,
        stop_tokens=stop,
        external_id=external_id(request.id),
    )

"""The adapters of both model runners, on runners that have only what an adapter asks of them."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from vllm.v1.kv_cache_interface import FullAttentionSpec, MambaSpec

from specfleet_engine.runners import v1, v2
from specfleet_engine.runners.hooks import MissingHook
from specfleet_engine.step import Proposal, Scheduled

STATES = 4
"""How many requests a V2 runner has room for."""


class Observer:
    """Keeps what it is told; it fails in `verified` while `broken`."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.errors: list[Exception] = []
        self.broken = False
        self.wants_plain = False

    def step_begins(self, scheduled: Scheduled) -> None:
        self.told.append(scheduled)

    def verified(self, proposal: Proposal) -> None:
        if self.broken:
            raise RuntimeError("broken")
        self.told.append(proposal)

    def drafted(self, drafts: torch.Tensor) -> None:
        self.told.append(drafts)

    def step_ends(self) -> None:
        self.told.append("end")

    def fail(self, error: Exception) -> None:
        self.errors.append(error)


class Speculator:
    """Of a V2 runner."""

    model = torch.nn.Linear(1, 1)

    def propose(
        self,
        input_batch: Any,
        last_hidden_states: torch.Tensor,
        num_sampled: torch.Tensor,
        num_rejected: torch.Tensor,
        last_sampled: torch.Tensor,
        next_prefill_tokens: torch.Tensor,
        dummy_run: bool = False,
    ) -> torch.Tensor:
        return torch.full((input_batch.num_reqs, 2), 7)


class RunnerV2:
    """Runs a batch that is put into it."""

    def __init__(self) -> None:
        self.speculator = Speculator()
        self.req_states = None
        self.adaptive_verification = None
        self.batch: dict[str, Any] = {}

    def execute_model(self, scheduler_output: Any, dummy_run: bool = False) -> str | None:
        if dummy_run:
            self.speculator.propose(**self.batch, dummy_run=True)
        return None if scheduler_output.num_scheduled_tokens else "nothing to run"

    def sample_tokens(self, grammar_output: Any) -> str:
        # By place, as vLLM calls it.
        self.speculator.propose(*self.batch.values())
        return "output"


def batch() -> dict[str, Any]:
    """Return a step of three requests: one drafts, one has its prompt's end, one's goes on."""
    return {
        "input_batch": SimpleNamespace(
            req_ids=["a", "b", "c"],
            num_reqs=3,
            num_tokens=8,
            num_draft_tokens_per_req=np.array([2, 0, 0], np.int32),
            num_scheduled_tokens=np.array([3, 2, 3], np.int32),
            num_computed_prefill_tokens_np=np.array([5, 4, 0], np.int32),
            prefill_len_np=np.array([5, 6, 9], np.int32),
            query_start_loc_np=np.array([0, 3, 5, 8, 8], np.int32),
            idx_mapping=torch.tensor([2, 0, 3]),
            input_ids=torch.arange(100, 110, dtype=torch.int32),
            positions=torch.arange(10),
        ),
        "last_hidden_states": torch.arange(20.0).reshape(10, 2),
        "num_sampled": torch.tensor([2, 1, 0]),
        "num_rejected": torch.tensor([1, 0, 0]),
        "last_sampled": torch.tensor([[50], [51], [52], [53]]),
        "next_prefill_tokens": torch.tensor([[60, 61, 62, 63], [0, 0, 0, 0]], dtype=torch.int32),
    }


def scheduler_output(*new: str, finished: tuple[str, ...] = (), tokens: int = 1) -> Any:
    parameters = SimpleNamespace(stop_token_ids=None, eos_token_id=1, max_tokens=9, min_tokens=0)
    requests = [
        SimpleNamespace(
            req_id=name, prompt_token_ids=[1, 2], num_computed_tokens=0, sampling_params=parameters
        )
        for name in new
    ]
    return SimpleNamespace(
        scheduled_new_reqs=requests,
        finished_req_ids=set(finished),
        num_scheduled_tokens={"a": tokens} if tokens else {},
        total_num_scheduled_tokens=tokens,
    )


@pytest.fixture
def runner() -> RunnerV2:
    made = RunnerV2()
    made.batch = batch()
    return made


def test_a_v2_step_is_told_as_the_drafter_sees_it(runner: RunnerV2) -> None:
    observer = Observer()
    v2.observe(runner, observer)

    runner.execute_model(scheduler_output("a"))
    runner.sample_tokens(None)

    begun, proposal, drafts, end = observer.told
    assert [request.id for request in begun.new] == ["a"]
    assert proposal.batch.starts.tolist() == [0, 3, 5, 8]
    assert proposal.batch.drafted.tolist() == [2, 0, 0]
    assert proposal.batch.unfinished.tolist() == [False, False, True]
    assert proposal.batch.sampled(proposal.rejected.numpy()).tolist() == [2, 1, 0]
    # Sampled ones where there are, the prompt's next token where it goes on.
    assert proposal.next_tokens.tolist() == [52, 50, 63]
    assert (len(proposal.tokens), len(proposal.positions), len(proposal.hidden)) == (8, 8, 8)
    assert drafts.tolist() == [[7, 7]] * 3
    assert end == "end"


def test_a_request_that_was_preempted_is_not_new(runner: RunnerV2) -> None:
    observer = Observer()
    v2.observe(runner, observer)

    for output in (
        scheduler_output("a"),
        scheduler_output("a", "b"),
        scheduler_output(finished=("a",)),
        scheduler_output("a"),
    ):
        runner.execute_model(output)

    begun = [one for one in observer.told if isinstance(one, Scheduled)]
    assert [[request.id for request in one.new] for one in begun] == [["a"], ["b"], [], ["a"]]


def test_dry_runs_are_no_steps(runner: RunnerV2) -> None:
    observer = Observer()
    v2.observe(runner, observer)

    runner.execute_model(scheduler_output("a"), dummy_run=True)

    assert observer.told == []


def test_a_step_that_runs_nothing_ends_at_once(runner: RunnerV2) -> None:
    observer = Observer()
    v2.observe(runner, observer)

    output = runner.execute_model(scheduler_output(finished=("a",), tokens=0))

    assert output == "nothing to run"
    assert observer.told[1:] == ["end"]


def test_a_failure_in_what_is_told_does_not_reach_vllm(runner: RunnerV2) -> None:
    observer = Observer()
    observer.broken = True
    v2.observe(runner, observer)

    runner.execute_model(scheduler_output("a"))
    output = runner.sample_tokens(None)
    runner.execute_model(scheduler_output("b"))

    assert output == "output"
    assert [str(error) for error in observer.errors] == ["broken"]
    assert len(observer.told) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"speculator": None}, "has no speculator with a model", id="no-speculator"),
        pytest.param(
            {"adaptive_verification": object()},
            "adaptive verification is on, expected off",
            id="adaptive",
        ),
        pytest.param(
            {"pcp_manager": object()},
            "prefill context parallelism is on, expected off",
            id="context-parallel",
        ),
    ],
)
def test_a_v2_runner_that_cannot_be_told_of_is_refused(
    change: dict[str, object], reason: str, runner: RunnerV2
) -> None:
    for name, value in change.items():
        setattr(runner, name, value)

    with pytest.raises(MissingHook, match=reason):
        v2.drafter_of(runner)


def test_a_speculator_of_another_vllm_is_refused_by_what_it_lacks(runner: RunnerV2) -> None:
    runner.speculator = SimpleNamespace(  # type: ignore[assignment]
        model=Speculator.model, propose=lambda input_batch, dummy_run: None
    )

    with pytest.raises(MissingHook, match=r"propose has no last_hidden_states, expected"):
        v2.drafter_of(runner)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        pytest.param({}, "has no execute_model, expected vLLM's V1 runner", id="nothing"),
        pytest.param(dict.fromkeys(v1.NEEDED_OF_RUNNER), "has no drafter.propose", id="no-drafter"),
    ],
)
def test_a_v1_runner_that_cannot_be_told_of_is_refused(
    attributes: dict[str, object], reason: str
) -> None:
    with pytest.raises(MissingHook, match=reason):
        v1.drafter_of(SimpleNamespace(**attributes))


@pytest.mark.parametrize(("value", "refused"), [(True, True), (False, False)])
def test_a_v1_runner_has_to_pad_its_draft_batches(value: bool, refused: bool) -> None:
    runner = SimpleNamespace(
        **dict.fromkeys(v1.NEEDED_OF_RUNNER),
        drafter=SimpleNamespace(propose=print, model=Speculator.model),
        speculative_config=SimpleNamespace(disable_padded_drafter_batch=value),
    )

    if refused:
        with pytest.raises(MissingHook, match="expected padded draft batches"):
            v1.drafter_of(runner)
    else:
        assert v1.drafter_of(runner) is Speculator.model


def v1_runner(*, use_async_scheduling: bool, layers: type[object]) -> Any:
    """Return a runner that has drafted for two requests."""
    drafts = SimpleNamespace(req_ids=["a", "b"], draft_token_ids=[[1, 2], [3, 4]])
    return SimpleNamespace(
        **dict.fromkeys(["execute_model", "sample_tokens"]),
        drafter=SimpleNamespace(propose=print),
        use_async_scheduling=use_async_scheduling,
        kv_cache_config=SimpleNamespace(
            kv_cache_groups=[
                SimpleNamespace(kv_cache_spec=object.__new__(kind))
                for kind in (FullAttentionSpec, layers)
            ]
        ),
        take_draft_token_ids=lambda: Drafts(drafts.req_ids, drafts.draft_token_ids),
    )


@dataclass
class Drafts:
    """As vLLM's `DraftTokenIds`."""

    req_ids: list[str]
    draft_token_ids: list[list[int]]


@pytest.mark.parametrize(
    ("wants_plain", "use_async_scheduling", "layers", "left"),
    [
        pytest.param(False, False, FullAttentionSpec, [[1, 2], [3, 4]], id="not-wanted"),
        pytest.param(True, False, FullAttentionSpec, [[], []], id="wanted"),
        pytest.param(True, True, FullAttentionSpec, [[1, 2], [3, 4]], id="planned-already"),
        pytest.param(True, False, MambaSpec, [[1, 2], [3, 4]], id="linear-attention"),
    ],
)
def test_drafts_are_left_out_when_a_plain_step_is_wanted(
    wants_plain: bool, use_async_scheduling: bool, layers: type[object], left: list[list[int]]
) -> None:
    runner = v1_runner(use_async_scheduling=use_async_scheduling, layers=layers)
    observer = Observer()
    observer.wants_plain = wants_plain
    v1.observe(runner, observer)

    taken = runner.take_draft_token_ids()

    assert taken == Drafts(["a", "b"], left)

"""Why an engine cannot be adapted, told before anything of it is touched. No vLLM, no torch."""

from __future__ import annotations

from dataclasses import dataclass


class Unfit(RuntimeError):
    """This engine runs in a way that the plugin does not adapt; the message says which."""


@dataclass(frozen=True, slots=True)
class Facts:
    """How an engine runs, as far as it matters."""

    device: str
    """As torch calls its kind: `cpu`, `cuda`."""
    pipeline_parallel: int
    data_parallel: int
    can_sleep: bool
    """Whether weights may be taken away from it while it waits."""
    is_quantized: bool
    """Whether the drafter's parameters are not what its checkpoint holds."""


def unfitness(facts: Facts, *, try_cuda: bool) -> str | None:
    """Say what is wrong, what it is and what was expected; None for an engine that fits."""
    if facts.device not in ("cpu", "cuda"):
        return f"the model is on {facts.device}, expected cpu or cuda"
    if facts.device == "cuda" and not try_cuda:
        return (
            "the model is on cuda, where the plugin has not been run yet: it stays off there unless"
            " SPECFLEET_ENGINE_TRY_CUDA is 1"
        )
    for size, what in ((facts.pipeline_parallel, "pipeline"), (facts.data_parallel, "data")):
        if size != 1:
            return f"{what} parallelism is over {size} ranks, expected 1"
    if facts.can_sleep:
        return "sleep mode is on, expected off: weights that are asleep cannot be read"
    if facts.is_quantized:
        return "the drafter is quantized, expected the plain weights that a trainer can change"
    return None

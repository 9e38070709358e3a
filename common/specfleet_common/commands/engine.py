"""What an engine is told: vLLM's arguments, and the environment of vLLM and of the plugin."""

from __future__ import annotations

import json

from specfleet_common.api.fleet import Cohort, SpeculatorFleet
from specfleet_common.api.quantities import amount
from specfleet_common.commands.environment import prefixed
from specfleet_common.commands.graphs import graph_arguments

GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu")

_SERVER = ("-m", "vllm.entrypoints.openai.api_server")


def engine_arguments(
    fleet: SpeculatorFleet, *, model: str, host: str, port: int
) -> tuple[str, ...]:
    """Return the arguments of Python that start the engine; `model` is where the target is."""
    target, drafter = fleet.spec.target, fleet.spec.drafter
    speculation = {
        "method": drafter.family,
        "num_speculative_tokens": drafter.num_speculative_tokens,
    }
    arguments = [*_SERVER, "--model", model]
    arguments += ["--host", host, "--port", str(port)]
    arguments += ["--served-model-name", fleet.served_model_name]
    if target.dtype is not None:
        arguments += ["--dtype", target.dtype]
    if target.max_model_len is not None:
        arguments += ["--max-model-len", str(target.max_model_len)]
    arguments += ["--speculative-config", json.dumps(speculation)]
    devices = num_gpus(fleet)
    if devices > 1:
        arguments += ["--tensor-parallel-size", str(devices)]
    if devices:
        arguments += graph_arguments(
            fleet.spec.engine.args, speculative_tokens=drafter.num_speculative_tokens
        )
    return (*arguments, *fleet.spec.engine.args)


def num_gpus(fleet: SpeculatorFleet) -> int:
    """Return how many GPUs every engine has; 0 is a CPU engine."""
    limits = fleet.spec.engine.resources.limits
    return sum(int(amount(limits[name])) for name in GPU_RESOURCES if name in limits)


def engine_environment(
    fleet: SpeculatorFleet, cohort: Cohort, *, shm_directory: str
) -> dict[str, str]:
    """Return what is added to its environment; `shm_directory` is shared with its agent.

    Variables whose value is somewhere else are not among them, whatever they would be otherwise.
    """
    capture, users = fleet.spec.trainer.capture, fleet.spec.engine.env
    found_elsewhere = {variable.name for variable in users if variable.value is None}
    settings = {
        "SHM_DIRECTORY": shm_directory,
        "FLEET": fleet.metadata.name,
        "CAPTURE": str(int(cohort.train)),
        "FOLLOW_REQUESTS": str(capture.follow_requests),
        "MAX_TOKENS": str(capture.max_tokens),
        "HOLDOUT_PERCENT": str(capture.holdout_percent),
        "KEY_TOKENS": str(capture.key_tokens),
    }
    # The model is a directory, and nothing is reported to anyone.
    usual = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    return {
        **{name: value for name, value in usual.items() if name not in found_elsewhere},
        **{variable.name: variable.value for variable in users if variable.value is not None},
        **prefixed("SPECFLEET_ENGINE_", settings),
        # What the plugin does with vLLM's second model runner has not been run on a GPU yet.
        "VLLM_USE_V2_MODEL_RUNNER": "0",
    }

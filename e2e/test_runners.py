"""Both of vLLM's model runners, and all that is done for a GPU but CUDA itself, in a real vLLM.

It is the check for GPUs (`e2e/gpu_check`), rehearsed on a CPU: the V2 runner's kernels are run
by Triton's interpreter, and the device is a stand-in that is done with everything later than asked
for (`e2e/stand_ins`).
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from e2e.gpu_check.__main__ import checked
from e2e.gpu_check.places import REHEARSAL, RUNNERS

pytestmark = [pytest.mark.e2e, pytest.mark.long]


@pytest.mark.parametrize(
    ("runner", "ranks"),
    [*((runner, 1) for runner in RUNNERS), pytest.param("v1", 2, id="two-ranks")],
)
def test_what_is_captured_is_true_swaps_take_effect_and_outputs_stay(
    runner: str, ranks: int
) -> None:
    checks = checked(replace(REHEARSAL, tensor_parallel=ranks), runner, report=print)

    assert [check.name for check in checks if not check.passed] == [], checks
    assert [check.name for check in checks] == [
        "attached",
        "capture",
        "parity",
        "swap",
        "identity",
        "timing",
    ]

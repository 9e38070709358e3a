from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import resource, sys
import numpy as np
from specfleet_trainer.memory import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
np.ones(1 << 26, np.uint8)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(8):
    np.ones(1 << 26, np.uint8)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(argument: str) -> int:
    """Return how many pages a process had cleared while it asked for 64 MiB again and again."""
    said = subprocess.run(
        [sys.executable, "-c", SCRIPT, argument],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    return int(said)


def test_memory_that_was_freed_is_used_again_as_it_is() -> None:
    assert page_faults("keep") * 10 < page_faults("default")

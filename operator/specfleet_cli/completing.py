"""Completes `kubectl specfleet …`: kubectl gives the words, and takes lines and a directive.

See https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/ for the protocol. What can be
completed is asked of the command itself, as bash does.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence

COMPLETE_VARIABLE = "_SPECFLEET_COMPLETE"
"""By which a shell asks the command what can follow."""

FILES, NO_FILES = ":0", ":4"
"""Whether the shell may complete names of files where there is nothing else."""

_PLUGIN = "from specfleet_cli.__main__ import kubectl; kubectl()"


def completions(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return what the last word may become, and as the last line the directive."""
    line = ["specfleet", *words]
    asked = {
        COMPLETE_VARIABLE: "complete_bash",
        "COMP_WORDS": shlex.join(line),
        "COMP_CWORD": str(len(line) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", _PLUGIN],
        env={**environment, **asked},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    found = [one for one in done.stdout.splitlines() if one]
    return [*found, NO_FILES if found else FILES]


def main() -> None:
    """Answer kubectl."""
    print("\n".join(completions(sys.argv[1:], os.environ)))

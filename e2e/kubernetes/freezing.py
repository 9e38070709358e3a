"""Stops processes of pods without ending them, as a machine does that is out of breath."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from e2e.kubernetes.fleet import Fleet

_NAME = "freezer"


@contextmanager
def frozen(fleet: Fleet, variable: str) -> Iterator[None]:
    """Freeze every process that has `NAME=VALUE` in its environment; it goes on after the block.

    A pod that sees the node's processes does it, in the namespace of a fleet.
    """
    _start(fleet)
    assert _signal(fleet, variable, "SIGSTOP"), f"no process with {variable}"
    try:
        yield
    finally:
        _signal(fleet, variable, "SIGCONT")


def _start(fleet: Fleet) -> None:
    container = {
        "name": _NAME,
        "image": fleet.cluster.image("simulator"),
        "command": ["python3", "-c", "import time; time.sleep(3600)"],
        "securityContext": {
            "runAsUser": 0,
            "capabilities": {"add": ["KILL", "SYS_PTRACE"]},
        },
    }
    fleet.client.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": _NAME, "namespace": fleet.namespace},
            "spec": {
                "hostPID": True,
                "terminationGracePeriodSeconds": 0,
                "containers": [container],
            },
        }
    )
    fleet.kubectl("wait", "--for=condition=Ready", f"pod/{_NAME}", "--timeout=60s")


def _signal(fleet: Fleet, variable: str, name: str) -> list[str]:
    return fleet.python(_NAME, _NAME, _SCRIPT, variable, name).split()


_SCRIPT = """
import os, pathlib, signal, sys
for process in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        variables = (process / "environ").read_bytes().split(b"\\0")
    except OSError:
        continue
    if sys.argv[1].encode() in variables:
        os.kill(int(process.name), signal.Signals[sys.argv[2]])
        print(process.name)
"""

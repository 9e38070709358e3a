"""Runs commands whose failure says what they said."""

from __future__ import annotations

import subprocess
from pathlib import Path


class CommandFailed(RuntimeError):
    """A command ended with an error or took too long; the message is what it said."""


def run(*command: str | Path, stdin: str | None = None, seconds: float | None = None) -> str:
    """Return what a command prints; CommandFailed when it fails or takes longer than `seconds`."""
    shown = " ".join(map(str, command))
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"{shown}\nnot done after {seconds:.0f} s") from error
    if done.returncode:
        raise CommandFailed(f"{shown}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout

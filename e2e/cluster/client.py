"""Talks to a cluster as its users do: with kubectl and Helm."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.cluster.commands import run


@dataclass(frozen=True, slots=True)
class Client:
    """Whoever the kubeconfig names."""

    binaries: Path
    kubeconfig: Path

    def kubectl(self, *arguments: str, stdin: str | None = None, seconds: float = 120.0) -> str:
        """Return what kubectl prints; CommandFailed when it is refused or takes too long."""
        return run(*self.command("kubectl", arguments), stdin=stdin, seconds=seconds)

    def helm(self, *arguments: str, seconds: float = 300.0) -> str:
        """Return what Helm prints; CommandFailed when it fails or takes too long."""
        return run(*self.command("helm", arguments), seconds=seconds)

    def get(self, *arguments: str) -> Any:
        """Return an object, or a list of objects, as JSON."""
        return json.loads(self.kubectl("get", *arguments, "--output", "json"))

    def apply(self, *documents: Any) -> None:
        """Create or change objects."""
        items = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        self.kubectl("apply", "--server-side", "--filename", "-", stdin=json.dumps(items))

    def command(self, program: str, arguments: Sequence[str]) -> list[str]:
        """Return a whole command line, for one that goes on in the background."""
        return [str(self.binaries / program), "--kubeconfig", str(self.kubeconfig), *arguments]

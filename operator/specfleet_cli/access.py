"""Which cluster a command asks, and how it says that the cluster cannot be asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class ClusterError(ValueError):
    """The API server cannot be asked, or has said no; the message says which and why."""


class NotThere(ClusterError):
    """The API server knows no such object."""


@dataclass(frozen=True, slots=True)
class Access:
    """Which cluster, which namespace, and as whom; what is None is as the kubeconfig says."""

    namespace: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None

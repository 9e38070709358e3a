"""Where a user says that promotions are: on this machine, or in a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Where:
    """The options of the commands, as they were given."""

    directory: Path | None = None
    store: Path | None = None
    namespace: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    s3_endpoint: str | None = None

    @property
    def is_local(self) -> bool:
        """Say whether a place on this machine is named."""
        return self.directory is not None or self.store is not None

    @property
    def is_in_a_cluster(self) -> bool:
        """Say whether a cluster is named."""
        given = (self.namespace, self.kubeconfig, self.context, self.s3_endpoint)
        return any(one is not None for one in given)

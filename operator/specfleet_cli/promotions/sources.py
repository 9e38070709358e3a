"""Where promotions are: in the store of a local run, in a store alone, or in a cluster."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from specfleet_cli.access import Access, ClusterError
from specfleet_cli.promotions.deciding import DecisionError
from specfleet_cli.promotions.listing import Listed
from specfleet_cli.promotions.places import SourceError, check_endpoint, location_of, running
from specfleet_cli.promotions.settings import SettingsFileError
from specfleet_cli.promotions.where import Where
from specfleet_common.api.promotion import Decision
from specfleet_common.store.base import Store, StoreError

MISTAKES = (ClusterError, DecisionError, SettingsFileError, SourceError, StoreError)
"""What a user can answer; the messages say how."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A promotion, and the store that has its evidence."""

    promotion: Listed
    store: Store


class Source(Protocol):
    """Promotions, wherever they are."""

    note: str
    """What a reader should know about what was read last; empty for nothing."""

    def promotions(self) -> tuple[Listed, ...]:
        """Return all of them, the newest first."""

    def promotion(self, name: str) -> Listed:
        """Return one with all that is known of it."""

    def decide(self, name: str, decision: Decision) -> str:
        """Write down what a user decides, and say what comes of it."""

    def stored(self, name: str) -> Stored:
        """Return one, as the ledger has it, with the store of its evidence."""


@contextmanager
def opened_source(
    where: Where, environment: Mapping[str, str], *, in_cluster: bool
) -> Iterator[Source]:
    """Give what the options name, or without any what is usual; one of MISTAKES otherwise."""
    _check(where)
    if where.is_in_a_cluster or (in_cluster and not where.is_local):
        # The client takes longer to import than all the rest.
        from specfleet_cli.promotions.clusters import connected
        from specfleet_cli.promotions.of_cluster import ClusterSource

        access = Access(where.namespace, where.kubeconfig, where.context)
        with connected(access) as cluster, tempfile.TemporaryDirectory() as scratch:
            yield ClusterSource(
                cluster, environment, s3_endpoint=where.s3_endpoint, scratch=Path(scratch)
            )
        return

    from specfleet_cli.promotions.of_store import StoreSource

    if where.store is not None:
        yield StoreSource(location_of(where.store), environment)
    else:
        run = running(where.directory)
        yield StoreSource(run.fleet.store, environment, run)


def _check(where: Where) -> None:
    if where.is_local and where.is_in_a_cluster:
        raise SourceError(
            "--directory and --store name a place of this machine, --namespace, --kubeconfig, "
            "--context and --s3-endpoint one in a cluster: expected only one of the two"
        )
    if where.directory is not None and where.store is not None:
        raise SourceError("--directory and --store: expected only one of the two")
    if where.s3_endpoint is not None:
        check_endpoint(where.s3_endpoint)

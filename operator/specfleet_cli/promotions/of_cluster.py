"""Promotions of one namespace of a cluster; their evidence is in the buckets of their fleets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from specfleet_cli.promotions.clusters import Cluster
from specfleet_cli.promotions.deciding import check, named, what_next
from specfleet_cli.promotions.listing import Listed
from specfleet_cli.promotions.of_store import StoreSource
from specfleet_cli.promotions.sources import Stored
from specfleet_common.api.promotion import Decision
from specfleet_common.api.references import SecretKeyReference, SecretReference
from specfleet_common.commands.aggregator import store_location
from specfleet_common.store.credentials import ACCESS_KEY, SECRET_KEY, SESSION_TOKEN

_PRUNED = (
    ". Objects of ended promotions go when a fleet has more than promotion.historyLimit, and its "
    "store keeps all: name it with --store and the fleet's manifest, where a promotion is named "
    "without the fleet in front"
)


class ClusterSource:
    """The DrafterPromotions of a namespace; `scratch` is a directory for certificates."""

    def __init__(
        self,
        cluster: Cluster,
        environment: Mapping[str, str],
        *,
        s3_endpoint: str | None,
        scratch: Path,
    ) -> None:
        self.note = ""
        self._cluster = cluster
        self._environment = environment
        self._s3_endpoint = s3_endpoint
        self._scratch = scratch

    def promotions(self) -> tuple[Listed, ...]:
        """Return all of them, the newest first."""
        return self._cluster.promotions()

    def promotion(self, name: str) -> Listed:
        """Return one with all that its object says."""
        return named(self.promotions(), name, elsewhere=_PRUNED)

    def decide(self, name: str, decision: Decision) -> str:
        """Write the decision into the object, from where the operator passes it on."""
        promotion = self.promotion(name)
        check(promotion, decision, self._cluster.fleet(promotion.fleet).spec.promotion.mode)
        self._cluster.decide(name, decision)
        follow = f"kubectl specfleet promotions {name} --namespace {self._cluster.namespace}"
        return what_next(promotion, decision, follow=follow)

    def stored(self, name: str) -> Stored:
        """Return one as its fleet's bucket has it."""
        promotion = self.promotion(name)
        fleet = self._cluster.fleet(promotion.fleet)
        s3 = fleet.spec.store.s3
        assert s3 is not None
        location = store_location(fleet).model_copy(
            update={
                "endpoint": self._s3_endpoint or s3.endpoint,
                "ca_file": self._certificates(s3.ca_secret_ref),
            }
        )
        credentials = self._credentials(s3.credentials_secret_ref)
        stored = StoreSource(location, credentials).stored(promotion.state.id)
        known_here = replace(stored.promotion, name=name, fleet=promotion.fleet)
        return replace(stored, promotion=known_here)

    def _credentials(self, reference: SecretReference | None) -> Mapping[str, str]:
        """Return who asks the bucket: as the environment says, else as the fleet does."""
        if reference is None or self._environment.get(ACCESS_KEY):
            return self._environment
        secret = self._cluster.secret(reference.name)
        names = (ACCESS_KEY, SECRET_KEY, SESSION_TOKEN)
        return {name: secret[name].decode().strip() for name in names if name in secret}

    def _certificates(self, reference: SecretKeyReference | None) -> Path | None:
        """Return a file with the certificates that the fleet trusts."""
        if reference is None:
            return None
        file = self._scratch / "ca.crt"
        file.write_bytes(self._cluster.secret(reference.name).get(reference.key, b""))
        return file

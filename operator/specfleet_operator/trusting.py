"""Gathers what a fleet's processes need to trust each other: what its Secrets have, or new keys."""

from __future__ import annotations

from collections.abc import Sequence

from specfleet_operator.api import Cluster
from specfleet_operator.certificates import Material, NewKey, material, server_names
from specfleet_operator.kinds import SECRET
from specfleet_operator.observed import Object, Trust
from specfleet_operator.owning import owner_uid
from specfleet_operator.rendering.config import authority_name, certificate_name
from specfleet_operator.store import FleetKey, Store
from specfleet_operator.tokens import Keys


async def trust(
    fleet: FleetKey,
    *,
    uid: str,
    cluster: Cluster,
    children: Store,
    keys: Keys,
    cluster_domain: str,
    now: float,
    make_key: NewKey,
) -> Trust | None:
    """Return what to trust; None while nobody knows how the cluster's tokens are verified."""
    if keys.current is None:
        return None

    def found_in(held: Sequence[Object | None]) -> Material:
        authority, certificate = (_data(one, uid) for one in held)
        return material(
            authority,
            certificate,
            fleet=fleet.name,
            names=server_names(
                fleet.name, namespace=fleet.namespace, cluster_domain=cluster_domain
            ),
            now=now,
            make_key=make_key,
        )

    names = authority_name(fleet.name), certificate_name(fleet.name)
    held = [children.get(SECRET, fleet.namespace, name) for name in names]
    found = found_in(held)
    if found.is_new or None in held:
        # Never replace keys on the word of a cache.
        found = found_in([await cluster.get(SECRET, fleet.namespace, name) for name in names])
    return Trust(
        ca_pem=found.ca_pem,
        ca_key_pem=found.ca_key_pem,
        certificate_pem=found.certificate_pem,
        key_pem=found.key_pem,
        not_after=found.not_after,
        issuer=keys.current.issuer,
        jwks=keys.current.jwks,
    )


def _data(secret: Object | None, uid: str) -> dict[str, str] | None:
    """Return what a Secret has if it is the fleet's: keys of others are not to be trusted."""
    if secret is None or owner_uid(secret) != uid:
        return None
    return dict(secret.get("data") or {})

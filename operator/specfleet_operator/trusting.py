"""Gathers what a fleet's processes need to trust each other.

That is what the fleet's own Secrets have, or new keys; or what a Secret of the user's has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specfleet_operator.api import Cluster, SigningKeys
from specfleet_operator.certificates import (
    Material,
    NewKey,
    material,
    pem_certificates,
    server_names,
    text_of,
)
from specfleet_operator.given_certificates import GivenCertificateError, given
from specfleet_operator.kinds import CONFIG_MAP, SECRET
from specfleet_operator.naming import aggregator_host
from specfleet_operator.observed import Object, Trust
from specfleet_operator.owning import owner_uid
from specfleet_operator.rendering.config import authority_name, certificate_name, trust_name
from specfleet_operator.rendering.containers import CA_FILE
from specfleet_operator.store import FleetKey, Store
from specfleet_operator.tokens import Keys


@dataclass(frozen=True, slots=True)
class Trusting:
    """Whom to trust, and what is wrong with the Secret that should say so."""

    trust: Trust | None
    """None while nobody knows how the cluster's tokens are verified, or what else to show."""
    problem: str = ""


async def trusting(
    fleet: Object,
    *,
    cluster: Cluster,
    children: Store,
    keys: Keys,
    cluster_domain: str,
    now: float,
    make_key: NewKey,
) -> Trusting:
    """Return what to trust; while a user's Secret is not right, what was trusted before it."""
    if keys.current is None:
        return Trusting(None)
    metadata = fleet["metadata"]
    key, uid = FleetKey(metadata["namespace"], metadata["name"]), metadata["uid"]
    secret = _users_secret(fleet)
    if secret is None:
        names = server_names(key.name, namespace=key.namespace, cluster_domain=cluster_domain)
        own = await _own(
            key, uid, names, cluster=cluster, children=children, now=now, make_key=make_key
        )
        return Trusting(_of(own, keys.current))
    host = aggregator_host(key.name, namespace=key.namespace, cluster_domain=cluster_domain)
    item = await cluster.get(SECRET, key.namespace, secret)
    try:
        found = given(None if item is None else item.get("data") or {}, host=host, now=now)
    except GivenCertificateError as error:
        problem = f"spec.aggregation.tlsSecretRef: Secret {secret} {error}"
        return Trusting(_in_place(key, uid, children, keys.current), problem)
    return Trusting(
        Trust(
            ca_pem=found.ca_pem,
            ca_key_pem="",
            certificate_pem=found.certificate_pem,
            key_pem=found.key_pem,
            not_after=found.not_after,
            issuer=keys.current.issuer,
            jwks=keys.current.jwks,
        )
    )


async def _own(
    fleet: FleetKey,
    uid: str,
    server_names: Sequence[str],
    *,
    cluster: Cluster,
    children: Store,
    now: float,
    make_key: NewKey,
) -> Material:
    def found_in(held: Sequence[Object | None]) -> Material:
        authority, certificate = (_data(one, uid) for one in held)
        return material(
            authority,
            certificate,
            fleet=fleet.name,
            names=server_names,
            now=now,
            make_key=make_key,
        )

    names = authority_name(fleet.name), certificate_name(fleet.name)
    held = [children.get(SECRET, fleet.namespace, name) for name in names]
    found = found_in(held)
    if found.is_new or None in held:
        # Never replace keys on the word of a cache.
        found = found_in([await cluster.get(SECRET, fleet.namespace, name) for name in names])
    return found


def _of(found: Material, keys: SigningKeys) -> Trust:
    return Trust(
        ca_pem=found.ca_pem,
        ca_key_pem=found.ca_key_pem,
        certificate_pem=found.certificate_pem,
        key_pem=found.key_pem,
        not_after=found.not_after,
        issuer=keys.issuer,
        jwks=keys.jwks,
    )


def _in_place(fleet: FleetKey, uid: str, children: Store, keys: SigningKeys) -> Trust | None:
    """Return what the fleet's objects have now; None when they have nothing yet."""

    def read(name: str) -> dict[str, str]:
        return _data(children.get(SECRET, fleet.namespace, name), uid) or {}

    certificate, authority = read(certificate_name(fleet.name)), read(authority_name(fleet.name))
    bundle = children.get(CONFIG_MAP, fleet.namespace, trust_name(fleet.name))
    chain = pem_certificates(text_of(certificate, "tls.crt"))
    if not chain or bundle is None or owner_uid(bundle) != uid:
        return None
    return Trust(
        ca_pem=bundle["data"][CA_FILE],
        ca_key_pem=text_of(authority, "ca.key"),
        certificate_pem=text_of(certificate, "tls.crt"),
        key_pem=text_of(certificate, "tls.key"),
        not_after=chain[0].not_valid_after_utc.timestamp(),
        issuer=keys.issuer,
        jwks=keys.jwks,
    )


def _users_secret(fleet: Object) -> str | None:
    """Return the name of the Secret that the spec refers to, whatever else it says."""
    aggregation = fleet["spec"].get("aggregation") or {}
    reference = aggregation.get("tlsSecretRef")
    return None if reference is None else str(reference["name"])


def _data(secret: Object | None, uid: str) -> dict[str, str] | None:
    """Return what a Secret has if it is the fleet's: keys of others are not to be trusted."""
    if secret is None or owner_uid(secret) != uid:
        return None
    return dict(secret.get("data") or {})

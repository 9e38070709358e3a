"""What the processes of a fleet read from files that change while they run.

Learning settings, whom to trust, and the aggregator's certificate. None of it is part of a pod's
template, so that no change of it restarts anything.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from specfleet_common.api.learning import learning_settings
from specfleet_common.api.promotion import Decision
from specfleet_operator.naming import AGGREGATOR, child_name
from specfleet_operator.observed import Trust
from specfleet_operator.rendering.containers import CA_FILE, ISSUER_KEY, JWKS_FILE
from specfleet_operator.rendering.subject import Json, Subject, child

SETTINGS_FILE = "settings.json"


def settings_name(fleet: str) -> str:
    """Return the name of the ConfigMap with the learning settings."""
    return child_name(fleet, "settings")


def trust_name(fleet: str) -> str:
    """Return the name of the ConfigMap with the trusted certificates and keys."""
    return child_name(fleet, "trust")


def certificate_name(fleet: str) -> str:
    """Return the name of the Secret with the aggregator's certificate."""
    return child_name(fleet, "tls")


def authority_name(fleet: str) -> str:
    """Return the name of the Secret with the fleet's own certificate authority."""
    return child_name(fleet, "ca")


def settings(subject: Subject, decisions: Mapping[str, Decision]) -> Json:
    """Return the ConfigMap with what the spec says about learning, and users about promotions."""
    text = learning_settings(
        subject.fleet, uid=subject.uid, generation=subject.generation, decisions=decisions
    ).to_json()
    return child(
        subject,
        "v1",
        "ConfigMap",
        settings_name(subject.name),
        component=AGGREGATOR,
        body={"data": {SETTINGS_FILE: text}},
    )


def trust_objects(subject: Subject, trust: Trust) -> list[Json]:
    """Return what callers and aggregator need to trust each other."""
    public = child(
        subject,
        "v1",
        "ConfigMap",
        trust_name(subject.name),
        component=AGGREGATOR,
        body={"data": {CA_FILE: trust.ca_pem, JWKS_FILE: trust.jwks, ISSUER_KEY: trust.issuer}},
    )
    certificate = _secret(
        subject,
        certificate_name(subject.name),
        kind="kubernetes.io/tls",
        texts={"tls.crt": trust.certificate_pem, "tls.key": trust.key_pem},
    )
    if not trust.ca_key_pem:
        return [public, certificate]
    authority = _secret(
        subject,
        authority_name(subject.name),
        kind="Opaque",
        texts={"ca.crt": trust.ca_pem, "ca.key": trust.ca_key_pem},
    )
    return [authority, public, certificate]


def _secret(subject: Subject, name: str, *, kind: str, texts: dict[str, str]) -> Json:
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    return child(
        subject,
        "v1",
        "Secret",
        name,
        component=AGGREGATOR,
        body={"type": kind, "data": encoded},
    )

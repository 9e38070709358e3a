"""The pod of the aggregator. What it has to know is in the store, so any pod goes on from there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from specfleet_common.api.store import S3
from specfleet_common.commands.aggregator import MODULE, PREFIX, store_location, store_settings
from specfleet_common.commands.environment import prefixed
from specfleet_common.store.credentials import ACCESS_KEY, SECRET_KEY, SESSION_TOKEN
from specfleet_common.store.location import S3Location
from specfleet_operator.naming import (
    AGGREGATOR,
    AGGREGATOR_PORT,
    ENGINE,
    METRICS_PORT,
    account_name,
    audience,
)
from specfleet_operator.rendering.config import (
    SETTINGS_FILE,
    certificate_name,
    settings_name,
    trust_name,
)
from specfleet_operator.rendering.containers import (
    ISSUER_KEY,
    JWKS_FILE,
    TRUST,
    TRUST_DIRECTORY,
    container_security,
    empty_directory,
    home,
    http_probe,
    mount,
    pod_security,
    trust_volume,
    variables,
)
from specfleet_operator.rendering.engine_pod import PYTHON
from specfleet_operator.rendering.subject import Json, Subject, labels

_SETTINGS = "/etc/specfleet"
_CERTIFICATE = "/var/run/specfleet/tls"
_STORE_CA = "/var/run/specfleet/store-ca"
_CREDENTIAL_KEYS = (ACCESS_KEY, SECRET_KEY, SESSION_TOKEN)
_CREDENTIALS = "/var/run/specfleet/store-credentials"
_SPOOL = "/var/spool/specfleet"
_SECONDS_TO_END = 30


def aggregator_template(subject: Subject) -> Json:
    """Return the template of the aggregator's one pod."""
    s3 = _s3(subject)
    spec: Json = {
        "serviceAccountName": account_name(subject.name, AGGREGATOR),
        "automountServiceAccountToken": False,
        # Variables for every Service of the namespace could be taken for settings.
        "enableServiceLinks": False,
        "securityContext": pod_security(),
        "terminationGracePeriodSeconds": _SECONDS_TO_END,
        "containers": [_container(subject, s3)],
        "volumes": _volumes(subject, s3),
    }
    secrets = subject.fleet.spec.engine.pod.image_pull_secrets
    if secrets:
        spec["imagePullSecrets"] = [{"name": secret.name} for secret in secrets]
    return {"metadata": {"labels": labels(subject.name, AGGREGATOR)}, "spec": spec}


def _container(subject: Subject, s3: S3) -> Json:
    accounts = f"system:serviceaccount:{subject.namespace}"
    operator = f"system:serviceaccount:{subject.facts.namespace}"
    settings = {
        "FLEET": subject.name,
        "LISTEN": f"0.0.0.0:{AGGREGATOR_PORT}",
        "METRICS_PORT": str(METRICS_PORT),
        "SPOOL_DIRECTORY": _SPOOL,
        **store_settings(_location(subject, s3)),
        "SETTINGS_FILE": f"{_SETTINGS}/{SETTINGS_FILE}",
        "TLS_CERTIFICATE_FILE": f"{_CERTIFICATE}/tls.crt",
        "TLS_KEY_FILE": f"{_CERTIFICATE}/tls.key",
        "JWKS_FILE": f"{TRUST_DIRECTORY}/{JWKS_FILE}",
        "TOKEN_AUDIENCE": audience(subject.name, namespace=subject.namespace),
        "WORKER_SUBJECT": f"{accounts}:{account_name(subject.name, ENGINE)}",
        "WATCHER_SUBJECTS": json.dumps([f"{operator}:{subject.facts.service_account}"]),
    }
    return {
        "name": AGGREGATOR,
        "image": subject.facts.images.aggregator,
        "command": [PYTHON, "-m", MODULE],
        "env": [
            _issuer(trust_name(subject.name)),
            *variables({**home(), **prefixed(PREFIX, settings)}),
        ],
        "ports": [
            {"name": "grpc", "containerPort": AGGREGATOR_PORT},
            {"name": "metrics", "containerPort": METRICS_PORT},
        ],
        "readinessProbe": http_probe("/metrics", "metrics", period=2, failures=3, timeout=5),
        "livenessProbe": http_probe("/metrics", "metrics", period=10, failures=12, timeout=10),
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
        "securityContext": container_security(read_only_root=True),
        "volumeMounts": [
            mount("spool", _SPOOL),
            mount("tmp", "/tmp"),
            mount("settings", _SETTINGS, read_only=True),
            mount("tls", _CERTIFICATE, read_only=True),
            mount(TRUST, TRUST_DIRECTORY, read_only=True),
            mount("store-credentials", _CREDENTIALS, read_only=True),
            *([mount("store-ca", _STORE_CA, read_only=True)] if s3.ca_secret_ref else []),
        ],
    }


def _volumes(subject: Subject, s3: S3) -> list[Json]:
    volumes = [
        empty_directory("spool"),
        empty_directory("tmp"),
        {"name": "settings", "configMap": {"name": settings_name(subject.name)}},
        {"name": "tls", "secret": {"secretName": certificate_name(subject.name)}},
        trust_volume(trust_name(subject.name)),
        _secret_volume("store-credentials", _credentials(s3), _CREDENTIAL_KEYS),
    ]
    if s3.ca_secret_ref is not None:
        secret, key = s3.ca_secret_ref.name, s3.ca_secret_ref.key
        volumes.append(_secret_volume("store-ca", secret, [key]))
    return volumes


def _secret_volume(name: str, secret: str, keys: Sequence[str]) -> Json:
    """Return a volume with these keys of a Secret of the user's.

    Without the Secret the aggregator starts all the same and says what is missing, where a pod that
    waits for it would say nothing.
    """
    items = [{"key": key, "path": key} for key in keys]
    return {"name": name, "secret": {"secretName": secret, "items": items, "optional": True}}


def _issuer(config_map: str) -> Json:
    reference = {"name": config_map, "key": ISSUER_KEY}
    return {"name": f"{PREFIX}TOKEN_ISSUER", "valueFrom": {"configMapKeyRef": reference}}


def _location(subject: Subject, s3: S3) -> S3Location:
    location = store_location(subject.fleet)
    assert isinstance(location, S3Location)
    authority = s3.ca_secret_ref
    return location.model_copy(
        update={
            "ca_file": None if authority is None else Path(_STORE_CA, authority.key),
            "credentials_directory": Path(_CREDENTIALS),
        }
    )


def _s3(subject: Subject) -> S3:
    s3 = subject.fleet.spec.store.s3
    assert s3 is not None, "a fleet in a cluster has a store in a bucket"
    return s3


def _credentials(s3: S3) -> str:
    assert s3.credentials_secret_ref is not None, "a store in a cluster has credentials"
    return s3.credentials_secret_ref.name

"""Parts that the containers of engines and of the aggregator have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from specfleet_common.api.pods import Resources
from specfleet_common.api.variables import EngineVariable
from specfleet_operator.rendering.subject import Json

USER_ID = 10001
TRUST, TRUST_DIRECTORY = "trust", "/var/run/specfleet/trust"
CA_FILE, JWKS_FILE, ISSUER_KEY = "ca.crt", "jwks.json", "issuer"


def pod_security() -> Json:
    """Return the security context of a pod, as the Pod Security level `restricted` wants it."""
    return {
        "runAsNonRoot": True,
        "runAsUser": USER_ID,
        "runAsGroup": USER_ID,
        "fsGroup": USER_ID,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security(*, read_only_root: bool) -> Json:
    """Return the security context of a container, as `restricted` wants it."""
    context: Json = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {**context, "readOnlyRootFilesystem": True} if read_only_root else context


def variables(values: Mapping[str, str]) -> list[Json]:
    """Return environment variables with exactly these values."""
    return [{"name": name, "value": literal(value)} for name, value in values.items()]


def home() -> dict[str, str]:
    """Return variables for libraries that ask who runs them: images know no user of this number."""
    return {"HOME": "/tmp", "USER": "specfleet"}


def field_variable(name: str, path: str) -> Json:
    """Return an environment variable whose value is a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def secret_variable(name: str, secret: str, key: str) -> Json:
    """Return an environment variable whose value is in a Secret."""
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def users_variables(wanted: Iterable[EngineVariable]) -> list[Json]:
    """Return environment variables as a user wrote them, with exactly these values."""
    return [
        {"name": one.name, "value": literal(one.value)}
        if one.value is not None
        else one.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        for one in wanted
    ]


def literal(text: str) -> str:
    """Return what Kubernetes expands to the text: it takes `$(NAME)` for a variable."""
    return text.replace("$", "$$")


def literals(texts: Iterable[str]) -> list[str]:
    """Return what Kubernetes expands to the texts."""
    return [literal(text) for text in texts]


def resources(wanted: Resources) -> Json:
    """Return the resources of a container as its pod has them."""
    found = {"limits": dict(wanted.limits), "requests": dict(wanted.requests)}
    return {kind: amounts for kind, amounts in found.items() if amounts}


def http_probe(path: str, port: str, *, period: int, failures: int, timeout: int) -> Json:
    """Return a probe by HTTP; `period` and `timeout` are seconds."""
    return {
        "httpGet": {"path": path, "port": port},
        "periodSeconds": period,
        "failureThreshold": failures,
        "timeoutSeconds": timeout,
    }


def empty_directory(name: str, **options: str) -> Json:
    """Return a volume that lives as long as its pod."""
    return {"name": name, "emptyDir": options}


def mount(name: str, path: str, *, read_only: bool = False) -> Json:
    """Return where a container sees a volume."""
    place: Json = {"name": name, "mountPath": path}
    return {**place, "readOnly": True} if read_only else place


def trust_volume(config_map: str) -> Json:
    """Return the volume with whom to trust; its files change without a restart."""
    return {"name": TRUST, "configMap": {"name": config_map}}

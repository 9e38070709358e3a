"""Where the containers of an engine's pod find the model, and how it comes there."""

from __future__ import annotations

from pathlib import PurePosixPath

from specfleet_common.api.pods import Resources
from specfleet_common.api.target import HuggingFaceSource
from specfleet_operator.rendering.containers import (
    container_security,
    empty_directory,
    field_variable,
    home,
    mount,
    resources,
    secret_variable,
    users_variables,
    variables,
)
from specfleet_operator.rendering.subject import Json, Subject

POD_NAME = "SPECFLEET_POD_NAME"
"""In every container that mounts a directory of the pod's own in a volume of all."""

MODEL, MODELS = "model", "/models"
_OWN = "model"
"""The directory of one engine's model, in its directory of the cache volume."""
_RESOURCES = Resources(
    limits={"cpu": "2", "memory": "2Gi"}, requests={"cpu": "100m", "memory": "256Mi"}
)


def model_path(subject: Subject) -> str:
    """Return where the containers see the directory of the model."""
    return str(PurePosixPath(MODELS, subject.fleet.spec.target.model))


def model_volume(subject: Subject) -> Json:
    """Return the volume that has the model, or into which it is downloaded."""
    source = subject.fleet.spec.target.source
    assert source is not None, "a fleet in a cluster has a source"
    if source.persistent_volume_claim is not None:
        claim = {"claimName": source.persistent_volume_claim.claim_name, "readOnly": True}
        return {"name": MODEL, "persistentVolumeClaim": claim}
    if source.host_path is not None:
        return {"name": MODEL, "hostPath": {"path": source.host_path.path, "type": "Directory"}}
    cache = subject.fleet.spec.engine.cache_volume
    if cache is None:
        return empty_directory(MODEL)
    claim = {"claimName": cache.persistent_volume_claim.claim_name}
    return {"name": MODEL, "persistentVolumeClaim": claim}


def model_mount(subject: Subject, *, read_only: bool = True) -> Json:
    """Return where a container sees that volume."""
    place = mount(MODEL, MODELS, read_only=read_only)
    source = subject.fleet.spec.target.source
    claim = source.persistent_volume_claim if source is not None else None
    if claim is not None and claim.path:
        return {**place, "subPath": claim.path}
    if _is_in_the_cache(subject):
        return {**place, "subPathExpr": f"$({POD_NAME})/{_OWN}"}
    return place


def pod_name(subject: Subject) -> list[Json]:
    """Return the variable that the mount of a container without a cache of its own needs."""
    return [pod_name_variable()] if _is_in_the_cache(subject) else []


def pod_name_variable() -> Json:
    """Return the variable with the name of the pod."""
    return field_variable(POD_NAME, "metadata.name")


def download(subject: Subject, *, python: str, image: str, plugin: Json) -> list[Json]:
    """Return the container that downloads the model, if it has to be.

    `plugin` is where a container sees the plugin, which has the program.
    """
    source = subject.fleet.spec.target.source
    hub = source.hugging_face if source is not None else None
    return [] if hub is None else [_download(subject, hub, python, image, plugin)]


def _download(
    subject: Subject, hub: HuggingFaceSource, python: str, image: str, plugin: Json
) -> Json:
    engine = subject.fleet.spec.engine
    ours = {
        **home(),
        "HF_HOME": "/tmp/huggingface",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "PYTHONPATH": plugin["mountPath"],
    }
    token = hub.token_secret_ref
    taken = {*ours, POD_NAME, *({"HF_TOKEN"} if token is not None else ())}
    command = [python, "-m", "specfleet_engine.downloading"]
    command += ["--repository", subject.fleet.spec.target.model, "--revision", hub.revision]
    return {
        "name": "model",
        "image": image,
        "command": [*command, "--directory", model_path(subject)],
        "env": [
            pod_name_variable(),
            *variables(ours),
            *([] if token is None else [secret_variable("HF_TOKEN", token.name, token.key)]),
            # A proxy, a mirror of the hub, certificates.
            *(one for one in users_variables(engine.env) if one["name"] not in taken),
        ],
        "resources": resources(_RESOURCES),
        # So that the fleet's conditions say what the hub said.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": container_security(read_only_root=True),
        "volumeMounts": [
            plugin,
            model_mount(subject, read_only=False),
            mount("engine-tmp", "/tmp"),
            *engine.pod.volume_mounts,
        ],
    }


def _is_in_the_cache(subject: Subject) -> bool:
    source = subject.fleet.spec.target.source
    is_downloaded = source is not None and source.hugging_face is not None
    return is_downloaded and subject.fleet.spec.engine.cache_volume is not None

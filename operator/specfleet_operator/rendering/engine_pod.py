"""The pod of an engine: vLLM from the user's image, and beside it the agent with its trainer.

A template is kept once it is rendered (`revisions`): what is written here differently reaches a
running fleet only when its spec changes the pods anyway.
"""

from __future__ import annotations

from collections.abc import Mapping

from specfleet_common.api.fleet import AGENT_MEMORY, Cohort
from specfleet_common.api.quantities import amount
from specfleet_common.commands import agent, engine
from specfleet_operator.naming import (
    AGENT_PORT,
    AGGREGATOR_PORT,
    ENGINE,
    ENGINE_PORT,
    account_name,
    aggregator_host,
    audience,
)
from specfleet_operator.rendering.config import trust_name
from specfleet_operator.rendering.containers import (
    CA_FILE,
    TRUST,
    TRUST_DIRECTORY,
    container_security,
    empty_directory,
    field_variable,
    home,
    http_probe,
    literals,
    mount,
    pod_security,
    resources,
    trust_volume,
    users_variables,
    variables,
)
from specfleet_operator.rendering.model import (
    POD_NAME,
    download,
    model_mount,
    model_path,
    model_volume,
    pod_name,
    pod_name_variable,
)
from specfleet_operator.rendering.subject import Json, Subject, labels

PYTHON = "python3"
_PLUGIN = "/opt/specfleet/plugin"
"""Where the agent's image has the plugin, and where the engine sees the copy."""
_COPY = "/plugin"
_SHARED_MEMORY = "/dev/shm"
_SHM_DIRECTORY = f"{_SHARED_MEMORY}/specfleet"
_STATE = "/var/lib/specfleet"
_CACHE = "/cache"
_TOKEN_DIRECTORY, _TOKEN_FILE = "/var/run/specfleet/token", "token"
_TOKEN_SECONDS = 3600

_SECONDS_TO_END = 30
"""After the drain, for the engine and then its agent to end."""
_SECONDS_TO_FINISH = 15
"""Of these, for requests that the drain did not outlast."""
_START_MINUTES = 60
"""Large models load for long; an engine that crashes meanwhile is restarted all the same."""


def engine_template(subject: Subject, cohort: Cohort) -> Json:
    """Return the template of the cohort's pods."""
    wanted = subject.fleet.spec.engine
    pod = wanted.pod
    spec: Json = {
        "serviceAccountName": account_name(subject.name, ENGINE),
        "automountServiceAccountToken": False,
        # Variables for every Service of the namespace could be taken for settings.
        "enableServiceLinks": False,
        "securityContext": {**pod_security(), **(pod.security_context or {})},
        "terminationGracePeriodSeconds": wanted.drain_seconds + _SECONDS_TO_END,
        "initContainers": [
            _plugin(subject),
            *download(subject, python=PYTHON, image=_engine_image(subject), plugin=_plugin_mount()),
            _agent(subject, cohort),
        ],
        "containers": [_engine(subject, cohort)],
        "volumes": [*_volumes(subject), *pod.volumes],
    }
    optional = {
        "nodeSelector": dict(pod.node_selector),
        "tolerations": list(pod.tolerations),
        "affinity": pod.affinity,
        "topologySpreadConstraints": list(pod.topology_spread_constraints),
        "priorityClassName": pod.priority_class_name,
        "runtimeClassName": pod.runtime_class_name,
        "imagePullSecrets": [{"name": secret.name} for secret in pod.image_pull_secrets],
    }
    metadata = {
        "labels": {**pod.labels, **labels(subject.name, ENGINE, cohort.name)},
        "annotations": {"kubectl.kubernetes.io/default-container": ENGINE, **pod.annotations},
    }
    return {
        "metadata": metadata,
        "spec": {**spec, **{name: value for name, value in optional.items() if value}},
    }


def _plugin(subject: Subject) -> Json:
    """Return the container that puts the plugin beside vLLM, of the same version as the agent."""
    small = {"cpu": "100m", "memory": "128Mi"}
    return {
        "name": "plugin",
        "image": _agent_image(subject),
        "command": ["cp", "-r", f"{_PLUGIN}/.", f"{_COPY}/"],
        "resources": {"limits": small, "requests": small},
        "securityContext": container_security(read_only_root=True),
        "volumeMounts": [mount("plugin", _COPY)],
    }


def _agent(subject: Subject, cohort: Cohort) -> Json:
    """Return the sidecar; it has no readiness of its own, so that it takes no engine out."""
    host = aggregator_host(
        subject.name,
        namespace=subject.namespace,
        cluster_domain=subject.facts.cluster_domain,
    )
    environment = agent.agent_environment(
        subject.fleet,
        cohort,
        aggregator=f"{host}:{AGGREGATOR_PORT}",
        model=model_path(subject),
        state_directory=_STATE,
        shm_directory=_SHM_DIRECTORY,
        http_port=AGENT_PORT,
    )
    settings = {
        **home(),
        **environment,
        "SPECFLEET_AGENT_HTTP_HOST": "0.0.0.0",
        "SPECFLEET_AGENT_CA_FILE": f"{TRUST_DIRECTORY}/{CA_FILE}",
        "SPECFLEET_AGENT_TOKEN_FILE": f"{_TOKEN_DIRECTORY}/{_TOKEN_FILE}",
        **_trainer_memory(subject.fleet.spec.trainer.resources.limits),
    }
    return {
        "name": "agent",
        "image": _agent_image(subject),
        "restartPolicy": "Always",
        "command": [PYTHON, "-m", agent.MODULE],
        "env": [
            *pod_name(subject),
            field_variable("SPECFLEET_AGENT_WORKER_ID", "metadata.uid"),
            *variables(settings),
        ],
        "ports": [{"name": "agent", "containerPort": AGENT_PORT}],
        "startupProbe": http_probe("/healthz", "agent", period=1, failures=120, timeout=1),
        "resources": resources(subject.fleet.spec.trainer.resources),
        "securityContext": container_security(read_only_root=True),
        "volumeMounts": [
            mount("shm", _SHARED_MEMORY),
            mount("state", _STATE),
            mount("agent-tmp", "/tmp"),
            model_mount(subject),
            mount("token", _TOKEN_DIRECTORY, read_only=True),
            mount(TRUST, TRUST_DIRECTORY, read_only=True),
        ],
    }


def _trainer_memory(limits: Mapping[str, str]) -> dict[str, str]:
    if "memory" not in limits:
        return {}
    left = amount(limits["memory"]) - amount(AGENT_MEMORY)
    return {"SPECFLEET_AGENT_TRAINER_MEMORY_BYTES": str(int(left))}


def _engine(subject: Subject, cohort: Cohort) -> Json:
    wanted = subject.fleet.spec.engine
    environment = {
        **home(),
        "XDG_CACHE_HOME": _CACHE,
        "VLLM_CACHE_ROOT": f"{_CACHE}/vllm",
        "TORCHINDUCTOR_CACHE_DIR": f"{_CACHE}/torchinductor",
        "TRITON_CACHE_DIR": f"{_CACHE}/triton",
        **engine.engine_environment(subject.fleet, cohort, shm_directory=_SHM_DIRECTORY),
    }
    users_path = environment.get("PYTHONPATH")
    for variable in wanted.env:
        if variable.value is None:
            environment.pop(variable.name, None)
    environment["PYTHONPATH"] = _PLUGIN if not users_path else f"{_PLUGIN}:{users_path}"
    arguments = engine.engine_arguments(
        subject.fleet, model=model_path(subject), host="0.0.0.0", port=ENGINE_PORT
    )
    container: Json = {
        "name": ENGINE,
        "image": _engine_image(subject),
        "command": [PYTHON],
        "args": literals([*arguments, *_ending()]),
        "env": [pod_name_variable(), *variables(environment), *_found_elsewhere(subject)],
        "ports": [{"name": "http", "containerPort": ENGINE_PORT}],
        "startupProbe": http_probe(
            "/health", "http", period=5, failures=_START_MINUTES * 60 // 5, timeout=5
        ),
        "readinessProbe": http_probe("/health", "http", period=5, failures=3, timeout=5),
        "livenessProbe": http_probe("/health", "http", period=10, failures=6, timeout=10),
        "resources": resources(wanted.resources),
        "securityContext": container_security(read_only_root=False),
        "volumeMounts": [
            mount("shm", _SHARED_MEMORY),
            _plugin_mount(),
            model_mount(subject),
            mount("engine-tmp", "/tmp"),
            {**mount("cache", _CACHE), **_own_directory(subject)},
            *wanted.pod.volume_mounts,
        ],
    }
    if wanted.drain_seconds:
        container["lifecycle"] = {"preStop": {"exec": {"command": _drain(wanted.drain_seconds)}}}
    return container


def _drain(seconds: int) -> list[str]:
    port = str(ENGINE_PORT)
    command = [PYTHON, "-m", "specfleet_engine.draining", "--port", port]
    return [*command, "--seconds", str(seconds), "--directory", _SHM_DIRECTORY]


def _ending() -> list[str]:
    """Return arguments by which vLLM ends without failing those who still ask.

    By default it ends under the requests that it has.
    """
    middleware = "specfleet_engine.closing.CloseWhileDraining"
    return ["--middleware", middleware, "--shutdown-timeout", str(_SECONDS_TO_FINISH)]


def _own_directory(subject: Subject) -> Json:
    """Return where in a volume of all engines this one has its directory."""
    cached = subject.fleet.spec.engine.cache_volume is not None
    return {"subPathExpr": f"$({POD_NAME})"} if cached else {}


def _volumes(subject: Subject) -> list[Json]:
    wanted = subject.fleet.spec.engine
    return [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": wanted.shared_memory}},
        empty_directory("plugin"),
        empty_directory("state"),
        empty_directory("agent-tmp"),
        empty_directory("engine-tmp"),
        _cache(subject),
        model_volume(subject),
        {
            "name": "token",
            "projected": {
                "sources": [
                    {
                        "serviceAccountToken": {
                            "audience": audience(subject.name, namespace=subject.namespace),
                            "expirationSeconds": _TOKEN_SECONDS,
                            "path": _TOKEN_FILE,
                        }
                    }
                ]
            },
        },
        trust_volume(trust_name(subject.name)),
    ]


def _cache(subject: Subject) -> Json:
    cache = subject.fleet.spec.engine.cache_volume
    if cache is None:
        return empty_directory("cache")
    claim = {"claimName": cache.persistent_volume_claim.claim_name}
    return {"name": "cache", "persistentVolumeClaim": claim}


def _found_elsewhere(subject: Subject) -> list[Json]:
    """Return the user's variables whose value the cluster has."""
    return users_variables(one for one in subject.fleet.spec.engine.env if one.value is None)


def _plugin_mount() -> Json:
    return mount("plugin", _PLUGIN, read_only=True)


def _engine_image(subject: Subject) -> str:
    return subject.fleet.spec.engine.image or subject.facts.images.default_engine


def _agent_image(subject: Subject) -> str:
    return subject.fleet.spec.trainer.image or subject.facts.images.agent

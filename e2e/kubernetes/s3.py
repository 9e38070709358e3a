"""A real S3 server inside the cluster, whose bucket tests read and whose faults they make."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from e2e.cluster.client import Client

BUCKET = "fleets"
ACCESS_KEY, SECRET_KEY = "tester", "not-a-secret"

_PORT = 7070
_NAME = "s3"
_SECRET = "s3"


@dataclass(frozen=True, slots=True)
class S3:
    """The server; its objects are plain files of its pod."""

    client: Client
    namespace: str

    @property
    def endpoint(self) -> str:
        """Return the URL for pods."""
        return f"http://{_NAME}.{self.namespace}.svc:{_PORT}"

    def url(self) -> str:
        """Return the URL for whoever runs the tests."""
        spec = self.client.get("-n", self.namespace, "service", _NAME)["spec"]
        return f"http://{spec['clusterIP']}:{_PORT}"

    def credentials(
        self, namespace: str, name: str = _SECRET, *, secret_key: str = SECRET_KEY
    ) -> str:
        """Give a namespace the Secret that fleets name; return its name."""
        data = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": secret_key}
        self.client.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name, "namespace": namespace},
                "stringData": data,
            }
        )
        return name

    def make_bucket(self, name: str) -> None:
        """Add an empty bucket."""
        self._python("import os, sys; os.mkdir(sys.argv[1])", f"/data/{name}")

    def keys(self, prefix: str) -> list[str]:
        """Return every key below a prefix, sorted."""
        script = (
            "import json, pathlib, sys; root = pathlib.Path(sys.argv[1]); "
            "print(json.dumps(sorted(str(p.relative_to(root)) for p in root.rglob('*') "
            "if p.is_file())))"
        )
        found: list[str] = json.loads(self._python(script, f"/data/{BUCKET}"))
        return [key for key in found if key.startswith(prefix)]

    def read(self, key: str) -> Any:
        """Return an object that is JSON."""
        script = "import sys; print(open(sys.argv[1]).read())"
        return json.loads(self._python(script, f"/data/{BUCKET}/{key}"))

    def stop(self) -> None:
        """Refuse every connection, and keep the data."""
        script = (
            "import os, pathlib, signal; pathlib.Path('/data/stopped').touch(); "
            "[os.kill(int(p.name), signal.SIGKILL) for p in pathlib.Path('/proc').glob('[0-9]*') "
            "if p.name != '1' and (p / 'cmdline').read_bytes().startswith(b'/program')]"
        )
        self._python(script)

    def start(self) -> None:
        """Serve again."""
        self._python("import os; os.remove('/data/stopped')")
        wait_for_rollout(self.client, self.namespace)

    def _python(self, script: str, *arguments: str) -> str:
        pod = f"deployment/{_NAME}"
        return self.client.kubectl(
            *("--namespace", self.namespace, "exec", pod, "--", "python3", "-c", script),
            *arguments,
        )


def wait_for_rollout(client: Client, namespace: str) -> None:
    """Return when the server serves."""
    client.kubectl(
        "--namespace", namespace, "rollout", "status", f"deployment/{_NAME}", "--timeout=60s"
    )


def start_s3(client: Client, image: str, namespace: str) -> S3:
    """Start the server in a namespace of its own."""
    labels = {"app": _NAME}
    # The pod outlives its server, and keeps the data.
    command = (
        f"mkdir -p /data/{BUCKET}; while true; do "
        f"[ -e /data/stopped ] || /program --port :{_PORT} --quiet posix /data; sleep 0.2; done"
    )
    container = {
        "name": _NAME,
        "image": image,
        "command": ["sh", "-c", command],
        "env": [
            {"name": "ROOT_ACCESS_KEY", "value": ACCESS_KEY},
            {"name": "ROOT_SECRET_KEY", "value": SECRET_KEY},
        ],
        "readinessProbe": {"tcpSocket": {"port": _PORT}, "periodSeconds": 1},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    pod = {
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [{"name": "data", "emptyDir": {}}],
    }
    client.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": _NAME, "namespace": namespace},
            "spec": {
                "replicas": 1,
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": _NAME, "namespace": namespace},
            "spec": {"selector": labels, "ports": [{"port": _PORT}]},
        },
    )
    wait_for_rollout(client, namespace)
    return S3(client, namespace)

"""Makes this machine the one node of a cluster: containerd, kubelet, kube-proxy, name server.

Every container sees the test environment's packages, read-only, at `PACKAGES`: an image with torch
or vLLM of its own would be gigabytes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml

from e2e.cluster.commands import CommandFailed, run
from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.host import ADDRESS, NETWORK, PLUGINS

NODE = "node"
PACKAGES = "/opt/environment"
PAUSE = "localhost/pause:1"
DOMAIN = "cluster.local"

# A path of a socket may have 107 characters.
_STATE = Path("/run/specfleet-cluster")
_SOCKET = _STATE / "containerd.sock"
_START_SECONDS = 60.0


@contextmanager
def node(plane: ControlPlane) -> Iterator[None]:
    """Run pods of the control plane's cluster here; whatever they left is removed afterwards."""
    directory = plane.directory / "node"
    directory.mkdir()
    _clean(directory)
    try:
        _start_control(plane)
        _start_containerd(plane, directory)
        _start_names(plane, directory)
        _start_proxy(plane, directory)
        _start_kubelet(plane, directory)
        yield
    finally:
        for name in ("kubelet", "kube-proxy"):
            plane.programs.end(name)
        _stop_containers(plane)
        plane.programs.end("containerd")
        _clean(directory)


def import_image(plane: ControlPlane, archive: Path) -> None:
    """Give the node an image that `buildah push docker-archive:` wrote."""
    run(*_ctr(plane), "images", "import", archive)


def _start_control(plane: ControlPlane) -> None:
    manager = [
        *("--kubeconfig", plane.kubeconfig, "--root-ca-file", plane.certificate),
        *("--service-account-private-key-file", plane.signing_key),
        *("--use-service-account-credentials", "--allocate-node-cidrs=true"),
        *("--cluster-cidr", NETWORK, "--node-cidr-mask-size", NETWORK.prefixlen),
        *("--bind-address", "127.0.0.1", "--leader-elect=false"),
    ]
    scheduler = [
        *("--kubeconfig", plane.kubeconfig, "--bind-address", "127.0.0.1", "--leader-elect=false")
    ]
    for name, flags in (("kube-controller-manager", manager), ("kube-scheduler", scheduler)):
        plane.programs.start(name, [plane.binaries / name, *map(str, flags)])


def _start_containerd(plane: ControlPlane, directory: Path) -> None:
    _STATE.mkdir(exist_ok=True)
    runtime = "io.containerd.cri.v1.runtime"
    specification = directory / "container.json"
    specification.write_text(json.dumps(_container(plane)))
    network = directory / "network"
    network.mkdir()
    (network / "10-pods.conflist").write_text(json.dumps(_network()))
    configuration = f"""\
version = 3
root = "{directory}/containerd"
state = "{_STATE}/containerd"
[grpc]
  address = "{_SOCKET}"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{PAUSE}"
[plugins."{runtime}"]
  restrict_oom_score_adj = true
[plugins."{runtime}".cni]
  bin_dirs = ["{PLUGINS}"]
  conf_dir = "{network}"
[plugins."{runtime}".containerd]
  default_runtime_name = "runc"
[plugins."{runtime}".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  base_runtime_spec = "{specification}"
"""
    file = directory / "containerd.toml"
    file.write_text(configuration)
    plane.programs.start("containerd", [plane.binaries / "containerd", "--config", file])
    plane.programs.wait_until(
        "containerd", lambda: _succeeds(*_ctr(plane), "version"), seconds=_START_SECONDS
    )


def _succeeds(*command: str | Path) -> bool:
    try:
        run(*command)
    except CommandFailed:
        return False
    return True


def _container(plane: ControlPlane) -> dict[str, object]:
    """Return what every container starts from: containerd's own defaults and the packages."""
    specification: dict[str, object] = json.loads(run(plane.binaries / "ctr", "oci", "spec"))
    mounts = specification["mounts"]
    assert isinstance(mounts, list)
    source = sysconfig.get_paths()["purelib"]
    options = ["rbind", "ro", "nosuid", "nodev"]
    mounts.append({"destination": PACKAGES, "type": "bind", "source": source, "options": options})
    return specification


def _network() -> dict[str, object]:
    return {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            # Routed, not bridged: packets between two pods must pass the rules of Services too.
            {
                "type": "ptp",
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": str(NETWORK)}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                    "dataDir": f"{_STATE}/addresses",
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }


def _start_names(plane: ControlPlane, directory: Path) -> None:
    file = directory / "Corefile"
    file.write_text(
        f"""\
.:53 {{
    bind {ADDRESS}
    errors
    kubernetes {DOMAIN} in-addr.arpa {{
        kubeconfig {plane.kubeconfig}
        ttl 1
    }}
}}
"""
    )
    plane.programs.start("coredns", [plane.binaries / "coredns", "-conf", file])
    plane.programs.wait_until("coredns", _names_are_served, seconds=_START_SECONDS)


def _names_are_served() -> bool:
    try:
        with socket.create_connection((ADDRESS, 53), timeout=1):
            return True
    except OSError:
        return False


def _start_proxy(plane: ControlPlane, directory: Path) -> None:
    settings = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": str(NETWORK),
        "bindAddress": ADDRESS,
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        "hostnameOverride": NODE,
        "clientConnection": {"kubeconfig": str(plane.kubeconfig)},
        # Limits of the machine are the machine's.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }
    file = _write(directory / "kube-proxy.yaml", settings)
    plane.programs.start("kube-proxy", [plane.binaries / "kube-proxy", "--config", file])


def _start_kubelet(plane: ControlPlane, directory: Path) -> None:
    settings = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": ADDRESS,
        "healthzBindAddress": "127.0.0.1",
        "makeIPTablesUtilChains": False,
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "containerRuntimeEndpoint": f"unix://{_SOCKET}",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(plane.signing_key.parent / "kubelet-client.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "clusterDNS": [ADDRESS],
        "clusterDomain": DOMAIN,
        "resolvConf": str(_write_text(directory / "resolv.conf", "")),
        "failSwapOn": False,
        "readOnlyPort": 0,
        # A test machine is small and shared: the kubelet never evicts to make room for others.
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "serializeImagePulls": False,
        "syncFrequency": "10s",
        # Two cores are enough for as many small pods as a test likes.
        "maxPods": 200,
        "crashLoopBackOff": {"maxContainerRestartPeriod": "10s"},
    }
    file = _write(directory / "kubelet.yaml", settings)
    flags: list[str | Path] = [
        "--config",
        file,
        "--kubeconfig",
        plane.kubeconfig,
        "--hostname-override",
        NODE,
    ]
    flags += ["--root-dir", directory / "kubelet", "--node-ip", ADDRESS]
    plane.programs.start("kubelet", [plane.binaries / "kubelet", *flags])
    plane.programs.wait_until("kubelet", lambda: _is_ready(plane), seconds=_START_SECONDS)


def _is_ready(plane: ControlPlane) -> bool:
    condition = '{.status.conditions[?(@.type=="Ready")].status}'
    try:
        return plane.client.kubectl("get", "node", NODE, "-o", f"jsonpath={condition}") == "True"
    except CommandFailed:
        return False


def _stop_containers(plane: ControlPlane) -> None:
    """Kill what runs in the node's containers; removing the files comes after containerd."""
    for line in run(*_ctr(plane), "tasks", "list").splitlines()[1:]:
        name = line.split()[0]
        _succeeds(*_ctr(plane), "tasks", "kill", "--signal", "SIGKILL", name)
        _succeeds(*_ctr(plane), "tasks", "delete", "--force", name)


def _clean(directory: Path) -> None:
    """Remove shims, mounts, namespaces and rules of this run, or of one that was killed."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"containerd-shim-runc-v2" in arguments[0] and str(_SOCKET).encode() in arguments:
            os.kill(int(process.name), signal.SIGKILL)
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for mount in reversed(mounts):
        if mount.startswith((f"{_STATE}/", f"{directory}/")):
            _succeeds("umount", "--lazy", mount)
    for name in Path("/run/netns").glob("cni-*"):
        _succeeds("ip", "netns", "delete", name.name)
    for family in ("ip", "ip6"):
        _succeeds("nft", "delete", "table", family, "kube-proxy")
    shutil.rmtree(_STATE, ignore_errors=True)


def _ctr(plane: ControlPlane) -> list[str | Path]:
    return [plane.binaries / "ctr", "--address", _SOCKET, "--namespace", "k8s.io"]


def _write(file: Path, settings: Mapping[str, object]) -> Path:
    return _write_text(file, yaml.safe_dump(settings))


def _write_text(file: Path, text: str) -> Path:
    file.write_text(text)
    return file

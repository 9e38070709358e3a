"""Runs the operator as a process, as its image does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.control_plane import ControlPlane
from specfleet_cli.place import free_ports

LEASE_SECONDS = 6.0
RESYNC_SECONDS = 5.0


def summed(page: str, name: str, **labels: str) -> float:
    """Return the sum of a metric's samples on a page that have these labels."""
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    return sum(
        float(line.rpartition(" ")[2])
        for line in page.splitlines()
        if line.partition("{")[0].partition(" ")[0] == name and all(w in line for w in wanted)
    )


@dataclass(slots=True)
class OperatorProcess:
    """One running operator."""

    process: subprocess.Popen[bytes]
    log: Path
    health_port: int
    metrics_port: int

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def page(self, path: str) -> str | None:
        """Return what a page says when it is well; None otherwise, also while nothing listens."""
        port = self.metrics_port if path == "/metrics" else self.health_port
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, OSError):
            return None

    def metric(self, name: str, **labels: str) -> float:
        """Return the sum of a metric's samples that have these labels."""
        return summed(self.page("/metrics") or "", name, **labels)

    def writes(self) -> float:
        """Return how often it changed something other than Leases."""
        # Both from one page: Leases are written all the time.
        page, name = self.page("/metrics") or "", "specfleet_operator_api_writes_total"
        return summed(page, name) - summed(page, name, kind="Lease")

    def leads(self) -> bool:
        """Say whether it leads."""
        return self.metric("specfleet_operator_leader") == 1

    def resident_bytes(self) -> int:
        """Return its resident memory."""
        fields = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def processor_seconds(self) -> float:
        """Return the processor time it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def operator_process(
    plane: ControlPlane,
    directory: Path,
    *,
    name: str,
    namespace: str,
    watch: str = "",
    lease_seconds: float = LEASE_SECONDS,
    resync_seconds: float = RESYNC_SECONDS,
) -> Iterator[OperatorProcess]:
    """Run an operator that lives in `namespace` and looks after `watch`, or after everything."""
    health_port, metrics_port = free_ports(2)
    prefix = "SPECFLEET_OPERATOR_"
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(prefix)},
        "KUBECONFIG": str(plane.kubeconfig),
        f"{prefix}OWN_NAMESPACE": namespace,
        f"{prefix}SERVICE_ACCOUNT": "operator",
        f"{prefix}POD_NAME": name,
        f"{prefix}AGENT_IMAGE": "agent:1",
        f"{prefix}AGGREGATOR_IMAGE": "aggregator:1",
        f"{prefix}NAMESPACES": watch,
        f"{prefix}LEASE_SECONDS": str(lease_seconds),
        f"{prefix}RESYNC_SECONDS": str(resync_seconds),
        f"{prefix}HOST": "127.0.0.1",
        f"{prefix}HEALTH_PORT": str(health_port),
        f"{prefix}METRICS_PORT": str(metrics_port),
    }
    log = directory / f"{name}.log"
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "specfleet_operator"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        yield OperatorProcess(process, log, health_port, metrics_port)
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

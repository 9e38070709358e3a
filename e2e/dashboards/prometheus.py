"""A real Prometheus that scrapes a fleet on this machine, for the time of a `with` block."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from e2e.dashboards.series import Series, decode
from e2e.engines import ROOT
from specfleet_cli.place import free_ports
from tools.go import cache
from tools.prometheus import programs

RULES = ROOT / "charts" / "specfleet" / "rules"

_START_SECONDS = 60.0
_STOP_SECONDS = 20.0


class QueryRefused(Exception):
    """Prometheus did not answer a question; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Target:
    """A process that no file names; labels that its metrics have of their own win."""

    address: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running server."""

    url: str

    def at(self, expression: str, moment: float) -> tuple[Series, ...]:
        """Return what an expression is at one moment."""
        return decode(self._ask("query", query=expression, time=moment)["result"])

    def during(
        self, expression: str, *, start: float, end: float, step_seconds: float
    ) -> tuple[Series, ...]:
        """Return what an expression is over time."""
        asked = {"query": expression, "start": start, "end": end, "step": step_seconds}
        return decode(self._ask("query_range", **asked)["result"])

    def value(self, expression: str) -> float:
        """Return what an expression that is one number is now; 0 when it is nothing."""
        found = self.at(expression, time.time())
        return found[0].points[0][1] if found else 0.0

    def rules(self) -> dict[str, str]:
        """Return the health of every rule by its name: ok, err, or unknown before its first run."""
        with urllib.request.urlopen(f"{self.url}/api/v1/rules", timeout=60) as answer:
            groups = json.load(answer)["data"]["groups"]
        return {rule["name"]: rule["health"] for group in groups for rule in group["rules"]}

    def is_ready(self) -> bool:
        """Say whether it answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=2):
                return True
        except OSError:
            return False

    def _ask(self, path: str, **parameters: Any) -> dict[str, Any]:
        body = urllib.parse.urlencode(parameters).encode()
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", body)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                found: dict[str, Any] = json.load(answer)["data"]
                return found
        except urllib.error.HTTPError as error:
            with error:
                raise QueryRefused(f"{parameters}: {error.read().decode()}") from error


@contextmanager
def running_prometheus(
    directory: Path, *, targets_file: Path, targets: tuple[Target, ...] = (), scrape_seconds: float
) -> Iterator[Prometheus]:
    """Scrape what a file names, which may not be there yet, and some targets more."""
    directory.mkdir(parents=True)
    configuration = directory / "prometheus.yaml"
    configuration.write_text(
        yaml.safe_dump(_configuration(targets_file, targets, scrape_seconds)), encoding="utf-8"
    )
    (port,) = free_ports(1)
    command = [
        str(programs(cache(os.environ), os.environ) / "prometheus"),
        f"--config.file={configuration}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    log = directory / "prometheus.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        server = Prometheus(f"http://127.0.0.1:{port}")
        deadline = time.monotonic() + _START_SECONDS
        while not server.is_ready():
            lives = process.poll() is None and time.monotonic() < deadline
            assert lives, f"Prometheus did not start:\n{log.read_text()[-4000:]}"
            time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _configuration(
    targets_file: Path, targets: tuple[Target, ...], scrape_seconds: float
) -> dict[str, Any]:
    every = f"{round(1000 * scrape_seconds)}ms"
    return {
        "global": {
            "scrape_interval": every,
            "scrape_timeout": every,
            "evaluation_interval": every,
        },
        "rule_files": [str(path) for path in sorted(RULES.glob("*.yaml"))],
        "scrape_configs": [
            {
                "job_name": "fleet",
                "file_sd_configs": [{"files": [str(targets_file)], "refresh_interval": "1s"}],
            },
            {
                "job_name": "operator",
                "honor_labels": True,
                "static_configs": [
                    {"targets": [one.address], "labels": dict(one.labels)} for one in targets
                ],
            },
        ],
    }

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from specfleet_operator.settings import Settings

NEEDED = {
    "own_namespace": "specfleet",
    "service_account": "specfleet",
    "pod_name": "specfleet-0",
    "agent_image": "agent:1",
    "aggregator_image": "aggregator:1",
}


def test_namespaces_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECFLEET_OPERATOR_NAMESPACES", "team-a, team-b,")

    assert Settings.model_validate(NEEDED).namespaces == ("team-a", "team-b")


def test_no_namespaces_are_all_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECFLEET_OPERATOR_NAMESPACES", "")

    assert Settings.model_validate(NEEDED).namespaces == ()


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"namespaces": "a,a"}, id="a-namespace-twice"),
        pytest.param({"namespaces": "A_b"}, id="no-namespace"),
        pytest.param({"lease_seconds": 1}, id="a-lease-too-short-to-renew"),
        pytest.param({"agent_image": ""}, id="no-image"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate(NEEDED | wrong)


def test_wrong_settings_end_with_a_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "specfleet_operator"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "SPECFLEET_OPERATOR_OWN_NAMESPACE" in done.stderr


def test_no_cluster_ends_with_a_sentence(tmp_path: Path) -> None:
    given = {f"SPECFLEET_OPERATOR_{name.upper()}": value for name, value in NEEDED.items()}
    environment = given | {"KUBECONFIG": str(tmp_path / "missing"), "PATH": os.environ["PATH"]}

    done = subprocess.run(
        [sys.executable, "-m", "specfleet_operator"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "neither in a pod nor with a kubeconfig" in done.stderr

"""Which fleets of a file are meant."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from specfleet_cli.planning.manifests import PlanError, fleets_of
from specfleet_common.api.testing import fleet_object


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "fleet.yaml"


def test_every_fleet_of_a_file_is_meant_and_nothing_else(file: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s3"}}
    other = fleet_object(metadata={"name": "other", "namespace": "there"})
    file.write_text(yaml.safe_dump_all([secret, fleet_object(), other]))

    found = fleets_of(str(file), "here", is_chosen=False)

    assert [(one["metadata"]["name"], one["metadata"]["namespace"]) for one in found] == [
        ("tiny", "here"),
        ("other", "there"),
    ]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        pytest.param("a: [", "cannot be read", id="no-yaml"),
        pytest.param("kind: Pod", "has Pod, expected a SpeculatorFleet", id="another-kind"),
        pytest.param("", "has nothing, expected a SpeculatorFleet", id="empty"),
        pytest.param("kind: SpeculatorFleet", "apiVersion is None, expected", id="version"),
        pytest.param(
            "{kind: SpeculatorFleet, apiVersion: specfleet.dev/v1alpha1}",
            "metadata.name: is missing",
            id="name",
        ),
        pytest.param(
            yaml.safe_dump(fleet_object(metadata={"name": "tiny", "namespace": "there"})),
            "metadata.namespace is 'there', but --namespace is 'here'",
            id="namespace",
        ),
    ],
)
def test_a_file_that_cannot_be_planned_with_says_why(file: Path, document: str, words: str) -> None:
    file.write_text(document)

    with pytest.raises(PlanError) as caught:
        fleets_of(str(file), "here", is_chosen=True)

    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{file}: ")


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(PlanError, match=r"^nothing\.yaml: cannot be read"):
        fleets_of("nothing.yaml", "here", is_chosen=False)

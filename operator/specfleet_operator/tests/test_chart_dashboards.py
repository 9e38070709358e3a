"""The chart brings its dashboards to a Grafana that looks for them by labels."""

from __future__ import annotations

import json

from specfleet_operator.tests.charts import CHART, NAMESPACE, Helm, of_kind

FILES = sorted((CHART / "dashboards").glob("*.json"))
LARGEST_CONFIG_MAP_BYTES = 1 << 20


def test_dashboards_are_left_out_unless_they_are_wanted(helm: Helm) -> None:
    assert of_kind(helm.objects(), "ConfigMap") == ()


def test_every_dashboard_is_a_config_map_that_the_sidecar_finds(helm: Helm) -> None:
    found = of_kind(helm.objects({"metrics": {"dashboards": {"enabled": True}}}), "ConfigMap")

    told = {name: text for item in found for name, text in item["data"].items()}
    assert {f"specfleet-{path.name}": json.loads(path.read_text()) for path in FILES} == {
        name: json.loads(text) for name, text in told.items()
    }
    for item in found:
        assert item["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert item["metadata"]["namespace"] == NAMESPACE
        assert "annotations" not in item["metadata"]
        assert len(json.dumps(item)) < LARGEST_CONFIG_MAP_BYTES


def test_labels_annotations_folder_and_namespace_can_be_chosen(helm: Helm) -> None:
    chosen = {
        "enabled": True,
        "labels": {"grafana_dashboard": None, "ours": "yes"},
        "annotations": {"example.com/note": "text"},
        "folder": "Inference",
        "namespace": "monitoring",
    }

    found = of_kind(helm.objects({"metrics": {"dashboards": chosen}}), "ConfigMap")

    assert len(found) == len(FILES)
    for item in found:
        metadata = item["metadata"]
        assert metadata["labels"]["ours"] == "yes"
        assert "grafana_dashboard" not in metadata["labels"]
        assert metadata["annotations"] == {
            "example.com/note": "text",
            "grafana_folder": "Inference",
        }
        assert metadata["namespace"] == "monitoring"

"""The Deployment sets what the operator's settings read, and nothing else."""

from __future__ import annotations

import pytest

from specfleet_operator.settings import Settings
from specfleet_operator.tests.charts import (
    NAMESPACE,
    Helm,
    environment,
    of_kind,
    only,
    operator_container,
)

PREFIX = "SPECFLEET_OPERATOR_"
FULL = {
    "watchNamespaces": ["team-a", "team-b"],
    "images": {"defaultEngine": "vllm:1"},
    "metrics": {"fleets": {"podMonitorLabels": {"release": "prometheus"}}},
}


def test_every_variable_of_the_deployment_is_a_setting(helm: Helm) -> None:
    names = environment(helm.objects(FULL)).keys()

    unknown = names - {f"{PREFIX}{field.upper()}" for field in Settings.model_fields}
    assert unknown == set()


def test_every_setting_that_has_to_be_given_is(helm: Helm) -> None:
    needed = {
        f"{PREFIX}{name.upper()}"
        for name, field in Settings.model_fields.items()
        if field.is_required()
    }

    assert needed <= environment(helm.objects()).keys()


def test_the_operator_takes_the_settings_of_the_chart(
    helm: Helm, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(helm.objects(FULL)).items():
        monkeypatch.setenv(name, value)

    settings = Settings.model_validate({})

    assert settings.namespaces == ("team-a", "team-b")
    assert settings.own_namespace == NAMESPACE
    assert settings.service_account == "specfleet"
    assert settings.agent_image.startswith("specfleet-agent:")
    assert settings.aggregator_image.startswith("specfleet-aggregator:")
    assert settings.default_engine_image == "vllm:1"
    assert settings.pod_monitor_labels == {"release": "prometheus"}


def test_the_defaults_of_the_chart_are_those_of_the_settings(
    helm: Helm, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(helm.objects()).items():
        monkeypatch.setenv(name, value)

    settings = Settings.model_validate({})

    for name in (
        "namespaces",
        "cluster_domain",
        "default_engine_image",
        "lease_seconds",
        "log_format",
        "pod_monitor_labels",
    ):
        assert getattr(settings, name) == Settings.model_fields[name].default, name


def test_ports_and_probes_are_where_the_operator_listens(helm: Helm) -> None:
    objects = helm.objects()
    fields = Settings.model_fields

    operator = operator_container(objects)
    ports = {port["name"]: port["containerPort"] for port in operator["ports"]}
    service = {port["name"]: port["port"] for port in only(objects, "Service")["spec"]["ports"]}
    (check,) = of_kind(objects, "Pod")[0]["spec"]["containers"]

    assert ports == service
    assert ports == {
        "metrics": fields["metrics_port"].default,
        "health": fields["health_port"].default,
    }
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert operator[probe]["httpGet"]["port"] == "health"
    url = next(entry["value"] for entry in check["env"] if entry["name"] == "OPERATOR_URL")
    assert url == f"http://specfleet.{NAMESPACE}.svc:{ports['health']}"

"""Installing, upgrading and uninstalling the chart on a real API server, where no pod runs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from e2e.cluster.commands import CommandFailed
from e2e.cluster.control_plane import ControlPlane, control_plane
from specfleet_operator.tests.charts import CHART, NAMESPACE, RELEASE, Helm, HelmRefused
from specfleet_operator.tests.test_chart_check import check

CRDS = ("drafterpromotions.specfleet.dev", "speculatorfleets.specfleet.dev")
NAMESPACES = (NAMESPACE, "other-system", "team-a", "team-b")
FLEET = "speculatorfleets.v1alpha1.specfleet.dev"
EXAMPLE = CHART.parents[1] / "examples" / "kind.yaml"
WITHOUT_CRDS = "crds.install=false"
SECONDS = 30

T = TypeVar("T")

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def cluster(
    cluster_programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """Give an API server that nobody else installs definitions on."""
    directory = tmp_path_factory.mktemp("chart-control-plane")
    with control_plane(cluster_programs, directory, environment=os.environ) as plane:
        for namespace in NAMESPACES:
            plane.client.kubectl("create", "namespace", namespace)
            # No controller makes it here, and pods are refused without it.
            plane.client.kubectl("--namespace", namespace, "create", "serviceaccount", "default")
        yield plane


@pytest.fixture(scope="module")
def live(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Give a Helm that installs on that API server."""
    home = tmp_path_factory.mktemp("helm-live")
    return Helm(cluster.binaries / "helm", home, cluster.kubeconfig)


@pytest.fixture
def installed(live: Helm) -> Iterator[Helm]:
    """Give a Helm with one release installed."""
    install(live)
    yield live
    live.run("uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found")


def install(
    helm: Helm,
    *values: str,
    release: str = RELEASE,
    namespace: str = NAMESPACE,
    flags: Sequence[str] = (),
) -> str:
    """Install the chart with `--set` values, or upgrade it."""
    sets = [word for value in values for word in ("--set", value)]
    place = ("--namespace", namespace)
    return helm.run("upgrade", "--install", release, CHART, *place, *sets, *flags)


def read(cluster: ControlPlane, *what: str) -> Mapping[str, Any]:
    """Return an object, or a list of them."""
    found: dict[str, Any] = json.loads(cluster.client.kubectl("get", *what, "--output", "json"))
    return found


def may(cluster: ControlPlane, verb: str, resource: str, *, account: str, namespace: str) -> bool:
    """Ask the API server whether a service account (namespace:name) may do something."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{account}",
            "resourceAttributes": attributes(verb, resource, namespace),
        },
    }
    answer = cluster.client.kubectl(
        "create", "--filename", "-", "--output", "json", stdin=json.dumps(review)
    )
    return bool(json.loads(answer)["status"]["allowed"])


def attributes(verb: str, resource: str, namespace: str) -> Mapping[str, str]:
    """Return what a review asks about `group/resource/subresource`; the core's group is empty."""
    group, plural, *rest = resource.split("/")
    return {
        "verb": verb,
        "group": group,
        "resource": plural,
        "subresource": rest[0] if rest else "",
        "namespace": namespace,
    }


def test_the_notes_say_what_comes_next_in_commands_that_work(
    cluster: ControlPlane, live: Helm
) -> None:
    notes = install(live)

    commands = [line.split() for line in notes.splitlines() if line.startswith("  ")]
    assert [command[0] for command in commands] == ["kubectl", "helm", "kubectl", "kubectl"]
    rollout, check, explain, look = commands
    assert cluster.client.kubectl(*rollout[1:3], "get", rollout[-1])
    assert live.run("get", "hooks", *check[2:])
    assert "KIND:       SpeculatorFleet" in soon(lambda: cluster.client.kubectl(*explain[1:]))
    assert soon(lambda: cluster.client.kubectl(*look[1:], "--output=name")) == ""


def test_an_upgrade_keeps_the_definitions_and_their_fleets(
    cluster: ControlPlane, installed: Helm
) -> None:
    create_fleet(cluster, "kept")
    before = [read(cluster, "crd", name)["metadata"]["uid"] for name in CRDS]

    install(installed, "operator.replicas=3")

    assert [read(cluster, "crd", name)["metadata"]["uid"] for name in CRDS] == before
    assert read(cluster, FLEET, "kept", "--namespace", "team-a")


def test_definitions_that_are_no_longer_installed_stay(
    cluster: ControlPlane, installed: Helm
) -> None:
    install(installed, WITHOUT_CRDS)

    for name in CRDS:
        assert read(cluster, "crd", name)


def test_uninstalling_leaves_definitions_and_fleets_and_nothing_else(
    cluster: ControlPlane, installed: Helm
) -> None:
    create_fleet(cluster, "left")

    installed.run("uninstall", RELEASE, "--namespace", NAMESPACE)

    assert read(cluster, FLEET, "left", "--namespace", "team-a")
    ours = "app.kubernetes.io/part-of=specfleet"
    kinds = "deployments,services,serviceaccounts,roles,rolebindings,poddisruptionbudgets"
    assert read(cluster, f"{kinds},networkpolicies", "--all-namespaces", "-l", ours)["items"] == []
    assert read(cluster, "clusterroles,clusterrolebindings", "-l", ours)["items"] == []


def test_a_release_that_is_installed_again_finds_its_definitions(installed: Helm) -> None:
    installed.run("uninstall", RELEASE, "--namespace", NAMESPACE)

    assert "STATUS: deployed" in install(installed)


def test_a_second_release_lives_beside_the_first(cluster: ControlPlane, installed: Helm) -> None:
    install(
        *(installed, WITHOUT_CRDS, "watchNamespaces={team-b}"),
        release="second",
        namespace="other-system",
    )

    second = "other-system:second-specfleet"
    first = f"{NAMESPACE}:{RELEASE}"
    fleets, secrets = "specfleet.dev/speculatorfleets", "/secrets"
    assert may(cluster, "watch", fleets, account=first, namespace="team-a")
    assert may(cluster, "watch", fleets, account=second, namespace="team-b")
    assert not may(cluster, "watch", fleets, account=second, namespace="team-a")
    assert not may(cluster, "list", secrets, account=second, namespace="team-a")
    installed.run("uninstall", "second", "--namespace", "other-system")


def test_a_second_release_that_wants_the_definitions_too_is_refused(installed: Helm) -> None:
    with pytest.raises(HelmRefused) as refused:
        install(installed, release="second", namespace="other-system")

    assert "cannot be imported into the current release" in str(refused.value)


def test_a_release_of_another_name_takes_the_definitions_over(installed: Helm) -> None:
    installed.run("uninstall", RELEASE, "--namespace", NAMESPACE)

    said = install(installed, release="other", flags=["--take-ownership"])

    assert "STATUS: deployed" in said
    installed.run("uninstall", "other", "--namespace", NAMESPACE)
    install(installed, flags=["--take-ownership"])


def test_the_operator_may_ask_for_tokens_of_its_own_alone(
    cluster: ControlPlane, installed: Helm
) -> None:
    token = "/serviceaccounts/token"
    operator = f"{NAMESPACE}:{RELEASE}"

    assert not may(cluster, "create", token, account=operator, namespace=NAMESPACE)
    cluster.client.kubectl(
        *("--as", f"system:serviceaccount:{operator}", "--namespace", NAMESPACE),
        *("create", "token", RELEASE, "--audience", "specfleet/team-a/fleet"),
    )
    assert not may(cluster, "create", "/pods/exec", account=operator, namespace="team-a")


def test_the_check_of_the_release_finds_the_kinds_as_any_account(
    cluster: ControlPlane, installed: Helm, tmp_path: Path
) -> None:
    token = cluster.client.kubectl("--namespace", NAMESPACE, "create", "token", "default")
    (tmp_path / "token").write_text(token.strip())
    (tmp_path / "ca.crt").write_bytes(cluster.certificate.read_bytes())

    answer = soon(lambda: check.fetch(cluster.url + check.GROUP, tmp_path))
    said = check.kinds_served(answer)

    assert said == "the API serves DrafterPromotion, SpeculatorFleet"


def create_fleet(cluster: ControlPlane, name: str) -> None:
    """Create a fleet."""
    fleet = yaml.safe_load(EXAMPLE.read_text())
    fleet["metadata"] = {"name": name, "namespace": "team-a"}
    text = yaml.safe_dump(fleet)
    soon(lambda: cluster.client.kubectl("create", "--filename", "-", stdin=text))


def soon(call: Callable[[], T]) -> T:
    """Return what is answered once the API server has taken up new definitions."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return call()
        except (CommandFailed, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)

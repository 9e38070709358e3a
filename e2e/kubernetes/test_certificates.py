"""An aggregator with a certificate of the user's own: taken, renewed, and refused when wrong."""

from __future__ import annotations

import pytest

from e2e.cluster_traffic.judging import assert_no_failures, assert_same_answers
from e2e.kubernetes.fleet import AGENT, AGGREGATOR, Fleet
from e2e.kubernetes.traffic import traffic
from e2e.kubernetes.waiting import until
from specfleet_operator.tests.issuing import Issued, authority, certificate, secret_data

pytestmark = [pytest.mark.cluster, pytest.mark.long]

SECRET = "own-certificate"
# The operator looks at the Secret every half a minute, and then the kubelet brings it to the pods.
SECONDS = 150.0


def test_a_certificate_of_ones_own_is_renewed_under_traffic(fleet: Fleet) -> None:
    host = f"{fleet.name}-{AGGREGATOR}.{fleet.namespace}.svc.cluster.local"
    old, new = authority("old"), authority("new")
    first, second = certificate(old, names=(host,)), certificate(new, names=(host,))
    elsewhere = certificate(new, names=("elsewhere.example.com",))
    give(fleet, first, trusted=old.pem)
    own = {"aggregation": {"tlsSecretRef": {"name": SECRET}}}
    fleet.apply({"replicas": 1, "train": True, "serve": "Local", **own})
    fleet.wait_until_ready()
    before = fleet.uids()

    with traffic(fleet) as watch:
        fleet.until_it_learns(seconds=SECONDS)
        until_seen(fleet, host, shown=first, trusted=old.pem)
        # As docs/security.md has it: both are trusted, then the new one is shown, then it is alone.
        give(fleet, first, trusted=old.pem + new.pem)
        until_seen(fleet, host, shown=first, trusted=old.pem + new.pem)
        give(fleet, second, trusted=old.pem + new.pem)
        until_seen(fleet, host, shown=second, trusted=old.pem + new.pem)
        give(fleet, elsewhere, trusted=new.pem)
        told = fleet.wait_for("SpecValid", "False", "CertificateUnusable", seconds=SECONDS)
        fleet.until_it_learns(seconds=SECONDS)
        until_seen(fleet, host, shown=second, trusted=old.pem + new.pem)
        give(fleet, second, trusted=new.pem)
        until_seen(fleet, host, shown=second, trusted=new.pem)
        fleet.until_it_learns(seconds=SECONDS)
        fleet.wait_until_ready()
        windows = watch.windows()

    assert "tls.crt is for elsewhere.example.com, expected" in told["message"], told
    assert fleet.uids() == before
    assert not any(fleet.restarts().values())
    for window in windows:
        assert_no_failures(window, minimum=100)
        assert_same_answers(window)


def give(fleet: Fleet, shown: Issued, *, trusted: str) -> None:
    """Write the Secret that the fleet names, as cert-manager does."""
    fleet.client.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET, "namespace": fleet.namespace},
            "data": secret_data(shown, ca=trusted),
        }
    )


def until_seen(fleet: Fleet, host: str, *, shown: Issued, trusted: str) -> None:
    """Wait until an agent has these to trust, and the aggregator shows it this certificate."""
    pod = fleet.pods()[0]["metadata"]["name"]
    until(
        lambda: fleet.python(pod, AGENT, _LOOK, host).split("\0"),
        lambda seen: [one.strip() for one in seen] == [trusted.strip(), shown.pem.strip()],
        what="another certificate, or others to trust",
        seconds=SECONDS,
        poll_seconds=2,
    )


# In a container with the agent.
_LOOK = """
import pathlib, ssl, sys
trust = pathlib.Path("/var/run/specfleet/trust/ca.crt")
shown = ssl.get_server_certificate((sys.argv[1], 50051), ca_certs=str(trust), timeout=10)
print(trust.read_text(), shown, sep="\\0")
"""

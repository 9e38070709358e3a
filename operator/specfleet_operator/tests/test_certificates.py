"""Certificates over the years: always one that callers accept, and never one made without need."""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass, field

import pytest
from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st

from specfleet_operator.certificates import (
    CA_DAYS,
    LEAF_DAYS,
    OVERLAP_SECONDS,
    Material,
    material,
    new_key,
    server_names,
)

DAY = 86_400.0
START = 1_800_000_000.0
NAMES = server_names("f", namespace="ns", cluster_domain="cluster.local")

Data = dict[str, str]


def encoded(**texts: str) -> Data:
    return {
        name.replace("_", "."): base64.b64encode(text.encode()).decode()
        for name, text in texts.items()
    }


@dataclass
class Secrets:
    """The two Secrets, as they are after the newest material was stored."""

    authority: Data | None = None
    certificate: Data | None = None
    bundles: list[tuple[float, str]] = field(default_factory=list)

    def look(self, now: float, *, names: tuple[str, ...] = NAMES) -> Material:
        found = material(
            self.authority, self.certificate, fleet="f", names=names, now=now, make_key=new_key
        )
        self.authority = encoded(ca_crt=found.ca_pem, ca_key=found.ca_key_pem)
        self.certificate = encoded(tls_crt=found.certificate_pem, tls_key=found.key_pem)
        return found


def authorities(bundle: str) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(bundle.encode())


def is_accepted(certificate_pem: str, bundle: str, now: float) -> bool:
    """Say whether a caller with this bundle accepts the certificate at this time."""
    leaf = x509.load_pem_x509_certificate(certificate_pem.encode())
    for authority in authorities(bundle):
        try:
            leaf.verify_directly_issued_by(authority)
        except Exception:  # noqa: BLE001 - whatever is wrong, it was not this one
            continue
        return all(
            one.not_valid_before_utc.timestamp() <= now < one.not_valid_after_utc.timestamp()
            for one in (leaf, authority)
        )
    return False


def test_what_is_stored_stays_as_it_is() -> None:
    secrets = Secrets()
    first = secrets.look(START)

    second = secrets.look(START + DAY)

    assert first.is_new and not second.is_new
    assert (second.ca_pem, second.ca_key_pem) == (first.ca_pem, first.ca_key_pem)
    assert (second.certificate_pem, second.key_pem) == (first.certificate_pem, first.key_pem)


def test_the_certificate_names_every_way_to_call_the_aggregator() -> None:
    found = Secrets().look(START)

    leaf = x509.load_pem_x509_certificate(found.certificate_pem.encode())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [
        "f-aggregator",
        "f-aggregator.ns",
        "f-aggregator.ns.svc",
        "f-aggregator.ns.svc.cluster.local",
    ]


def test_a_long_name_of_a_fleet_makes_a_certificate() -> None:
    names = server_names("f" * 63, namespace="n" * 63, cluster_domain="cluster.local")

    found = material(None, None, fleet="f" * 63, names=names, now=START, make_key=new_key)

    assert is_accepted(found.certificate_pem, found.ca_pem, START)


def test_openssl_takes_the_authority() -> None:
    found = Secrets().look(START)

    context = ssl.create_default_context(cadata=found.ca_pem)

    assert len(context.get_ca_certs()) == 1


def test_a_certificate_is_replaced_after_two_thirds_of_its_life() -> None:
    secrets = Secrets()
    first = secrets.look(START)
    due = START + LEAF_DAYS * DAY * 2 / 3

    before = secrets.look(due - DAY)
    after = secrets.look(due + DAY)

    assert before.certificate_pem == first.certificate_pem
    assert after.certificate_pem != first.certificate_pem
    assert after.key_pem != first.key_pem
    assert after.ca_pem == first.ca_pem


def test_a_certificate_is_replaced_when_its_names_change() -> None:
    secrets = Secrets()
    first = secrets.look(START)
    names = server_names("f", namespace="ns", cluster_domain="example.org")

    after = secrets.look(START + 1, names=names)

    assert after.certificate_pem != first.certificate_pem
    assert after.ca_pem == first.ca_pem


def test_a_key_that_does_not_match_is_replaced_with_its_certificate() -> None:
    secrets = Secrets()
    first = secrets.look(START)
    other = Secrets().look(START)
    secrets.certificate = encoded(tls_crt=first.certificate_pem, tls_key=other.key_pem)

    after = secrets.look(START + 1)

    assert after.certificate_pem != first.certificate_pem
    assert is_accepted(after.certificate_pem, after.ca_pem, START + 1)


def test_damaged_secrets_are_made_anew() -> None:
    secrets = Secrets(authority={"ca.crt": "?", "ca.key": ""}, certificate={"tls.crt": "!!"})

    found = secrets.look(START)

    assert is_accepted(found.certificate_pem, found.ca_pem, START)


@pytest.mark.parametrize(
    ("known", "damaged"),
    [
        pytest.param(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x1e", id="version"),
        pytest.param(b"\x03\x42\x00\x04", b"\x03\x42\x00\x05", id="key"),
    ],
)
def test_a_certificate_that_cannot_be_read_is_made_anew(known: bytes, damaged: bytes) -> None:
    secrets = Secrets()
    first = secrets.look(START)
    content = ssl.PEM_cert_to_DER_cert(first.certificate_pem)
    unusable = ssl.DER_cert_to_PEM_cert(content.replace(known, damaged, 1))
    secrets.certificate = encoded(tls_crt=unusable, tls_key=first.key_pem)

    found = secrets.look(START)

    assert found.certificate_pem != unusable
    assert is_accepted(found.certificate_pem, found.ca_pem, START)


def test_a_new_authority_is_trusted_a_day_before_it_signs() -> None:
    secrets = Secrets()
    due = START + CA_DAYS * DAY * 2 / 3
    secrets.look(START)
    old = secrets.look(due - DAY)

    at_once = secrets.look(due)
    later = secrets.look(due + OVERLAP_SECONDS + 3600)

    assert len(authorities(at_once.ca_pem)) == 2
    assert at_once.certificate_pem == old.certificate_pem
    assert later.certificate_pem != old.certificate_pem
    assert is_accepted(later.certificate_pem, at_once.ca_pem, due + OVERLAP_SECONDS + 3600)


def test_an_old_authority_is_forgotten_when_nothing_of_it_can_be_shown_any_more() -> None:
    secrets = Secrets()
    due = START + CA_DAYS * DAY * 2 / 3
    secrets.look(START)
    secrets.look(due - DAY)
    secrets.look(due)
    secrets.look(due + OVERLAP_SECONDS + 3600)

    after = secrets.look(due + 2 * OVERLAP_SECONDS + 7200)

    assert len(authorities(after.ca_pem)) == 1


@settings(max_examples=25)
@given(st.lists(st.floats(0.5, 12.0), min_size=5, max_size=60), st.integers(0, 7000))
def test_callers_and_aggregators_that_are_a_while_behind_always_get_along(
    pauses: list[float], start_day: int
) -> None:
    secrets = Secrets()
    now = START + start_day * DAY
    found = secrets.look(START)

    for pause in pauses:
        now += pause * 3600
        bundle_before, certificate_before = found.ca_pem, found.certificate_pem
        is_valid = is_accepted(certificate_before, bundle_before, now)
        found = secrets.look(now)

        assert is_accepted(found.certificate_pem, found.ca_pem, now)
        if is_valid:
            # The caller, then the aggregator, has not read the newest files yet.
            assert is_accepted(certificate_before, found.ca_pem, now)
            assert is_accepted(found.certificate_pem, bundle_before, now)

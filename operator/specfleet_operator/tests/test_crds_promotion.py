"""What a real API server takes as a promotion: its subject is fixed, only the decision changes."""

from __future__ import annotations

import math
from typing import Any

import pytest

from specfleet_operator.rendering.promotions import promotion_status
from specfleet_operator.tests.building import ended
from specfleet_operator.tests.building import promotion as judged
from specfleet_operator.tests.crds import CustomResources
from specfleet_operator.tests.test_crds_shown import says
from specfleet_operator.tests.test_rendering_promotions import effect


def promotion(**changes: Any) -> dict[str, Any]:
    spec = {
        "fleet": "tiny",
        "lineage": "0123456789abcdef",
        "version": 12,
        "digest": "a" * 64,
    }
    return {
        "apiVersion": "specfleet.dev/v1alpha1",
        "kind": "DrafterPromotion",
        "metadata": {"name": "tiny-12-aaaaaaaa"},
        "spec": {**spec, **changes},
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("fleet", "another"),
        ("lineage", "fedcba9876543210"),
        ("version", 13),
        ("digest", "b" * 64),
    ],
)
def test_what_a_promotion_is_about_cannot_be_changed(
    api: CustomResources, field: str, value: Any
) -> None:
    document = promotion()
    document["metadata"] = {"name": f"unchangeable-{field}"}
    api.create(document)

    refusal = api.change_refusal(document, {"spec": {field: value}})

    assert refusal is not None
    assert f"spec.{field}" in refusal
    assert f"{field} cannot be changed, a promotion is about one version" in refusal


def test_a_user_may_approve_and_still_abort_and_then_it_is_final(api: CustomResources) -> None:
    document = promotion()
    api.create(document)

    answers = [
        api.change_refusal(document, {"spec": {"decision": decision}})
        for decision in ("Approve", None, "Approve", "Abort", "Abort")
    ]
    refusals = [
        api.change_refusal(document, {"spec": {"decision": decision}})
        for decision in ("Approve", None)
    ]

    assert answers == [None] * 5
    assert all(refusal and "Abort is final" in refusal for refusal in refusals)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"version": 0}, "spec.version", id="stock-is-no-candidate"),
        pytest.param({"digest": "abc"}, "spec.digest", id="digest"),
        pytest.param({"lineage": "x"}, "spec.lineage", id="lineage"),
        pytest.param({"decision": "Maybe"}, '"Approve", "Abort"', id="decision"),
    ],
)
def test_a_wrong_promotion_is_refused(
    api: CustomResources, changes: dict[str, Any], words: str
) -> None:
    refusal = api.refusal(promotion(**changes))

    assert refusal is not None
    assert words in refusal


def test_nothing_of_a_whole_promotion_status_is_lost(api: CustomResources) -> None:
    document = promotion()
    document["metadata"] = {"name": "reported"}
    api.create(document)
    going_on = promotion_status(judged(12, engines=4, candidate_engines=4), generation=1)
    status = going_on | promotion_status(
        ended(
            12,
            "Promoted",
            sentence="better by 4.2 %",
            evidence_digest="c" * 64,
            effects=(effect(), effect(lower=-math.inf, upper=math.nan)),
            breaches=("time per output token rose by 9 %, expected at most 5 %",),
            breached_guards=("tpot",),
        ),
        generation=1,
    )

    assert api.write_status(document, status) == status


def test_the_columns_tell_how_a_promotion_is(api: CustomResources) -> None:
    document = promotion(decision="Approve")
    document["metadata"] = {"name": "columns"}
    api.create(document)
    api.write_status(
        document,
        promotion_status(ended(12, "Promoted", effects=(effect(gain=0.042),)), generation=1),
    )

    head, row = says("columns", api, "get", "dpromo", "columns").splitlines()

    assert head.split() == ["NAME", "FLEET", "VERSION", "PHASE", "OUTCOME", "GAIN", "AGE"]
    assert row.split()[:-1] == ["columns", "tiny", "12", "Done", "Promoted", "4.20"]


def test_explaining_tells_users_what_they_can_decide(api: CustomResources) -> None:
    said = says("DESCRIPTION", api, "explain", "dpromo.spec.decision")

    assert "Approve: go on where the fleet waits for a user." in " ".join(said.split())
    assert "Abort: end it and keep the stable version, for good." in " ".join(said.split())

"""What a real API server takes as a promotion: its subject is fixed, only the decision changes."""

from __future__ import annotations

from typing import Any

import pytest

from specfleet_operator.tests.crds import CustomResources


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
    status = {
        "observedGeneration": 1,
        "phase": "Done",
        "outcome": "Promoted",
        "summary": {
            "arms": [{"name": "Candidate", "requests": 900, "tokensPerStep": "2.61"}],
            "gainPercent": "4.2",
            "lowerPercent": "-0.1",
            "upperPercent": "8",
            "guards": [{"name": "tpot", "passed": True, "message": "1 % faster"}],
        },
        "evidenceDigest": "c" * 64,
        "engines": 4,
        "candidateEngines": 4,
        "startedAt": "2026-01-01T00:00:00Z",
        "finishedAt": "2026-01-01T01:00:00Z",
        "message": "better by 4.2 %",
    }

    assert api.write_status(document, status) == status

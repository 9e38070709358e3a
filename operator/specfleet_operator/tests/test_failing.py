"""Which answers of the API server can be waited out, and which somebody has to act on."""

from __future__ import annotations

import json

import pytest

from specfleet_operator.api import Conflict, Ending, Expired, NotFound, Refused, Unreachable
from specfleet_operator.failing import failure, is_of_a_webhook
from specfleet_operator.observed import ObjectKey

KEY = ObjectKey("apps/v1", "StatefulSet", "f-main")


def said(message: str, **more: object) -> str:
    return json.dumps({"kind": "Status", "message": message, **more})


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        pytest.param(404, said("not found"), NotFound, id="not-there"),
        pytest.param(
            403,
            said(
                "x is forbidden: create not allowed while custom resource definition is terminating"
            ),
            NotFound,
            id="kind-ending",
        ),
        pytest.param(409, said("changed"), Conflict, id="changed-meanwhile"),
        pytest.param(410, said("too old"), Expired, id="too-old"),
        pytest.param(401, said("Unauthorized"), Unreachable, id="token-not-taken"),
        pytest.param(429, said("too many requests"), Unreachable, id="busy"),
        pytest.param(503, "<html>", Unreachable, id="a-proxy"),
        pytest.param(500, said("etcdserver: leader changed"), Unreachable, id="etcd"),
        pytest.param(403, said("exceeded quota"), Refused, id="quota"),
        pytest.param(422, said("invalid"), Refused, id="invalid"),
        pytest.param(
            500,
            said("failed to create typed patch object (ns/f): .spec.x: field not declared"),
            Refused,
            id="a-field-that-there-is-not",
        ),
        pytest.param(
            403,
            said("forbidden", details={"causes": [{"reason": "NamespaceTerminating"}]}),
            Ending,
            id="namespace-ending",
        ),
    ],
)
def test_an_answer_is_one_of_few_failures(status: int, text: str, kind: type[Exception]) -> None:
    assert type(failure(status, text, KEY)) is kind


def test_a_webhook_that_is_away_is_told_from_an_api_server_that_is() -> None:
    message = 'Internal error occurred: failed calling webhook "v.example.com": refused'

    webhook, server = (failure(500, said(text), KEY) for text in (message, "etcd is away"))

    assert isinstance(webhook, Unreachable)
    assert isinstance(server, Unreachable)
    assert [is_of_a_webhook(one) for one in (webhook, server)] == [True, False]

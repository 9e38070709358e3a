"""When an object is applied again."""

from __future__ import annotations

from typing import Any

import pytest

from specfleet_operator.comparing import differs, stamped


def item(**body: Any) -> dict[str, Any]:
    """Return an object that is not stamped yet."""
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x"}, **body}


def test_what_is_not_there_is_applied() -> None:
    assert differs(stamped(item()), None)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        pytest.param({"a": 1}, {"a": 1, "defaulted": 2}, id="defaults"),
        pytest.param({"limits": {"cpu": "1000m"}}, {"limits": {"cpu": "1"}}, id="cores"),
        pytest.param({"sizeLimit": "1024Mi"}, {"sizeLimit": "1Gi"}, id="bytes"),
        pytest.param({"value": "", "items": [], "map": {}}, {}, id="what-is-empty-is-left-out"),
        pytest.param(
            {"env": [{"name": "A", "value": "1"}]},
            {"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]},
            id="items-of-others",
        ),
        pytest.param(
            {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]},
            {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]},
            id="items-without-a-name-of-their-own",
        ),
    ],
)
def test_what_the_api_server_and_others_add_is_no_difference(wanted: Any, found: Any) -> None:
    assert not differs(stamped(item(spec=wanted)), {**stamped(item(spec=wanted)), "spec": found})


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        pytest.param({"a": 1}, {"a": 2}, id="value"),
        pytest.param({"a": 1}, {}, id="missing"),
        pytest.param({"value": "1000m"}, {"value": "1"}, id="text-that-is-no-amount"),
        pytest.param({"limits": {"cpu": "2"}}, {"limits": {"cpu": "1"}}, id="amount"),
        pytest.param(
            {"env": [{"name": "A", "value": "1"}]},
            {"env": [{"name": "B", "value": "1"}]},
            id="item-gone",
        ),
        pytest.param({"ingress": []}, {"ingress": [{}]}, id="nobody-is-not-everybody"),
        pytest.param({"egress": [{}]}, {"egress": [{"to": []}]}, id="everywhere-is-not-somewhere"),
        pytest.param({"command": ["a", "b"]}, {"command": ["b", "a"]}, id="order"),
    ],
)
def test_what_somebody_changed_is_a_difference(wanted: Any, found: Any) -> None:
    assert differs(stamped(item(spec=wanted)), {**stamped(item(spec=wanted)), "spec": found})


def test_what_is_no_longer_rendered_is_a_difference_although_it_is_still_there() -> None:
    before = stamped(item(spec={"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}))

    after = stamped(item(spec={"env": [{"name": "A", "value": "1"}]}))

    assert differs(after, before)

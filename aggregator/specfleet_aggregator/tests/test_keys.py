"""Which keys of a JSON Web Key Set are of use."""

from __future__ import annotations

import json

import pytest

from specfleet_aggregator.tests.issuing import rsa_key
from specfleet_aggregator.tokens import parse_keys

RSA = rsa_key()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="list"),
        pytest.param(b"\xff", id="binary"),
        pytest.param(b'{"keys": []}', id="no-key"),
        pytest.param(b'{"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "a"}]}', id="secret"),
        pytest.param(json.dumps({"keys": [{**RSA.public(), "kid": None}]}).encode(), id="no-id"),
    ],
)
def test_a_key_set_without_a_key_of_use_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="key"):
        parse_keys(data)


def test_keys_of_other_kinds_are_left_out() -> None:
    secret = {"kty": "oct", "k": "c2VjcmV0", "kid": "oct-1"}
    data = json.dumps({"keys": [secret, RSA.public(), {"kty": "new"}]}).encode()

    assert set(parse_keys(data)) == {RSA.kid}

from __future__ import annotations

import json

import pytest

from specfleet_common.store.sealing import SealError, check_seal, sealed

OBJECTS = [
    pytest.param(b'{"a": 1}', id="compact"),
    pytest.param(b'{\n  "a": [1, 2],\n  "b": "}"\n}\n', id="indented"),
]


@pytest.mark.parametrize("data", OBJECTS)
def test_a_sealed_object_says_what_it_said(data: bytes) -> None:
    with_seal = sealed(data)

    check_seal(with_seal)
    found = json.loads(with_seal)
    assert len(found.pop("seal")) == 16
    assert found == json.loads(data)


def test_no_bit_of_what_it_says_can_change() -> None:
    good = sealed(b'{"number": 12}')

    for place in range(8 * good.index(b","), 0, -1):
        damaged = bytearray(good)
        damaged[place // 8] ^= 1 << place % 8
        with pytest.raises(SealError):
            check_seal(bytes(damaged))


@pytest.mark.parametrize("data", OBJECTS)
def test_an_object_without_a_seal_is_refused(data: bytes) -> None:
    with pytest.raises(SealError, match="has no seal at its end"):
        check_seal(data)

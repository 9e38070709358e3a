"""What a header says, and what refuses it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_common.shm.layout import (
    BANK,
    FORMAT,
    HEADER_BYTES,
    PAGE,
    RING,
    Header,
    Kind,
    Layout,
    ShmMismatch,
    pack_header,
    parse_header,
    require_layout,
)
from specfleet_common.shm.tests.building import layout

HEADER = Header(incarnation=99, file_bytes=9000, layout=layout())

layouts = st.builds(
    Layout,
    family=st.text(max_size=20),
    layout=st.text(max_size=20),
    lineage_id=st.text(max_size=20),
    hidden_size=st.integers(1, 2**20),
    hidden_dtype=st.sampled_from(["float32", "bfloat16"]),
    num_speculative_tokens=st.integers(1, 16),
)


@given(
    st.sampled_from([RING, BANK, PAGE]),
    st.builds(Header, st.integers(0, 2**64 - 1), st.integers(0, 2**63), st.none() | layouts),
)
def test_parsing_undoes_packing(kind: Kind, header: Header) -> None:
    data = pack_header(kind, header)

    assert len(data) == HEADER_BYTES
    assert parse_header(kind, data, name="f", file_bytes=header.file_bytes) == header


def test_a_file_shorter_than_a_header_is_refused() -> None:
    with pytest.raises(ShmMismatch, match=r"f: 5 bytes, expected a capture ring"):
        parse_header(RING, b"short", name="f", file_bytes=5)


def test_another_kind_is_refused_by_name() -> None:
    data = pack_header(BANK, HEADER)

    with pytest.raises(ShmMismatch, match=r"f: starts with b'SPFLBANK'.*capture ring"):
        parse_header(RING, data, name="f", file_bytes=9000)


def test_another_format_is_refused_whatever_else_it_holds() -> None:
    data = bytearray(pack_header(RING, HEADER))
    data[8] = FORMAT + 1

    with pytest.raises(ShmMismatch, match=rf"format {FORMAT + 1}, expected format {FORMAT}"):
        parse_header(RING, bytes(data), name="f", file_bytes=9000)


def test_a_damaged_header_is_refused() -> None:
    data = bytearray(pack_header(RING, HEADER))
    data[40] ^= 1

    with pytest.raises(ShmMismatch, match="checksum"):
        parse_header(RING, bytes(data), name="f", file_bytes=9000)


def test_a_truncated_file_is_refused() -> None:
    data = pack_header(RING, HEADER)

    with pytest.raises(ShmMismatch, match="f: 8999 bytes, but its header says 9000"):
        parse_header(RING, data, name="f", file_bytes=8999)


def test_another_layout_is_refused_with_the_fields_that_differ() -> None:
    found = replace(layout(), hidden_size=8, hidden_dtype="bfloat16")

    with pytest.raises(ShmMismatch) as refusal:
        require_layout(found, layout(), name="f")

    assert str(refusal.value) == (
        "f: hidden_size is 8, expected 4; hidden_dtype is 'bfloat16', expected 'float32'"
    )


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"hidden_dtype": "float16"}, id="unknown-dtype"),
        pytest.param({"hidden_size": 0}, id="no-hidden-states"),
        pytest.param({"num_speculative_tokens": 0}, id="no-drafts"),
    ],
)
def test_a_layout_that_cannot_be_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="expected"):
        layout(**changes)

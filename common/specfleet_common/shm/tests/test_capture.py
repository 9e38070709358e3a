"""What the engine says is what the trainer understands; anything else is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfleet_common.shm import capture
from specfleet_common.shm.capture import Begin, CaptureError, End, Part, Step
from specfleet_common.shm.layout import Layout
from specfleet_common.shm.ring import Record, RingReader, RingWriter
from specfleet_common.shm.tests.building import layout, step

u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)
ARRAYS = ("serials", "first", "rows", "drafts", "tokens", "fed", "positions", "hidden")


def record(kind: int, parts: list[Part]) -> Record:
    return Record(kind, b"".join(parts))


def decoded(value: Step, layout_: Layout | None = None) -> Step:
    result = capture.decode(
        record(capture.STEP, capture.encode_step(value)), layout_ if layout_ else layout()
    )
    assert isinstance(result, Step)
    return result


@given(st.builds(Begin, u64, u64, st.booleans(), st.booleans(), u32))
def test_decoding_undoes_encoding_a_begin(begin: Begin) -> None:
    parts = capture.encode_begin(begin)

    assert capture.decode(record(capture.BEGIN, parts), layout()) == begin


@given(st.builds(End, u64, u32, st.sampled_from(capture.REASONS)))
def test_decoding_undoes_encoding_an_end(end: End) -> None:
    parts = capture.encode_end(end)

    assert capture.decode(record(capture.END, parts), layout()) == end


@given(
    st.lists(st.integers(0, 4), max_size=6).map(tuple),
    st.sampled_from(["stock", "local", "ab" * 32]),
    st.sampled_from(["float32", "bfloat16"]),
)
def test_decoding_undoes_encoding_a_step(
    rows: tuple[int, ...], digest: str, hidden_dtype: str
) -> None:
    hidden = np.arange(sum(rows) * 4).reshape(-1, 4)
    dtype = np.float32 if hidden_dtype == "float32" else np.uint16
    value = step(rows, digest=digest, hidden=hidden.astype(dtype))

    result = decoded(value, layout(hidden_dtype=hidden_dtype))

    assert (result.number, result.digest) == (value.number, value.digest)
    for name in ARRAYS:
        wanted, found = getattr(value, name), getattr(result, name)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype


def test_a_step_survives_a_ring(tmp_path: Path) -> None:
    writer = RingWriter.create(tmp_path / "ring", layout(), 4096)
    reader = RingReader.attach(tmp_path / "ring")

    writer.write(capture.STEP, capture.encode_step(step((3,))))

    found = reader.read()
    assert found is not None
    result = capture.decode(found, reader.layout)
    assert isinstance(result, Step)
    np.testing.assert_array_equal(result.hidden, step((3,)).hidden)


def test_contiguous_hidden_states_are_not_copied() -> None:
    hidden = np.zeros((3, 4), np.float32)

    part = capture.encode_step(step(hidden=hidden))[-1]

    assert np.shares_memory(np.asarray(part), hidden)


@pytest.mark.parametrize(
    "hidden",
    [
        pytest.param(np.arange(24, dtype=np.float32).reshape(3, 8)[:, :4], id="strided"),
        pytest.param(np.arange(12, dtype=np.float32).tobytes(), id="bytes"),
        pytest.param(np.arange(12, dtype=np.float32).data, id="memoryview"),
    ],
)
def test_hidden_states_may_come_in_any_memory(hidden: Any) -> None:
    result = decoded(step(hidden=hidden))

    expected = np.frombuffer(bytes(np.ascontiguousarray(hidden)), np.float32).reshape(3, 4)
    np.testing.assert_array_equal(result.hidden, expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param(
            {"positions": np.zeros(3, np.int64)},
            r"positions is int64\[3\], expected int32\[3\]",
            id="dtype",
        ),
        pytest.param(
            {"fed": np.zeros(2, np.int32)}, r"fed is int32\[2\], expected int32\[3\]", id="rows"
        ),
        pytest.param({"serials": np.zeros(1, np.uint64)}, r"serials is uint64\[1\]", id="requests"),
        pytest.param({"digest": "x" * 65}, "expected 1 to 64 characters", id="digest"),
    ],
)
def test_a_step_that_contradicts_itself_is_not_encoded(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(CaptureError, match=message):
        capture.encode_step(step(**changes))


def test_an_unknown_reason_is_not_encoded() -> None:
    with pytest.raises(CaptureError, match="reason is 'bored'"):
        capture.encode_end(End(1, 2, "bored"))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        pytest.param(Record(4, b""), "kind 4, expected 1, 2 or 3", id="kind"),
        pytest.param(Record(capture.BEGIN, b"x"), "begin: 1 bytes, expected 24", id="begin"),
        pytest.param(Record(capture.END, b"x"), "end: 1 bytes, expected 16", id="end"),
        pytest.param(Record(capture.END, b"\xff" * 16), "reason is 255", id="reason"),
        pytest.param(Record(capture.STEP, b"x"), "step: 1 bytes, expected at least", id="step"),
    ],
)
def test_a_record_of_another_form_is_refused(found: Record, message: str) -> None:
    with pytest.raises(CaptureError, match=message):
        capture.decode(found, layout())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"hidden_size": 8}, "48 bytes of hidden states, expected 96", id="hidden"),
        pytest.param({"hidden_dtype": "bfloat16"}, "48 bytes .* expected 24", id="dtype"),
        pytest.param({"num_speculative_tokens": 2}, "3 drafts per request, expected 2", id="K"),
    ],
)
def test_a_step_of_another_layout_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CaptureError, match=message):
        decoded(step(), layout(**changes))


def test_rows_outside_the_step_are_refused() -> None:
    value = step((2, 1), first=np.array([0, 3], np.uint32))

    with pytest.raises(CaptureError, match="rows end at 4, expected at most 3"):
        decoded(value)


@given(st.data())
def test_a_step_of_any_other_length_is_refused(data: st.DataObject) -> None:
    payload = b"".join(capture.encode_step(step()))
    length = data.draw(st.integers(0, len(payload) - 1))
    changed = data.draw(st.sampled_from([payload[:length], payload + bytes(1 + length)]))

    with pytest.raises(CaptureError):
        capture.decode(Record(capture.STEP, changed), layout())

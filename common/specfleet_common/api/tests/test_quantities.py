"""Quantities mean what they mean to Kubernetes."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from specfleet_common.api.quantities import Quantity, amount

READ = TypeAdapter(Quantity)


@pytest.mark.parametrize(
    ("quantity", "number"),
    [
        ("0", "0"),
        ("2", "2"),
        ("500m", "0.5"),
        ("250u", "0.00025"),
        ("1.5Gi", "1610612736"),
        ("1k", "1000"),
        ("1Ki", "1024"),
        ("16E", "16000000000000000000"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("5e-1", "0.5"),
    ],
)
def test_a_quantity_stands_for_a_number(quantity: str, number: str) -> None:
    assert amount(quantity) == Decimal(number)


@pytest.mark.parametrize("text", ["", "Gi", "-1", "1 Gi", "1gi", "1e", "two", "1.", "1\n"])
def test_other_texts_are_no_quantities(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity, expected a number such as"):
        amount(text)


@given(st.integers(0, 10**18 - 1))
def test_a_whole_number_may_be_written_without_quotes(number: int) -> None:
    assert READ.validate_python(number) == str(number)
    assert amount(str(number)) == number


@pytest.mark.parametrize("value", [0.5, True, None, -1])
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        READ.validate_python(value)

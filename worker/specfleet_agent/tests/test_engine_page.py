from __future__ import annotations

import pytest

from specfleet_agent.engine_page import Band, Drafted, PageError, decode
from specfleet_agent.tests.builders import (
    LINEAGE,
    STOCK_DIGEST,
    drafter_content,
    page,
    page_content,
)


def test_a_page_says_what_the_engine_runs() -> None:
    found = decode(page_content(observed="local", observed_digest="a" * 64))

    assert (found.lineage, found.observed, found.observed_digest) == (LINEAGE, "local", "a" * 64)


def test_fields_of_a_newer_engine_are_left_alone() -> None:
    content = page_content()
    capture = content["capture"] | {"held_out": 5}

    found = decode(content | {"capture": capture, "temperature": 36.6})

    assert found == page()


def test_an_engine_may_count_bands_and_name_requests() -> None:
    named = {"request": "a", "ended": 1.5, "digests": ["stock", "b" * 64]}
    content = page_content(
        drafters=(drafter_content("stock", bands={2: (3, 5, 0.5)}),), requests=(named,)
    )

    found = decode(content)

    assert found.drafters[0].bands == (Band(2, 3, 5, 0.5),)
    assert found.requests == (Drafted("a", 1.5, ("stock", "b" * 64)),)


def test_an_older_engine_counts_no_bands_and_names_no_requests() -> None:
    content = page_content(drafters=(drafter_content("stock"),))
    del content["requests"]

    found = decode(content)

    assert (found.drafters[0].bands, found.requests) == (None, ())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("stock_digest", "stock", id="no-digest"),
        pytest.param("stock_file", "../../etc/passwd", id="a-path-out-of-the-directory"),
        pytest.param("stock_file", ".hidden", id="a-hidden-file"),
        pytest.param("swaps", -1, id="a-negative-count"),
        pytest.param("lineage", {"family": "mtp"}, id="half-a-lineage"),
        pytest.param("drafters", [{"digest": "stock"}], id="half-a-drafter"),
        pytest.param(
            "requests", [{"request": "a", "ended": 1.0, "digests": ["x"]}], id="no-drafter"
        ),
    ],
)
def test_what_an_engine_would_not_write_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(PageError, match=field):
        decode(page_content() | {field: value})


@pytest.mark.parametrize(
    ("observed", "runs_stock"),
    [
        pytest.param("stock", True, id="by-name"),
        pytest.param(STOCK_DIGEST, True, id="by-digest"),
        pytest.param("local", False, id="local"),
        pytest.param("mismatch", False, id="nobody-knows"),
    ],
)
def test_runs_stock(observed: str, runs_stock: bool) -> None:
    assert page(observed=observed).runs_stock is runs_stock

from __future__ import annotations

import pytest

from specfleet_agent.engine_page import PageError
from specfleet_agent.frontend_page import Finished, FrontendPage, decode
from specfleet_agent.tests.promoting import finished_content


def test_a_page_says_how_requests_fared() -> None:
    page = decode({"incarnation": "0" * 16, "requests": [finished_content("a", started=1.0)]})

    assert page == FrontendPage((Finished("a", 1.0, 2.0, False, 0.1, 0.02, 0),))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("ttft_seconds", -1.0, id="a-negative-time"),
        pytest.param("tpot_seconds", float("nan"), id="no-number"),
        pytest.param("request", "x" * 201, id="a-name-that-fits-into-no-message"),
        pytest.param("preemptions", "many", id="no-count"),
    ],
)
def test_what_an_api_server_would_not_write_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(PageError, match=field):
        decode({"requests": [finished_content("a") | {field: value}]})

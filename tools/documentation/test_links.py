"""Links of pages as the site needs them."""

from __future__ import annotations

import pytest

from tools.documentation.links import with_sources

FORGE = "https://forge.example.com/blob/main"


@pytest.mark.parametrize(
    ("page", "written", "wanted"),
    [
        pytest.param(
            "install.md", "[chart](../charts/x)", f"[chart]({FORGE}/charts/x)", id="a-file"
        ),
        pytest.param(
            "howto/a.md", "[sbom](../../tools/s.py)", f"[sbom]({FORGE}/tools/s.py)", id="from-below"
        ),
        pytest.param("howto/a.md", "[b](../b.md#c)", "[b](../b.md#c)", id="another-page"),
        pytest.param("a.md", "[b](b.md)", "[b](b.md)", id="a-neighbour"),
        pytest.param("a.md", "![p](../p.svg)", "![p](../p.svg)", id="a-picture"),
    ],
)
def test_links_out_of_the_pages_lead_to_the_forge(page: str, written: str, wanted: str) -> None:
    assert with_sources(f"See {written}.", page, FORGE) == f"See {wanted}."


def test_without_a_forge_the_text_of_a_link_stays() -> None:
    assert with_sources("See [the chart](../charts/x).", "a.md", "") == "See the chart."


def test_blocks_of_code_stay_as_they_are() -> None:
    block = "```sh\n[a](../b)\n```"

    assert with_sources(block, "a.md", FORGE) == block

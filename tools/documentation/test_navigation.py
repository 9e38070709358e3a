"""The menu of the site."""

from __future__ import annotations

from tools.documentation.navigation import filled

PAGES = ["index.md", "runbooks/b.md", "runbooks/index.md", "runbooks/a.md", "howto/scale.md"]


def test_a_folder_becomes_its_pages_with_the_index_first() -> None:
    menu = filled([{"Alerts": "runbooks/"}], PAGES)

    assert menu == [{"Alerts": ["runbooks/index.md", "runbooks/a.md", "runbooks/b.md"]}]


def test_a_folder_among_pages_is_filled_in_where_it_stands() -> None:
    menu = filled([{"How-tos": [{"Install": "install.md"}, "howto/"]}], PAGES)

    assert menu == [{"How-tos": [{"Install": "install.md"}, "howto/scale.md"]}]


def test_a_heading_without_pages_is_left_out() -> None:
    assert filled([{"Home": "index.md"}, {"Empty": "nothing/"}], PAGES) == [{"Home": "index.md"}]

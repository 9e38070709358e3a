"""Pictures are small, the same every time, and fit beside others on one page, light or dark."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from matplotlib.figure import Figure

from specfleet_cli.drawing import (
    DARK,
    GOOD,
    NARROW_INCHES,
    SERIES,
    WIDE_INCHES,
    dark_rules,
    finish,
    plot,
    standalone,
    svg,
)


def drawn(*names: str, title: str = "") -> str:
    def draw(width: float) -> Figure:
        figure = Figure(figsize=(width, 3.0), layout="constrained")
        axes = figure.add_subplot()
        for name, color in zip(names, SERIES, strict=False):
            axes.plot([0, 1], [0, 1 / 3], color=color, label=name, marker="o")
        finish(axes, width=width, title=title)
        return figure

    return svg(draw)


def ids(picture: str) -> set[str]:
    return set(re.findall(r' id="([^"]+)"', picture))


def test_the_same_picture_is_the_same_text() -> None:
    assert drawn("a", "b") == drawn("a", "b")


def test_ids_are_those_that_are_referred_to_and_of_no_other_picture() -> None:
    one, other = drawn("a", "b"), drawn("a", "c")

    assert ids(one)
    assert ids(one) == set(re.findall(r'(?:href="#|url\(#)([^")]+)', one))
    assert not ids(one) & ids(other)


def test_a_picture_says_its_title_and_names_as_text() -> None:
    words = list(ElementTree.fromstring(drawn("a < b", "c", title="Loss")).itertext())

    assert {"Loss", "a < b", "c"} <= {word.strip() for word in words}


def test_a_single_name_needs_no_legend() -> None:
    assert "only" not in drawn("only")


def test_a_plot_has_a_picture_for_screens_and_one_for_phones() -> None:
    both = plot(lambda width: Figure(figsize=(width, 3.0)))

    widths = [float(one.split('width="')[1].split("pt")[0]) for one in (both.wide, both.narrow)]
    assert widths == [72 * WIDE_INCHES, 72 * NARROW_INCHES]


def test_every_colour_of_a_picture_has_one_for_dark_pages() -> None:
    used = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", drawn("a", "b", title="t")))

    assert used <= DARK.keys()
    assert all(f'stroke: {color}"] {{ stroke: {DARK[color]}' in dark_rules() for color in used)
    assert f'[style*="fill: {GOOD}"]' in dark_rules()


def test_a_file_of_its_own_is_dark_where_its_reader_is() -> None:
    picture = standalone(drawn("a", "b"))

    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert "prefers-color-scheme: dark" in picture

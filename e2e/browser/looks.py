"""What a reader would notice about a page: measured in the browser, told as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from e2e.browser.pages import Page

_MEASURE = """
(() => {
  const probe = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const channels = (color) => {
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = color;
    probe.fillRect(0, 0, 1, 1);
    return [...probe.getImageData(0, 0, 1, 1).data];
  };
  const light = (color) => {
    const linear = channels(color).slice(0, 3).map((one) => {
      const share = one / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (channels(color)[3] > 0) return color;
    }
    return 'white';
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const shown = (element) => element.getClientRects().length > 0;
  const words = [...document.querySelectorAll('body *')].filter((element) =>
    shown(element) && [...element.childNodes].some((node) =>
      node.nodeType === Node.TEXT_NODE && node.textContent.trim()));
  const letters = words.map((element) => {
    const style = getComputedStyle(element);
    const drawing = element.closest('svg');
    const scale = drawing ? drawing.getScreenCTM().a : 1;
    return {
      text: element.textContent.trim().slice(0, 40),
      pixels: parseFloat(style.fontSize) * scale,
      contrast: contrast(drawing ? style.fill : style.color, behind(element)),
    };
  });
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  return {
    figures: [...document.querySelectorAll('figure')].map((figure) => {
      const drawn = [...figure.querySelectorAll('svg')].filter(shown);
      const box = drawn.length ? drawn[0].getBoundingClientRect() : null;
      return {
        name: figure.getAttribute('aria-label'),
        drawn: drawn.length,
        left: box ? box.left : 0,
        right: box ? box.right : 0,
        marks: drawn.reduce((sum, one) => sum + one.querySelectorAll('path, use').length, 0),
      };
    }),
    width: document.documentElement.scrollWidth,
    letters: letters,
    background: light(getComputedStyle(document.body).backgroundColor),
    repeated: ids.filter((id, at) => ids.indexOf(id) !== at),
  };
})()
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: how many pictures of it are shown, from where to where, of how many strokes."""

    name: str
    drawn: int
    left: float
    right: float
    marks: int


@dataclass(frozen=True, slots=True)
class Letters:
    """A piece of writing; `contrast` is from 1 to 21, as WCAG 2 defines it."""

    text: str
    pixels: float
    contrast: float


@dataclass(frozen=True, slots=True)
class Looks:
    """A page in a window; `width` is what it needs, `background` its luminance from 0 to 1."""

    figures: tuple[Figure, ...]
    letters: tuple[Letters, ...]
    width: int
    background: float
    repeated_ids: tuple[str, ...]


def looks(page: Page) -> Looks:
    """Return how a page looks."""
    found: dict[str, Any] = page.evaluate(_MEASURE)
    return Looks(
        figures=tuple(Figure(**one) for one in found["figures"]),
        letters=tuple(Letters(**one) for one in found["letters"]),
        width=found["width"],
        background=found["background"],
        repeated_ids=tuple(found["repeated"]),
    )

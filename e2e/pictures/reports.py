"""A report as its readers see it: in a window, on a phone, light and dark."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from e2e.browser.devtools import Connection
from e2e.browser.pages import PHONE_WIDTH, Scheme, opened

WINDOW = (960, 1180)
PHONE_HEIGHT = 1180
_COLORS = 256


def window(browser: Connection, report: Path, scheme: Scheme) -> bytes:
    """Return the beginning of a report as PNG."""
    width, height = WINDOW
    with opened(browser, report, width=width, scheme=scheme) as page:
        return _png(Image.open(io.BytesIO(page.screenshot(height=height))))


def phones(browser: Connection, report: Path) -> bytes:
    """Return a report on two phones as PNG: light on the left, dark on the right."""
    shots = []
    for scheme in Scheme:
        with opened(browser, report, width=PHONE_WIDTH, scheme=scheme) as page:
            shots.append(page.screenshot(height=PHONE_HEIGHT))
    return _beside(shots)


def _beside(shots: Sequence[bytes]) -> bytes:
    images = [Image.open(io.BytesIO(shot)) for shot in shots]
    whole = Image.new("RGB", (sum(one.width for one in images), max(one.height for one in images)))
    left = 0
    for image in images:
        whole.paste(image, (left, 0))
        left += image.width
    return _png(whole)


def _png(image: Image.Image) -> bytes:
    """Return the picture in its most frequent colours: the rest are edges of letters."""
    image = image.convert("RGB")
    pixels = np.asarray(image).reshape(-1, 3)
    colors, counts = np.unique(pixels, axis=0, return_counts=True)
    palette = Image.new("P", (1, 1))
    palette.putpalette(colors[np.argsort(-counts, kind="stable")[:_COLORS]].tobytes())
    data = io.BytesIO()
    image.quantize(palette=palette, dither=Image.Dither.NONE).save(
        data, format="png", optimize=True
    )
    return data.getvalue()

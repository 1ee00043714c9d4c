"""Pictures made small, for a page that shows many."""

from __future__ import annotations

from pathlib import Path

from ..files.writing import written_atomically

SUFFIX = ".webp"

LARGEST = (400, 300)
"""Pixels in width and height: a card of a contact sheet on a fine screen."""

_QUALITY = 80


def write_thumbnail(picture: Path, path: Path) -> bool:
    """Write a picture again, as WebP of `LARGEST` pixels at most; the same picture gives the same bytes.

    Returns
    -------
    bool
        Whether it was written: a picture that is small already stays the only one.
    """
    from PIL import Image

    with Image.open(picture) as opened:
        if opened.width <= LARGEST[0] and opened.height <= LARGEST[1]:
            return False
        small = opened.convert("RGBA" if "A" in opened.getbands() else "RGB")
        small.thumbnail(LARGEST, Image.Resampling.LANCZOS, reducing_gap=2.0)
        with written_atomically(path) as temporary:
            small.save(temporary, format="WEBP", quality=_QUALITY)
    return True

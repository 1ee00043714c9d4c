"""Pictures that the viewer at the other end of the pipe has taken itself, in whatever format it writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...base.errors import OrbitileError
from ...renderer import annotate, check_path, write_png
from ...session.picture import legend_parts
from ...session.seen import shown_surfaces
from ...session.session import Session


def with_legend(session: Session, taken: Path, target: Path) -> None:
    """Write a picture of the viewer as png, with names, isovalues and scales of colours; the one it took is deleted.

    Raises
    ------
    OrbitileError
        When it cannot be read, or not be written.
    """
    from PIL import Image, UnidentifiedImageError

    target = check_path(target.absolute())
    try:
        with Image.open(taken) as image:
            pixels = np.array(image.convert("RGBA"))
    except (OSError, UnidentifiedImageError) as error:
        raise OrbitileError(f"{taken}: the viewer has written no picture that can be read ({error})") from None
    finally:
        taken.unlink(missing_ok=True)
    drawn = tuple(surface for pane in shown_surfaces(session) for surface in pane)
    red, green, blue = (float(ink) for ink in pixels[0, 0, :3] / 255)
    size = pixels.shape[1], pixels.shape[0]
    write_png(target, annotate(pixels, legend_parts(drawn, size), scale=None, paper=(red, green, blue)))

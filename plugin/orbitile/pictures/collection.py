"""Entries of a page of several molecules: what is shown of each, its table, its coordinates, a still picture."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import PurePath

from ..analysis.information import facts
from ..exporters.xyz import xyz_text
from ..fields import References
from ..files.reading import readable
from ..model.vibrations import Vibrations
from ..model.wavefunction import Wavefunction
from ..renderer.picture import place_camera, render_scene
from ..scenes import Scene
from ..scenes.web.collection import Entry
from .pages import bare_slide, document_of, slides_of, with_computing
from .request import Request
from .surface import Listener
from .words import unit_in_print

_SIZE = (1000, 600)
"""Of a still picture, in pixels: 150 to the inch across a page."""

_QUALITY = {"quality": 80, "alpha_quality": 80}
"""Of WebP: some 40 kB. With a lower one for opacities, those of a lobe have visible steps."""


def entry_of(
    wavefunction: Wavefunction,
    requests: Sequence[Request],
    references: References,
    listener: Listener,
    *,
    vibrations: Vibrations | None = None,
    with_picture: bool = True,
) -> Entry:
    """What a page of several molecules has of one.

    Parameters
    ----------
    wavefunction
        The entry is named after its file.
    requests
        As `pictures.surface.drawn` gives them; the molecule alone is shown where there is none.
    references, listener
    vibrations
        Of the same file.
    with_picture
        Whether to draw a still picture, for which OpenGL is needed.

    Raises
    ------
    OrbitileError
        When a field that is asked for cannot be shown.
    DeviceError
        When there is no OpenGL, and a picture is to be drawn.
    """
    slides = slides_of(requests, wavefunction, references, listener)[0] if requests else [bare_slide(wavefunction)]
    document = document_of(slides, wavefunction)
    if not wavefunction.promolecule:
        document = with_computing(document, [wavefunction])
    path = PurePath(readable(wavefunction.source))
    return Entry(
        path.stem.strip() or document.title,  # a name of blanks could not be clicked
        document,
        (("file", path.name), *((what, unit_in_print(text)) for what, text in facts(wavefunction, vibrations))),
        xyz_text(wavefunction.atomic_numbers, wavefunction.positions[None], path.stem),
        _still(slides[0].scene) if with_picture else b"",
    )


def _still(scene: Scene) -> bytes:
    """A picture of a scene on a transparent background, as WebP."""
    from PIL import Image

    camera = place_camera(None, scene, _SIZE, [], False, False)
    held = io.BytesIO()
    Image.fromarray(render_scene(scene, camera, _SIZE, None)).save(held, format="WEBP", **_QUALITY)
    return held.getvalue()

"""Pictures by PyMOL's ray tracer, in a second PyMOL without a window: while it traces, the first one can be used."""

from __future__ import annotations

import tempfile
from collections.abc import Set
from pathlib import Path
from typing import Any

import numpy as np

from ...base.temporary import own_folder
from ...pictures.writing import Pixels
from ...session.picture import Pane
from ...surfaces.colour_maps import RGB
from .drawing import drawing_of
from .drawings import SAVED as DRAWINGS
from .molecules import SAVED

_NOT_TRACED = ("object:map", "object:group", "object:ramp")
_LEFT_OUT = ("orbitile", *SAVED, DRAWINGS, "wizard", "cache", "moviescenes")
"""Parts of a session that have nothing to do with what is seen."""


def scene_of(cmd: Any, surfaces: Set[str]) -> dict[str, Any]:
    """What can be seen in a PyMOL but for some surfaces, as a session of PyMOL.

    Surfaces go to the second PyMOL by themselves: PyMOL has them in lists of numbers, which take it a second.
    """
    others = set(cmd.get_names("objects", enabled_only=1)) - surfaces
    others.difference_update(*(cmd.get_names_of_type(kind) for kind in _NOT_TRACED))
    session = cmd.get_session(" ".join(sorted(others)) or "none", partial=0)
    return {part: value for part, value in session.items() if part not in _LEFT_OUT}


def traced(scene: dict[str, Any], pane: Pane, size: tuple[int, int], paper: RGB | None) -> Pixels:
    """Trace a pane together with a scene in this process; see `orbitile.session.picture.DrawPane`."""
    import pymol2  # type: ignore[import-untyped]  # PyMOL has no types
    from PIL import Image

    with pymol2.PyMOL() as instance, tempfile.TemporaryDirectory(dir=own_folder()) as folder:
        cmd = instance.cmd
        cmd.set_session(scene)
        cmd.set("grid_mode", 0)
        for drawn in pane:
            look = drawn.shown.look
            cmd.load_cgo(drawing_of(drawn.surface, look), drawn.name, zoom=0)
            cmd.set("cgo_transparency", look.transparency, drawn.name)
        cmd.set("two_sided_lighting", 1)  # the inside of a surface that is cut is black without
        cmd.set("ray_opaque_background", 0 if paper is None else 1)
        if paper is not None:
            cmd.set_color("orbitile_paper", list(paper))
            cmd.bg_color("orbitile_paper")
        target = Path(folder) / "traced.png"
        cmd.png(str(target), *size, ray=1, quiet=1)
        with Image.open(target) as picture:
            return np.array(picture.convert("RGBA"))

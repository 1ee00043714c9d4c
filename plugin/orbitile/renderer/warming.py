"""OpenGL started, and its programs compiled, while the processor is still busy with what is to be drawn."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress

import numpy as np

from ..errors import OrbitileError
from ..scenes.molecule import Molecule
from ..scenes.scene import Mesh, Scene
from .camera import Camera
from .draw import draw


def warm() -> None:
    """Draw a picture of two balls, a stick and a pane of glass in a thread, which nobody looks at.

    Drivers compile a program when something is first drawn with it, most of the time without holding up Python. The
    first picture that is wanted waits for this one; where there is no OpenGL, that one says so. Systems on which a
    context belongs to the thread that makes its window are left alone.
    """
    if sys.platform.startswith("linux"):
        threading.Thread(target=_draw_unseen, name="warming of OpenGL").start()


def _draw_unseen() -> None:
    with suppress(OrbitileError):
        scene = _smallest_scene()
        draw(scene, Camera.facing(scene.molecule.centres).framed(scene, 1.0), (8, 8))


def _smallest_scene() -> Scene:
    """What every picture of an orbital has: balls, sticks, and triangles that can be seen through."""
    centres = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    molecule = Molecule(centres, np.full(2, 0.5), np.full((2, 3), 0.5), np.array([[0, 1]]))
    corners = np.array([[-1.0, -1.0, 1.0], [1.0, -1.0, 1.0], [0.0, 1.0, 1.0]])
    normals = np.broadcast_to([0.0, 0.0, 1.0], (3, 3))
    return Scene(molecule, (Mesh(corners, np.array([[0, 1, 2]]), normals, np.full((3, 4), 0.5)),))

"""The scene in memory of the graphics card: arrays of vertices, and triangles of which a tile draws a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scenes.molecule import Molecule
from ..scenes.scene import Mesh
from ..surfaces.colour_maps import linear_light
from .view import View, Window


class VertexArrays:
    """Vertex arrays of one picture, and all buffers that live as long.

    Parameters
    ----------
    gl : module
        `OpenGL.GL`.
    """

    def __init__(self, gl: Any) -> None:
        self._gl = gl
        self._arrays: list[int] = []
        self._buffers: list[int] = []

    def array(self, columns: Sequence[NDArray[np.floating]], divisor: int = 0) -> int:
        """A vertex array whose attribute n is column n, shape (vertices, components).

        An attribute goes on to the next row at each vertex or, with a divisor of 1, at each instance.
        """
        gl = self._gl
        array = int(gl.glGenVertexArrays(1))
        self._arrays.append(array)
        gl.glBindVertexArray(array)
        for location, column in enumerate(columns):
            data = np.ascontiguousarray(column, np.float32)
            gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self.buffer())
            gl.glBufferData(gl.GL_ARRAY_BUFFER, data.nbytes, data, gl.GL_STATIC_DRAW)
            gl.glEnableVertexAttribArray(location)
            gl.glVertexAttribPointer(location, column.shape[1], gl.GL_FLOAT, False, 0, None)
            gl.glVertexAttribDivisor(location, divisor)
        return array

    def buffer(self) -> int:
        """A buffer without contents."""
        buffer = int(self._gl.glGenBuffers(1))
        self._buffers.append(buffer)
        return buffer

    def delete(self) -> None:
        """Free arrays and buffers."""
        self._gl.glBindVertexArray(0)
        self._gl.glDeleteVertexArrays(len(self._arrays), self._arrays)
        self._gl.glDeleteBuffers(len(self._buffers), self._buffers)


@dataclass(frozen=True, eq=False)
class Triangles:
    """Meshes on the graphics card, and what is needed to pick the part of them that a tile shows.

    Attributes
    ----------
    gl : module
        `OpenGL.GL`.
    view : View
    array : int
        Vertex array.
    faces : ndarray of uint32, shape (m, 3)
    low, high : ndarray, shape (2, m)
        Least and greatest place of each face on the screen, -1 to 1 each way; NaN where a corner is behind the eye.
    """

    gl: Any
    view: View
    array: int
    faces: NDArray[np.uint32]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def select(self, window: Window) -> int:
        """Put the triangles that may touch a window into the index buffer; the result is the number of indices.

        Each is drawn twice a layer, and software renderers spend about as much time on triangles as on pixels.
        """
        outside = np.zeros(len(self.faces), bool)
        for axis in (0, 1):
            low, high = self.view.edges(window, axis)
            outside |= (self.high[axis] < low) | (self.low[axis] > high)  # false for NaN: those are drawn
        faces = self.faces[~outside]
        self.gl.glBindVertexArray(self.array)
        self.gl.glBufferData(self.gl.GL_ELEMENT_ARRAY_BUFFER, faces.nbytes, faces, self.gl.GL_STREAM_DRAW)
        return int(faces.size)

    def draw(self, n_indices: int) -> None:
        """Draw the triangles that were selected, with the program that is current."""
        self.gl.glBindVertexArray(self.array)
        self.gl.glDrawElements(self.gl.GL_TRIANGLES, n_indices, self.gl.GL_UNSIGNED_INT, None)


def upload_molecule(arrays: VertexArrays, molecule: Molecule, view: View, *, lit: bool) -> tuple[int, int]:
    """Vertex arrays of the balls and of the sticks, an instance each."""
    centres = view.seen(molecule.centres - view.middle)
    colours = _inks(molecule.colours, lit)
    balls = arrays.array([centres, molecule.radii[:, None], colours], divisor=1)
    first, second = molecule.bonds.T
    radii = np.broadcast_to(molecule.stick_radius, len(first))[:, None]
    sticks = arrays.array([centres[first], centres[second], colours[first], colours[second], radii], divisor=1)
    return balls, sticks


def upload_meshes(gl: Any, arrays: VertexArrays, meshes: Sequence[Mesh], view: View, *, lit: bool) -> Triangles | None:
    """All meshes as one, or None where there are none."""
    if not meshes:
        return None
    vertices = np.concatenate([mesh.vertices - view.middle for mesh in meshes])
    normals = np.concatenate([mesh.normals for mesh in meshes])
    colours = np.concatenate([mesh.colours for mesh in meshes]).astype(np.float64)
    colours[:, :3] = _inks(colours[:, :3], lit)
    starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
    faces = np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts[:-1], strict=True)])
    finishes = np.concatenate([np.full((len(mesh.vertices), 1), mesh.finish) for mesh in meshes])
    array = arrays.array([vertices, normals, colours, finishes])
    gl.glBindBuffer(gl.GL_ELEMENT_ARRAY_BUFFER, arrays.buffer())
    screen = view.on_screen(vertices)
    a, b, c = (screen.T[:, faces[:, corner]] for corner in range(3))
    low, high = np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)
    return Triangles(gl, view, array, faces.astype(np.uint32), low, high)


def _inks(display: NDArray[np.float64], lit: bool) -> NDArray[np.float64]:
    """Colours for the shaders: in linear light where there is light."""
    return linear_light(display) if lit else display

"""The scene in memory of the graphics card: arrays of vertices, and triangles of which a tile draws a part.

Views are the matrices that shaders are given of a camera, and places on the screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import RenderError
from ..scenes.scene import Mesh, Molecule, Scene
from ..surfaces.colour_maps import linear_light
from .camera import Camera

Window = tuple[int, int, int, int]
"""Part of a picture in pixels: x0, y0, x1, y1, y upwards."""

_EDGE = 4
"""Pixels around what is seen: the filter of the samples reaches one and a half."""


@dataclass(frozen=True, eq=False)
class View:
    """A camera before a scene.

    Attributes
    ----------
    camera : Camera
        With an eye.
    size : (int, int)
        Width and height of the picture in pixels.
    middle : ndarray, shape (3,)
        Of the scene, in bohr. Single precision is relative to it: it may be far from the origin of the file.
    matrix : ndarray, shape (4, 4)
        From positions relative to the middle to those that the camera sees: x right, y up, z out of the picture.
    near, far : float
        Between these distances from the eye, in bohr, is all of the scene that is before the eye.
    """

    camera: Camera
    size: tuple[int, int]
    middle: Reals
    matrix: Reals
    near: float
    far: float

    @classmethod
    def of(cls, scene: Scene, camera: Camera, size: tuple[int, int]) -> View:
        """The view of a scene in a picture of (width, height) pixels.

        Raises
        ------
        RenderError
            When the camera has no position.
        """
        if camera.eye is None:
            raise RenderError("camera: it has no position yet; call `camera.framed(scene, aspect)` first")
        centres, radii = scene.extent()
        middle = (centres.min(axis=0) + centres.max(axis=0)) / 2 if len(centres) else camera.eye
        matrix = np.eye(4)
        matrix[:3, :3] = camera.rotation
        matrix[:3, 3] = camera.rotation @ (middle - camera.eye)
        depths = -((centres - camera.eye) @ camera.rotation[2])
        far = float((depths + radii).max(initial=1.0)) * 1.01 + 0.01
        near = max(float((depths - radii).min(initial=far)) * 0.99 - 0.01, 1e-3 * far)
        if camera.depths is not None:
            near = max(near, camera.depths[0])
            far = max(min(far, camera.depths[1]), 1.001 * near)  # nothing is seen where these do not overlap
        return cls(camera, size, middle, matrix, near, far)

    def seen(self, relative: Reals) -> Reals:
        """Positions as the camera sees them, shape (n, 3), of positions relative to the middle."""
        return relative @ self.matrix[:3, :3].T + self.matrix[:3, 3]

    def on_screen(self, relative: Reals) -> Reals:
        """Places from -1 to 1, left to right and upwards, shape (n, 2); NaN for what is behind the eye."""
        seen = self.seen(relative)
        depth = -seen[:, 2:]
        across = 1.0 if self.camera.orthographic else np.maximum(depth, self.near)
        screen: Reals = seen[:, :2] / across / (self._slope * np.array([self._aspect, 1.0]))
        screen[depth[:, 0] < self.near] = np.nan
        return screen

    def occupied(self, scene: Scene) -> Window:
        """Part of the picture outside of which nothing of a scene is seen; all of it where that is not known."""
        whole = 0, 0, *self.size
        centres, radii = scene.extent()
        seen = self.seen(centres - self.middle)
        depths = -seen[:, 2]
        if not len(centres) or (depths - radii).min() < self.near:
            return whole
        edges: list[int] = []
        for axis, slope in ((0, self._slope * self._aspect), (1, self._slope)):
            found = []
            for sign in (-1, 1):  # the corners of a cube around each sphere are at least as far out as its outline
                across = sign * (seen[:, axis] + sign * radii)
                nearer, farther = (1.0, 1.0) if self.camera.orthographic else (depths - radii, depths + radii)
                found.append(sign * float(np.maximum(across / nearer, across / farther).max()) / slope)
            pixels = (np.array(found) + 1) / 2 * self.size[axis] + (-_EDGE, _EDGE)
            edges += np.clip(pixels, 0, self.size[axis]).astype(int).tolist()
        x0, x1, y0, y1 = edges
        return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else whole

    def projection(self, window: Window) -> Reals:
        """Projection of a window of the picture, shape (4, 4), from positions as the camera sees them."""
        slope, parallel = self._slope, self.camera.orthographic
        matrix = np.zeros((4, 4))
        for axis, scale in ((0, 1 / (slope * self._aspect)), (1, 1 / slope)):
            low, high = self.edges(window, axis)
            matrix[axis, axis] = scale * 2 / (high - low)
            matrix[axis, 3 if parallel else 2] = (high + low) / (high - low) * (-1 if parallel else 1)
        near, far = self.near, self.far
        if parallel:
            matrix[2, 2:] = 2 / (near - far), (far + near) / (near - far)
            matrix[3, 3] = 1
        else:
            matrix[2, 2:] = (far + near) / (near - far), 2 * far * near / (near - far)
            matrix[3, 2] = -1
        return matrix

    def edges(self, window: Window, axis: int) -> tuple[float, float]:
        """The two edges of a window along an axis of the screen, from -1 to 1."""
        low, high = (2 * window[axis + end] / self.size[axis] - 1 for end in (0, 2))
        return low, high

    @property
    def _aspect(self) -> float:
        return self.size[0] / self.size[1]

    @property
    def _slope(self) -> float:
        """Half the height of the picture: of an orthographic camera, or at unit distance from the eye."""
        if self.camera.height is not None and self.camera.orthographic:
            return self.camera.height / 2
        return float(np.tan(np.radians(self.camera.field_of_view) / 2))


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
    low: Reals
    high: Reals

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


def _inks(display: Reals, lit: bool) -> Reals:
    """Colours for the shaders: in linear light where there is light."""
    return linear_light(display) if lit else display

"""How a camera sees a scene: the matrices that shaders are given, and places on the screen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import RenderError
from ..scenes.scene import Scene
from .camera import Camera

Floats = NDArray[np.float64]

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
    middle: Floats
    matrix: Floats
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

    def seen(self, relative: Floats) -> Floats:
        """Positions as the camera sees them, shape (n, 3), of positions relative to the middle."""
        return relative @ self.matrix[:3, :3].T + self.matrix[:3, 3]

    def on_screen(self, relative: Floats) -> Floats:
        """Places from -1 to 1, left to right and upwards, shape (n, 2); NaN for what is behind the eye."""
        seen = self.seen(relative)
        depth = -seen[:, 2:]
        across = 1.0 if self.camera.orthographic else np.maximum(depth, self.near)
        screen: Floats = seen[:, :2] / across / (self._slope * np.array([self._aspect, 1.0]))
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

    def projection(self, window: Window) -> Floats:
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

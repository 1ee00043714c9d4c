r"""Volumes on the graphics card: fog that is marched through in a fragment shader, and planes across the line of sight.

The optical model is emission and absorption (N. Max, Optical Models for Direct Volume Rendering, IEEE Trans. Vis.
Comput. Graph. 1, 99 (1995), equation 5): along a line of sight the transparency is :math:`e^{-\int \tau(s) ds}`, with
the extinction :math:`\tau` of `orbitile.scenes.VolumeDrawing.extinction`. Each sample of a pixel begins at another
place of the first step, with noise, so that no bands are seen where fog is thin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import DeviceError, RenderError
from ..scenes.scene import VolumeDrawing
from ..surfaces.colour_maps import colours_along
from .context import Context

if TYPE_CHECKING:
    from .draw import Programs, View

VOLUMES = 4
"""Volumes of a picture at most, as in `volume_fragment.glsl`."""

_ANCHORS = 9
"""Colours of a map of a second field, as in `volume_fragment.glsl`."""

_STRIDE = 2.0
"""Step of a sample in spacings of the finest lattice; the four samples of a pixel are a quarter of it apart."""


class Volumes:
    """Volumes of a scene on the graphics card, for the time of one picture.

    Raises
    ------
    RenderError
        For more than four volumes.
    DeviceError
        For one with more points along an edge than textures of this graphics card can have.
    """

    def __init__(
        self, context: Context, programs: Programs, drawings: Sequence[VolumeDrawing], view: View, screen: int
    ) -> None:
        if len(drawings) > VOLUMES:
            raise RenderError(f"volumes of a picture: expected {VOLUMES} at most, got {len(drawings)}")
        self._context, self._programs, self._screen = context, programs, screen
        gl = context.gl
        most = int(gl.glGetIntegerv(gl.GL_MAX_3D_TEXTURE_SIZE))
        for drawing in drawings:
            if max(drawing.closed.values.shape) > most:
                raise DeviceError(
                    f"OpenGL ({context.renderer}): expected a volume of {most} points along an edge at most, got "
                    f"{' x '.join(map(str, drawing.closed.values.shape))}; take a coarser lattice (a larger spacing)"
                )
        self._count = len(drawings)
        self._textures = [self._texture(drawing) for drawing in drawings]
        self._uniforms: dict[str, Any] = {
            "stride": _STRIDE * float(min(drawing.closed.lattice.spacings.min() for drawing in drawings)),
            "middle": float(-view.seen(np.zeros((1, 3)))[0, 2]),
        }
        for n in range(self._count):
            self._uniforms[f"values{n}"] = 2 + n  # behind both depths; a sampler of another kind needs its own place
        for n, drawing in enumerate(drawings):
            positive, negative = drawing.colours
            self._uniforms |= {
                f"volumes[{n}].place": _to_indices(drawing, view),
                f"volumes[{n}].shape": [*map(float, drawing.closed.values.shape), 0.0],
                f"volumes[{n}].plus": [*positive, drawing.opacity if drawing.is_plane else drawing.density],
                f"volumes[{n}].minus": [*negative, 0.0],
                f"volumes[{n}].plane": drawing.is_plane,
                f"volumes[{n}].squared": drawing.is_squared,
                f"volumes[{n}].inked": drawing.colouring is not None,
            }
            if drawing.colouring is not None:
                anchors = colours_along(drawing.colouring.colour_map, np.linspace(0, 1, _ANCHORS))
                self._uniforms |= {f"volumes[{n}].map[{at}]": [*map(float, ink), 1.0] for at, ink in enumerate(anchors)}

    def _texture(self, drawing: VolumeDrawing) -> int:
        """A texture of the values in isovalues, as alpha; and of a second field in shares of its range, as red."""
        gl = self._context.gl
        values = np.nan_to_num(drawing.closed.values / drawing.isovalue).astype(np.float32)
        shape, shares = values.shape, drawing.shares()
        if shares is not None:
            values = np.stack([shares, values], axis=-1)
        kinds = (gl.GL_R32F, gl.GL_RED) if shares is None else (gl.GL_RG32F, gl.GL_RG)
        texture = int(gl.glGenTextures(1))
        gl.glBindTexture(gl.GL_TEXTURE_3D, texture)
        gl.glPixelStorei(gl.GL_UNPACK_ALIGNMENT, 1)
        gl.glTexImage3D(gl.GL_TEXTURE_3D, 0, kinds[0], *shape[::-1], 0, kinds[1], gl.GL_FLOAT, values)
        gl.glTexParameteri(gl.GL_TEXTURE_3D, gl.GL_TEXTURE_SWIZZLE_A, gl.GL_RED if shares is None else gl.GL_GREEN)
        for name in (gl.GL_TEXTURE_MIN_FILTER, gl.GL_TEXTURE_MAG_FILTER):
            gl.glTexParameteri(gl.GL_TEXTURE_3D, name, gl.GL_LINEAR)
        for name in (gl.GL_TEXTURE_WRAP_S, gl.GL_TEXTURE_WRAP_T, gl.GL_TEXTURE_WRAP_R):
            gl.glTexParameteri(gl.GL_TEXTURE_3D, name, gl.GL_CLAMP_TO_EDGE)
        return texture

    def draw(self, target: int, front: int | None, back: int, size: tuple[int, int]) -> None:
        """Lay what lies between two depths under what a framebuffer has.

        Parameters
        ----------
        target
            Framebuffer.
        front, back
            Textures of depth; without a front one, from the eye on.
        size
            Width and height of the tile in samples.
        """
        gl = self._context.gl
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, target)
        gl.glDisable(gl.GL_DEPTH_TEST)
        gl.glEnable(gl.GL_BLEND)
        gl.glBlendFunc(gl.GL_ONE_MINUS_DST_ALPHA, gl.GL_ONE)
        tile = [float(size[0]), float(size[1]), 0.0, 0.0]
        self._programs.use(f"volume{self._count}", front=0, back=1, first=front is None, tile=tile, **self._uniforms)
        for unit, texture in enumerate((back if front is None else front, back)):
            gl.glActiveTexture(gl.GL_TEXTURE0 + unit)
            gl.glBindTexture(gl.GL_TEXTURE_2D, texture)
        for n, texture in enumerate(self._textures):
            gl.glActiveTexture(gl.GL_TEXTURE2 + n)
            gl.glBindTexture(gl.GL_TEXTURE_3D, texture)
        gl.glActiveTexture(gl.GL_TEXTURE0)
        gl.glBindVertexArray(self._screen)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)
        gl.glDisable(gl.GL_BLEND)
        gl.glEnable(gl.GL_DEPTH_TEST)

    def delete(self) -> None:
        """Free the textures."""
        self._context.gl.glDeleteTextures(self._textures)


def _to_indices(drawing: VolumeDrawing, view: View) -> Any:
    """From positions as the camera sees them to indices of a lattice, shape (4, 4)."""
    lattice = drawing.closed.lattice
    inverse = np.linalg.inv(lattice.axes)
    matrix = np.eye(4)
    matrix[:3, :3] = inverse.T
    matrix[:3, 3] = (view.middle - lattice.origin) @ inverse
    return matrix @ np.linalg.inv(view.matrix)

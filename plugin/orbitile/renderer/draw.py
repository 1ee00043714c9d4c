"""How a scene becomes pixels in OpenGL: impostors, exact transparency, supersampling.

1. Balls and sticks are ray-cast: each is a box or a square that covers it, and the fragment shader finds where the
   line of sight hits the sphere or the cylinder, so outlines, depths and highlights are exact at any size.
2. Layers of translucent surfaces are mixed in the order of their depth (see `transparency`).
3. There are n x n samples a pixel, and a filter two pixels wide makes a pixel of them. The picture is made in tiles of
   samples, so that its size is limited neither by the largest texture nor by memory, and simple parts of it need few
   passes; where nothing is, nothing is drawn.

Light is added up in linear light; layers and samples are mixed in display values with premultiplied alpha. The latter
is what every program does that puts a picture with transparency on a page, so a transparent picture on white paper is
equal to the picture with a white background.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError
from ..scenes.scene import Scene
from .camera import Camera
from .context import Context, offscreen
from .framebuffers import Framebuffers, bind_textures, framebuffers
from .programs import Programs
from .transparency import Transparency
from .vertices import VertexArrays, upload_meshes, upload_molecule
from .view import View, Window

SAMPLES = 2
"""Samples along each edge of a pixel, as in `resolve_fragment.glsl`."""

TILE = 1024
"""Edge of a tile in samples, at most."""


def draw(
    scene: Scene,
    camera: Camera,
    size: tuple[int, int],
    *,
    background: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0),
) -> NDArray[np.uint8]:
    """Draw a scene.

    Parameters
    ----------
    scene
        What to draw.
    camera
        With an eye (see `Camera.framed`).
    size
        Width and height in pixels.
    background
        Red, green, blue (display values) and alpha.

    Returns
    -------
    ndarray of uint8, shape (height, width, 4)
        As from `orbitile.render`.

    Raises
    ------
    DeviceError
        When there is no OpenGL, or it runs out of memory.
    RenderError
        When the camera has no position.
    """
    view = View.of(scene, camera, size)
    width, height = size
    window = view.occupied(scene)
    result = np.empty((height, width, 4), np.uint8)
    with offscreen() as context:
        gl = context.gl
        try:
            with _painter(context, scene, view) as painter:
                limits = [gl.glGetIntegerv(gl.GL_MAX_TEXTURE_SIZE), *gl.glGetIntegerv(gl.GL_MAX_VIEWPORT_DIMS)]
                step = min(TILE, *(int(limit) for limit in limits)) // SAMPLES - 2
                # Tiles of nearly equal size: a sliver at the edge would cost as many passes as a full one.
                columns, rows = (
                    np.linspace(low, high, -(-(high - low) // step) + 1).astype(int)
                    for low, high in (window[::2], window[1::2])
                )
                tile = int(np.diff(columns).max()), int(np.diff(rows).max())
                with framebuffers(context, tile, SAMPLES) as buffers:
                    if window != (0, 0, *size):
                        x, y = (0 if low else length - 1 for low, length in zip(window[:2], size, strict=True))
                        result[:] = painter.tile((x, y, x + 1, y + 1), buffers, background)[0, 0]
                    for x0, x1 in pairwise(columns):
                        for y0, y1 in pairwise(rows):
                            part = painter.tile((x0, y0, x1, y1), buffers, background)
                            result[height - y1 : height - y0, x0:x1] = part[::-1]
        except gl.GLError as error:
            code = getattr(error, "err", None)
            what = "out of memory" if code == gl.GL_OUT_OF_MEMORY else f"error {code}"
            raise DeviceError(
                f"OpenGL ({context.renderer}) failed on a picture of {width} x {height} pixels: {what}; "
                "try a smaller picture"
            ) from error
    return result


class _Painter:
    """The scene on the graphics card, for the time of one picture."""

    def __init__(self, context: Context, scene: Scene, view: View) -> None:
        self._context, self._scene, self._view = context, scene, view
        self._arrays = VertexArrays(context.gl)
        self._screen = self._arrays.array([])
        self._programs = Programs(context, view=view.matrix, lit=scene.lit, parallel=view.camera.orthographic)
        self._transparency = Transparency(context, self._programs, self._arrays, self._screen)
        if len(scene.molecule.centres):
            self._balls, self._sticks = upload_molecule(self._arrays, scene.molecule, view, lit=scene.lit)
        self._solid, self._clear = (
            upload_meshes(context.gl, self._arrays, meshes, view, lit=scene.lit)
            for meshes in (
                [mesh for mesh in scene.meshes if mesh.is_opaque],
                [mesh for mesh in scene.meshes if not mesh.is_opaque],
            )
        )

    def delete(self) -> None:
        """Free what is on the graphics card."""
        self._context.gl.glUseProgram(0)
        self._transparency.delete()
        self._arrays.delete()

    def tile(
        self, window: Window, buffers: Framebuffers, background: tuple[float, float, float, float]
    ) -> NDArray[np.uint8]:
        """Pixels of a window of the picture, the lowest row first."""
        gl = self._context.gl
        x0, y0, x1, y1 = window
        window = x0 - 1, y0 - 1, x1 + 1, y1 + 1  # the edge that the filter needs
        size = (x1 - x0 + 2) * SAMPLES, (y1 - y0 + 2) * SAMPLES
        self._programs.shared["projection"] = self._view.projection(window)
        gl.glViewport(0, 0, *size)
        gl.glEnable(gl.GL_SCISSOR_TEST)
        gl.glScissor(0, 0, *size)
        gl.glDepthMask(True)
        gl.glDepthFunc(gl.GL_LESS)
        gl.glEnable(gl.GL_DEPTH_TEST)
        gl.glDisable(gl.GL_BLEND)
        gl.glDisable(gl.GL_CULL_FACE)
        gl.glDisable(gl.GL_DITHER)
        buffers.clear()
        self._draw_molecule()
        if self._solid is not None:
            self._programs.use("mesh")
            self._solid.draw(self._solid.select(window))
        if self._clear is not None and (n_indices := self._clear.select(window)):
            self._transparency.draw(buffers, self._clear, n_indices, size)
        return self._resolve(buffers, (x1 - x0, y1 - y0), background)

    def _draw_molecule(self) -> None:
        gl, molecule = self._context.gl, self._scene.molecule
        if len(molecule.bonds):
            self._programs.use("stick")
            gl.glBindVertexArray(self._sticks)
            gl.glEnable(gl.GL_CULL_FACE)  # the back of the box, so that each pixel is visited once
            gl.glCullFace(gl.GL_FRONT)
            gl.glDrawArraysInstanced(gl.GL_TRIANGLES, 0, 36, len(molecule.bonds))
            gl.glDisable(gl.GL_CULL_FACE)
        if len(molecule.centres):
            self._programs.use("sphere")
            gl.glBindVertexArray(self._balls)
            gl.glDrawArraysInstanced(gl.GL_TRIANGLE_STRIP, 0, 4, len(molecule.centres))

    def _resolve(
        self, buffers: Framebuffers, size: tuple[int, int], background: tuple[float, float, float, float]
    ) -> NDArray[np.uint8]:
        """Pixels of the samples of a tile of (width, height) pixels."""
        gl = self._context.gl
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, buffers.result)
        gl.glViewport(0, 0, *size)
        gl.glDisable(gl.GL_DEPTH_TEST)
        gl.glDisable(gl.GL_SCISSOR_TEST)
        *colour, alpha = background
        premultiplied = [channel * alpha for channel in colour] + [alpha]
        self._programs.use("resolve", solid=0, layers=1, background=premultiplied)
        bind_textures(self._context, buffers.solid_colour, buffers.sum_colour)
        gl.glBindVertexArray(self._screen)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)
        gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 1)
        pixels = gl.glReadPixels(0, 0, *size, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE)
        return np.frombuffer(pixels, np.uint8).reshape(size[1], size[0], 4)


@contextmanager
def _painter(context: Context, scene: Scene, view: View) -> Iterator[_Painter]:
    painter = _Painter(context, scene, view)
    try:
        yield painter
    finally:
        painter.delete()

"""Framebuffers: where a tile of a picture is drawn before it becomes pixels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import DeviceError
from .context import Context


class Framebuffers:
    """Framebuffers of one tile: for what is opaque, two with a depth each to peel into one sum in turns, the result.

    Attributes
    ----------
    solid, result : int
        Framebuffers.
    peel : list of (int, int)
        Framebuffer, and texture of its depth.
    solid_colour, sum_colour : int
        Textures.
    """

    def __init__(self, context: Context, tile: tuple[int, int], samples: int) -> None:
        self._gl, self._renderer = context.gl, context.renderer
        gl = self._gl
        self._textures: list[int] = []
        self._framebuffers: list[int] = []
        large = (tile[0] + 2) * samples, (tile[1] + 2) * samples
        self.solid_colour = self._texture(large, gl.GL_RGBA8, gl.GL_RGBA)
        # Float depth: a layer is told from the one before by comparing depths, and this keeps them as computed.
        depths = [self._texture(large, gl.GL_DEPTH_COMPONENT32F, gl.GL_DEPTH_COMPONENT) for _ in range(3)]
        self.solid = self._framebuffer(self.solid_colour, depths[0])
        self.sum_colour = self._texture(large, gl.GL_RGBA16F, gl.GL_RGBA)
        self.peel = [(self._framebuffer(self.sum_colour, depth), depth) for depth in depths[1:]]
        self.result = self._framebuffer(self._texture(tile, gl.GL_RGBA8, gl.GL_RGBA), None)

    def _framebuffer(self, colour: int, depth: int | None) -> int:
        gl = self._gl
        framebuffer = int(gl.glGenFramebuffers(1))
        self._framebuffers.append(framebuffer)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, framebuffer)
        for attachment, texture in ((gl.GL_COLOR_ATTACHMENT0, colour), (gl.GL_DEPTH_ATTACHMENT, depth)):
            if texture is not None:
                gl.glFramebufferTexture2D(gl.GL_FRAMEBUFFER, attachment, gl.GL_TEXTURE_2D, texture, 0)
        status = gl.glCheckFramebufferStatus(gl.GL_FRAMEBUFFER)
        if status != gl.GL_FRAMEBUFFER_COMPLETE:
            raise DeviceError(f"OpenGL ({self._renderer}): this driver refuses a framebuffer ({int(status):#x})")
        return framebuffer

    def _texture(self, size: tuple[int, int], internal: int, pixel: int) -> int:
        gl = self._gl
        texture = int(gl.glGenTextures(1))
        self._textures.append(texture)
        gl.glBindTexture(gl.GL_TEXTURE_2D, texture)
        gl.glTexImage2D(gl.GL_TEXTURE_2D, 0, internal, *size, 0, pixel, gl.GL_FLOAT, None)
        for name in (gl.GL_TEXTURE_MIN_FILTER, gl.GL_TEXTURE_MAG_FILTER):
            gl.glTexParameteri(gl.GL_TEXTURE_2D, name, gl.GL_NEAREST)
        return texture

    def clear(self) -> None:
        """Nothing drawn yet: no colour, and the greatest depth of what is opaque, from which peeling takes its own."""
        gl = self._gl
        gl.glClearColor(0, 0, 0, 0)
        gl.glClearDepth(1)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.peel[0][0])
        gl.glClear(gl.GL_COLOR_BUFFER_BIT)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.solid)
        gl.glClear(gl.GL_COLOR_BUFFER_BIT | gl.GL_DEPTH_BUFFER_BIT)

    def delete(self) -> None:
        """Free framebuffers and textures."""
        self._gl.glBindFramebuffer(self._gl.GL_FRAMEBUFFER, 0)
        self._gl.glDeleteFramebuffers(len(self._framebuffers), self._framebuffers)
        self._gl.glDeleteTextures(self._textures)


@contextmanager
def framebuffers(context: Context, tile: tuple[int, int], samples: int) -> Iterator[Framebuffers]:
    """The framebuffers of tiles of up to (width, height) pixels, freed when the block ends."""
    buffers = Framebuffers(context, tile, samples)
    try:
        yield buffers
    finally:
        buffers.delete()


def bind_textures(context: Context, *textures: int) -> None:
    """Textures for the samplers 0, 1, ... of a program."""
    gl = context.gl
    for unit, texture in enumerate(textures):
        gl.glActiveTexture(gl.GL_TEXTURE0 + unit)
        gl.glBindTexture(gl.GL_TEXTURE_2D, texture)

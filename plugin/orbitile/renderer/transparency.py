"""Translucent surfaces, mixed in the right order whatever the order of their triangles.

Fragments are collected in a list per sample in one pass, then taken from it nearest first and put under each other
(J. C. Yang et al., Real-Time Concurrent Linked List Construction on the GPU, Computer Graphics Forum 2010). That needs
OpenGL 4.3. With 3.3, and where a tile has too many fragments, they are peeled front to back (C. Everitt, Interactive
Order-Independent Transparency, NVIDIA 2001): pass n draws what is nearest behind the layer of pass n - 1, until a query
says that nothing is left. Both give the same picture; collecting draws each triangle once and not twice a layer.
"""

from __future__ import annotations

import numpy as np

from .context import Context
from .framebuffers import Framebuffers, bind_textures
from .programs import Programs
from .vertices import Triangles, VertexArrays

MAX_LAYERS = 200
"""Layers after which peeling stops. Orbitals of real molecules have 4 to 20 where they are most folded."""

FRAGMENTS = 1 << 22, 1 << 23
"""Fragments of a tile that are collected, to start with and at most; 16 bytes each."""


class Transparency:
    """Layers of translucent triangles, for the time of one picture."""

    def __init__(self, context: Context, programs: Programs, arrays: VertexArrays, screen: int) -> None:
        self._context, self._programs, self._arrays, self._screen = context, programs, arrays, screen
        self._query = int(np.ravel(context.gl.glGenQueries(1))[0])
        self._storage: tuple[int, int] | None = None
        self._capacity = 0

    def delete(self) -> None:
        """Free the query; buffers go with the vertex arrays."""
        self._context.gl.glDeleteQueries(1, [self._query])

    def draw(self, buffers: Framebuffers, triangles: Triangles, n_indices: int, size: tuple[int, int]) -> None:
        """Draw the triangles that were selected into the sum of a tile of (width, height) samples."""
        if not self._collect(buffers, triangles, n_indices, size):
            self._peel(buffers, triangles, n_indices)

    def _collect(self, buffers: Framebuffers, triangles: Triangles, n_indices: int, size: tuple[int, int]) -> bool:
        """From lists of fragments; False, with nothing drawn, where that is not possible."""
        if not self._context.has_storage:
            return False
        gl, target = self._context.gl, self._context.gl.GL_SHADER_STORAGE_BUFFER
        heads, nodes = self._lists(size[0] * size[1])
        most = min(FRAGMENTS[1], int(gl.glGetIntegerv(gl.GL_MAX_SHADER_STORAGE_BLOCK_SIZE)) // 16)
        while True:
            for binding, buffer in ((1, nodes), (0, heads)):
                gl.glBindBufferBase(target, binding, buffer)
            gl.glClearBufferData(target, gl.GL_R32UI, gl.GL_RED_INTEGER, gl.GL_UNSIGNED_INT, None)
            gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, buffers.solid)  # for its depth: nothing is collected behind it
            gl.glColorMask(False, False, False, False)
            gl.glDepthMask(False)
            self._programs.use("collect", width=size[0])
            triangles.draw(n_indices)
            gl.glColorMask(True, True, True, True)
            gl.glDepthMask(True)
            gl.glMemoryBarrier(gl.GL_ALL_BARRIER_BITS)
            count = np.zeros(4, np.uint8)  # bytes: PyOpenGL would fill a copy of another type
            gl.glGetBufferSubData(target, 0, count.nbytes, count)
            used = int(count.view(np.uint32)[0]) + 1
            if used <= self._capacity:
                break
            if used > most:
                return False
            self._make_space(nodes, min(most, 2 * used))
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, buffers.peel[0][0])
        gl.glDisable(gl.GL_DEPTH_TEST)
        self._programs.use("compose", width=size[0])
        gl.glBindVertexArray(self._screen)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)
        return True

    def _lists(self, n_samples: int) -> tuple[int, int]:
        """Storage for the lists of a tile: heads and nodes."""
        gl, target = self._context.gl, self._context.gl.GL_SHADER_STORAGE_BUFFER
        if self._storage is None:
            self._storage = self._arrays.buffer(), self._arrays.buffer()
            self._make_space(
                self._storage[1], min(FRAGMENTS[0], 4 * n_samples)
            )  # drivers may clear it: that takes time
        heads, nodes = self._storage
        gl.glBindBuffer(target, heads)
        gl.glBufferData(target, 4 + 4 * n_samples, None, gl.GL_DYNAMIC_DRAW)
        return heads, nodes

    def _make_space(self, nodes: int, n_fragments: int) -> None:
        gl, target = self._context.gl, self._context.gl.GL_SHADER_STORAGE_BUFFER
        self._capacity = n_fragments
        gl.glBindBuffer(target, nodes)
        gl.glBufferData(target, 16 * n_fragments, None, gl.GL_DYNAMIC_DRAW)

    def _peel(self, buffers: Framebuffers, triangles: Triangles, n_indices: int) -> None:
        gl = self._context.gl
        area = [int(edge) for edge in gl.glGetIntegerv(gl.GL_SCISSOR_BOX)]
        for layer in range(MAX_LAYERS):
            target, _ = buffers.peel[layer % 2]
            _, before = buffers.peel[(layer + 1) % 2]
            # The depth of what is opaque to start with, so that nothing behind it passes.
            gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, buffers.solid)
            gl.glBindFramebuffer(gl.GL_DRAW_FRAMEBUFFER, target)
            gl.glBlitFramebuffer(*area, *area, gl.GL_DEPTH_BUFFER_BIT, gl.GL_NEAREST)
            # First the depth of the layer alone: light is costly, and most fragments are not the nearest.
            gl.glColorMask(False, False, False, False)
            self._programs.use("peel", peeled=0, first=layer == 0)
            bind_textures(self._context, before)
            gl.glBeginQuery(gl.GL_SAMPLES_PASSED, self._query)
            triangles.draw(n_indices)
            gl.glEndQuery(gl.GL_SAMPLES_PASSED)
            gl.glColorMask(True, True, True, True)
            if not int(gl.glGetQueryObjectuiv(self._query, gl.GL_QUERY_RESULT)):
                break
            # Then its colour, under what is there: it adds what the layers before it let through.
            gl.glDepthFunc(gl.GL_EQUAL)
            gl.glDepthMask(False)
            gl.glEnable(gl.GL_BLEND)
            gl.glBlendFunc(gl.GL_ONE_MINUS_DST_ALPHA, gl.GL_ONE)
            self._programs.use("mesh")
            triangles.draw(n_indices)
            gl.glDisable(gl.GL_BLEND)
            gl.glDepthMask(True)
            gl.glDepthFunc(gl.GL_LESS)

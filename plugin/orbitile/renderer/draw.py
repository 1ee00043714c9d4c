"""How a scene becomes pixels in OpenGL: impostors, exact transparency, supersampling.

1. Balls and sticks are ray-cast: each is a box or a square that covers it, and the fragment shader finds where the
   line of sight hits the sphere or the cylinder, so outlines, depths and highlights are exact at any size.
2. Layers of translucent surfaces are mixed in the order of their depth (see below).
3. There are n x n samples a pixel, and a filter two pixels wide makes a pixel of them. The picture is made in tiles of
   samples, so that its size is limited neither by the largest texture nor by memory, and simple parts of it need few
   passes; where nothing is, nothing is drawn.

Light is added up in linear light; layers and samples are mixed in display values with premultiplied alpha. The latter
is what every program does that puts a picture with transparency on a page, so a transparent picture on white paper is
equal to the picture with a white background.

**Translucent surfaces** are mixed in the right order whatever the order of their triangles. Fragments are collected in
a list per sample in one pass, then taken from it nearest first and put under each other (J. C. Yang et al., Real-Time
Concurrent Linked List Construction on the GPU, Computer Graphics Forum 2010). That needs OpenGL 4.3. With 3.3, and
where a tile has too many fragments, they are peeled front to back (C. Everitt, Interactive Order-Independent
Transparency, NVIDIA 2001): pass n draws what is nearest behind the layer of pass n - 1, until a query says that nothing
is left. Both give the same picture; collecting draws each triangle once and not twice a layer. Where there are volumes
too, surfaces are peeled: what lies of the fog between two layers is laid under them in turns.

Shader programs are compiled once in a process. Views are the matrices that shaders are given of a camera, and places on
the screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import DeviceError, RenderError
from ..scenes import shader_source
from ..scenes.scene import Mesh, Molecule, Scene
from ..surfaces.colour_maps import linear_light
from .camera import Camera
from .context import Context, offscreen
from .volumes import VOLUMES, Volumes

SHADERS = {
    "sphere": ("sphere_vertex", "sphere_fragment"),
    "stick": ("stick_vertex", "stick_fragment"),
    "mesh": ("mesh_vertex", "mesh_fragment"),
    "peel": ("mesh_vertex", "peel_fragment"),
    "collect": ("mesh_vertex", "collect_fragment"),
    "compose": ("screen_vertex", "compose_fragment"),
    **{f"volume{n}": ("screen_vertex", "volume_fragment") for n in range(1, VOLUMES + 1)},
    "resolve": ("screen_vertex", "resolve_fragment"),
}
"""Vertex and fragment shader of each program: names of files in `scenes/shaders/`."""


class Programs:
    """The programs of a context.

    Attributes
    ----------
    shared : dict
        Uniforms that are given to each program that has them.
    """

    def __init__(self, context: Context, **shared: Any) -> None:
        self._context, self.shared = context, shared

    def use(self, name: str, **uniforms: Any) -> None:
        """Make a program current and set its uniforms.

        Parameters
        ----------
        name
            sphere, stick, mesh, peel, collect, compose, volume1 to volume4 or resolve.
        uniforms
            Floats, whole numbers, booleans, lists of four numbers, or matrices of shape (4, 4).

        Raises
        ------
        DeviceError
            When the driver refuses a shader.
        """
        gl = self._context.gl
        program, locations = _compiled(self._context, name)
        gl.glUseProgram(program)
        for uniform, value in {**self.shared, **uniforms}.items():
            location = locations.get(uniform, -1)
            if location < 0:
                continue
            if isinstance(value, float):
                gl.glUniform1f(location, value)
            elif isinstance(value, list):
                gl.glUniform4f(location, *value)
            elif isinstance(value, np.ndarray):
                gl.glUniformMatrix4fv(location, 1, True, value.astype(np.float32))
            else:
                gl.glUniform1i(location, int(value))


def _compiled(context: Context, name: str) -> tuple[int, dict[str, int]]:
    """A linked program and the locations of its uniforms."""
    if name not in context.kept:
        gl = context.gl
        program = gl.glCreateProgram()
        for kind, file in zip((gl.GL_VERTEX_SHADER, gl.GL_FRAGMENT_SHADER), SHADERS[name], strict=True):
            shader = gl.glCreateShader(kind)
            source = shader_source(file).replace("COUNT = 4", f"COUNT = {name[-1]}")  # of the volumes of volume1 to 4
            gl.glShaderSource(shader, source)
            gl.glCompileShader(shader)
            if not gl.glGetShaderiv(shader, gl.GL_COMPILE_STATUS):
                log = _text(gl.glGetShaderInfoLog(shader))
                raise DeviceError(f"OpenGL ({context.renderer}): shader {file!r}: {log}")
            gl.glAttachShader(program, shader)
            gl.glDeleteShader(shader)
        gl.glLinkProgram(program)
        if not gl.glGetProgramiv(program, gl.GL_LINK_STATUS):
            raise DeviceError(f"OpenGL ({context.renderer}): shader {name!r}: {_text(gl.glGetProgramInfoLog(program))}")
        active = range(gl.glGetProgramiv(program, gl.GL_ACTIVE_UNIFORMS))
        names = []
        for name_of, size in (gl.glGetActiveUniform(program, index)[:2] for index in active):
            uniform = _text(name_of)  # an array is told of by its first element
            names += [uniform] if size == 1 else [f"{uniform.removesuffix('[0]')}[{n}]" for n in range(size)]
        context.kept[name] = int(program), {uniform: gl.glGetUniformLocation(program, uniform) for uniform in names}
    return context.kept[name]


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


class Framebuffers:
    """Framebuffers of one tile: for what is opaque, two with a depth each to peel into one sum in turns, the result.

    Attributes
    ----------
    solid, sum, result : int
        Framebuffers; that of the sum has no depth.
    peel : list of (int, int)
        Framebuffer, and texture of its depth.
    solid_colour, solid_depth, sum_colour : int
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
        self.solid_depth = depths[0]
        self.solid = self._framebuffer(self.solid_colour, self.solid_depth)
        self.sum_colour = self._texture(large, gl.GL_RGBA16F, gl.GL_RGBA)
        self.peel = [(self._framebuffer(self.sum_colour, depth), depth) for depth in depths[1:]]
        self.sum = self._framebuffer(self.sum_colour, None)
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

    def close(self) -> None:
        """Free framebuffers and textures."""
        self._gl.glBindFramebuffer(self._gl.GL_FRAMEBUFFER, 0)
        self._gl.glDeleteFramebuffers(len(self._framebuffers), self._framebuffers)
        self._gl.glDeleteTextures(self._textures)


def bind_textures(context: Context, *textures: int) -> None:
    """Textures for the samplers 0, 1, ... of a program."""
    gl = context.gl
    for unit, texture in enumerate(textures):
        gl.glActiveTexture(gl.GL_TEXTURE0 + unit)
        gl.glBindTexture(gl.GL_TEXTURE_2D, texture)


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
        self._textures: list[int] = []
        self._capacity = 0

    def delete(self) -> None:
        """Free the query and textures; buffers go with the vertex arrays."""
        self._context.gl.glDeleteQueries(1, [self._query])
        self._context.gl.glDeleteTextures(self._textures)

    def draw(
        self,
        buffers: Framebuffers,
        triangles: Triangles,
        n_indices: int,
        size: tuple[int, int],
        volumes: Volumes | None,
    ) -> None:
        """Draw the triangles that were selected, and volumes, into the sum of a tile of (width, height) samples."""
        if volumes is not None or not self._collect(buffers, triangles, n_indices, size):
            self._peel(buffers, triangles, n_indices, size, volumes)

    def _collect(self, buffers: Framebuffers, triangles: Triangles, n_indices: int, size: tuple[int, int]) -> bool:
        """From lists of fragments; False, with nothing drawn, where that is not possible."""
        if not self._context.has_storage:
            return False
        gl, target = self._context.gl, self._context.gl.GL_SHADER_STORAGE_BUFFER
        longest = int(gl.glGetIntegerv(gl.GL_MAX_TEXTURE_BUFFER_SIZE))
        if size[0] * size[1] >= longest:
            return False
        heads, nodes = self._lists(size[0] * size[1])
        most = min(FRAGMENTS[1], longest, int(gl.glGetIntegerv(gl.GL_MAX_SHADER_STORAGE_BLOCK_SIZE)) // 16)
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
        self._programs.use("compose", width=size[0], lists=0, nodes=1)
        if not self._textures:
            self._textures = [int(texture) for texture in gl.glGenTextures(2)]
        for unit, (kind, buffer) in enumerate(((gl.GL_R32UI, heads), (gl.GL_RGBA32UI, nodes))):
            gl.glActiveTexture(gl.GL_TEXTURE0 + unit)
            gl.glBindTexture(gl.GL_TEXTURE_BUFFER, self._textures[unit])
            gl.glTexBuffer(gl.GL_TEXTURE_BUFFER, kind, buffer)
        gl.glBindVertexArray(self._screen)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)
        return True

    def _lists(self, n_samples: int) -> tuple[int, int]:
        """Storage for the lists of a tile: heads and nodes."""
        gl, target = self._context.gl, self._context.gl.GL_SHADER_STORAGE_BUFFER
        if self._storage is None:
            self._storage = self._arrays.buffer(), self._arrays.buffer()
            self._make_space(self._storage[1], min(FRAGMENTS[0], 4 * n_samples))  # drivers may clear it: takes time
        heads, nodes = self._storage
        gl.glBindBuffer(target, heads)
        gl.glBufferData(target, 4 + 4 * n_samples, None, gl.GL_DYNAMIC_DRAW)
        return heads, nodes

    def _make_space(self, nodes: int, n_fragments: int) -> None:
        gl, target = self._context.gl, self._context.gl.GL_SHADER_STORAGE_BUFFER
        self._capacity = n_fragments
        gl.glBindBuffer(target, nodes)
        gl.glBufferData(target, 16 * n_fragments, None, gl.GL_DYNAMIC_DRAW)

    def _peel(
        self,
        buffers: Framebuffers,
        triangles: Triangles,
        n_indices: int,
        size: tuple[int, int],
        volumes: Volumes | None,
    ) -> None:
        gl = self._context.gl
        area = [int(edge) for edge in gl.glGetIntegerv(gl.GL_SCISSOR_BOX)]
        for layer in range(MAX_LAYERS):
            target, depth = buffers.peel[layer % 2]
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
            if volumes is not None:  # behind the last layer this reaches to what is opaque
                volumes.draw(buffers.sum, before if layer else None, depth, size)
                gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, target)
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
            with closing(_Painter(context, scene, view)) as painter:
                limits = [gl.glGetIntegerv(gl.GL_MAX_TEXTURE_SIZE), *gl.glGetIntegerv(gl.GL_MAX_VIEWPORT_DIMS)]
                step = min(TILE, *(int(limit) for limit in limits)) // SAMPLES - 2
                # Tiles of nearly equal size: a sliver at the edge would cost as many passes as a full one.
                columns, rows = (
                    np.linspace(low, high, -(-(high - low) // step) + 1).astype(int)
                    for low, high in (window[::2], window[1::2])
                )
                tile = int(np.diff(columns).max()), int(np.diff(rows).max())
                with closing(Framebuffers(context, tile, SAMPLES)) as buffers:
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
            failed = f"OpenGL ({context.renderer}) failed on a picture of {width} x {height} pixels: {what}"
            raise DeviceError(f"{failed}; try a smaller picture") from error
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
        meshes = [[mesh for mesh in scene.meshes if mesh.is_opaque == opaque] for opaque in (True, False)]
        self._solid, self._clear = (
            upload_meshes(context.gl, self._arrays, some, view, lit=scene.lit) for some in meshes
        )
        drawn = scene.volumes
        self._volumes = Volumes(context, self._programs, drawn, view, self._screen) if drawn else None

    def close(self) -> None:
        """Free what is on the graphics card."""
        self._context.gl.glUseProgram(0)
        self._transparency.delete()
        if self._volumes is not None:
            self._volumes.delete()
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
            self._transparency.draw(buffers, self._clear, n_indices, size, self._volumes)
        elif self._volumes is not None:
            self._volumes.draw(buffers.sum, None, buffers.solid_depth, size)
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


# ---- the scene in memory of the graphics card

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
        centres, radii = scene.bounds()
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
        centres, radii = scene.bounds()
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

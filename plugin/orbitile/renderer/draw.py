"""How a scene becomes pixels in OpenGL: impostors, exact transparency, supersampling.

1. Balls and sticks are ray-cast: each is a box or a square that covers it, and the fragment shader finds where the
   line of sight hits the sphere or the cylinder, so outlines, depths and highlights are exact at any size.
2. Fragments of translucent surfaces are collected in a list per sample in one pass, then taken from it nearest first
   and put under each other (J. C. Yang et al., Real-Time Concurrent Linked List Construction on the GPU, Computer
   Graphics Forum 2010). That needs OpenGL 4.3. With 3.3, and where a tile has too many fragments, they are peeled front
   to back (C. Everitt, Interactive Order-Independent Transparency, NVIDIA 2001): pass n draws what is nearest behind
   the layer of pass n - 1, until a query says that nothing is left. Both give the same picture, in whatever order
   triangles come; collecting draws each triangle once and not twice a layer.
3. There are n x n samples a pixel, and a filter two pixels wide makes a pixel of them. The picture is made in tiles of
   samples, so that its size is limited neither by the largest texture nor by memory, and empty or simple parts of it
   need few passes.

Light is added up in linear light; layers and samples are mixed in display values with premultiplied alpha. The latter
is what every program does that puts a picture with transparency on a page, so a transparent picture on white paper is
equal to the picture with a white background.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError, RenderError
from .context import Context, offscreen
from .scene import Camera, Mesh, Molecule, Scene

MAX_LAYERS = 200
"""Layers after which peeling stops. Orbitals of real molecules have 4 to 20 where they are most folded."""

TILE = 1024
"""Edge of a tile in samples, at most."""

FRAGMENTS = 1 << 22, 1 << 23
"""Fragments of a tile that are collected, to start with and at most; 16 bytes each."""

DARKEST = 0.6
"""Share of the light that a mesh of matte finish has left where it is seen edge-on. Colours on it stand for values."""

_LIGHT = """
#version 330 core
uniform bool lit;
uniform bool parallel;                 // an orthographic camera: all lines of sight are parallel

vec3 sight(vec3 p) { return parallel ? vec3(0.0, 0.0, -1.0) : normalize(p); }

float depth_of(mat4 projection, vec3 p) {
    vec4 clip = projection * vec4(p, 1.0);
    return 0.5 + 0.5 * clip.z / clip.w;
}

vec3 to_display(vec3 c) {
    c = clamp(c, 0.0, 1.0);
    return mix(c * 12.92, 1.055 * pow(c, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c));
}

// Soft studio light, fixed to the camera: key from the upper left, fill from the right, sky and ground.
const vec3 KEY = normalize(vec3(-0.45, 0.65, 0.80));
const vec3 FILL = normalize(vec3(0.80, -0.10, 0.55));

vec3 shade(vec3 albedo, vec3 n, vec3 v, float gloss) {
    float key = max(dot(n, KEY), 0.0);
    float fill = 0.5 + 0.5 * dot(n, FILL);
    float sky = 0.5 + 0.5 * n.y;
    float diffuse = 0.70 * key + 0.20 * fill * fill + mix(0.16, 0.28, sky);
    vec3 h = normalize(KEY + v);
    float highlight = gloss * pow(max(dot(n, h), 0.0), 48.0);
    return albedo * diffuse + highlight;
}
"""

_SPHERE_VERTEX = """
#version 330 core
layout(location = 0) in vec3 centre;   // view space
layout(location = 1) in float radius;
layout(location = 2) in vec3 colour;   // linear light
uniform mat4 projection;
uniform bool parallel;
out vec3 ray;
flat out vec4 sphere;
flat out vec3 albedo;

void main() {
    // A square through the centre, at right angles to the line of sight, just large enough to cover the outline.
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
    float distance2 = dot(centre, centre);
    float size = parallel ? radius : radius * sqrt(distance2 / max(distance2 - radius * radius, 1e-6 * distance2));
    vec3 towards = parallel ? vec3(0.0, 0.0, 1.0) : -normalize(centre);
    vec3 right = normalize(cross(abs(towards.y) < 0.9 ? vec3(0, 1, 0) : vec3(1, 0, 0), towards));
    vec3 up = cross(towards, right);
    ray = centre + size * (corner.x * right + corner.y * up);
    sphere = vec4(centre, radius);
    albedo = colour;
    gl_Position = projection * vec4(ray, 1.0);
}
"""

_SPHERE_FRAGMENT = (
    _LIGHT
    + """
uniform mat4 projection;
in vec3 ray;
flat in vec4 sphere;
flat in vec3 albedo;
out vec4 fragment;

void main() {
    vec3 d = sight(ray);
    vec3 to_centre = sphere.xyz - ray;         // from a point nearby: no cancellation far from the eye
    float along = dot(d, to_centre);
    vec3 offset = to_centre - along * d;
    float depth2 = sphere.w * sphere.w - dot(offset, offset);
    if (depth2 < 0.0) discard;
    vec3 p = ray + (along - sqrt(depth2)) * d;
    gl_FragDepth = depth_of(projection, p);
    vec3 n = (p - sphere.xyz) / sphere.w;
    vec3 c = albedo;
    if (lit) {
        c = shade(0.94 * albedo, n, -d, 0.30);
        c *= mix(0.45, 1.0, smoothstep(0.0, 0.55, dot(n, -d)));   // darker rim: white atoms stand out from white paper
        c = to_display(c);
    }
    fragment = vec4(c, 1.0);
}
"""
)

_STICK_VERTEX = """
#version 330 core
layout(location = 0) in vec3 start;    // view space
layout(location = 1) in vec3 end;
layout(location = 2) in vec3 colour_start;
layout(location = 3) in vec3 colour_end;
uniform mat4 projection;
uniform float radius;
out vec3 ray;
flat out vec3 base;
flat out vec3 axis;
flat out float len;
flat out vec3 albedo_start;
flat out vec3 albedo_end;

// Two triangles for each side of a box, as bits of its corners
const int BOX[36] = int[36](0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                            2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5);

void main() {
    len = max(length(end - start), 1e-6);
    axis = (end - start) / len;
    vec3 u = normalize(cross(abs(axis.y) < 0.9 ? vec3(0, 1, 0) : vec3(1, 0, 0), axis));
    vec3 v = cross(axis, u);
    int corner = BOX[gl_VertexID];
    vec3 side = vec3(corner & 1, (corner >> 1) & 1, corner >> 2);
    ray = start + radius * ((2.0 * side.x - 1.0) * u + (2.0 * side.y - 1.0) * v) + side.z * len * axis;
    base = start;
    albedo_start = colour_start;
    albedo_end = colour_end;
    gl_Position = projection * vec4(ray, 1.0);
}
"""

_STICK_FRAGMENT = (
    _LIGHT
    + """
uniform mat4 projection;
uniform float radius;
in vec3 ray;
flat in vec3 base;
flat in vec3 axis;
flat in float len;
flat in vec3 albedo_start;
flat in vec3 albedo_end;
out vec4 fragment;

void main() {
    vec3 d = sight(ray);
    vec3 across = d - dot(d, axis) * axis;     // the problem in the plane at right angles to the stick
    vec3 b = base - ray - dot(base - ray, axis) * axis;
    float a = dot(across, across);
    float along = dot(across, b) / max(a, 1e-12);
    vec3 offset = b - along * across;
    float depth2 = radius * radius - dot(offset, offset);
    if (depth2 < 0.0) discard;
    vec3 p = ray + (along - sqrt(depth2 / max(a, 1e-12))) * d;
    float t = dot(p - base, axis);
    if (t < 0.0 || t > len) discard;           // the ends are inside balls, so no caps
    gl_FragDepth = depth_of(projection, p);
    vec3 n = (p - base - t * axis) / radius;
    vec3 c = t < 0.5 * len ? albedo_start : albedo_end;
    if (lit) {
        c = shade(0.94 * c, n, -d, 0.22);
        c *= mix(0.45, 1.0, smoothstep(0.0, 0.55, dot(n, -d)));
        c = to_display(c);
    }
    fragment = vec4(c, 1.0);
}
"""
)

_MESH_VERTEX = """
#version 330 core
layout(location = 0) in vec3 position; // relative to the middle of the scene
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 colour;   // linear light where the scene is lit, else display values
layout(location = 3) in float finish;  // 1 glass, 0.5 matte, 0 paper
uniform mat4 view;
uniform mat4 projection;
invariant gl_Position;
out vec3 p;
out vec3 n;
out vec4 paint;
flat out float surface;

void main() {
    vec4 seen = view * vec4(position, 1.0);
    p = seen.xyz;
    n = mat3(view) * normal;
    paint = colour;
    surface = finish;
    gl_Position = projection * seen;
}
"""

_MESH_PAINT = (
    _LIGHT
    + f"const float DARKEST = {DARKEST};\n"
    + """
in vec3 p;
in vec3 n;
in vec4 paint;
flat in float surface;

// Colour with premultiplied alpha
vec4 painted() {
    if (!lit) return vec4(paint.rgb * paint.a, paint.a);
    vec3 v = -sight(p);
    vec3 normal = normalize(n);
    float facing = dot(normal, v);
    bool inside = facing < 0.0;
    facing = abs(facing);
    vec3 c;
    float alpha = paint.a;
    if (surface > 0.75) {
        c = shade(paint.rgb, inside ? -normal : normal, v, inside ? 0.10 : 0.45);
        if (inside) c *= 0.85;
        // A glass wall is the denser the more it is seen edge-on: rims of lobes come out, their fronts stay clear.
        float rim = 1.0 - pow(1.0 - min(paint.a, 0.999), 1.0 / (0.28 + 0.72 * facing));
        alpha = paint.a >= 1.0 ? 1.0 : rim;
    } else {
        // All three channels of linear light by one factor: the lightness changes, and no hue (Oklab).
        float away = surface < 0.25 ? 0.0 : 1.0 - facing;
        c = mix(1.0, DARKEST, away * away) * paint.rgb;
    }
    return vec4(to_display(c) * alpha, alpha);
}
"""
)

_MESH_FRAGMENT = (
    _MESH_PAINT
    + """
out vec4 fragment;

void main() { fragment = painted(); }
"""
)

_PEEL_FRAGMENT = """
#version 330 core
uniform sampler2D peeled;              // depth of the layer before
uniform bool first;

void main() {
    if (!first && gl_FragCoord.z <= texelFetch(peeled, ivec2(gl_FragCoord.xy), 0).r) discard;
}
"""

_LISTS = """
layout(std430, binding = 0) buffer Heads { uint used; uint heads[]; };     // of the list of each sample, 0 for none
layout(std430, binding = 1) buffer Nodes { uvec4 nodes[]; };    // next, depth, colour with premultiplied alpha
uniform int width;
"""

_COLLECT_FRAGMENT = (
    _MESH_PAINT.replace("#version 330 core", "#version 430 core\nlayout(early_fragment_tests) in;" + _LISTS)
    + """
void main() {
    uint node = atomicAdd(used, 1u) + 1u;
    if (node >= uint(nodes.length())) return;      // counted all the same: the host makes room and draws again
    ivec2 at = ivec2(gl_FragCoord.xy);
    vec4 c = painted();
    uint next = atomicExchange(heads[at.y * width + at.x], node);
    nodes[node] = uvec4(next, floatBitsToUint(gl_FragCoord.z), packUnorm2x16(c.rg), packUnorm2x16(c.ba));
}
"""
)

_COMPOSE_FRAGMENT = (
    "#version 430 core\n"
    + _LISTS
    + """
out vec4 fragment;

// Bits of positive floats compare as the floats do. Between equal depths the colour decides, and not who came first.
bool nearer(uvec4 a, uvec4 b) {
    if (a.y != b.y) return a.y < b.y;
    return a.z != b.z ? a.z < b.z : a.w < b.w;
}

void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    uint head = heads[at.y * width + at.x];
    vec4 sum = vec4(0.0);
    while (head != 0u) {
        uvec4 first = nodes[head], nearest = first;
        uint found = head;
        for (uint node = first.x; node != 0u;) {
            uvec4 other = nodes[node];
            if (nearer(other, nearest)) {
                nearest = other;
                found = node;
            }
            node = other.x;
        }
        sum += (1.0 - sum.a) * vec4(unpackUnorm2x16(nearest.z), unpackUnorm2x16(nearest.w));
        if (found != head) nodes[found] = uvec4(nearest.x, first.yzw);     // the first takes the place of the nearest
        head = first.x;
    }
    fragment = sum;
}
"""
)

_SCREEN_VERTEX = """
#version 330 core
void main() { gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0, 0.0, 1.0); }
"""

_RESOLVE_FRAGMENT = """
#version 330 core
uniform sampler2D solid;               // premultiplied
uniform sampler2D layers;              // premultiplied
uniform int samples;
uniform vec4 background;               // premultiplied
out vec4 fragment;

void main() {
    // A tent two pixels wide: smoother than a mean over the pixel with as many samples.
    // The tile has an edge of a pixel for it.
    vec4 sum = vec4(0.0);
    float total = 0.0;
    ivec2 corner = (ivec2(gl_FragCoord.xy) + 1) * samples;
    for (int y = -samples / 2; y < samples + samples / 2; y++) {
        for (int x = -samples / 2; x < samples + samples / 2; x++) {
            vec2 offset = (vec2(x, y) + 0.5) / float(samples) - 0.5;
            float weight = max(1.0 - abs(offset.x), 0.0) * max(1.0 - abs(offset.y), 0.0);
            vec4 front = texelFetch(layers, corner + ivec2(x, y), 0);
            sum += weight * (front + (1.0 - front.a) * texelFetch(solid, corner + ivec2(x, y), 0));
            total += weight;
        }
    }
    sum /= total;
    sum += (1.0 - sum.a) * background;
    fragment = vec4(sum.rgb / max(sum.a, 1e-6), sum.a);    // straight alpha, as PNG wants it
}
"""

_PROGRAMS = {
    "sphere": (_SPHERE_VERTEX, _SPHERE_FRAGMENT),
    "stick": (_STICK_VERTEX, _STICK_FRAGMENT),
    "mesh": (_MESH_VERTEX, _MESH_FRAGMENT),
    "peel": (_MESH_VERTEX, _PEEL_FRAGMENT),
    "collect": (_MESH_VERTEX, _COLLECT_FRAGMENT),
    "compose": (_SCREEN_VERTEX, _COMPOSE_FRAGMENT),
    "resolve": (_SCREEN_VERTEX, _RESOLVE_FRAGMENT),
}


def draw(
    scene: Scene,
    camera: Camera,
    size: tuple[int, int],
    *,
    background: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0),
    samples: int = 2,
) -> NDArray[np.uint8]:
    """Draw a scene.

    Parameters
    ----------
    scene : Scene
    camera : Camera
        With an eye (see `Camera.framed`).
    size : (int, int)
        Width and height in pixels.
    background
        Red, green, blue (display values) and alpha.
    samples : int
        Samples along each edge of a pixel.

    Returns
    -------
    ndarray of uint8, shape (height, width, 4)
        Red, green, blue and straight alpha, the upper row first.

    Raises
    ------
    DeviceError
        When there is no OpenGL, or it runs out of memory.
    RenderError
        When the camera has no position.
    """
    if camera.eye is None:
        raise RenderError("camera: it has no position yet; call `camera.framed(scene, aspect)` first")
    width, height = size
    result = np.empty((height, width, 4), np.uint8)
    with offscreen() as context:
        gl = context.gl
        try:
            with _Painter(context, scene, camera, width / height) as painter:
                limits = [gl.glGetIntegerv(gl.GL_MAX_TEXTURE_SIZE), *gl.glGetIntegerv(gl.GL_MAX_VIEWPORT_DIMS)]
                step = min(TILE, *(int(limit) for limit in limits)) // samples - 2
                # Tiles of nearly equal size: a sliver at the edge would cost as many passes as a full one.
                columns, rows = (np.linspace(0, n, -(-n // step) + 1).astype(int) for n in size)
                tile = int(np.diff(columns).max()), int(np.diff(rows).max())
                with _buffers(context, tile, samples) as buffers:
                    for x0, x1 in pairwise(columns):
                        for y0, y1 in pairwise(rows):
                            part = painter.tile((x0, y0, x1, y1), size, buffers, samples, background)
                            result[height - y1 : height - y0, x0:x1] = part[::-1]
        except gl.GLError as error:
            code = getattr(error, "err", None)
            what = "out of memory" if code == gl.GL_OUT_OF_MEMORY else f"error {code}"
            raise DeviceError(
                f"OpenGL ({context.renderer}) failed on a picture of {width} x {height} pixels: {what}; "
                "try a smaller picture"
            ) from error
    return result


class _Buffers:
    """Framebuffers of one tile: for what is opaque, two with a depth each to peel into one sum in turns, the result."""

    def __init__(self, context: Context, tile: tuple[int, int], samples: int) -> None:
        self.gl, self.renderer = context.gl, context.renderer
        gl = self.gl
        self.textures: list[int] = []
        self.framebuffers: list[int] = []
        large = (tile[0] + 2) * samples, (tile[1] + 2) * samples
        self.solid_colour = self._texture(large, gl.GL_RGBA8, gl.GL_RGBA)
        # Float depth: a layer is told from the one before by comparing depths, and this keeps them as computed.
        depths = [self._texture(large, gl.GL_DEPTH_COMPONENT32F, gl.GL_DEPTH_COMPONENT) for _ in range(3)]
        self.solid_depth = depths[0]
        self.solid = self._framebuffer(self.solid_colour, self.solid_depth)
        self.sum_colour = self._texture(large, gl.GL_RGBA16F, gl.GL_RGBA)
        self.peel = [(self._framebuffer(self.sum_colour, depth), depth) for depth in depths[1:]]
        self.result = self._framebuffer(self._texture(tile, gl.GL_RGBA8, gl.GL_RGBA), None)

    def _framebuffer(self, colour: int, depth: int | None) -> int:
        gl = self.gl
        framebuffer = int(gl.glGenFramebuffers(1))
        self.framebuffers.append(framebuffer)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, framebuffer)
        for attachment, texture in ((gl.GL_COLOR_ATTACHMENT0, colour), (gl.GL_DEPTH_ATTACHMENT, depth)):
            if texture is not None:
                gl.glFramebufferTexture2D(gl.GL_FRAMEBUFFER, attachment, gl.GL_TEXTURE_2D, texture, 0)
        status = gl.glCheckFramebufferStatus(gl.GL_FRAMEBUFFER)
        if status != gl.GL_FRAMEBUFFER_COMPLETE:
            raise DeviceError(f"OpenGL ({self.renderer}): this driver refuses a framebuffer ({int(status):#x})")
        return framebuffer

    def _texture(self, size: tuple[int, int], internal: int, pixel: int) -> int:
        gl = self.gl
        texture = int(gl.glGenTextures(1))
        self.textures.append(texture)
        gl.glBindTexture(gl.GL_TEXTURE_2D, texture)
        gl.glTexImage2D(gl.GL_TEXTURE_2D, 0, internal, *size, 0, pixel, gl.GL_FLOAT, None)
        for name in (gl.GL_TEXTURE_MIN_FILTER, gl.GL_TEXTURE_MAG_FILTER):
            gl.glTexParameteri(gl.GL_TEXTURE_2D, name, gl.GL_NEAREST)
        return texture

    def delete(self) -> None:
        self.gl.glBindFramebuffer(self.gl.GL_FRAMEBUFFER, 0)
        self.gl.glDeleteFramebuffers(len(self.framebuffers), self.framebuffers)
        self.gl.glDeleteTextures(self.textures)


@contextmanager
def _buffers(context: Context, tile: tuple[int, int], samples: int) -> Iterator[_Buffers]:
    buffers = _Buffers(context, tile, samples)
    try:
        yield buffers
    finally:
        buffers.delete()


@dataclass(frozen=True, eq=False)
class _Triangles:
    """A mesh on the graphics card, and what is needed to pick the part of it that a tile shows.

    Attributes
    ----------
    array : int
        Vertex array.
    faces : ndarray of uint32, shape (m, 3)
    low, high : ndarray, shape (2, m)
        Least and greatest place of each face on the screen, -1 to 1 each way; NaN where a corner is behind the eye.
    """

    array: int
    faces: NDArray[np.uint32]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class _Painter:
    """The scene in buffers of the graphics card, for the time of one picture."""

    def __init__(self, context: Context, scene: Scene, camera: Camera, aspect: float) -> None:
        self.gl, self.context, self.scene, self.camera, self.aspect = context.gl, context, scene, camera, aspect
        self.arrays: list[int] = []
        self.vertex_buffers: list[int] = []
        self.storage: list[int] = []
        self.room = 0

    def __enter__(self) -> _Painter:
        gl, camera, scene = self.gl, self.camera, self.scene
        eye = np.zeros(3) if camera.eye is None else camera.eye  # `draw` refuses None
        centres, radii = scene.extent()
        # Single precision is relative to the middle of the scene, which may be far from the origin of the file.
        self.middle = (centres.min(axis=0) + centres.max(axis=0)) / 2 if len(centres) else eye
        self.view = np.eye(4)
        self.view[:3, :3] = camera.rotation
        self.view[:3, 3] = camera.rotation @ (self.middle - eye)
        depths = -((centres - eye) @ camera.rotation[2])
        far = float((depths + radii).max(initial=1.0)) * 1.01 + 0.01
        self.near, self.far = max(float((depths - radii).min(initial=far)) * 0.99 - 0.01, 1e-3 * far), far
        self.query = int(np.ravel(gl.glGenQueries(1))[0])
        self.empty = self._array([])
        molecule = scene.molecule
        self.n_balls, self.n_sticks = len(molecule.centres), len(molecule.bonds)
        if self.n_balls:
            self.balls, self.sticks = self._upload_molecule(molecule)
        self.solid = self._upload_meshes([mesh for mesh in scene.meshes if mesh.is_opaque])
        self.clear = self._upload_meshes([mesh for mesh in scene.meshes if not mesh.is_opaque])
        return self

    def __exit__(self, *_: object) -> None:
        gl = self.gl
        gl.glBindVertexArray(0)
        gl.glUseProgram(0)
        gl.glDeleteVertexArrays(len(self.arrays), self.arrays)
        gl.glDeleteBuffers(len(self.vertex_buffers), self.vertex_buffers)
        gl.glDeleteQueries(1, [self.query])

    def tile(
        self,
        window: tuple[int, int, int, int],
        size: tuple[int, int],
        buffers: _Buffers,
        samples: int,
        background: tuple[float, float, float, float],
    ) -> NDArray[np.uint8]:
        """Pixels of the window (x0, y0, x1, y1; y upwards) of a picture, the lowest row first."""
        gl = self.gl
        x0, y0, x1, y1 = window
        window = x0 - 1, y0 - 1, x1 + 1, y1 + 1  # the edge that the filter needs
        large = (x1 - x0 + 2) * samples, (y1 - y0 + 2) * samples
        self.projection = self._project(window, size)
        gl.glViewport(0, 0, *large)
        gl.glEnable(gl.GL_SCISSOR_TEST)
        gl.glScissor(0, 0, *large)
        gl.glDepthMask(True)
        gl.glDepthFunc(gl.GL_LESS)
        gl.glEnable(gl.GL_DEPTH_TEST)
        gl.glDisable(gl.GL_BLEND)
        gl.glDisable(gl.GL_CULL_FACE)
        gl.glDisable(gl.GL_DITHER)
        self._clear(buffers.peel[0][0])
        self._clear(buffers.solid)
        self._draw_molecule()
        if self.solid is not None:
            self._use("mesh", view=self.view)
            self._draw_meshes(self.solid, self._select(self.solid, window, size))
        if self.clear is not None:
            n = self._select(self.clear, window, size)
            if n and not self._collect(buffers, self.clear, n, large):
                self._peel(buffers, self.clear, n)
        return self._resolve(buffers, (x1 - x0, y1 - y0), samples, background)

    def _draw_molecule(self) -> None:
        gl, molecule = self.gl, self.scene.molecule
        if self.n_sticks:
            self._use("stick", radius=molecule.stick_radius)
            gl.glBindVertexArray(self.sticks)
            gl.glEnable(gl.GL_CULL_FACE)  # the back of the box, so that each pixel is visited once
            gl.glCullFace(gl.GL_FRONT)
            gl.glDrawArraysInstanced(gl.GL_TRIANGLES, 0, 36, self.n_sticks)
            gl.glDisable(gl.GL_CULL_FACE)
        if self.n_balls:
            self._use("sphere")
            gl.glBindVertexArray(self.balls)
            gl.glDrawArraysInstanced(gl.GL_TRIANGLE_STRIP, 0, 4, self.n_balls)

    def _collect(self, buffers: _Buffers, triangles: _Triangles, n: int, size: tuple[int, int]) -> bool:
        """Transparency from lists of fragments; False, with nothing drawn, where that is not possible."""
        if not self.context.has_storage:
            return False
        gl, target = self.gl, self.gl.GL_SHADER_STORAGE_BUFFER
        heads, nodes = self._lists(size[0] * size[1])
        most = min(FRAGMENTS[1], int(gl.glGetIntegerv(gl.GL_MAX_SHADER_STORAGE_BLOCK_SIZE)) // 16)
        while True:
            for binding, buffer in ((1, nodes), (0, heads)):
                gl.glBindBufferBase(target, binding, buffer)
            gl.glClearBufferData(target, gl.GL_R32UI, gl.GL_RED_INTEGER, gl.GL_UNSIGNED_INT, None)
            gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, buffers.solid)  # for its depth: nothing is collected behind it
            gl.glColorMask(False, False, False, False)
            gl.glDepthMask(False)
            self._use("collect", view=self.view, width=size[0])
            self._draw_meshes(triangles, n)
            gl.glColorMask(True, True, True, True)
            gl.glDepthMask(True)
            gl.glMemoryBarrier(gl.GL_ALL_BARRIER_BITS)
            count = np.zeros(4, np.uint8)  # bytes: PyOpenGL would fill a copy of another type
            gl.glGetBufferSubData(target, 0, count.nbytes, count)
            used = int(count.view(np.uint32)[0]) + 1
            if used <= self.room:
                break
            if used > most:
                return False
            self.room = min(most, 2 * used)
            gl.glBindBuffer(target, nodes)
            gl.glBufferData(target, 16 * self.room, None, gl.GL_DYNAMIC_DRAW)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, buffers.peel[0][0])
        gl.glDisable(gl.GL_DEPTH_TEST)
        self._use("compose", width=size[0])
        self._draw_screen()
        return True

    def _lists(self, n_samples: int) -> tuple[int, int]:
        """Storage for the lists of a tile: heads and nodes."""
        gl, target = self.gl, self.gl.GL_SHADER_STORAGE_BUFFER
        if not self.storage:
            self.storage = [int(buffer) for buffer in gl.glGenBuffers(2)]
            self.vertex_buffers += self.storage
            self.room = min(FRAGMENTS[0], 4 * n_samples)  # drivers may clear it, which takes time
            gl.glBindBuffer(target, self.storage[1])
            gl.glBufferData(target, 16 * self.room, None, gl.GL_DYNAMIC_DRAW)
        heads, nodes = self.storage
        gl.glBindBuffer(target, heads)
        gl.glBufferData(target, 4 + 4 * n_samples, None, gl.GL_DYNAMIC_DRAW)
        return heads, nodes

    def _peel(self, buffers: _Buffers, triangles: _Triangles, n: int) -> None:
        gl = self.gl
        area = [int(n) for n in gl.glGetIntegerv(gl.GL_SCISSOR_BOX)]
        for layer in range(MAX_LAYERS):
            target, _ = buffers.peel[layer % 2]
            _, before = buffers.peel[(layer + 1) % 2]
            # The depth of what is opaque to start with, so that nothing behind it passes.
            gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, buffers.solid)
            gl.glBindFramebuffer(gl.GL_DRAW_FRAMEBUFFER, target)
            gl.glBlitFramebuffer(*area, *area, gl.GL_DEPTH_BUFFER_BIT, gl.GL_NEAREST)
            # First the depth of the layer alone: light is costly, and most fragments are not the nearest.
            gl.glColorMask(False, False, False, False)
            self._use("peel", view=self.view, peeled=0, first=layer == 0)
            self._bind(before)
            gl.glBeginQuery(gl.GL_SAMPLES_PASSED, self.query)
            self._draw_meshes(triangles, n)
            gl.glEndQuery(gl.GL_SAMPLES_PASSED)
            gl.glColorMask(True, True, True, True)
            if not int(gl.glGetQueryObjectuiv(self.query, gl.GL_QUERY_RESULT)):
                break
            # Then its colour, under what is there: it adds what the layers before it let through.
            gl.glDepthFunc(gl.GL_EQUAL)
            gl.glDepthMask(False)
            gl.glEnable(gl.GL_BLEND)
            gl.glBlendFunc(gl.GL_ONE_MINUS_DST_ALPHA, gl.GL_ONE)
            self._use("mesh", view=self.view)
            self._draw_meshes(triangles, n)
            gl.glDisable(gl.GL_BLEND)
            gl.glDepthMask(True)
            gl.glDepthFunc(gl.GL_LESS)

    def _resolve(
        self, buffers: _Buffers, size: tuple[int, int], samples: int, background: tuple[float, float, float, float]
    ) -> NDArray[np.uint8]:
        gl = self.gl
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, buffers.result)
        gl.glViewport(0, 0, *size)
        gl.glDisable(gl.GL_DEPTH_TEST)
        gl.glDisable(gl.GL_SCISSOR_TEST)
        *colour, alpha = background
        self._use("resolve", solid=0, layers=1, samples=samples, background=[c * alpha for c in colour] + [alpha])
        self._bind(buffers.solid_colour, buffers.sum_colour)
        self._draw_screen()
        gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 1)
        pixels = gl.glReadPixels(0, 0, *size, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE)
        return np.frombuffer(pixels, np.uint8).reshape(size[1], size[0], 4)

    def _project(self, window: tuple[int, int, int, int], size: tuple[int, int]) -> NDArray[np.float64]:
        """Projection of one window of the picture."""
        slope, parallel = self._slope(), self.camera.orthographic
        matrix = np.zeros((4, 4))
        for axis, scale in ((0, 1 / (slope * self.aspect)), (1, 1 / slope)):
            low, high = (2 * window[axis + end] / size[axis] - 1 for end in (0, 2))
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

    def _slope(self) -> float:
        """Half the height of the picture: of an orthographic camera, or at unit distance from the eye."""
        if self.camera.height is not None and self.camera.orthographic:
            return self.camera.height / 2
        return float(np.tan(np.radians(self.camera.field_of_view) / 2))

    def _inks(self, display: NDArray[np.float64]) -> NDArray[np.float64]:
        """Colours for the shaders: in linear light where there is light."""
        if not self.scene.lit:
            return display
        linear: NDArray[np.float64] = np.where(display > 0.04045, ((display + 0.055) / 1.055) ** 2.4, display / 12.92)
        return linear

    def _upload_molecule(self, molecule: Molecule) -> tuple[int, int]:
        centres = (molecule.centres - self.middle) @ self.view[:3, :3].T + self.view[:3, 3]
        colours = self._inks(molecule.colours)
        balls = self._array([centres, molecule.radii[:, None], colours], divisor=1)
        first, second = molecule.bonds.T
        sticks = self._array([centres[first], centres[second], colours[first], colours[second]], divisor=1)
        return balls, sticks

    def _upload_meshes(self, meshes: list[Mesh]) -> _Triangles | None:
        """All meshes as one, or None where there are none."""
        if not meshes:
            return None
        vertices = np.concatenate([mesh.vertices - self.middle for mesh in meshes])
        normals = np.concatenate([mesh.normals for mesh in meshes])
        colours = np.concatenate([mesh.colours for mesh in meshes]).astype(np.float64)
        colours[:, :3] = self._inks(colours[:, :3])
        starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
        faces = np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts[:-1], strict=True)])
        finishes = np.concatenate([np.full((len(mesh.vertices), 1), mesh.finish) for mesh in meshes])
        array = self._array([vertices, normals, colours, finishes])
        self._buffer(self.gl.GL_ELEMENT_ARRAY_BUFFER, np.zeros(0, np.uint32))
        seen = vertices @ self.view[:3, :3].T + self.view[:3, 3]
        depth = -seen[:, 2:]
        across = 1.0 if self.camera.orthographic else np.maximum(depth, self.near)
        screen = seen[:, :2] / across / (self._slope() * np.array([self.aspect, 1.0]))
        screen[depth[:, 0] < self.near] = np.nan  # behind the eye: it has no place on the screen
        a, b, c = (screen.T[:, faces[:, corner]] for corner in range(3))
        low, high = np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)
        return _Triangles(array, faces.astype(np.uint32), low, high)

    def _array(self, columns: list[NDArray[np.floating]], divisor: int = 0) -> int:
        """A vertex array whose attribute n is column n, shape (vertices, components)."""
        gl = self.gl
        array = int(gl.glGenVertexArrays(1))
        self.arrays.append(array)
        gl.glBindVertexArray(array)
        for location, column in enumerate(columns):
            self._buffer(gl.GL_ARRAY_BUFFER, np.ascontiguousarray(column, np.float32))
            gl.glEnableVertexAttribArray(location)
            gl.glVertexAttribPointer(location, column.shape[1], gl.GL_FLOAT, False, 0, None)
            gl.glVertexAttribDivisor(location, divisor)
        return array

    def _buffer(self, target: int, data: NDArray[Any]) -> None:
        buffer = int(self.gl.glGenBuffers(1))
        self.vertex_buffers.append(buffer)
        self.gl.glBindBuffer(target, buffer)
        self.gl.glBufferData(target, data.nbytes, data, self.gl.GL_STATIC_DRAW)

    def _select(self, triangles: _Triangles, window: tuple[int, int, int, int], size: tuple[int, int]) -> int:
        """Put the triangles that may touch a window into the index buffer; the result is the number of indices.

        Each is drawn twice a layer, and software renderers spend about as much time on triangles as on pixels.
        """
        outside = np.zeros(len(triangles.faces), bool)
        for axis in (0, 1):
            low, high = (2 * window[axis + end] / size[axis] - 1 for end in (0, 2))
            outside |= (triangles.high[axis] < low) | (triangles.low[axis] > high)  # false for NaN: those are drawn
        faces = triangles.faces[~outside]
        self.gl.glBindVertexArray(triangles.array)
        self.gl.glBufferData(self.gl.GL_ELEMENT_ARRAY_BUFFER, faces.nbytes, faces, self.gl.GL_STREAM_DRAW)
        return int(faces.size)

    def _draw_meshes(self, triangles: _Triangles, n: int) -> None:
        self.gl.glBindVertexArray(triangles.array)
        self.gl.glDrawElements(self.gl.GL_TRIANGLES, n, self.gl.GL_UNSIGNED_INT, None)

    def _draw_screen(self) -> None:
        self.gl.glBindVertexArray(self.empty)
        self.gl.glDrawArrays(self.gl.GL_TRIANGLES, 0, 3)

    def _clear(self, framebuffer: int) -> None:
        gl = self.gl
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, framebuffer)
        gl.glClearColor(0, 0, 0, 0)
        gl.glClearDepth(1)
        gl.glClear(gl.GL_COLOR_BUFFER_BIT | gl.GL_DEPTH_BUFFER_BIT)

    def _bind(self, *textures: int) -> None:
        for unit, texture in enumerate(textures):
            self.gl.glActiveTexture(self.gl.GL_TEXTURE0 + unit)
            self.gl.glBindTexture(self.gl.GL_TEXTURE_2D, texture)

    def _use(self, name: str, **uniforms: Any) -> None:
        """Make a program current and set its uniforms; those that all scenes share are added."""
        gl = self.gl
        program, locations = _program(self.context, name)
        gl.glUseProgram(program)
        parallel = self.camera.orthographic
        shared = {"projection": self.projection, "lit": self.scene.lit, "parallel": parallel, **uniforms}
        for uniform, value in shared.items():
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


def _program(context: Context, name: str) -> tuple[int, dict[str, int]]:
    """A linked program and the locations of its uniforms, compiled once in a process."""
    if name not in context.kept:
        gl = context.gl
        program = gl.glCreateProgram()
        for kind, source in zip((gl.GL_VERTEX_SHADER, gl.GL_FRAGMENT_SHADER), _PROGRAMS[name], strict=True):
            shader = gl.glCreateShader(kind)
            gl.glShaderSource(shader, source.strip())
            gl.glCompileShader(shader)
            if not gl.glGetShaderiv(shader, gl.GL_COMPILE_STATUS):
                raise DeviceError(
                    f"OpenGL ({context.renderer}): shader {name!r}: {_text(gl.glGetShaderInfoLog(shader))}"
                )
            gl.glAttachShader(program, shader)
            gl.glDeleteShader(shader)
        gl.glLinkProgram(program)
        if not gl.glGetProgramiv(program, gl.GL_LINK_STATUS):
            raise DeviceError(f"OpenGL ({context.renderer}): shader {name!r}: {_text(gl.glGetProgramInfoLog(program))}")
        active = range(gl.glGetProgramiv(program, gl.GL_ACTIVE_UNIFORMS))
        names = [_text(gl.glGetActiveUniform(program, index)[0]) for index in active]
        context.kept[name] = int(program), {uniform: gl.glGetUniformLocation(program, uniform) for uniform in names}
    found: tuple[int, dict[str, int]] = context.kept[name]
    return found


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

"""Shader programs, compiled once in a process, and their uniforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DeviceError
from ..scenes.shading import shader_source
from .context import Context

SHADERS = {
    "sphere": ("sphere_vertex", "sphere_fragment"),
    "stick": ("stick_vertex", "stick_fragment"),
    "mesh": ("mesh_vertex", "mesh_fragment"),
    "peel": ("mesh_vertex", "peel_fragment"),
    "collect": ("mesh_vertex", "collect_fragment"),
    "compose": ("screen_vertex", "compose_fragment"),
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
            sphere, stick, mesh, peel, collect, compose or resolve.
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
            gl.glShaderSource(shader, shader_source(file))
            gl.glCompileShader(shader)
            if not gl.glGetShaderiv(shader, gl.GL_COMPILE_STATUS):
                raise DeviceError(
                    f"OpenGL ({context.renderer}): shader {file!r}: {_text(gl.glGetShaderInfoLog(shader))}"
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

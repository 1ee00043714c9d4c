"""Shaders: their files, and what becomes of them."""

from importlib.resources import files

import pytest

from orbitile.base.errors import DeviceError

pytest.importorskip("OpenGL")

from orbitile.renderer import draw
from orbitile.renderer.context import offscreen
from orbitile.renderer.draw import SHADERS, Programs
from orbitile.scenes import shader_source


def test_files_are_included_whole_and_version_comes_first():
    source = shader_source("mesh_fragment")
    lines = source.splitlines()
    assert lines[0] == "#version 330 core"
    assert source.count("#version") == 1
    assert "#include" not in source
    assert source.index("vec3 shade(") < source.index("vec4 painted()") < source.index("void main()")


def test_every_file_is_part_of_a_program():
    stored = {file.name for file in (files("orbitile.scenes") / "shaders").iterdir()}
    shader_source.cache_clear()
    for pair in SHADERS.values():
        for name in pair:
            shader_source(name)
    assert shader_source.cache_info().currsize == len(stored)


@pytest.mark.parametrize("name", SHADERS)
def test_every_program_compiles(monkeypatch, name):
    with offscreen() as context:
        if name in ("collect", "compose") and not context.has_storage:
            pytest.skip("needs OpenGL 4.3")
        monkeypatch.setattr(context, "kept", {})
        Programs(context).use(name)
        context.gl.glUseProgram(0)
        program, uniforms = context.kept[name]
        assert program > 0
        assert ("projection" in uniforms) == (name not in ("compose", "resolve"))


def test_a_shader_that_is_refused_is_named(monkeypatch):
    monkeypatch.setattr(draw, "shader_source", lambda name: "#version 330 core\nvoid main() { nonsense }")
    with offscreen() as context:
        monkeypatch.setattr(context, "kept", {})
        with pytest.raises(DeviceError, match="shader 'sphere_vertex'"):
            Programs(context).use("sphere")

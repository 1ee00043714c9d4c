"""Contexts where there is no EGL: hidden windows under X11, and what macOS has, OpenGL 4.1 without compatibility."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from orbitile.renderer.context import BACKENDS
from orbitile.renderer.draw import SHADERS, shader_source

hidden_windows = pytest.mark.skipif(
    shutil.which("xvfb-run") is None or importlib.util.find_spec("glcontext") is None,
    reason="xvfb-run or glcontext is not installed",
)
linux = pytest.mark.skipif(sys.platform != "linux", reason="EGL is Linux's")

PICTURE = """
import sys, threading
from importlib.resources import files
import orbitile as ob
from orbitile.renderer.context import offscreen
wavefunction = ob.load(str(files("orbitile") / "data" / "benzene.molden"))
lattice = ob.Lattice.around(wavefunction, spacing=0.5, margin=6.0)
surfaces = [ob.compute_surface(wavefunction, name, 0.03, lattice) for name in ("homo", "density")]
draw = threading.Thread(target=lambda: ob.render(surfaces, wavefunction, size=(200, 150)))  # another thread than below
draw.start()
draw.join()
ob.render(surfaces, wavefunction, sys.argv[1], size=(200, 150))
with offscreen() as context:
    version = context.gl.glGetString(context.gl.GL_VERSION).decode()
    print(context.backend.name, context.has_storage, version.split(" ")[0])
"""


def draw(picture, *prefix, **settings):
    """What a process of its own says of its context, and what it has drawn."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYOPENGL", "DISPLAY"))}
    done = subprocess.run(
        [*prefix, sys.executable, "-c", PICTURE, str(picture)],
        env={**environment, "ORBITILE_DEVICE": "cpu", **settings},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), np.asarray(Image.open(picture)).astype(int)


@pytest.fixture(scope="module")
def by_egl(tmp_path_factory):
    return draw(tmp_path_factory.mktemp("egl") / "picture.png", PYOPENGL_PLATFORM="egl")


def same(picture, other):
    difference = np.abs(picture - other)
    return picture.shape == other.shape and difference.mean() < 0.05 and (difference > 8).mean() < 0.001


@pytest.mark.slow
@linux
@hidden_windows
@pytest.mark.parametrize("asked", [True, False], ids=["asked for", "where there is nothing else"])
def test_a_hidden_window_draws_the_same(tmp_path, by_egl, asked):
    """Where nothing else is there: a project without EGL and OSMesa, as Windows and macOS are to it."""
    settings = {"PYOPENGL_PLATFORM": "glx"}
    if not asked:
        (tmp_path / "sitecustomize.py").write_text(
            "import ctypes\n"
            "class Without(ctypes.CDLL):\n"
            "    def __init__(self, name, *more, **options):\n"
            "        if 'EGL' in str(name) or 'OSMesa' in str(name):\n"
            "            raise OSError(name)\n"
            "        super().__init__(name, *more, **options)\n"
            "ctypes.CDLL = Without\n"
        )
        settings = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])}
    (name, *_), picture = draw(tmp_path / "picture.png", "xvfb-run", "-a", **settings)
    assert name == "glx"
    assert same(picture, by_egl[1])


@pytest.mark.slow
@linux
@pytest.mark.parametrize("version", ["3.3FC", "4.1FC"])
def test_what_macos_has_is_enough(tmp_path, by_egl, version):
    """A core profile that is forward compatible, of a version without storage buffers."""
    glsl = version[:3].replace(".", "") + "0"
    said, picture = draw(
        tmp_path / "picture.png",
        PYOPENGL_PLATFORM="egl",
        MESA_GL_VERSION_OVERRIDE=version,
        MESA_GLSL_VERSION_OVERRIDE=glsl,
    )
    assert said[1] == "False"
    assert said[2].startswith(version[:3])
    assert same(picture, by_egl[1])


def test_shaders_of_a_newer_version_are_only_those_that_need_storage():
    newer = {
        name
        for name, sources in SHADERS.items()
        for source in sources
        if int(re.match(r"#version (\d+) core", shader_source(source)).group(1)) > 330
    }
    assert newer == {"collect", "compose"}


def test_shaders_say_their_version_in_the_first_line():
    """As Apple's compiler wants it."""
    for source in {source for sources in SHADERS.values() for source in sources}:
        assert shader_source(source).startswith("#version "), source


@pytest.mark.parametrize(("system", "names"), [("win32", ["nt"]), ("darwin", ["darwin"]), ("linux", list(BACKENDS))])
def test_systems_have_their_own_libraries(system, names, monkeypatch):
    """The module is made anew as it would be there; nothing of the system is called."""
    monkeypatch.setattr(sys, "platform", system)
    spec = importlib.util.find_spec("orbitile.renderer.context")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert list(module.BACKENDS) == names


def test_without_glcontext_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "glcontext", None)
    from orbitile.renderer.context import WindowSystem

    with pytest.raises(OSError, match="glcontext is not installed"):
        WindowSystem()

"""A full disk under Mesa's cache of shaders: pictures and Vulkan do without it, and the process lives."""

import os
import shutil
import subprocess
import sys

import pytest

from orbitile.workers.child_process import environment
from taichi_kernels.cache_folder import cache_with_room

FULL = 'mount -t tmpfs -o size=1m tmpfs "$0" && { head -c 2m /dev/zero > "$0/filler"; true; } 2>&- && exec "$@"'
"""A file system without room where a folder was, for one command; in a name space of its own."""

DRAW = (
    "from orbitile.renderer.context import offscreen\n"
    "from OpenGL.GL import shaders\n"
    "with offscreen() as context:\n"
    "    gl = context.gl\n"
    "    for kind, body in ((gl.GL_VERTEX_SHADER, 'gl_Position = vec4(1);'), (gl.GL_FRAGMENT_SHADER, '')):\n"
    "        shaders.compileShader('#version 330 core\\nvoid main() {' + body + '}', kind)\n"
    "print('drawn')\n"
)
COMPUTE = (
    "from taichi_kernels.arrays import allocate\n"
    "from taichi_kernels.launching import synchronise\n"
    "from taichi_kernels.session import session\n"
    "with session('vulkan'):\n"
    "    allocate((8,), 'float32').fill(1.0)\n"
    "    synchronise()\n"
    "print('computed')\n"
)


def on_a_full_disk(folder, program, **variables):
    command = ["unshare", "-rm", "bash", "-c", FULL, str(folder), sys.executable, "-c", program]
    return subprocess.run(
        command, env={**environment(), **variables}, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture
def full_disk(tmp_path):
    if shutil.which("unshare") is None or on_a_full_disk(tmp_path, "print(1)").stdout != "1\n":
        pytest.skip("no file system can be mounted here")
    return tmp_path


@pytest.mark.linux
@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "MESA_SHADER_CACHE_DIR"])
@pytest.mark.parametrize("platform", ["egl", "osmesa"])
def test_pictures(full_disk, platform, variable):
    done = on_a_full_disk(full_disk, DRAW, PYOPENGL_PLATFORM=platform, **{variable: str(full_disk)})
    if "is not installed" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert (done.returncode, done.stdout) == (0, "drawn\n"), done.stderr


@pytest.mark.linux
@pytest.mark.vulkan
def test_vulkan(full_disk):
    done = on_a_full_disk(full_disk, COMPUTE, MESA_SHADER_CACHE_DIR=str(full_disk))
    assert (done.returncode, done.stdout) == (0, "computed\n"), done.stderr


@pytest.mark.linux
def test_the_environment_is_as_it_was(monkeypatch, tmp_path):
    for value in (None, "false"):
        for folder in (tmp_path, "/proc"):
            monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
            monkeypatch.delenv("MESA_SHADER_CACHE_DISABLE", raising=False)
            if value is not None:
                monkeypatch.setenv("MESA_SHADER_CACHE_DISABLE", value)
            with cache_with_room():
                inside = os.environ.get("MESA_SHADER_CACHE_DISABLE")
            assert inside == (value if folder == tmp_path else "true")
            assert os.environ.get("MESA_SHADER_CACHE_DISABLE") == value

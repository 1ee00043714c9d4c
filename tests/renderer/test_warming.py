"""OpenGL that was started in a thread: the same picture, and the same message where there is none."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import orbitile as ob
from orbitile.renderer.picture import warm

PROGRAM = """
    import sys, threading
    from importlib.resources import files

    import numpy as np
    import orbitile as ob
    from orbitile.renderer.picture import warm

    warm()
    wavefunction = ob.load(files("orbitile") / "data" / "benzene.molden")
    try:
        np.save(sys.argv[1], ob.render((), wavefunction, size=(120, 90)))
    except ob.OrbitileError as error:
        print(error)
    print([thread.name for thread in threading.enumerate() if "warming" in thread.name])
"""


def run(tmp_path, monkeypatch, platform=None):
    if platform:
        monkeypatch.setenv("PYOPENGL_PLATFORM", platform)
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path / "picture.npy")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.linux
def test_the_picture_is_the_same(tmp_path, monkeypatch, benzene):
    done = run(tmp_path, monkeypatch)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
    assert np.array_equal(np.load(tmp_path / "picture.npy"), ob.render((), benzene, size=(120, 90)))


@pytest.mark.linux
def test_without_opengl_the_picture_says_so_and_not_the_thread(tmp_path, monkeypatch):
    done = run(tmp_path, monkeypatch, "wgl")
    assert done.stdout.startswith("PYOPENGL_PLATFORM=wgl asks PyOpenGL for a window system")
    assert (done.returncode, done.stderr) == (0, "")


def test_other_systems_are_left_alone(monkeypatch):
    started = []
    monkeypatch.setattr("orbitile.renderer.picture.threading.Thread.start", started.append)
    for platform in ("win32", "darwin"):
        monkeypatch.setattr("orbitile.renderer.picture.sys.platform", platform)
        warm()
    assert not started

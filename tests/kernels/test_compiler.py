"""The compiler of kernels: imported when it is needed, chosen by the environment, and without traces of either."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own."""
    roots = os.pathsep.join([str(ROOT / "plugin"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": roots, **variables}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment)


def test_what_does_not_compute_imports_no_compiler_and_changes_nothing(tmp_path):
    done = run(
        "import os, sys\n"
        "before = dict(os.environ)\n"
        "import taichi_kernels, taichi_kernels.arrays, taichi_kernels.session, taichi_kernels.target\n"
        "from taichi_kernels.devices import choose, probe\n"
        "probe('cpu'), choose('cpu')\n"
        "assert dict(os.environ) == before\n"
        "print([name for name in ('taichi', 'quadrants') if name in sys.modules])\n",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert not (tmp_path / "cache").exists()


def test_the_environment_is_as_it_was_after_kernels_have_run(tmp_path):
    done = run(
        "import os\n"
        "before = dict(os.environ)\n"
        "from taichi_kernels.session import session\n"
        "with session('cpu'): pass\n"
        "print({name for name in {*os.environ, *before} if os.environ.get(name) != before.get(name)})\n",
        XDG_CACHE_HOME=str(tmp_path),
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")


def test_no_server_is_asked_for_versions(tmp_path):
    """Taichi asks one at each start, in a thread, and keeps a number of its user for that."""
    program = "import time\nfrom taichi_kernels.session import session\nwith session('cpu'): time.sleep(0.5)"
    assert run(program, XDG_CACHE_HOME=str(tmp_path)).returncode == 0
    assert not list(tmp_path.rglob("version_info"))


@pytest.mark.parametrize("name", ["abacus", "1"])
def test_a_compiler_that_there_is_not_is_refused(name):
    program = (
        "from taichi_kernels.devices import DeviceUnavailable\n"
        "from taichi_kernels.session import session\n"
        "try:\n"
        "    with session('cpu'): pass\n"
        "except DeviceUnavailable as error: print(error)\n"
    )
    assert run(program, ORBITILE_COMPILER=name).stdout == (
        f"ORBITILE_COMPILER: expected taichi or quadrants, got '{name}'\n"
    )


def test_sources_of_kernels_are_found_where_inspect_finds_them():
    """The compiler asks for them at each call of a function; they are looked up without a search of all modules."""
    from taichi_kernels import _taichi, becke, launching, quadrature_kernels
    from taichi_kernels.session import session
    from taichi_kernels.target import Target

    with session("cpu"):
        kernel = quadrature_kernels.density_kernel(Target("cpu", "single"), np.dtype(np.float64), (0, 1), True)
        looping = becke._kernel(Target("cpu", "double"), np.dtype(np.float64))
        functions = [inspect.unwrap(each) for each in (launching.idle, launching.turns_for, looping)]
        for function in functions:
            lines, first = _taichi._lines_of(function)
            assert (lines, first) == inspect.getsourcelines(function)
            assert _taichi._file_of(function) == inspect.getsourcefile(function)
        lines, first = _taichi._lines_of(inspect.unwrap(kernel))
        assert (first, lines[0], lines[-1].strip()[:4]) == (1, "@ti.kernel\n", "out[")

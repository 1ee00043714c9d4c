"""The window in PyMOL's own window under Xvfb, and the ways of installing it."""

import json
import os
import shutil
import subprocess
import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest

from orbitile.hosts import installation_of
from tests.conftest import SAMPLES
from tests.pictures import shares_of_colours

pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")

ROOT = Path(__file__).parents[2]
BENZENE = str(files("orbitile") / "data" / "benzene.molden")
XVFB = ("xvfb-run", "-a", "-s", "-screen 0 1200x900x24")
needs_window = pytest.mark.skipif(
    shutil.which("xvfb-run") is None or find_spec("PyQt5") is None, reason="xvfb-run or PyQt5 is not installed"
)


def environment(home: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "HOME": str(home), "ORBITILE_DEVICE": "cpu", "QT_QPA_PLATFORM": "xcb", **more}


def in_window(script: Path, home: Path, opened: tuple[Path, ...] = (), **more: str) -> str:
    """Output of PyMOL with its window, which opens files and runs a script."""
    folders = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*XVFB, sys.executable, "-m", "pymol", "-q", *map(str, opened), str(script)],
        env=environment(home, PYTHONPATH=folders, **more),
        cwd=home,  # not where our `tests` are: what is installed goes before the current folder, PROPKA's `tests` too
        capture_output=True,
        text=True,
        check=False,
        timeout=300,  # on a busy machine
    )
    return done.stdout + done.stderr


def installed(home: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "orbitile", "install", "pymol", "--no-kernels", *arguments],
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout + done.stderr


@pytest.mark.slow
@needs_window
def test_the_stub_is_loaded_and_the_panel_works(tmp_path):
    stub = tmp_path / ".pymol" / "startup" / "orbitile_plugin.py"
    assert f"wrote {stub}" in installed(tmp_path)
    report_file = tmp_path / "report.json"
    out = in_window(Path(__file__).with_name("panel_driver.py"), tmp_path, REPORT=str(report_file), FILE=BENZENE)
    assert report_file.exists(), out
    report = json.loads(report_file.read_text())
    assert report.get("done"), report.get("error", "") + report.get("status", "")
    assert report["menu entries"] == 1
    assert report["walked to"] == ["benzene_mo22", "benzene_mo22_map"]
    assert report["after fast walk"] == ["benzene_mo16", "benzene_mo16_map"]
    assert report["diagram"] == "mo:24"
    assert report["filtered rows"] == 1
    assert "Nearest match" in report["wrong field"]
    assert report["exported"] > 1000
    assert report["cancel seconds"] < 2  # it does not wait for the calculation
    assert report["cancelled"] == "Cancelled."
    assert report["cancel changed nothing"]
    assert report["stopped"]
    assert report["replaced"]
    assert report["coloured after the slider"] == ["esp", "esp"]
    assert report["scale left"] == []
    assert report["objects leaked"] == 0
    assert report["recent"] == [BENZENE]
    assert f"removed {stub}" in installed(tmp_path, "--uninstall")
    assert not stub.exists()
    assert "nothing to remove" in installed(tmp_path, "--uninstall")


@pytest.mark.slow
@needs_window
def test_the_window_goes_on_while_a_command_computes(tmp_path):
    report_file = tmp_path / "report.json"
    driver = Path(__file__).with_name("prompt_driver.py")
    out = in_window(driver, tmp_path, REPORT=str(report_file), FILE=BENZENE, FOLDER=str(tmp_path))
    assert report_file.exists(), out
    report = json.loads(report_file.read_text())
    assert report.pop("done", False), report.get("error")
    assert report["turns meanwhile"] > 10
    assert report["views meanwhile"] == 2
    assert report["at once"]
    assert report["in a process of its own"]
    assert report["cancelled is not shown"]
    for script in ("pml", "do", "line", "py"):
        assert report[script], script
    assert report["within another"]
    assert report["of a molecule that has gone"] == []
    assert " Error: cancelled" in out
    assert " Error: small was" in out
    assert out.count("Error") == 2


@pytest.mark.slow
@needs_window
def test_files_and_molecules_that_change_while_the_panel_is_open(tmp_path):
    """A file that is written anew, a molecule renamed and deleted, an object without a first state."""
    report_file = tmp_path / "report.json"
    wavefunctions = {
        "ONE": str(SAMPLES / "nh3_molden_cart.molden"),
        "OTHER": str(SAMPLES / "neon_turbomole_def2-qzvp.molden"),
    }
    out = in_window(
        Path(__file__).with_name("changes_driver.py"),
        tmp_path,
        XDG_CACHE_HOME=os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),  # compiled kernels
        REPORT=str(report_file),
        JOB=str(tmp_path / "job.molden"),
        **wavefunctions,
    )
    assert report_file.exists(), out
    report = json.loads(report_file.read_text())
    assert report.get("done"), report.get("error", "") + report.get("status", "")
    assert "job.molden: has changed since it was loaded" in report["refused"]
    assert "job_homo" in report["stays"]
    assert report["opened again"] == []
    assert report["atoms"] == 1
    assert report["shows"] == "HOMO (orbital 5)"
    assert report["renamed"] == ["other", "other", True]
    assert report["left"] == ["ala", "late"]
    assert "invalid state" not in out


def test_another_python_is_recorded_if_it_can_compute(tmp_path):
    assert "the worker process will run with" in installed(tmp_path, "--python", sys.executable)
    stub = tmp_path / ".pymol" / "startup" / "orbitile_plugin.py"
    assert repr(sys.executable) in stub.read_text()
    assert "cannot be run" in installed(tmp_path, "--python", "/no/python")


@pytest.mark.slow
def test_pymols_installer_takes_the_zip(tmp_path):
    archive = tmp_path / "orbitile.zip"
    subprocess.run([sys.executable, str(ROOT / "install" / "plugin-zip"), str(archive)], check=True, timeout=60)
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    script = tmp_path / "install.py"
    script.write_text(
        "from pymol.plugins import installation, legacysupport\n"
        "class Messages:\n"
        "    def showinfo(title, text, **more): print('SHOWN', title, text)\n"
        "    askyesno = askokcancel = lambda *arguments, **more: True\n"
        "legacysupport.tkMessageBox = Messages\n"  # its message boxes need a window
        f"installation.installPluginFromFile({str(archive)!r}, 0, {str(plugins)!r})\n"
        "from pymol import cmd, plugins\n"
        "print('VERSION', plugins.plugins['orbitile'].get_version(), 'orb_mo' in cmd.keyword)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pymol", "-cq", str(script)],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    out = done.stdout + done.stderr
    assert (plugins / "orbitile" / "orbitile" / "session" / "sampling.py").exists(), out
    assert (plugins / "orbitile" / "taichi_kernels" / "session.py").exists()
    assert "VERSION 0.1.0 True" in out, out


def test_a_python_that_lacks_something_is_told_so(tmp_path):
    script = tmp_path / "lacking.py"
    script.write_text(
        "import importlib.util, sys\n"
        "real = importlib.util.find_spec\n"
        "def without(name, *more): return None if name in ('taichi', 'skimage') else real(name, *more)\n"
        "importlib.util.find_spec = without\n"
        "from orbitile.hosts import pymol\n"
        "pymol.register_commands()\n"
        "from pymol import cmd\n"
        "cmd.do('orb_load benzene.molden', echo=0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pymol", "-cq", str(script)],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    out = done.stdout + done.stderr
    assert "needs scikit-image>=0.22, taichi==1.7.4 in PyMOL's Python" in out
    assert "-m pip install 'scikit-image>=0.22' 'taichi==1.7.4'" in out
    assert "Traceback" not in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "pictures"),
    [("walk.pml", {"homo-1.png", "homo.png"}), ("two_orbitals.py", {"homo-and-lumo.png"})],
)
def test_the_examples_run(tmp_path, monkeypatch, name, pictures):
    monkeypatch.setenv("HOME", str(tmp_path))
    installation_of("pymol").install_for_scripts()
    example = ROOT / "docs" / "examples" / name
    shutil.copy(BENZENE, tmp_path / "benzene.molden")
    command = ["-m", "pymol", "-cq", str(example)] if name.endswith(".pml") else [str(example)]
    done = subprocess.run(
        [sys.executable, *command],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {picture.name for picture in tmp_path.glob("*.png")} == pictures, done.stdout + done.stderr
    for picture in pictures:
        one_lobe, other_lobe, background = shares_of_colours(tmp_path / picture)
        assert min(one_lobe, other_lobe) > 0.02
        assert background > 0.3

"""Nothing that lies in the current folder, beside somebody's calculations, is imported or run by chance."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orbitile.base.imports import OWN_FOLDERS, isolated, program, safe_environment, safe_path
from orbitile.base.registry import modules_of
from orbitile.hosts import installation_of
from orbitile.hosts.pymol.installation import STUB, startup_folder
from orbitile.workers import Worker, environment
from tests.conftest import SAMPLES
from tests.test_registry import GOOD, Greeting
from tests.workers import jobs

TRAP = "import sys\nopen({!r}, 'a').write(globals().get('__file__', sys.argv[0]) + '\\n')\n"
MODULES = (
    *"random numpy queue pickle secrets struct socket cclib iodata scipy taichi orbitile taichi_kernels".split(),
    *"pyscf pymol skimage distributed matplotlib sitecustomize usercustomize".split(),
    *("encodings/__init__", "multiprocessing/__init__", ".pyscf_conf"),
    *(f"orbitile_plugins/{name}" for name in ("__init__", "readers/innocent", "commandline/innocent")),
)
ORBITILE = "import sys; from orbitile.commandline import main; sys.exit(main())"


@pytest.fixture
def trapped(tmp_path, monkeypatch):
    """The current folder, full of modules that write down when they are run, and where they do so."""
    folder, record = tmp_path / "downloaded", tmp_path / "record"
    for name in MODULES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(TRAP.format(str(record)))
    (folder / "matplotlibrc").write_text("text.usetex: True\nsavefig.dpi: 7\n")
    for name in ("ffmpeg", "orca_2json", "gcc", "ld", "latex", "python3"):
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {record}\n")
        (folder / name).chmod(0o755)
    for name in ("h2o_sto3g.wfn", "h2o_sto3g.fchk"):
        shutil.copy(SAMPLES / name, folder / name.replace("h2o_sto3g", "water"))
    (folder / "water.xyz").write_text("3\n\nO 0 0 0\nH 0 0.76 0.59\nH 0 -0.76 0.59\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    return record


COMMANDS = {
    "info": ["info", "water.wfn"],
    "render": ["render", "water.fchk", "homo", "--size", "40x30", "-q", "-o", "x.png"],
    "batch": ["batch", "water.wfn", "water.fchk", "homo", "--workers", "2", "-q", "-o", "out"],
    "scf": ["scf", "water.xyz", "--basis", "sto-3g", "--method", "rhf", "--engine", "pyscf", "-q", "-o", "water.h5"],
    "libxc": ["energy", "water.fchk", "--functional", "b88,p86"],
    "slice": ["slice", "water.fchk", "homo", "--atoms", "1,2,3", "-o", "x.svg"],
    "film": ["animate", "water.fchk", "homo", "--size", "40x30", "--pictures", "2", "-q", "-o", "x.mp4"],
    "devices": ["devices"],
    "serve": ["serve"],
}


@pytest.mark.linux
@pytest.mark.parametrize(
    "command",
    [pytest.param(name, marks=[] if name in ("info", "scf", "serve") else [pytest.mark.slow]) for name in COMMANDS],
)
def test_commands_run_nothing_of_the_current_folder(command, trapped):
    settings = {**os.environ, "PATH": f":.:{os.environ['PATH']}"}
    python = [sys.executable, str(Path(sys.executable).with_name("orbitile"))]
    if command == "serve":  # as VMD starts it
        python = isolated(sys.executable, ORBITILE)
    request = json.dumps({"id": 1, "command": "orb_load", "arguments": ["water.wfn"]}) + "\n"
    done = subprocess.run(
        [*python, *COMMANDS[command]], input=request, env=settings, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert '"error": "' not in done.stdout
    assert not trapped.exists(), trapped.read_text()


@pytest.mark.linux
def test_workers_import_nothing_of_it(trapped, monkeypatch):
    root = str(Path(__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", root, ""]))  # where it is empty, the current folder
    worker = Worker("the worker")
    path = worker.call(jobs.import_path)
    worker.end()
    assert "" not in path
    assert os.getcwd() not in path
    for start in ([sys.executable], ["env", "-u", "PYTHONSAFEPATH", sys.executable]):  # from 3.11 on, and before
        program_ = "import sys, orbitile, random, numpy; print(sys.path)"
        done = subprocess.run(
            [*start[:-1], *isolated(start[-1], program_)], env=environment(), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert os.getcwd() not in done.stdout
    assert not trapped.exists(), trapped.read_text()


def test_what_is_named_on_purpose_is_imported(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr("sys.path", ["", str(here), str(there), *sys.path, str(here / "installed")])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", str(there)]))
    path = safe_path()
    assert "" not in path
    assert str(here) not in path
    assert [str(there), str(here / "installed")] == [path[0], path[-1]]
    assert safe_environment("first")["PYTHONPATH"] == os.pathsep.join(["first", str(there)])
    monkeypatch.setenv("PYTHONPATH", str(here))
    assert safe_path()[0] == str(here)
    monkeypatch.setenv("PYTHONPATH", "")
    sys.path[:2] = []
    sys.path.append(str(here))  # as of an editable installation
    assert safe_path()[-1] == str(here)


def test_our_own_packages_are_found_wherever_the_current_folder_is():
    for name in ("orbitile", "taichi_kernels"):
        assert any(Path(folder, name, "__init__.py").is_file() for folder in OWN_FOLDERS)


def test_plugins_are_not_looked_for_there(trapped, tmp_path, monkeypatch):
    greetings = tmp_path / "packages" / "greetings"
    (greetings / "polite").mkdir(parents=True)
    for folder in (greetings, greetings / "polite"):
        (folder / "__init__.py").touch()
    for folder, name in ((Path.cwd(), "innocent"), (tmp_path / "packages", "evening")):
        (folder / "orbitile_plugins" / "polite").mkdir(parents=True)
        (folder / "orbitile_plugins" / "polite" / f"{name}.py").write_text(GOOD + TRAP.format(str(tmp_path / name)))
    monkeypatch.setattr("sys.path", ["", os.getcwd(), str(tmp_path / "packages"), *sys.path])
    before = set(sys.modules)
    try:
        assert list(modules_of("greetings.polite", Greeting)) == ["evening"]
    finally:
        for name in [name for name in set(sys.modules) - before if name.startswith(("greetings", "orbitile_plugins"))]:
            del sys.modules[name]
    assert not trapped.exists()


@pytest.mark.linux
def test_programs_are_not_looked_for_there(trapped, monkeypatch):
    elsewhere = Path.cwd().parent / "bin"
    elsewhere.mkdir()
    shutil.copy("ffmpeg", elsewhere)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", str(elsewhere)]))
    assert program("ffmpeg") == str(elsewhere / "ffmpeg")
    assert program("orca_2json") == ""
    assert program("./orca_2json") == "./orca_2json"


@pytest.mark.linux
@pytest.mark.slow
@pytest.mark.parametrize("start", [["-m", "pymol"], [str(Path(sys.executable).with_name("pymol"))]])
def test_pymol_runs_nothing_of_it(start, trapped, tmp_path, monkeypatch):
    pytest.importorskip("pymol")
    monkeypatch.setenv("HOME", str(tmp_path))
    installation_of("pymol").install()

    def run(*more: str) -> str:
        command = [sys.executable, *start, "-cq", *more]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False).stdout

    Path("pymol.py").unlink()
    run()
    while trapped.exists():
        for name in trapped.read_text().splitlines():
            Path(name).unlink(missing_ok=True)  # PyMOL imports it from here by itself
        trapped.unlink()
        run()
    said = run(str(startup_folder() / STUB), "-d", "orb_load water.wfn; orb_mo water, homo; orb_info water")
    assert "HOMO" in said, said
    assert not trapped.exists(), trapped.read_text()

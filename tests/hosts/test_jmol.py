"""Jmol as a host: what is written for it, and the program itself, without a window."""

import io
import shlex
import shutil
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from orbitile.base.errors import OrbitileError
from orbitile.hosts.jmol.driving import Driver, asked_in, drive, mesh_text
from orbitile.session.declaration import Call

BENZENE = str(files("orbitile") / "data" / "benzene.molden")
JMOL = Path("/usr/share/java/JmolData.jar")
needs_jmol = pytest.mark.skipif(
    not JMOL.exists() or shutil.which("java") is None, reason="Debian's package jmol is not installed"
)


def test_only_lines_of_the_function_ask_for_something():
    assert asked_in("orbitile-request:12:mo:7\n") == (12, "mo:7")
    assert asked_in("Time for openFile: 70 ms") is None
    assert asked_in("orbitile-request:x:homo") is None


def test_a_mesh_has_the_colours_of_its_faces():
    text = mesh_text(np.eye(3), np.array([[0, 1, 2]]), np.tile([1.0, 0.0, 0.2], (3, 1)))
    assert text.split()[-6:] == ["-4", "0", "1", "2", "0", str(0xFF0033)]


def test_what_is_asked_for_becomes_scripts_and_errors_are_printed(tmp_path):
    script = io.StringIO()
    driver = Driver(script, tmp_path)
    driver.listen(["orbitile-request:1:homo"])
    odd = tmp_path / 'benzene, "b" c.molden'
    shutil.copy(BENZENE, odd)
    driver.call(Call("orb_load", (str(odd), "benzene")))
    driver.listen(["orbitile-request:2:homo", "orbitile-request:2:homo", "orbitile-request:3:nonsense"])
    said = script.getvalue().splitlines()
    assert sum(line.startswith('isosurface ID "benzene_homo" pmesh') for line in said) == 1
    driver.do("lumo")
    assert script.getvalue().splitlines()[len(said) :][-1] == 'isosurface ID "benzene_homo" delete;'
    assert list(driver.session.shelf) == ["benzene_lumo"]
    assert said[0].startswith("print ")  # there was no molecule yet
    assert said[-1].startswith("print ")
    assert "nonsense" in said[-1]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "expected how Jmol is started"),
        ("no-such-jmol", "cannot be started"),
        (f"{sys.executable} -c \"raise SystemExit('no screen')\"", "status 1: no screen"),
    ],
)
def test_a_jmol_that_does_not_run_is_told_of(command, message):
    with pytest.raises(OrbitileError, match=message):
        drive(shlex.split(command), Path(BENZENE), "homo")


def test_a_file_that_is_not_there_ends_jmol(tmp_path):
    waits = [sys.executable, "-c", "import time; time.sleep(60)"]
    begin = time.monotonic()
    with pytest.raises(OrbitileError, match=r"missing\.molden"):
        drive(waits, tmp_path / "missing.molden", "homo")
    assert time.monotonic() - begin < 30


@needs_jmol
@pytest.mark.slow
def test_jmol_draws_what_its_function_asks_for(tmp_path):
    picture = tmp_path / "lumo.png"
    command = f"java -Djava.awt.headless=true -jar {JMOL} -n -o -I"
    scripts = ('orb("nonsense")', 'orb("lumo")', f'write PNG 200 200 "{picture}"', "exitJmol")
    words = [word for script in scripts for word in ("--script", script)]
    subprocess.run(
        [sys.executable, "-m", "orbitile", "jmol", BENZENE, "homo", "--command", command, *words],
        timeout=120,
        check=True,
    )
    red, _, blue = np.moveaxis(np.asarray(Image.open(picture).convert("RGB")).astype(int), -1, 0)
    assert ((blue > 150) & (red < 110)).sum() > 500  # lobes of either phase; atoms are grey and white
    assert ((red > 150) & (blue < 80)).sum() > 500

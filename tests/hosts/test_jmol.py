"""Jmol as a host: what is written for it, and the program itself, without a window."""

import io
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from orbitile.hosts.jmol.driving import Driver, asked_in, mesh_text
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
    assert said[1].startswith("print ")  # there was no molecule yet
    assert said[-1].startswith("print ")
    assert "nonsense" in said[-1]


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

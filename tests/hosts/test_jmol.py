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
from orbitile.hosts.jmol.driving import Driver, asked_in, drawing_scripts, drive, mesh_text
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


def test_a_frame_of_ours_is_a_model_of_jmol_and_one_chosen_there_is_ours(tmp_path, series):
    script = io.StringIO()
    driver = Driver(script, tmp_path)
    driver.call(Call("orb_load", (str(series), "water")))
    driver.call(Call("orb_mo", (), {"quality": "coarse", "isovalue": "0.1"}))
    driver.viewer.go_to("water", 3)
    assert script.getvalue().splitlines()[-1] == "frame 4;"
    driver.listen(["orbitile-request:1:frame 1.4"])
    assert driver.viewer.frame("water") == 3
    assert script.getvalue().splitlines()[-1].startswith('isosurface ID "water_homo" pmesh')
    n_lines = len(script.getvalue().splitlines())
    driver.listen(
        ["orbitile-request:2:frame 1.4", "orbitile-request:3:frame 1.1 - 1.6", "orbitile-request:4:frame 1.99"]
    )
    assert len(script.getvalue().splitlines()) == n_lines


def test_what_was_withdrawn_is_not_done(tmp_path):
    script = io.StringIO()
    driver = Driver(script, tmp_path)
    lines = iter(["orbitile-request:1:homo", "orbitile-request:2:cancel", "orbitile-request:3:nonsense"])
    driver._cancelled = 2  # as the thread that reads ahead has it
    driver.listen(driver.lines(lines))
    said = script.getvalue().splitlines()
    assert said[0] == 'print "cancelled";'
    assert "orb_load" in said[1]  # there is no molecule: the third was done


def test_drawings_of_analyses_are_objects_of_jmol_which_the_next_ones_replace(tmp_path):
    ball = {"places": [[0, 0, 1]], "labels": ["a"], "colour": [1, 0, 0], "radius": 0.1}
    arrow = {"lines": [[[0, 0, 0], [0, 0, 1], [0, 0, 2]]], "radii": [0.05], "heads": True, "colour": [0, 0, 1]}
    event = {"balls": [ball], "lines": [arrow], "atoms": []}
    assert drawing_scripts("m_points", event) == [
        'draw ID "m_points_0" DIAMETER 0.2000 {0.00000 0.00000 1.00000} "a" color [255,0,0];',
        'draw ID "m_points_1" ARROW {0.00000 0.00000 1.00000} {0.00000 0.00000 2.00000} WIDTH 0.1000 color [0,0,255];',
        'draw ID "m_points_2" LINE {0.00000 0.00000 0.00000} {0.00000 0.00000 1.00000} WIDTH 0.1000 color [0,0,255];',
    ]
    driver = Driver(io.StringIO(), tmp_path)
    told = {"event": "drawings", "molecule": "m", "name": "points"}
    atoms = [{"label": "+0.1", "colour": [0, 0, 0]}]
    driver._follow({**told, **event, "atoms": atoms})
    driver._follow({**told, "balls": [], "lines": [], "atoms": []})
    first, second = (Path(tmp_path / f"{n}.spt").read_text().splitlines() for n in (1, 2))
    assert 'select atomno=1; label "+0.1"; color labels [0,0,0];' in first
    assert second[:3] == [f'draw ID "m_points_{n}" delete;' for n in range(3)]
    assert "select all; labels off;" in second


def in_jmol(file, *scripts):
    """Drive Jmol without a screen."""
    command = f"java -Djava.awt.headless=true -jar {JMOL} -n -o -I"
    drive(shlex.split(command), Path(file), "homo", (*scripts, "exitJmol"))


def pixels_of(picture):
    """Those of a surface: blue ones and orange ones, as places."""
    red, green, blue = np.moveaxis(np.asarray(Image.open(picture).convert("RGB")).astype(int), -1, 0)
    return np.argwhere((blue > 150) & (red < 110)), np.argwhere((red > 150) & (blue < 80) & (green < 150))


@needs_jmol
@pytest.mark.slow
def test_a_frame_chosen_in_jmol_has_its_surface(tmp_path, series):
    first, last = tmp_path / "first.png", tmp_path / "last.png"
    write = 'write PNG 200 200 @{{"{}"}}'.format
    in_jmol(
        series,
        'orb("orb_mo water, homo, 0.1, coarse"); rotate x 90; zoom 50',
        write(first),
        "frame 6",
        write(last),
        "frame all",
    )
    shifts = []
    for one, other in zip(pixels_of(first), pixels_of(last), strict=True):
        assert min(len(one), len(other)) > 100
        shifts.append(np.linalg.norm(one.mean(axis=0) - other.mean(axis=0)))
    assert max(shifts) > 3  # the molecule moves along, by half an angstrom


@needs_jmol
def test_jmol_draws_what_an_analysis_finds(tmp_path):
    before, after, without = (tmp_path / f"{n}.png" for n in range(3))
    write = 'write PNG 200 200 @{{"{}"}}'.format
    in_jmol(
        BENZENE,
        'orb("orb_hide"); background white',
        write(before),
        'orb("orb_topology")',
        write(after),
        "draw * delete",
        write(without),
    )
    pictures = [np.asarray(Image.open(file).convert("RGB")).astype(int) for file in (before, after, without)]
    changed = [(np.abs(picture - pictures[0]).max(axis=-1) > 60).sum() for picture in pictures[1:]]
    assert changed[0] > 200
    assert changed[1] == 0


@needs_jmol
def test_a_computation_is_withdrawn_in_jmol(tmp_path):
    begin = time.monotonic()
    told = tmp_path / "told.png"
    in_jmol(
        BENZENE,
        'orb("orb_field benzene, esp, 0.02, fine"); orb("cancel")',
        f'write PNG 50 50 @{{"{told}"}}',
    )
    assert told.exists()
    assert time.monotonic() - begin < 20


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

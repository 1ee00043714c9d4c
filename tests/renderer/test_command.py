"""The command that makes pictures."""

import numpy as np
import pytest
from PIL import Image

from orbitile.commandline import main

pytest.importorskip("OpenGL")


@pytest.fixture
def benzene(tmp_path, monkeypatch):
    from importlib.resources import files

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    return str(files("orbitile") / "data" / "benzene.molden")


def test_several_fields_in_one_picture(benzene, monkeypatch):
    import orbitile.renderer

    calls = []
    drawn = orbitile.renderer.render
    monkeypatch.setattr(orbitile.renderer, "render", lambda *a, **k: calls.append((a, k)) or drawn(*a, **k))
    options = ["--size", "200x150", "--quality", "coarse", "--legend", "-q"]
    assert main(["render", benzene, "homo", "lumo", "density", "--isovalue", "0.03,0.04,0.1", *options]) == 0
    assert Image.open("benzene-homo-lumo-density.png").size == (200, 150)
    surfaces = calls[0][0][0]
    assert [surface.quantity.split()[0] for surface in surfaces] == ["HOMO", "LUMO", "electron"]
    assert [surface.isovalue for surface in surfaces] == [0.03, 0.04, 0.1]
    assert main(["render", benzene, "homo,lumo", *options, "--colors", "red,blue,#00ff00,yellow", "-o", "a.png"]) == 0
    assert [surface.quantity.split()[0] for surface in calls[1][0][0]] == ["HOMO", "LUMO"]
    assert calls[1][1]["colours"] == [("red", "blue"), ("#00ff00", "yellow")]


def test_the_lattice_of_a_picture_follows_its_pixels(benzene, monkeypatch):
    import orbitile.renderer

    sizes = {}
    monkeypatch.setattr(orbitile.renderer, "render", lambda surfaces, *_, size, **__: sizes.setdefault(size, surfaces))
    for size in ("300x200", "1600x1200"):
        assert main(["render", benzene, "homo", "--size", size, "-q"]) == 0
    small, large = (len(surfaces[0].faces) for surfaces in sizes.values())
    assert large > 2 * small


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["homo", "lumo", "--isovalue", "0.1,0.2,0.3"], "one for each of 2 fields"),
        (["homo", "--isovalue", "much"], "--isovalue: expected a number"),
        (["homo", "density", "--color-by", "esp"], "--color-by: expected one FIELD"),
        (["homo", "lumo", "--plane", "1,2,3"], "--plane: expected one FIELD"),
        (["homo", "lumo", "--colors", "red,blue,green"], "--colors"),
    ],
)
def test_requests_that_cannot_be_met(benzene, tmp_path, capsys, arguments, words):
    assert main(["render", benzene, *arguments]) == 2
    captured = capsys.readouterr().err
    assert words in captured
    assert captured.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_field_as_fog_and_as_a_slice(benzene, capsys):
    pixels = {}
    for style in ("fog", "slice"):
        arguments = ["homo", "--quality", "coarse", "--size", "120x90", "-q", "-o", f"{style}.png"]
        assert main(["render", benzene, *arguments, "--style", style, "--background", "transparent"]) == 0
        pixels[style] = np.asarray(Image.open(f"{style}.png")).astype(int)
        red, _, blue, alpha = np.moveaxis(pixels[style], -1, 0)
        assert np.count_nonzero((alpha > 20) & (blue > red + 50)) > 200
        assert np.count_nonzero((alpha > 20) & (red > blue + 50)) > 200
        assert np.count_nonzero((alpha > 0) & (alpha < 255)) > 2000  # thin fog lets the paper through
    assert (pixels["fog"] != pixels["slice"]).any()
    for arguments in (["-o", "a.html"], ["-o", "a.glb"], ["--plane", "1,2,3"]):
        assert main(["render", benzene, "homo", "--style", "fog", *arguments]) == 2
        assert "--style fog: expected a picture" in capsys.readouterr().err


def test_values_of_a_file_as_fog(benzene):
    from orbitile import Lattice, compute, load, save

    wavefunction = load(benzene)
    save(compute(wavefunction, "homo", Lattice.around(wavefunction, 0.6)), "homo.cube", wavefunction=wavefunction)
    assert main(["render", "homo.cube", "--style", "fog", "--size", "60x40", "-q", "-o", "fog.png"]) == 0
    assert Image.open("fog.png").size == (60, 40)

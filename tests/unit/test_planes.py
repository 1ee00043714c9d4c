"""Slices: where their points are, what they show, and the files they become."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.cli import main
from orbitile.planes import (
    Slice,
    as_surface,
    colour_range,
    contour_levels,
    draw_slice,
    plane_through,
    slice_field,
)
from orbitile.units import angstrom
from tests.conftest import random_wavefunction


def test_the_plane_contains_its_atoms(benzene):
    wavefunction = random_wavefunction(4, (0, 1), n_atoms=5)
    plane = plane_through(wavefunction, [3, 0, 4], spacing=0.2, margin=2.0)
    normal = np.cross(plane.right, plane.up)
    assert np.linalg.norm(plane.right) == pytest.approx(1)
    assert plane.right @ plane.up == pytest.approx(0, abs=1e-12)
    some = wavefunction.positions[[3, 0, 4]]
    assert (some - plane.origin) @ normal == pytest.approx(np.zeros(3), abs=1e-10)
    direction = some[1] - some[0]
    assert plane.right @ direction == pytest.approx(np.linalg.norm(direction))
    in_plane = (wavefunction.positions - plane.origin) @ np.stack([plane.right, plane.up], axis=1)
    size = np.array([plane.shape[1] - 1, plane.shape[0] - 1]) * plane.spacing
    assert np.all(in_plane >= 2.0 - 1e-9)
    assert np.all(in_plane <= size - 2.0 + 1e-9)
    flat = plane_through(benzene)
    assert (benzene.positions - flat.origin) @ np.cross(flat.right, flat.up) == pytest.approx(np.zeros(12), abs=1e-3)


def test_values_are_those_at_the_points(benzene):
    plane = plane_through(benzene, [0, 1, 2], spacing=1.0)
    one = slice_field(benzene, "density", plane, device="cpu", precision="double")
    row, column = 3, 5
    point = plane.origin + plane.spacing * (column * plane.right + row * plane.up)
    expected = ob.evaluate(benzene, "density", point[None], device="cpu", precision="double")[0]
    assert one.values[row, column] == pytest.approx(expected, rel=1e-9)
    assert (one.quantity, one.unit) == ("electron density", "e bohr^-3")


def test_as_a_surface(benzene):
    plane = plane_through(benzene, [0, 1, 2], spacing=1.0)
    surface = as_surface(slice_field(benzene, "esp", plane, device="cpu"), 0.1)
    corners = surface.vertices[surface.faces].astype(float)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.allclose(normals, surface.normals[0], atol=1e-5)  # of area 1/2, all on one side
    assert len(surface.faces) == 2 * (plane.shape[0] - 1) * (plane.shape[1] - 1)
    assert (surface.colouring.low, surface.colouring.high) == (-0.1, 0.1)


def test_ranges_and_levels():
    values = np.concatenate([np.linspace(0, 1, 99), [300.0]])
    assert colour_range(values, None) == (0.0, 1.0)  # of 0.96: a round number
    assert colour_range(values, 2.0) == (0.0, 2.0)
    both = np.concatenate([np.full(50, -0.05), np.full(50, 2.0)])
    assert colour_range(both, None) == pytest.approx((-0.1, 0.1))
    hardly = np.concatenate([[-0.001], np.full(99, 3.0)])
    assert colour_range(hardly, None) == (-3.0, 3.0)
    assert colour_range(np.zeros(5), None) == (0.0, 1.0)
    assert contour_levels(-0.1, 0.1) == pytest.approx(
        [-0.1, -0.05, -0.02, -0.01, -0.005, -0.002, -0.001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1]
    )
    assert np.all(contour_levels(0.0, 3.0) > 0)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_pictures(benzene, tmp_path, suffix):
    one = slice_field(benzene, "homo", plane_through(benzene, [0, 1, 6], spacing=0.5), device="cpu")
    path = tmp_path / f"slice{suffix}"
    draw_slice(one, benzene, path, size=(640, 480))
    assert path.stat().st_size > 3000
    if suffix == ".png":
        from PIL import Image

        with Image.open(path) as picture:
            assert picture.size == (640, 480)
            assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) > 100
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_field_that_is_zero_can_be_drawn(benzene, tmp_path):
    plane = plane_through(benzene, spacing=1.0)
    draw_slice(Slice(plane, np.zeros(plane.shape), "nothing", ""), benzene, tmp_path / "nothing.png")
    assert (tmp_path / "nothing.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--atoms", "1,2", "-o", "a.png"], "three atoms or more"),
        (["--atoms", "1,2,13", "-o", "a.png"], "atoms from 1 to 12"),
        (["--atoms", "1,2,2", "-o", "a.png"], "different atoms"),
        (["--atoms", "1,4,7,10", "-o", "a.png"], "not on a line"),
        (["-o", "a.gif"], "end in .png, .svg, .pdf"),
        (["-o", "a.png", "--spacing", "0.0001"], "larger spacing"),
        (["-o", "a.png", "--spacing", "-1"], "positive spacing"),
        (["-o", "a.png", "--color-range", "0"], "positive number"),
        (["nothing", "-o", "a.png"], "there is no 'nothing'"),
    ],
)
def test_wrong_arguments(benzene, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(["slice", benzene.source, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib(benzene, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    assert main(["slice", benzene.source, "-o", str(tmp_path / "a.png")]) == 2
    assert "pip install orbitile[plots]" in capsys.readouterr().err


def test_a_coloured_mesh_has_the_colours_of_the_second_field(benzene, tmp_path, capsys):
    import trimesh

    path = tmp_path / "coloured.ply"
    arguments = ["mesh", benzene.source, "density", "--isovalue", "0.002", "--quality", "coarse", "-q"]
    assert main([*arguments, "--color-by", "esp", "--color-range", "0.05", "-o", str(path), "--device", "cpu"]) == 0
    assert "maximum" in capsys.readouterr().out
    assert b"electrostatic potential from -0.05 to 0.05" in path.read_bytes()[:600]
    mesh = trimesh.load(path, process=False)
    colours = np.asarray(mesh.visual.vertex_colors)[:, :3].astype(float)
    potential = ob.evaluate(benzene, "esp", np.asarray(mesh.vertices) * angstrom, device="cpu")
    blue = colours[:, 2] - colours[:, 0]
    assert np.corrcoef(blue, np.clip(potential, -0.05, 0.05))[0, 1] > 0.9
    assert np.all(blue[potential > 0.02] > 0)
    assert np.all(blue[potential < -0.02] < 0)


def test_a_plane_has_one_field(benzene, tmp_path, capsys):
    output = tmp_path / "a.png"
    arguments = ["render", benzene.source, "density", "--plane", "1,2,3", "--color-by", "esp", "-o", str(output)]
    assert main(arguments) == 2
    assert "leave out --color-by" in capsys.readouterr().err
    assert not output.exists()

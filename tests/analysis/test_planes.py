"""Slices: where their points are, what they show, and the files they become."""

import dataclasses

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.planes import (
    Slice,
    as_surface,
    colour_range,
    contour_levels,
    draw_slice,
    plane_through,
    slice_field,
    slice_figure,
)
from orbitile.commandline import main
from orbitile.model.units import angstrom
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
    cut = slice_field(benzene, "density", plane, device="cpu", precision="double")
    row, column = 3, 5
    point = plane.origin + plane.spacing * (column * plane.right + row * plane.up)
    expected = ob.evaluate(benzene, "density", point[None], device="cpu", precision="double")[0]
    assert cut.values[row, column] == pytest.approx(expected, rel=1e-9)
    assert (cut.quantity, cut.unit) == ("electron density", "e bohr^-3")


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


@pytest.fixture(scope="module")
def pi_orbital(benzene):
    """Of the plane through a bond that stands on the ring: one side of it is positive, the other one negative."""
    plane = plane_through(benzene, [0, 1, 6], spacing=0.5)
    upright = dataclasses.replace(plane, right=plane.right, up=np.cross(plane.right, plane.up))
    middle = (np.array(upright.shape) - 1) / 2 * plane.spacing
    origin = benzene.positions[[0, 1]].mean(axis=0) - middle[1] * upright.right - middle[0] * upright.up
    return slice_field(benzene, "homo", dataclasses.replace(upright, origin=origin), device="cpu")


@pytest.mark.slow
def test_a_picture_has_the_colours_of_its_values(benzene, pi_orbital, tmp_path):
    """Lobes are blue and red, on the sides of the picture where the values are positive and negative."""
    from PIL import Image

    draw_slice(pi_orbital, benzene, tmp_path / "slice.png", size=(640, 480))
    assert [path.name for path in tmp_path.iterdir()] == ["slice.png"]
    with Image.open(tmp_path / "slice.png") as picture:
        assert picture.size == (640, 480)
        pixels = np.asarray(picture.convert("RGB"))[40:400, 80:480].astype(int)  # inside the axes
    rows = {}
    for sign, (strong, weak) in {1: (2, 0), -1: (0, 2)}.items():
        lobe = pixels[..., strong] > pixels[..., weak] + 60
        assert lobe.mean() > 0.01
        rows[sign] = np.nonzero(lobe)[0].mean()
        expected = np.nonzero(sign * pi_orbital.values > 0.5 * np.abs(pi_orbital.values).max())[0].mean()
        assert (rows[sign] < len(pixels) / 2) == (expected > len(pi_orbital.values) / 2)  # rows count downwards
    assert abs(rows[1] - rows[-1]) > 40


@pytest.mark.slow
def test_vector_formats(benzene, pi_orbital, tmp_path):
    """The proportions that were asked for, the colours as pixels, the contours as paths."""
    import xml.etree.ElementTree as ElementTree

    for suffix in ("svg", "pdf"):
        draw_slice(pi_orbital, benzene, tmp_path / f"slice.{suffix}", size=(640, 480))
    svg = ElementTree.parse(tmp_path / "slice.svg").getroot()
    width, height = (float(edge) for edge in svg.attrib["viewBox"].split()[2:])
    assert width / height == pytest.approx(4 / 3, rel=1e-3)
    tags = [element.tag.rpartition("}")[2] for element in svg.iter()]
    assert tags.count("image") == 2
    contours = [element for element in svg.iter() if element.attrib.get("id", "").startswith("QuadContourSet")]
    assert len(contours) == 1
    dashed = [path for path in contours[0].iter() if "stroke-dasharray" in path.attrib.get("style", "")]
    assert 3 < len(dashed) < len(list(contours[0]))  # those of negative values
    pdf = (tmp_path / "slice.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert pdf.rstrip().endswith(b"%%EOF")
    box = pdf[pdf.index(b"/MediaBox [") + 11 :].split(b"]")[0]
    assert [float(edge) for edge in box.split()[2:]] == pytest.approx([width, height], abs=0.1)


def test_a_field_that_is_zero_can_be_drawn(benzene, tmp_path):
    from PIL import Image

    plane = plane_through(benzene, spacing=1.0)
    path = tmp_path / "nothing.png"
    draw_slice(Slice(plane, np.zeros(plane.shape), "nothing", ""), benzene, path, size=(320, 240))
    with Image.open(path) as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    inside = pixels[40:180, 60:200]  # atoms in black and grey on white
    assert np.ptp(inside, axis=-1).max() < 10
    assert (inside.min(axis=-1) > 245).mean() > 0.7


@pytest.mark.linux
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_disk_that_fills_up_while_a_picture_is_written(benzene, tmp_path, suffix):
    pytest.importorskip("resource")
    from tests.exporters.test_full_disk import files_of_at_most

    cut = slice_field(benzene, "density", plane_through(benzene, spacing=0.5), device="cpu")
    with files_of_at_most(3000), pytest.raises(ob.OrbitileError, match="cannot be written"):
        draw_slice(cut, benzene, tmp_path / f"cut.{suffix}", size=(640, 480))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--atoms", "1,2", "-o", "a.png"], "three atoms or more"),
        (["--atoms", "1,2,13", "-o", "a.png"], "atoms from 1 to 12"),
        (["--atoms", "1,2,2", "-o", "a.png"], "different atoms"),
        (["--atoms", "1,4,7,10", "-o", "a.png"], "not on one line"),
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
    assert "-m pip install 'matplotlib" in capsys.readouterr().err


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


def test_bonds_of_a_density_are_seen(benzene):
    """Peaks at nuclei are cut off; the density between two carbon atoms is neither pale nor beyond the colours."""
    for margin in (1.0, 9.0):
        cut = slice_field(
            benzene, "density", plane_through(benzene, [0, 1, 2], spacing=0.2, margin=margin), device="cpu"
        )
        low, high = colour_range(cut.values, None, cut.valence)
        middle = benzene.positions[[0, 1]].mean(axis=0)
        bond = ob.evaluate(benzene, "density", middle[None], device="cpu")[0]
        assert low == 0
        assert 0.25 * high < bond < 0.85 * high
        assert cut.values.max() > 10 * high


@pytest.mark.parametrize("height", [2.4, 2.8, 3.2])
def test_both_signs_of_a_potential_are_seen(benzene, height):
    """Above the ring it is negative, with some that is positive beside it."""
    plane = plane_through(benzene, [0, 3, 1], spacing=0.3, margin=5.0)
    above = dataclasses.replace(plane, origin=plane.origin + height * np.cross(plane.right, plane.up))
    cut = slice_field(benzene, "esp", above, device="cpu")
    low, high = colour_range(cut.values, None, cut.valence)
    assert low == -high
    assert 0.5 * high < -cut.values.min() < 1.5 * high


def test_the_picture_says_what_its_contours_and_colours_are(benzene):
    plane = plane_through(benzene, [0, 1, 2], spacing=0.4)
    figure = slice_figure(slice_field(benzene, "density", plane, device="cpu"), benzene)
    stated = figure.get_supxlabel()
    assert stated.startswith("contours at ")
    assert stated.endswith(" e bohr$^{-3}$")
    levels = [float(part) for part in stated[12:].removesuffix(" e bohr$^{-3}$").split(",")]
    assert all(f"{level:e}"[0] in "125" for level in levels)
    bar = figure.axes[1]
    assert bar.get_ylabel() == "e bohr$^{-3}$"
    assert "^-" not in stated + bar.get_ylabel()
    drawn = figure.axes[0].collections[0].levels
    assert np.array_equal(drawn, levels)

    above = dataclasses.replace(plane, origin=plane.origin + np.cross(plane.right, plane.up))
    signed = slice_figure(slice_field(benzene, "homo", above, device="cpu"), benzene).get_supxlabel()
    assert signed.startswith("contours at ±")
    assert signed.endswith(" bohr$^{-3/2}$; negative ones dashed")


@pytest.mark.parametrize("size", [(240, 180), (300, 500), (640, 480), (1600, 1200)])
def test_nothing_written_is_cut_off(benzene, size):
    cut = slice_field(benzene, "esp", plane_through(benzene, spacing=0.8), device="cpu")
    named = dataclasses.replace(cut, quantity="electrostatic potential with 12 charges")
    figure = slice_figure(named, benzene, size=size)
    figure.draw_without_rendering()
    assert (figure.bbox.size.astype(int) == size).all()
    title, contours = figure.texts
    for text in (title, contours, figure.axes[1].yaxis.label):
        (left, bottom), (right, top) = text.get_window_extent().get_points()
        assert -1 < left < right < size[0] + 1
        assert -1 < bottom < top < size[1] + 1


def test_an_orbital_on_its_nodal_plane_is_nothing(benzene):
    cut = slice_field(benzene, "homo", plane_through(benzene, [0, 1, 2], spacing=0.4), device="cpu")
    assert 0 <= np.abs(cut.values).max() < 1e-7
    figure = slice_figure(cut, benzene)
    assert figure.get_supxlabel() == "0 everywhere on this plane"
    assert abs(figure.axes[0].images[0].get_clim()[1]) == 1.0


def test_nci_keeps_to_its_convention(benzene):
    """Attraction is blue, repulsion red, the range fixed: on surfaces, planes and slices."""
    from orbitile.evaluation.surfaces import coloured
    from orbitile.surfaces.colour_maps import colours_of

    surface = ob.compute_surface(benzene, "density", 0.03, device="cpu")
    on_surface = coloured(surface, benzene, "nci", device="cpu").colouring
    plane = plane_through(benzene, [0, 1, 2], spacing=0.4)
    on_plane = as_surface(slice_field(benzene, "nci", plane, device="cpu")).colouring
    for colouring in (on_surface, on_plane):
        assert (colouring.low, colouring.high, colouring.colour_map) == (-0.04, 0.04, "interaction")
        assert colouring.quantity == "sign(λ₂)ρ"
        colours = colours_of(colouring)
        attraction, repulsion = colours[colouring.values < -0.02], colours[colouring.values > 0.02]
        assert np.all(attraction[:, 2] > attraction[:, 0] + 0.3)
        assert np.all(repulsion[:, 0] > repulsion[:, 2] + 0.3)
        assert len(attraction)
        assert len(repulsion)


def test_values_of_one_sign_have_no_white_in_their_middle(benzene):
    from orbitile.evaluation.surfaces import coloured

    surface = ob.compute_surface(benzene, "density", 0.001, device="cpu")
    colouring = coloured(surface, benzene, "ionisation", device="cpu").colouring
    assert colouring.colour_map == "sequential"
    assert 0 < colouring.low <= colouring.values.min() < colouring.values.max() <= colouring.high
    assert coloured(surface, benzene, "esp", device="cpu").colouring.colour_map == "signed"

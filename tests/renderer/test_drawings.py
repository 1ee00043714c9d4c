"""Points, paths and arrows of reports in scenes, pictures, pages and files: where they are, and closed."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import RenderError
from orbitile.commandline import main
from orbitile.model.report import HEAD, WIDE, AtomValues, Paths, Points
from orbitile.renderer import render_scene
from orbitile.renderer.legend import measure, text_size
from orbitile.scenes.drawings import path_mesh
from tests.web.unpacking import document_in

ALONG = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 3.0]])
GOLD = (0.9, 0.7, 0.1)


def volume(mesh):
    a, b, c = mesh.vertices[mesh.faces].transpose(1, 0, 2)
    return np.einsum("ni,ni->", a, np.cross(b, c)) / 6


def test_a_path_is_a_closed_tube_and_an_arrow_has_a_cone():
    """Volumes of prisms and pyramids of sixteen sides, whose faces look outwards."""
    area = 8 * np.sin(np.pi / 8) * 0.2**2
    assert volume(path_mesh(Paths("line", (ALONG,), radius=0.2))) == pytest.approx(3 * area)
    arrow = path_mesh(Paths("arrow", (ALONG,), radius=0.2, heads=True))
    assert volume(arrow) == pytest.approx((3 - HEAD) * area + HEAD * WIDE**2 * area / 3)
    assert arrow.vertices[:, 2].max() == 3.0
    outwards = np.cross(*(arrow.vertices[arrow.faces[:, n]] - arrow.vertices[arrow.faces[:, 0]] for n in (1, 2)))
    assert np.einsum("ni,nki->nk", outwards, arrow.normals[arrow.faces]).min() > -1e-12


def test_a_ring_closes_and_does_not_twist():
    angles = np.linspace(0, 2 * np.pi, 101)
    ring = 3.0 * np.array([np.cos(angles), np.sin(angles), 0 * angles]).T
    mesh = path_mesh(Paths("ring", (ring,), radius=0.1))
    assert volume(mesh) == pytest.approx(2 * np.pi * 3 * 8 * np.sin(np.pi / 8) * 0.1**2, rel=2e-3)
    ((cut, _),) = Paths("ring", (ring,), heads=True).drawn()  # the head goes back along the ring, not through it
    assert np.linalg.norm(cut[-2]) == pytest.approx(3.0, abs=0.01)
    assert np.linalg.norm(cut[-1] - cut[-2]) == pytest.approx(HEAD, rel=0.01)


def test_a_short_arrow_is_not_wider_than_half_its_length():
    mesh = path_mesh(Paths("short", (0.1 * ALONG,), radius=0.5, heads=True))
    assert np.ptp(mesh.vertices[:, 2]) == pytest.approx(0.3)
    assert np.ptp(mesh.vertices[:, 0]) == pytest.approx(0.15, rel=0.05)


def test_a_line_that_goes_nowhere_is_left_out():
    assert not len(path_mesh(Paths("none", (ALONG[:1], ALONG[[1, 1]]), heads=True)).faces)


def test_a_scene_has_balls_and_tubes(benzene):
    drawings = (Points("cp", ALONG, radius=0.3), Paths("path", (ALONG,)), AtomValues("charge", (0.0,) * 12))
    scene = ob.scene_of((), benzene, drawings=drawings)
    assert len(scene.molecule.centres) == 15
    assert [mesh.name for mesh in scene.meshes] == ["path"]
    assert len(ob.scene_of((), drawings=drawings).molecule.radii) == 3
    with pytest.raises(RenderError, match="nothing to draw"):
        ob.scene_of((), drawings=drawings[2:])


def test_an_arrow_is_seen_in_a_picture(benzene):
    pytest.importorskip("OpenGL")
    arrow = Paths("field", (np.array([[-6.0, 5.0, 0.0], [6.0, 5.0, 0.0]]),), GOLD, 0.2, heads=True)
    pixels = [
        ob.render((), benzene, size=(240, 180), drawings=some, camera=ob.Camera.facing(benzene.positions))
        for some in ((), (arrow,))
    ]
    yellow = [int(((p[..., 0] > 150) & (p[..., 2] < 100)).sum()) for p in pixels]
    assert yellow[0] == 0
    assert yellow[1] > 200


def test_what_an_analysis_finds_is_in_pages_and_files(tmp_path, monkeypatch, capsys):
    from importlib.resources import files

    monkeypatch.chdir(tmp_path)
    benzene = str(files("orbitile") / "data" / "benzene.molden")
    assert not main(["render", benzene, "--analysis", "topology:labels=none", "-o", "a.html", "--device", "cpu"])
    found = document_in((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert [mesh["name"] for mesh in found["slides"][0]["meshes"]] == ["bond paths"]
    assert not main(["render", benzene, "--analysis", "topology", "-o", "a.ply", "--device", "cpu"])
    capsys.readouterr()
    for analysis, words in (
        ("charges:scheme=mulliken", "no points, paths or arrows"),
        ("topology:labels=loud", "expected density"),
        ("nothing", "expected charges"),
    ):
        assert main(["render", benzene, "--analysis", analysis, "-o", "b.png", "--device", "cpu"]) == 2
        assert words in capsys.readouterr().err


def test_viewers_beyond_a_pipe_are_told_where_heads_begin():
    from orbitile.hosts.server.viewer import drawings_message
    from orbitile.model.units import angstrom

    (lines,) = drawings_message((Paths("arrow", (ALONG,), radius=0.2, heads=True),))["lines"]
    heights = np.array(lines["lines"][0])[:, 2] * angstrom
    np.testing.assert_allclose(heights, [0.0, 1.0, 3.0 - HEAD, 3.0], atol=1e-4)
    assert lines["radii"] == pytest.approx([0.2 / angstrom], abs=1e-5)


@pytest.mark.parametrize("orthographic", [False, True])
def test_labels_are_written_beside_their_points(orthographic):
    pytest.importorskip("OpenGL")
    corners, size, white = 6.0 * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), (400, 300), (1.0,) * 3
    scene = ob.scene_of((), drawings=(Points("cp", corners, ("0.27", "", ""), (1.0, 0.0, 0.0), 0.4),))
    assert [text for _, text in scene.labels] == ["0.27"]
    camera = ob.Camera(orthographic=orthographic).framed(scene, size[0] / size[1])
    bare = render_scene(replace(scene, labels=()), camera, size, white).astype(int)
    rows, columns = np.nonzero(bare[..., 0] - bare[..., 1] > 60)
    for x, y, _ in camera.pixels_of(corners, size):
        near = np.hypot(columns + 0.5 - x, rows + 0.5 - y) < 30
        np.testing.assert_allclose([columns[near].mean() + 0.5, rows[near].mean() + 0.5], [x, y], atol=1.5)

    written = render_scene(scene, camera, size, white).astype(int)
    rows, columns = np.nonzero(np.abs(written - bare).max(axis=2) > 60)
    x, y, depth = camera.pixels_of(corners[:1], size)[0]
    height = text_size(size)
    assert columns.min() > x
    assert columns.max() < x + 0.5 * height + measure("0.27", height) + 2
    assert rows.min() > y - 1.5 * height
    assert rows.max() < y + 1

    away = -camera.rotation[2] if orthographic else (corners[0] - camera.eye) / depth
    behind = replace(scene, labels=((corners[0] + 9.0 * away, "0.31"), *scene.labels))
    assert camera.pixels_of(behind.labels[0][0][None], size)[0] == pytest.approx([x, y, depth + 9.0], rel=0.01)
    assert (render_scene(behind, camera, size, white) == written).all()  # it would lie under the nearer label

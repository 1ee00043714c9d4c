"""What surfaces are drawn from: triangles, edges or points, each once, in the right place and colour."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.model.units import angstrom
from orbitile.pictures.look import Look
from orbitile.surfaces.subdivision import edges_of

pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")

COLOURS = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0))


@pytest.fixture(scope="module")
def surface():
    """A p function: two lobes."""
    points = np.stack(np.meshgrid(*[np.linspace(-4, 4, 17)] * 3, indexing="ij"), axis=-1)
    values = points[..., 2] * np.exp(-(points**2).sum(axis=-1) / 2)
    lattice = ob.Lattice(np.full(3, -4.0), np.eye(3) * 0.5, (17, 17, 17))
    return ob.isosurface(ob.Volume(values.astype(np.float32), lattice), 0.1)


def corners(drawing):
    """Positions (bohr) of the corners of each BEGIN ... END of a drawing, with its kind and colour."""
    parts, at = [], 0
    while at < len(drawing):
        assert drawing[at] == 2.0
        kind, colour = drawing[at + 1], tuple(drawing[at + 3 : at + 6])
        end = at + 6
        rows = []
        while drawing[end] != 3.0:
            assert (drawing[end] == 5.0) == (kind == 4.0)  # a normal, of what has a side that is lit
            end += 4 if drawing[end] == 5.0 else 0
            assert drawing[end] == 4.0  # a position
            rows.append(drawing[end + 1 : end + 4])
            end += 4
        parts.append((kind, colour, np.array(rows) * angstrom))
        at = end + 1
    return parts


@pytest.mark.parametrize(("style", "kind", "size"), [("surface", 4.0, 3), ("mesh", 1.0, 2), ("dots", 0.0, 1)])
def test_each_style_draws_each_part_once_where_the_surface_is(surface, style, kind, size):
    from orbitile.hosts.pymol.graphics import drawing_of

    expected = {"surface": surface.faces, "mesh": edges_of(surface.faces), "dots": np.arange(len(surface.vertices))}
    parts = corners(drawing_of(surface, Look(COLOURS, style=style)))
    assert [(part[0], part[1]) for part in parts] == [(kind, COLOURS[0]), (kind, COLOURS[1])]
    assert sum(len(part[2]) for part in parts) == expected[style].size
    drawn = np.concatenate([part[2] for part in parts]).reshape(-1, size, 3)
    wanted = surface.vertices[expected[style].reshape(-1, size)]

    def key(rows):
        return rows.reshape(len(rows), -1).round(4).tolist()

    assert sorted(key(drawn)) == pytest.approx(np.array(sorted(key(wanted))), abs=2e-4)
    assert all((part[2][:, 2] > 0).all() == (part[1] == COLOURS[0]) for part in parts)


def test_a_coloured_mesh_has_the_colour_of_each_end(surface):
    from dataclasses import replace

    from orbitile.hosts.pymol.graphics import drawing_of
    from orbitile.model.surface import Colouring

    values = surface.vertices[:, 0]
    coloured = replace(surface, colouring=Colouring(values, -2.0, 2.0))
    drawing = np.array(drawing_of(coloured, Look(COLOURS, style="mesh")), np.float64)
    n_ends = 2 * len(edges_of(surface.faces))
    assert len(drawing) == 8 * n_ends + 2 * 7  # two lobes, each with what begins and ends it

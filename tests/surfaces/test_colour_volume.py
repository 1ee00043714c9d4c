"""The colours of a surface as a volume."""

import dataclasses

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

import orbitile as ob
from orbitile.model.surface import Colouring
from orbitile.surfaces.colour_volume import colour_volume


def sphere(spacing, field):
    """Of radius 2 around the origin, coloured by a function of the place."""
    n = int(np.ceil(6 / spacing))
    lattice = ob.Lattice([-3.0, -3.0, -3.0], np.eye(3) * (6 / n), (n + 1,) * 3)
    values = np.exp(-np.linalg.norm(lattice.points(), axis=1)).reshape(lattice.shape)
    surface = ob.isosurface(ob.Volume(values.astype(np.float32), lattice), float(np.exp(-2.0)))
    colours = field(surface.vertices.astype(float)).astype(np.float32)
    return dataclasses.replace(surface, colouring=Colouring(colours, -1.0, 3.0, "colour", "1"))


def at(volume, points):
    place = (points - volume.lattice.origin) / np.diag(volume.lattice.axes)
    return map_coordinates(volume.values.astype(float), place.T, order=1, mode="nearest")


def directions():
    points = np.random.default_rng(2).normal(size=(500, 3))
    return points / np.linalg.norm(points, axis=1)[:, None]


def test_one_colour_is_kept_exactly():
    volume = colour_volume(sphere(0.3, lambda r: np.full(len(r), 2.5)))
    assert at(volume, 2 * directions()) == pytest.approx(np.full(500, 2.5), abs=1e-6)


def test_colours_between_the_vertices_converge_with_the_mesh():
    def field(r):
        return r[:, 0] * r[:, 1] / 4 + 0.3 * r[:, 2]

    errors = []
    for spacing in (0.4, 0.2, 0.1):
        surface = sphere(spacing, field)
        volume = colour_volume(surface)
        assert np.abs(at(volume, surface.vertices.astype(float)) - surface.colouring.values).max() < 0.04 * spacing
        errors.append(np.abs(at(volume, 2 * directions()) - field(2 * directions())).max())
    assert errors[0] < 0.1
    assert errors[2] < 0.4 * errors[1] < 0.4 * 0.6 * errors[0]


def test_away_from_the_surface_is_the_middle_of_the_range():
    volume = colour_volume(sphere(0.2, lambda r: np.full(len(r), 2.5)))
    assert at(volume, np.zeros((1, 3))) == pytest.approx([1.0])
    near = np.concatenate([2.1 * directions(), 1.9 * directions()])
    assert at(volume, near) == pytest.approx(np.full(1000, 2.5), abs=1e-6)


def test_a_fine_mesh_is_given_a_coarser_lattice(monkeypatch):
    monkeypatch.setattr("orbitile.surfaces.colour_volume._MOST", 8000)
    surface = sphere(0.1, lambda r: r[:, 0])
    volume = colour_volume(surface)
    assert volume.values.size <= 8000
    assert np.abs(at(volume, surface.vertices.astype(float)) - surface.colouring.values).max() < 0.1


def test_a_surface_without_colours_is_refused():
    surface = sphere(0.4, lambda r: r[:, 0])
    with pytest.raises(ob.OrbitileError, match="colouring and triangles"):
        colour_volume(dataclasses.replace(surface, colouring=None))

"""How fine a surface is for its picture."""

import numpy as np
import pytest

from orbitile import render
from orbitile.model.lattice import Lattice
from orbitile.model.units import angstrom
from orbitile.model.volume import Volume
from orbitile.surfaces.isosurface import isosurface

pytest.importorskip("OpenGL")

from orbitile.renderer import round_lattice, round_spacing

from .samples import ball


def test_a_surface_is_round_at_the_pixels_of_its_picture():
    """The outline of a ball that fills the picture is a circle, though 0.15 Angstrom are 26 pixels."""
    coarse = ball(2.0, spacing=0.15 * angstrom)
    size = (1200, 900)
    spacing = round_spacing(coarse, size=size)
    lattice = round_lattice(Lattice.box(np.full(3, -2.5), np.full(3, 2.5), 0.15 * angstrom), spacing)
    assert lattice.spacings.max() <= spacing * 1.001
    assert lattice.spacings.max() < 0.08 * angstrom
    distance = np.linalg.norm(lattice.points(), axis=1).reshape(lattice.shape)
    fine = isosurface(Volume(np.exp(2.0 - distance), lattice), 1.0)
    off = []
    for surface in (coarse, fine):
        pixels = render(surface, size=size, opacity=1.0, orthographic=True)
        inside = pixels[..., :3].min(axis=-1) < 235
        rows, columns = np.nonzero(inside)
        middle = np.array([rows.min() + rows.max(), columns.min() + columns.max()]) / 2
        edge = inside & ~(
            np.roll(inside, 1, 0) & np.roll(inside, -1, 0) & np.roll(inside, 1, 1) & np.roll(inside, -1, 1)
        )
        radii = np.linalg.norm(np.argwhere(edge) - middle, axis=1)
        off.append(np.percentile(radii, 95) - np.percentile(radii, 5))
    assert off[1] < 1.2  # edges of pixels
    assert off[1] < 0.7 * off[0]


def test_the_box_of_a_finer_lattice_stays():
    lattice = Lattice(np.array([1.0, 2, 3]), np.diag([0.3, 0.3, 0.3]), (20, 30, 40))
    finer = round_lattice(lattice, 0.1)
    assert finer.origin == pytest.approx(lattice.origin)
    ends = [box.origin + (np.array(box.shape) - 1) @ box.axes for box in (lattice, finer)]
    assert ends[0] == pytest.approx(ends[1])
    assert finer.spacings.max() <= 0.1 + 1e-9
    assert round_lattice(lattice, 0.29) is lattice
    assert round_lattice(lattice, 1e-4).n_points < 3_200_000

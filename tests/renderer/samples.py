"""Molecules and surfaces that tests of pictures draw."""

import dataclasses

import numpy as np

from orbitile.model.lattice import Lattice
from orbitile.model.surface import Colouring, Surface
from orbitile.model.volume import Volume
from orbitile.model.wavefunction import Orbitals, Shell, Wavefunction
from orbitile.surfaces.isosurface import isosurface

BLUE, RED = (0.13, 0.40, 0.67), (0.70, 0.09, 0.17)


def molecule(numbers, positions) -> Wavefunction:
    """Atoms with one s function each: what a picture needs of a wavefunction."""
    n = len(numbers)
    shells = tuple(Shell(atom, 0, False, [1.0], [1.0]) for atom in range(n))
    return Wavefunction(np.array(numbers), np.array(positions, float), shells, Orbitals(np.eye(n), np.zeros(n)))


def p_orbital(axis=0, quantity="2p", centre=(0, 0, 0), isovalue=0.15) -> Surface:
    lattice = Lattice.box(np.array(centre) - 4.0, np.array(centre) + 4.0, 0.2)
    from_centre = lattice.points() - centre
    values = from_centre[:, axis] * np.exp(-np.linalg.norm(from_centre, axis=1))
    return isosurface(Volume(values.reshape(lattice.shape), lattice, quantity, "bohr^-3/2"), isovalue)


def ball(radius=2.0, quantity="density", centre=(0, 0, 0), spacing=0.2) -> Surface:
    lattice = Lattice.box(np.array(centre) - radius - 0.5, np.array(centre) + radius + 0.5, spacing)
    distance = np.linalg.norm(lattice.points() - centre, axis=1)
    return isosurface(Volume(np.exp(radius - distance).reshape(lattice.shape), lattice, quantity, "e bohr^-3"), 1.0)


def mapped(colour_map="signed", limit=2.0, values=None) -> Surface:
    """A ball coloured by x."""
    surface = ball()
    shown = surface.vertices[:, 0] if values is None else values
    low, high = {"sequential": (0.0, limit), "negative": (-limit, 0.0)}.get(colour_map, (-limit, limit))
    colouring = Colouring(shown.astype(np.float32), low, high, "potential", "hartree/e", colour_map)
    return dataclasses.replace(surface, colouring=colouring)


def drawn(pixels):
    """Where something is that is not paper."""
    return (pixels[..., :3].min(axis=-1) < 250) if pixels[..., 3].min() == 255 else pixels[..., 3] > 5


def free_edges(pixels):
    """What is free at the left, right, upper and lower edge of a picture, as shares of its width and height."""
    rows, columns = np.nonzero(drawn(pixels))
    height, width = pixels.shape[:2]
    return [
        columns.min() / width,
        1 - (columns.max() + 1) / width,
        rows.min() / height,
        1 - (rows.max() + 1) / height,
    ]

"""Molecules of the Kohn-Sham benchmarks, made by rules: atoms as PySCF reads them, in Angstrom.

Alkanes CH4 ... C13H28 and water clusters (H2O)1 ... (H2O)12 are the two series of Nitsche, Estrin and Gonzalez Lebrero
(2008), who give no coordinates; 64 hydrogen atoms in a cube are those of Ufimtsev and Martinez (J. Chem. Theory Comput.
2008, 4, 222).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from .fragments import random_rotation
from .systems import THREONINE, WATER

Array = NDArray[np.float64]

ETHANOL = """
C 0.0072 -0.5687 0; C -1.2854 0.2499 0; O 1.1304 0.3147 0; H 0.0392 -1.1972 0.89; H 0.0392 -1.1972 -0.89
H -1.3175 0.8784 0.89; H -1.3175 0.8784 -0.89; H -2.1422 -0.4239 0; H 1.9857 -0.1365 0
"""

ALKANES = tuple(range(1, 14))
"""Numbers of carbon atoms in the series of alkanes."""

CLUSTERS = tuple(range(1, 13))
"""Numbers of molecules in the series of water clusters."""

_OXYGENS_APART = 2.8
_WATER_CHARGES = np.array([-0.834, 0.417, 0.417])
_ORIENTATIONS, _SWEEPS = 300, 6
_METHYL = (0, 1, (8, 9, 10))
"""The methyl carbon of threonine, the carbon that it hangs on, and its hydrogens."""


def atoms_of(geometry: str) -> tuple[list[str], Array]:
    """Elements, and places in Angstrom of shape (n_atoms, 3); lines that begin with # are comments."""
    lines = [line for line in geometry.splitlines() if not line.startswith("#")]
    atoms = [atom.split() for line in lines for atom in line.split(";") if atom.strip()]
    return [atom[0] for atom in atoms], np.array([[float(value) for value in atom[1:]] for atom in atoms])


def geometry_of(elements: list[str], places: Array) -> str:
    """The inverse of `atoms_of`."""
    return "; ".join(f"{e} {x:.8f} {y:.8f} {z:.8f}" for e, (x, y, z) in zip(elements, places, strict=True))


def alkane(n: int) -> str:
    """All-trans CnH2n+2: bonds of 1.53 and 1.09 Angstrom, every angle tetrahedral."""
    along, across = np.sqrt(2 / 3), np.sqrt(1 / 3)  # of a bond in the zigzag plane, half the tetrahedral angle each
    elements, places = [], []
    for i in range(n):
        side = (-1.0) ** i
        carbon = np.array([1.53 * along * i, side * 1.53 * across / 2, 0.0])
        bonds = [np.array([0.0, side * across, z * along]) for z in (1, -1)]
        bonds += [np.array([x * along, -side * across, 0.0]) for x, at_end in ((-1, i == 0), (1, i == n - 1)) if at_end]
        elements += ["C"] + ["H"] * len(bonds)
        places += [carbon] + [carbon + 1.09 * bond for bond in bonds]
    return geometry_of(elements, np.array(places))


def water_cluster(n: int) -> str:
    """A cluster of n water molecules: oxygens 2.8 Angstrom apart in stacked squares, hydrogens turned into bonds.

    Squares and cubes of molecules are what clusters of this size like to form. Each molecule in turn takes that one of
    300 random orientations in which the charges of TIP3P have the lowest energy; six rounds.
    """
    generator = np.random.default_rng(12)
    elements, shape = atoms_of(WATER)
    centres = [np.array(place) * _OXYGENS_APART for place in product(range(3), range(2), range(2))][:n]
    molecules = [shape @ random_rotation(generator).T + centre for centre in centres]
    for _ in range(_SWEEPS if n > 1 else 0):
        for this, centre in enumerate(centres):
            others = np.concatenate(molecules[:this] + molecules[this + 1 :])
            choices = [molecules[this]]
            choices += [shape @ random_rotation(generator).T + centre for _ in range(_ORIENTATIONS)]
            charges = np.tile(_WATER_CHARGES, n - 1)
            apart = np.linalg.norm(np.array(choices)[:, :, None] - others, axis=3)
            energies = np.einsum("i,j,kij->k", _WATER_CHARGES, charges, 1 / apart)
            molecules[this] = choices[int(np.argmin(energies))]
    return geometry_of(elements * n, np.concatenate(molecules))


def hydrogen_cube(edge: int = 4, spacing: float = 0.74) -> str:
    """Hydrogen atoms on a cubic lattice of `edge` places along each axis."""
    places = spacing * np.array(list(product(range(edge), repeat=3)), np.float64)
    return geometry_of(["H"] * len(places), places)


def threonine_path(n: int = 100) -> Iterator[str]:
    """Frames of threonine: the methyl group turns by 1.2 degrees a frame, all atoms swing by some 0.03 Angstrom."""
    elements, still = atoms_of(THREONINE)
    one, other = np.random.default_rng(1).normal(scale=0.02, size=(2, *still.shape))
    carbon, neighbour, hydrogens = _METHYL
    axis = (still[carbon] - still[neighbour]) / np.linalg.norm(still[carbon] - still[neighbour])
    arms = still[list(hydrogens)] - still[carbon]
    for frame in range(n):
        angle, phase = np.radians(1.2 * frame), 2 * np.pi * frame / 100
        places = still + np.sin(phase) * one + np.sin(2 * phase) * other
        turned = arms * np.cos(angle) + np.cross(axis, arms) * np.sin(angle)
        turned += np.outer(arms @ axis, axis) * (1 - np.cos(angle))  # Rodrigues
        places[list(hydrogens)] += turned - arms
        yield geometry_of(elements, places)


def dragged(geometry: str, atom: int, n: int = 30, step: float = 0.05) -> Iterator[str]:
    """An atom goes round a circle in n steps of a length in Angstrom, and ends where it begins.

    Of the plane of the circle its bond is one axis, along which it is pulled and pushed by 0.24 Angstrom.
    """
    elements, still = atoms_of(geometry)
    apart = still - still[atom]
    nearest = np.argsort(np.linalg.norm(apart, axis=1))[1]
    bond = apart[nearest] / np.linalg.norm(apart[nearest])
    aside = np.cross(bond, np.eye(3)[np.argmin(np.abs(bond))])
    aside /= np.linalg.norm(aside)
    angle = 2 * np.pi / n
    radius = step / (2 * np.sin(angle / 2))
    for frame in range(n + 1):
        places = still.copy()
        places[atom] += radius * (np.sin(frame * angle) * bond + (1 - np.cos(frame * angle)) * aside)
        yield geometry_of(elements, places)

"""Promolecules: the densities of free atoms, added up where the atoms of a molecule are.

Between molecules, where weak interactions are, the density of a molecule differs little from that (J. Contreras-Garcia
et al., J. Chem. Theory Comput. 2011, 7, 625): structures without a wavefunction have such interactions too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.watch import checkpoint
from ..model.cell import cell_of
from ..model.free_atoms import FreeAtom, free_atom
from ..model.geometry import Geometry
from ..model.wavefunction import Orbitals, Wavefunction
from .expansion import GaussianExpansion, fallen

_FAINT = 1e-8
"""Density in e bohr^-3 below which a free atom is not counted at a point."""

_VANISHED = 40.0
"""Exponent from which a Gaussian is below 1e-17 of its largest value."""


def promolecule(geometry: Geometry, source: str = "", partial_charges: Reals | None = None) -> Wavefunction:
    """Free atoms at some places, as what fields are made of: a `Wavefunction` without basis set and orbitals.

    It has the density and all that follows from it, as Laplacian and weak interactions. Free atoms are neutral: the
    electrostatic potential is that of partial charges.

    Parameters
    ----------
    geometry
        The atoms; ghosts have no electrons.
    source
        The file that it is from.
    partial_charges : ndarray, shape (n_atoms,), optional
        In e, such as those of a force field.

    Raises
    ------
    OrbitileError
        When an element has no free atom in our table, see `orbitile.model.free_atoms`.
    """
    for number in np.unique(geometry.atomic_numbers[geometry.atomic_numbers > 0]).tolist():
        free_atom(number)
    none = Orbitals(np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    return Wavefunction(
        geometry.atomic_numbers,
        geometry.positions,
        (),
        none,
        source=source,
        program="free atoms",
        promolecule=True,
        partial_charges=np.zeros(0) if partial_charges is None else partial_charges,
    )


def free_atoms_of(wavefunction: Wavefunction) -> list[FreeAtom | None]:
    """The free atom at each place, without the electrons of core potentials; None for ghosts."""
    cores = wavefunction.atomic_numbers - wavefunction.core_charges
    kinds = zip(wavefunction.atomic_numbers.tolist(), cores.tolist(), strict=True)
    return [free_atom(number, core) if number else None for number, core in kinds]


def with_images(wavefunction: Wavefunction) -> Wavefunction:
    """The free atoms of a cell and those of other cells that reach into it, as a promolecule; of a molecule itself.

    Each atom that is left out has a density of less than 1e-8 e bohr^-3 anywhere in the cell.
    """
    if (cell := cell_of(wavefunction)) is None:
        return wavefunction
    free = free_atoms_of(wavefunction)
    kinds = {atom: _reach_of(atom) for atom in set(free) if atom is not None}
    reach = np.array([0.0 if atom is None else kinds[atom] for atom in free])
    numbers, places = [], []
    for shift in cell.images_within(float(reach.max())):
        there = cell.wrapped(wavefunction.positions) + shift
        near = cell.distances(there) <= reach
        numbers.append(wavefunction.atomic_numbers[near])
        places.append(there[near])
        checkpoint()
    return promolecule(Geometry(np.concatenate(numbers), np.concatenate(places)))


def promolecular_density(wavefunction: Wavefunction, atoms: NDArray[np.intp] | None = None) -> GaussianExpansion:
    """The density of the free atoms of a molecule, or of some of them, in e bohr^-3: s Gaussians, 10 to 40 an atom.

    Parameters
    ----------
    wavefunction
        Its atoms are taken alone, without the electrons of core potentials.
    atoms : ndarray of int, optional
        Which of them, from 0.

    Raises
    ------
    OrbitileError
        When an element has no free atom in our table.
    """
    free = free_atoms_of(wavefunction)
    chosen = range(len(free)) if atoms is None else atoms.tolist()
    there = [n for n in chosen if free[n] is not None]
    return sum_of_atoms([atom for n in there if (atom := free[n]) is not None], wavefunction.positions[there])


def sum_of_atoms(atoms: Sequence[FreeAtom], positions: Reals) -> GaussianExpansion:
    """The density of atoms at some places in bohr, shape (n_atoms, 3), in e bohr^-3."""
    places = np.repeat(np.arange(len(atoms)), np.array([len(atom.exponents) for atom in atoms], np.intp))
    exponents = np.concatenate([np.zeros(0), *(atom.exponents for atom in atoms)])
    electrons = np.concatenate([np.zeros(0), *(atom.electrons for atom in atoms)])
    return GaussianExpansion(
        positions[places],
        exponents,
        np.zeros(len(exponents), np.int32),
        np.arange(len(exponents) + 1, dtype=np.int32),
        electrons * (exponents / np.pi) ** 1.5,
    )


def promolecular_derivatives(wavefunction: Wavefunction, atoms: NDArray[np.intp], points: Reals) -> Reals:
    """The same density at points outside the nuclei, with its first and second derivatives, in double precision.

    Atom by atom on the processor, each at the points that it reaches: made for surfaces between molecules, of whose
    atoms each reaches a few thousand points at most.

    Parameters
    ----------
    wavefunction
        As for `promolecular_density`.
    atoms : ndarray of int
        Which of its atoms, from 0.
    points : ndarray, shape (n, 3)
        In bohr.

    Returns
    -------
    ndarray, shape (10, n)
        In e bohr^-3, bohr^-4 and bohr^-5: the density, x, y, z, xx, yy, zz, xy, xz, yz.
    """
    from scipy.spatial import cKDTree

    free, tree = free_atoms_of(wavefunction), cKDTree(points)
    result = np.zeros((10, len(points)))
    reach = {atom: _reach_of(atom) for atom in {free[n] for n in atoms.tolist()} if atom is not None}
    for n in atoms.tolist():
        atom = free[n]
        if atom is None:
            continue
        near = np.array(tree.query_ball_point(wavefunction.positions[n], reach[atom]), np.intp)
        if not len(near):
            continue
        d = (points[near] - wavefunction.positions[n]).T
        square = np.einsum("in,in->n", d, d)
        there = atom.exponents * square.min() < _VANISHED
        a, c = atom.exponents[there], (atom.electrons * (atom.exponents / np.pi) ** 1.5)[there]
        parts = np.exp(-a[:, None] * square)
        value, first, second = np.stack([c, -2 * a * c, 4 * a * a * c]) @ parts
        terms = (value, *(first * d), *(first + second * d * d), *(second * d[[0, 0, 1]] * d[[1, 2, 2]]))
        result[:, near] += np.stack(terms)
        checkpoint()
    return result


def _reach_of(atom: FreeAtom) -> float:
    """Distance in bohr beyond which its density is below 1e-8 e bohr^-3."""
    return fallen(lambda r: bool(atom.density(np.array(r)) > _FAINT), 0.0, 40.0)

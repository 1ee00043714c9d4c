r"""Repulsion and dispersion between the atoms of a region and those around it, by the Lennard-Jones terms of Amber.

.. math::  E = \sum_{ij} \varepsilon_{ij} \left[ (R_{ij}/r_{ij})^{12} - 2 (R_{ij}/r_{ij})^6 \right] s(r_{ij}), \qquad
    R_{ij} = R_i + R_j, \quad \varepsilon_{ij} = \sqrt{\varepsilon_i \varepsilon_j}

R and epsilon follow from elements and bonds: those of proteins (W. D. Cornell et al., J. Am. Chem. Soc. 1995, 117,
5179, which later force fields of Amber keep), of organic molecules (J. Wang et al., J. Comput. Chem. 2004, 25, 1157),
for the oxygen of water TIP3P (W. L. Jorgensen et al., J. Chem. Phys. 1983, 79, 926), and of all other elements UFF
(A. K. Rappe et al., J. Am. Chem. Soc. 1992, 114, 10024). From 10 to 12 Angstrom the switch s takes the energy to zero.
Partners of bonds that are cut, and of angles over them, have no terms. Reasons are in docs/decisions/0044.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..model.elements import SYMBOLS
from ..model.structure import Structure
from ..model.units import angstrom, kilocalorie_per_mole
from .valences import without_ionic_bonds

_SWITCH, _CUTOFF = 10.0 * angstrom, 12.0 * angstrom
"""Distances between which the energy of a pair goes to zero."""

_AMBER = {
    "H": (0.6, 0.0157),
    "C": (1.908, 0.086),
    "N": (1.824, 0.17),
    "O": (1.6612, 0.21),
    "F": (1.75, 0.061),
    "P": (2.1, 0.2),
    "S": (2.0, 0.25),
    "Cl": (1.948, 0.265),
}
"""Half of the distance of the minimum in Angstrom and its depth in kcal/mol, before bonds are looked at."""

_UFF = {
    "Li": (2.451, 0.025),
    "B": (4.083, 0.18),
    "Na": (2.983, 0.03),
    "Mg": (3.021, 0.111),
    "Al": (4.499, 0.505),
    "Si": (4.295, 0.402),
    "K": (3.812, 0.035),
    "Ca": (3.399, 0.238),
    "V": (3.144, 0.016),
    "Mn": (2.961, 0.013),
    "Fe": (2.912, 0.013),
    "Co": (2.872, 0.014),
    "Ni": (2.834, 0.015),
    "Cu": (3.495, 0.005),
    "Zn": (2.763, 0.124),
    "Se": (4.205, 0.291),
    "Br": (4.189, 0.251),
    "Mo": (3.052, 0.056),
    "Cd": (2.848, 0.228),
    "I": (4.5, 0.339),
    "W": (3.069, 0.067),
    "Pt": (2.754, 0.08),
    "Hg": (2.705, 0.385),
}
"""The whole distance, and the depth."""

_WITHDRAWING = [SYMBOLS.index(symbol) for symbol in ("N", "O", "F", "S", "Cl", "Br", "I")]
"""Neighbours of a carbon that make its hydrogens smaller."""


@dataclass(frozen=True, eq=False)
class LennardJones:
    """Lennard-Jones terms between the atoms of a region and those around it, which stay where they are.

    Attributes
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
        Of the region and its link hydrogens, which have no terms.
    radii, depths : ndarray, shape (n_atoms,)
        R in bohr and epsilon in hartree.
    places : ndarray, shape (n_around, 3)
        Of the atoms around it, in bohr.
    outer_radii, outer_depths : ndarray, shape (n_around,)
    excluded : ndarray of int
        n_around i + j of pairs without terms.
    held : tuple of int
        Atoms at bonds that are cut, with the hydrogens there: what a force field has for such a bond is not computed,
        so that they stay where they are.
    """

    atomic_numbers: NDArray[np.int64]
    radii: Reals
    depths: Reals
    places: Reals
    outer_radii: Reals
    outer_depths: Reals
    excluded: NDArray[np.int64]
    held: tuple[int, ...]

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(self.places)

    def energy_and_gradient(self, positions: Reals) -> tuple[float, Reals]:
        """Energy in hartree, and its derivatives by positions of shape (n_atoms, 3) in bohr.

        Raises
        ------
        OrbitileError
            When there are other atoms.
        """
        from scipy.spatial import cKDTree

        if positions.shape != (len(self.radii), 3):
            raise OrbitileError(
                f"Lennard-Jones terms: expected the {len(self.radii)} atoms of the region, got {len(positions)}; "
                "compute the region again"
            )
        found = cKDTree(positions).sparse_distance_matrix(self._tree, _CUTOFF, output_type="ndarray")
        i, j, r = found["i"], found["j"], found["v"]
        depth = np.sqrt(self.depths[i] * self.outer_depths[j])
        kept = (depth > 0) & ~np.isin(i * len(self.places) + j, self.excluded)
        i, j, r, depth = i[kept], j[kept], r[kept], depth[kept]
        sixth = ((self.radii[i] + self.outer_radii[j]) / r) ** 6
        t = np.clip((r - _SWITCH) / (_CUTOFF - _SWITCH), 0, 1)
        switch, slope = 1 - t**3 * (10 - 15 * t + 6 * t**2), -30 * (t * (1 - t)) ** 2 / (_CUTOFF - _SWITCH)
        energy = depth * sixth * (sixth - 2)
        along = energy * slope - 12 * depth * sixth * (sixth - 1) / r * switch
        gradient = np.zeros_like(positions)
        np.add.at(gradient, i, (along / r)[:, None] * (positions[i] - self.places[j]))
        return float(energy @ switch), gradient


def lennard_jones(structure: Structure, atoms: NDArray[np.int64], cuts: Iterable[tuple[int, int]] = ()) -> LennardJones:
    """The terms between atoms of a structure and all others.

    Parameters
    ----------
    structure
        With hydrogens and bonds.
    atoms
        Those that are computed.
    cuts
        The atom inside and the atom outside of each bond that is cut; a link hydrogen each comes after the atoms.

    Raises
    ------
    OrbitileError
        When there are no parameters for an element.
    """
    cuts = list(cuts)
    radii, depths = amber_parameters(structure)
    outside = np.delete(np.arange(len(radii)), atoms)
    row = np.zeros(len(radii), np.int64)  # of an atom, inside or outside
    row[atoms], row[outside] = np.arange(len(atoms)), np.arange(len(outside))
    inside = np.isin(np.arange(len(radii)), atoms)
    ends = np.concatenate([structure.bonds, structure.bonds[:, ::-1]])
    excluded = set(cuts)
    for one, other in cuts:
        excluded |= {(atom, other) for atom in ends[ends[:, 0] == one, 1].tolist() if inside[atom]}
        excluded |= {(one, atom) for atom in ends[ends[:, 0] == other, 1].tolist() if not inside[atom]}
    links = np.zeros(len(cuts))
    return LennardJones(
        np.append(structure.atomic_numbers[atoms], np.ones(len(cuts), np.int64)),
        np.append(radii[atoms], links),
        np.append(depths[atoms], links),
        structure.positions[outside],
        radii[outside],
        depths[outside],
        np.array([row[one] * len(outside) + row[other] for one, other in excluded], np.int64),
        tuple(sorted({*(int(row[one]) for one, _ in cuts), *range(len(atoms), len(atoms) + len(cuts))})),
    )


def amber_parameters(structure: Structure) -> tuple[Reals, Reals]:
    """R in bohr and epsilon in hartree of each atom, by its element and its bonds.

    Raises
    ------
    OrbitileError
        When there are none for an element.
    """
    numbers, bonds = structure.atomic_numbers, without_ionic_bonds(structure).bonds
    known = {SYMBOLS.index(symbol): (half, depth) for symbol, (half, depth) in _AMBER.items()}
    known |= {SYMBOLS.index(symbol): (0.5 * whole, depth) for symbol, (whole, depth) in _UFF.items()}
    if lacking := sorted(set(numbers.tolist()) - known.keys()):
        raise OrbitileError(
            f"Lennard-Jones terms: there are none for {', '.join(SYMBOLS[number] or 'X' for number in lacking)}; "
            "without them atoms can be moved by hand, and a region in vacuum (embed=0) can be relaxed"
        )
    radii, depths = np.array([known[number] for number in numbers.tolist()]).T
    one, other = np.concatenate([bonds, bonds[:, ::-1]]).T

    def count(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many neighbours of each atom are such."""
        return np.bincount(one[mask[other]], minlength=len(numbers))

    hydrogen, carbon, oxygen = numbers == 1, numbers == 6, numbers == 8
    neighbours, hydrogens = count(np.ones(len(numbers), bool)), count(hydrogen)
    withdrawing = count(np.isin(numbers, _WITHDRAWING))
    by_ammonium = count((numbers == 7) & (neighbours == 4)) > 0
    depths[carbon & (neighbours == 4)] = 0.1094
    depths[carbon & (neighbours == 2)] = 0.21
    for which, values in (
        ((hydrogens == 0) & (neighbours == 2), (1.6837, 0.17)),  # of an ether or ester
        (hydrogens == 1, (1.721, 0.2104)),
        (hydrogens > 1, (1.7683, 0.152)),  # of water
    ):
        radii[oxygen & which], depths[oxygen & which] = values
    bonded = one[hydrogen[one]], other[hydrogen[one]]
    for atom, to in zip(*(ends.tolist() for ends in bonded), strict=True):
        if oxygen[to]:
            radii[atom] = depths[atom] = 0.0
        elif carbon[to] and neighbours[to] == 4:
            radii[atom] = 1.1 if by_ammonium[to] else 1.487 - 0.1 * withdrawing[to]
        elif carbon[to]:
            radii[atom], depths[atom] = 1.459 - 0.05 * withdrawing[to], 0.015
    return radii * angstrom, depths * kilocalorie_per_mole

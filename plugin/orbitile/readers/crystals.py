"""A molecule of a crystal and all atoms around it, from CIF files, through gemmi (extra `orbitile[crystals]`).

The molecule of the first atom comes first, completed by the symmetry of the crystal, then all atoms within 7 Angstrom
of it: its surroundings, as Hirshfeld surfaces and interactions need them. All atoms of a cell are its `crystal`, for
what is left free between the molecules. Of disordered groups the first one is taken.
Bonds to hydrogen are lengthened to the averages of neutron diffraction (F. H. Allen and I. J. Bruno, Acta Cryst. B
2010, 66, 380: C-H 1.083, N-H 1.009, O-H 0.983; B-H 1.180 Angstrom), as X-rays show the electrons of these bonds and not
the protons. Files of macromolecules (mmCIF) are taken as they are, without symmetry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import FileError, OrbitileError
from ..base.packages import install_command
from ..gaussians.promolecule import promolecule
from ..model.geometry import Geometry, connected_parts, find_bonds
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction
from ._isolation import isolated

DESCRIPTION = "crystals in CIF files: a molecule, completed by symmetry, with the atoms around it"
PATTERNS = ("*.cif",)
KIND = "wavefunction"

AROUND = 7.0
"""Distance in Angstrom from the molecule within which atoms are taken."""

_FARTHEST = 30.0
"""Distance in Angstrom from its first atom within which a whole molecule is."""

_BONDED = 2.0
"""Distance in Angstrom beyond the atoms of a cell within which those that they are bonded to lie."""

_MOST = 500_000
"""Atoms that are looked at."""

_SAME = 0.1
"""Distance in Angstrom within which two atoms are one."""

_HYDROGEN = 1
_TO_HYDROGEN = {5: 1.180, 6: 1.083, 7: 1.009, 8: 0.983}
"""Lengths in Angstrom by the atomic number of the other atom."""


def recognises(head: str) -> bool:
    """By where the atoms are."""
    return "_atom_site" in head and ("_cell" in head or "data_" in head)


def read(path: Path) -> Wavefunction:
    """Read the molecule of a crystal with its surroundings, as free atoms.

    Raises
    ------
    FileError
        When the file is damaged, or its crystal is not one of molecules. When gemmi is missing.
    """
    found = isolated(
        contents_of,
        str(path.absolute()),
        path.name,
        name=path.name,
        library="gemmi",
        imports="gemmi",
        size=path.stat().st_size,
    )
    try:
        cluster = promolecule(Geometry(*_cluster(path.name, *found)), str(path))
        return replace(cluster, crystal=_packed(path.name, *found)) if len(found[2]) else cluster
    except FileError:
        raise
    except OrbitileError as error:
        raise FileError(f"{path.name}: {error}") from error


def contents_of(path: str, name: str) -> tuple[NDArray[np.int64], Reals, Reals]:
    """Atomic numbers, positions and vectors of the cell in Angstrom, of all atoms of a cell; no vectors without one.

    The first atom is the first of the file.
    """
    if find_spec("gemmi") is None:
        raise FileError(f"{name}: needs the package gemmi: {install_command('gemmi')}")
    import gemmi

    try:
        block = gemmi.cif.read(path).sole_block()
        if block.find_values("_atom_site.Cartn_x"):
            rows = [(row.atom.element.atomic_number, row.atom.pos.tolist()) for row in _atoms_of(block)]
            numbers = np.array([number for number, _ in rows], np.int64)
            return numbers, np.array([place for _, place in rows], float).reshape(-1, 3), np.zeros((0, 3))
        crystal = gemmi.make_small_structure_from_block(block)
        sites = crystal.get_all_unit_cell_sites()
    except (RuntimeError, ValueError, IndexError) as error:
        raise FileError(f"{name}: gemmi cannot read it ({error})") from error
    kept = [site for site in sites if abs(site.disorder_group) <= 1 and site.occ > 0 and site.element.atomic_number]
    if lost := next((site.label for site in kept if not np.isfinite(site.fract.tolist()).all()), ""):
        raise FileError(f"{name}: atom {lost} has no place; expected fractional coordinates, as _atom_site_fract_x")
    vectors = np.array(crystal.cell.orth.mat.tolist()).T
    fractions = np.array([site.fract.tolist() for site in kept], float).reshape(-1, 3)
    return np.array([site.element.atomic_number for site in kept], np.int64), fractions @ vectors, vectors


def _atoms_of(block: Any) -> Iterator[Any]:
    """Atoms of the first model, of alternate locations the first."""
    import gemmi

    structure = gemmi.make_structure_from_block(block)
    structure.remove_alternative_conformations()
    return iter(structure[0].all())


def _cluster(
    name: str, numbers: NDArray[np.int64], positions: Reals, vectors: Reals
) -> tuple[NDArray[np.int64], Reals]:
    """The molecule of the first atom and the atoms around it: atomic numbers, and positions in bohr."""
    if not len(vectors):
        return numbers, positions * angstrom
    if not len(numbers):
        raise FileError(f"{name}: expected a crystal with atoms, got none")
    if not abs(np.linalg.det(vectors)) > 1:
        raise FileError(f"{name}: expected the edges and angles of a cell, got a volume of {np.linalg.det(vectors):g}")
    numbers, positions, _ = _images(name, numbers, positions, vectors, positions[0], _FARTHEST)
    bonds = find_bonds(numbers, positions * angstrom)
    part = connected_parts(len(numbers), bonds)
    molecule = np.flatnonzero(part == part[0])
    if np.linalg.norm(positions[molecule] - positions[0], axis=1).max() > _FARTHEST - 2 * AROUND / 3:
        raise FileError(
            f"{name}: expected a crystal of molecules, got bonds that go on through it; cut a cluster out of it in the "
            "viewer"
        )
    from scipy.spatial import cKDTree  # here, as it takes longer than most files

    distances = cKDTree(positions[molecule]).query(positions, distance_upper_bound=AROUND)[0]
    around = np.flatnonzero(np.isfinite(distances) & (part != part[0]))
    order = np.concatenate([molecule, around])
    with_hydrogens = _lengthened(numbers, positions, bonds)
    return numbers[order], with_hydrogens[order] * angstrom


def _packed(name: str, numbers: NDArray[np.int64], positions: Reals, vectors: Reals) -> Wavefunction:
    """All atoms of a cell, as free atoms that repeat with it."""
    middle = positions.mean(axis=0)
    radius = float(np.linalg.norm(positions - middle, axis=1).max()) + _BONDED
    around, places, n = _images(name, numbers, positions, vectors, middle, radius)
    places = _lengthened(around, places, find_bonds(around, places * angstrom))
    packed = promolecule(Geometry(around[:n], places[:n] * angstrom))
    return replace(packed, cell=vectors * angstrom)


def _images(
    name: str, numbers: NDArray[np.int64], positions: Reals, vectors: Reals, middle: Reals, radius: float
) -> tuple[NDArray[np.int64], Reals, int]:
    """Atoms of all cells within a distance of a point, those of the first cell first, and their number; each once."""
    heights = 1 / np.linalg.norm(np.linalg.inv(vectors), axis=0)
    fractions = (positions - middle) @ np.linalg.inv(vectors)
    low, high = fractions.min(axis=0), fractions.max(axis=0)
    first, last = np.floor(-radius / heights - high).astype(int), np.ceil(radius / heights - low).astype(int)
    if np.prod(last - first + 1.0) * len(numbers) > _MOST:
        raise FileError(
            f"{name}: expected a cell of a crystal of molecules, got {len(numbers):,} atoms in one so small"
        )
    shifts = np.stack(np.meshgrid(*map(np.arange, first, last + 1), indexing="ij"), axis=-1).reshape(-1, 3)
    shifts = shifts[np.argsort(np.abs(shifts).sum(axis=1), kind="stable")]
    everywhere = (positions + (shifts @ vectors)[:, None]).reshape(-1, 3)
    near = np.linalg.norm(everywhere - middle, axis=1) < radius
    everywhere, kinds = everywhere[near], np.tile(numbers, len(shifts))[near]
    from scipy.spatial import cKDTree

    later = cKDTree(everywhere).query_pairs(_SAME, output_type="ndarray").reshape(-1, 2).max(axis=1)
    kept = np.setdiff1d(np.arange(len(kinds)), later)
    return kinds[kept], everywhere[kept], int((kept < near[: len(numbers)].sum()).sum())


def _lengthened(numbers: NDArray[np.int64], positions: Reals, bonds: NDArray[np.int64]) -> Reals:
    """Positions with hydrogen atoms at neutron distances from the one atom that each is bonded to."""
    hydrogen = numbers == _HYDROGEN
    pairs = np.concatenate([bonds, bonds[:, ::-1]])
    pairs = pairs[hydrogen[pairs[:, 0]] & np.isin(numbers[pairs[:, 1]], list(_TO_HYDROGEN))]
    moved, at = np.unique(pairs[:, 0], return_counts=True)
    pairs = pairs[np.isin(pairs[:, 0], moved[at == 1])]
    result = positions.copy()
    along = positions[pairs[:, 0]] - positions[pairs[:, 1]]
    lengths = np.array([_TO_HYDROGEN[number] for number in numbers[pairs[:, 1]].tolist()])
    apart = np.linalg.norm(along, axis=1)
    result[pairs[:, 0]] = positions[pairs[:, 1]] + along * (lengths / apart)[:, None]
    return result

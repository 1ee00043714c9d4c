"""Where atoms are, and which of them are bonded by their distance: a frame of a trajectory without orbitals."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OrbitileError
from .elements import SYMBOLS
from .neighbours import pairs_among
from .units import angstrom


class Displayed:
    """An object that a notebook shows as `orbitile.mimebundle` says; how is no affair of the model."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        import orbitile

        return orbitile.mimebundle(self)


FARTHEST = 1e6
"""Largest coordinate of an atom in bohr: 0.05 mm. Squares of what is much larger are not numbers any more."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """Atoms and their positions.

    Attributes
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    """

    atomic_numbers: NDArray[np.int64]
    positions: NDArray[np.float64]

    def __post_init__(self) -> None:
        check_atoms(self.atomic_numbers, self.positions)


def check_atoms(numbers: NDArray[np.int64], positions: NDArray[np.float64]) -> None:
    """Refuse what are no atoms: numbers of no element, coordinates that are no lengths within a molecule.

    Parameters
    ----------
    numbers : ndarray of int, shape (n_atoms,)
        Atomic numbers, 0 for ghosts.
    positions : ndarray, shape (..., n_atoms, 3)
        In bohr.

    Raises
    ------
    OrbitileError
        When there is no atom, or one is wrong.
    """
    n = len(numbers)
    if n == 0 or positions.shape[-2:] != (n, 3):
        raise OrbitileError(f"atoms: expected at least one, with positions of shape ({n}, 3), got {positions.shape}")
    if not (numbers.min() >= 0 and numbers.max() < len(SYMBOLS)):
        bad = next(int(z) for z in numbers if not 0 <= z < len(SYMBOLS))
        raise OrbitileError(f"atomic numbers: expected 0 (a ghost) to {len(SYMBOLS) - 1}, got {bad}")
    if positions.size and not np.abs(positions).max() <= FARTHEST:
        bad_length = positions[~(np.abs(positions) <= FARTHEST)][0]
        raise OrbitileError(f"atom positions: expected coordinates up to {FARTHEST:g} bohr, got {bad_length:g}")


class Molecule(Protocol):
    """Atoms at one or more geometries, as a wavefunction has them; what is needed to show them."""

    @property
    def atomic_numbers(self) -> NDArray[np.int64]:
        """Element of each atom, shape (n_atoms,); 0 for a ghost."""

    @property
    def geometries(self) -> NDArray[np.float64]:
        """Positions in bohr, shape (n_geometries, n_atoms, 3)."""

    @property
    def is_ghost(self) -> NDArray[np.bool_]:
        """Which atoms are basis functions without a nucleus, or stand for no atom at all."""

    @property
    def source(self) -> str:
        """File that it came from."""

    @property
    def title(self) -> str:
        """For people."""


class Geometries(Protocol):
    """Where the frames of a geometry-only trajectory come from; one class a kind of file, in `orbitile.readers`."""

    @property
    def name(self) -> str:
        """For people: the file."""

    def __len__(self) -> int:
        """Number of frames."""

    def read(self, index: int) -> Geometry:
        """Read one frame.

        Raises
        ------
        FileError
            When it is damaged.
        """


_CORDERO = """
    0.00 0.31 0.28 1.28 0.96 0.84 0.76 0.71 0.66 0.57 0.58 1.66 1.41 1.21 1.11 1.07 1.05 1.02 1.06 2.03 1.76 1.70
    1.60 1.53 1.39 1.39 1.32 1.26 1.24 1.32 1.22 1.22 1.20 1.19 1.20 1.20 1.16 2.20 1.95 1.90 1.75 1.64 1.54 1.47
    1.46 1.42 1.39 1.45 1.44 1.42 1.39 1.39 1.38 1.39 1.40 2.44 2.15 2.07 2.04 2.03 2.01 1.99 1.98 1.98 1.96 1.94
    1.92 1.92 1.89 1.90 1.87 1.87 1.75 1.70 1.62 1.51 1.44 1.41 1.36 1.36 1.32 1.45 1.46 1.48 1.40 1.50 1.50 2.60
    2.21 2.15 2.06 2.00 1.96 1.90 1.87 1.80 1.69
""".split()
"""Covalent radii from 1 to 96 in Angstrom: B. Cordero et al., Dalton Trans. 2008, 2832; C sp3, Mn to Co low spin."""

BOND_TOLERANCE = 0.4 * angstrom
"""Atoms are bonded up to this much beyond the sum of their covalent radii, in bohr; the rule of most viewers."""

NOT_A_BOND = 0.4 * angstrom
"""Atoms that are closer than this, in bohr, are one atom twice (disorder), and not bonded."""


def covalent_radius(atomic_number: int) -> float:
    """Covalent radius of an element in bohr (Cordero et al.); 1.5 Angstrom beyond curium."""
    z = int(atomic_number)
    return (float(_CORDERO[z]) if 0 <= z < len(_CORDERO) else 1.5) * angstrom


def find_bonds(atomic_numbers: NDArray[np.int64], positions: NDArray[np.float64]) -> NDArray[np.int64]:
    """Pairs of atoms at covalent distance, shape (m, 2), sorted."""
    radii = np.array([covalent_radius(z) for z in atomic_numbers])
    if len(radii) < 2:
        return np.zeros((0, 2), np.int64)
    pairs = np.stack(pairs_among(positions, 2 * radii.max() + BOND_TOLERANCE), axis=1).astype(np.int64)
    distances = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1)
    bonded = (distances < radii[pairs].sum(axis=1) + BOND_TOLERANCE) & (distances > NOT_A_BOND)
    return pairs[bonded]


def connected_parts(n: int, pairs: NDArray[np.integer]) -> NDArray[np.int32]:
    """Number of the connected part that each of n atoms or points belongs to, by pairs of neighbours, shape (m, 2)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return connected_components(graph, directed=False)[1]


def molecules_of(numbers: NDArray[np.int64], positions: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Atoms of each molecule, told by the distances of atoms: those that bonds connect; ghosts are in none."""
    real = np.flatnonzero(numbers > 0)
    part = connected_parts(len(real), find_bonds(numbers[real], positions[real]))
    return [real[part == k] for k in np.unique(part)]


def formula(molecule: Molecule | Geometry) -> str:
    """Sum formula in Hill order; ghost atoms are left out."""
    counts = Counter(SYMBOLS[number] for number in molecule.atomic_numbers if number > 0)
    first = [symbol for symbol in ("C", "H") if "C" in counts and symbol in counts]
    order = first + sorted(symbol for symbol in counts if symbol not in first)
    return "".join(symbol + (str(counts[symbol]) if counts[symbol] > 1 else "") for symbol in order)

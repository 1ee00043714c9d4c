"""Atoms with names, residues, bonds and charges: what a file of a protein or a molecular viewer knows of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from .geometry import Geometry

Place = TypeVar("Place", bound=Hashable)


@dataclass(frozen=True, order=True)
class Residue:
    """A residue, as a file of a protein numbers it.

    Attributes
    ----------
    chain : str
        Empty where chains have no names.
    number : str
        With its insertion code, "52A".
    name : str
        Such as "ASP", "HOH".
    """

    chain: str
    number: str
    name: str

    def __str__(self) -> str:
        return f"{self.name} {self.number}{' of chain ' if self.chain else ''}{self.chain}"


@dataclass(frozen=True, eq=False)
class Structure(Geometry):
    """Atoms with names, residues, bonds and charges; each atom at one place.

    Attributes
    ----------
    atomic_numbers, positions
        As of any geometry.
    names : tuple of str
        Of the atoms, "CA".
    residues : tuple of Residue
    residue_of : ndarray of int, shape (n_atoms,)
        Which of the residues each atom is in.
    bonds : ndarray of int, shape (n_bonds, 2)
        Pairs of atoms.
    orders : ndarray, shape (n_bonds,)
        1, 2, 3; 1.5 in aromatic rings; 0 where the order is not known.
    formal_charges : ndarray of int, shape (n_atoms,)
        In e; 0 where the source tells none.
    partial_charges : ndarray, shape (n_atoms,)
        In e, such as those of a force field; not a number where there is none.
    notes : tuple of str
        What was assumed when it was read, a sentence each: which alternate locations were taken, for instance.

    Raises
    ------
    OrbitileError
        When lengths of these do not go together.
    """

    names: tuple[str, ...]
    residues: tuple[Residue, ...]
    residue_of: NDArray[np.int64]
    bonds: NDArray[np.int64]
    orders: Reals
    formal_charges: NDArray[np.int64]
    partial_charges: Reals
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        super().__post_init__()
        n, m = len(self.atomic_numbers), len(self.residues)
        for what in ("names", "residue_of", "formal_charges", "partial_charges"):
            if len(getattr(self, what)) != n:
                raise OrbitileError(f"structure: expected {n} {what}, one an atom, got {len(getattr(self, what))}")
        if not np.all((self.residue_of >= 0) & (self.residue_of < m)):
            raise OrbitileError(f"structure: expected residues 0 to {m - 1} of its atoms, got others")
        if self.bonds.shape != (len(self.orders), 2) or not np.all((self.bonds >= 0) & (self.bonds < n)):
            raise OrbitileError(f"structure: expected bonds between its {n} atoms with an order each, got others")


def most_occupied(atoms: Iterable[tuple[Place, str, float]]) -> dict[Place, str]:
    """The alternate location that is occupied most at each place, on average; of several the first.

    Parameters
    ----------
    atoms
        Of each atom its place, such as a residue, the label of its location, empty where there is one only, and how
        much it is occupied.
    """
    places: dict[Place, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for place, label, occupancy in atoms:
        if label:
            places[place][label].append(occupancy)
    return {place: min(of, key=lambda label: (-np.mean(of[label]), label)) for place, of in places.items()}


def known_charges(charges: Reals, residue_of: NDArray[np.int64]) -> Reals:
    """Partial charges, not numbers in residues where all are zero: programs write zero for what they do not know."""
    has_any = np.bincount(residue_of, np.nan_to_num(charges) != 0) > 0
    result: Reals = np.where(has_any[residue_of], charges, np.nan)
    return result

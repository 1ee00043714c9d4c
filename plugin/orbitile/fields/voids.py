r"""Voids of crystals: `void`, where the free atoms of all molecules have less than 0.002 e bohr^-3, or `void:0.0003`.

With the density :math:`\rho` of the free atoms of all cells, a void is where it is below a value
:math:`\varepsilon` (M. J. Turner, J. J. McKinnon, D. Jayatilaka and M. A. Spackman, CrystEngComm 2011, 13, 1804: 0.002
e bohr^-3 for crystals of molecules, 0.0003 for porous ones). Atoms are those by Hartree-Fock, as there: tails of others
would give other volumes. The field is

.. math::  w = \frac{\varepsilon}{\varepsilon + \rho}

and its isovalue 1/2. About the molecule of a crystal, one cell of it is shown, and the surface is closed where the cell
ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.errors import FieldError
from ..gaussians.expansion import GaussianExpansion
from ..gaussians.promolecule import promolecule, sum_of_atoms, with_images
from ..model.cell import Cell, cell_of
from ..model.free_atoms import hartree_fock_atom
from ..model.geometry import Geometry
from ..model.wavefunction import Wavefunction
from . import Field, PointEvaluator, References
from ._sums import SumField
from .density import density_field

PRIORITY = 56
GROUP = "Crystals"
NAMES = (("void", "What a crystal leaves free: where the density is below 0.002 e bohr^-3 (or void:0.0003)"),)

EMPTY = 0.002
"""Density in e bohr^-3 below which a crystal is empty."""

HALF = 0.5
"""Isovalue of the surface."""

_EDGE = 0.6
"""Distance in bohr over which the field falls to zero beyond the cell that is shown."""

_NO_CRYSTAL = "there is no crystal around it: open a CIF file, or one of a periodic system"

_CRYSTALS = Derived[Wavefunction]("numbers")


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """The void, of a molecule without a crystal."""
    reason = without_crystal(wavefunction)
    return {"void": reason} if reason else {}


def without_crystal(wavefunction: Wavefunction) -> str:
    """Why there are no voids, or ""."""
    return "" if wavefunction.crystal is not None or len(wavefunction.cell) else _NO_CRYSTAL


def crystal_of(wavefunction: Wavefunction) -> Wavefunction:
    """The free atoms of the crystal that a molecule is of, or that a periodic system is.

    Raises
    ------
    FieldError
        When there is no crystal.
    """
    if reason := without_crystal(wavefunction):
        raise FieldError(f"void: {reason}")
    if wavefunction.crystal is not None:
        return wavefunction.crystal

    def make() -> Wavefunction:
        free = promolecule(Geometry(wavefunction.atomic_numbers, wavefunction.positions))
        return replace(free, cell=wavefunction.cell)

    return _CRYSTALS.of(wavefunction, None, make)


def void_share(density: NDArray[np.floating], empty: float) -> Reals:
    """The field from the density of all free atoms, of any shape, and the density below which a crystal is empty."""
    return np.asarray(empty / (empty + np.maximum(density, 0.0)), np.float64)


@dataclass(frozen=True, eq=False)
class VoidField(Field):
    """How empty a crystal is.

    Attributes
    ----------
    density : SumField
        Of the crystal, in its cell.
    cell : Cell
        In which the crystal has its atoms.
    shown : Cell
        Beyond which nothing is shown.
    empty : float
        Density in e bohr^-3 below which it is.
    quantity, unit : str
    isovalue : float
    """

    density: SumField
    cell: Cell
    shown: Cell
    empty: float
    quantity: str
    unit: str = ""
    isovalue: float = HALF
    is_local: bool = True

    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for arbitrary points."""
        density = self.density.at_points(target)

        def evaluate(points: Reals) -> NDArray[np.floating]:
            inside: Reals = np.clip(1 - self.shown.distances(points) / _EDGE, 0.0, 1.0)
            share = void_share(density(self.cell.wrapped(points)), self.empty)
            return np.asarray(inside * share, target.dtype)

        return evaluate

    def enclosing_box(self, isovalue: float) -> tuple[Reals, Reals]:
        """Corners of the box of the cell that is shown, in bohr."""
        corners = self.shown.corners()
        return corners.min(axis=0) - _EDGE, corners.max(axis=0) + _EDGE


def resolve(wavefunction: Wavefunction, name: str, references: References) -> Field | None:
    """The field that a name stands for, or None.

    Raises
    ------
    FieldError
        When there is no crystal, or what follows the name is no density.
    """
    family, _, text = name.strip().partition(":")
    if family.lower() != "void":
        return None
    try:
        empty = float(text or EMPTY)
    except ValueError:
        empty = np.nan
    if not 0 < empty < np.inf:
        raise FieldError(f"field '{name}': expected a density in e bohr^-3, such as void:0.002, got {text!r}")
    crystal = crystal_of(wavefunction)
    cell = cell_of(crystal)
    assert cell is not None
    shown = cell
    if not len(wavefunction.cell):  # a part of the crystal, about a molecule
        shown = replace(cell, origin=wavefunction.positions.mean(axis=0) - cell.vectors.sum(axis=0) / 2)
    return VoidField(density_of_crystal(crystal), cell, shown, empty, f"void (density below {empty:g} e bohr^-3)")


_DENSITIES = Derived[GaussianExpansion]("sums of Gaussians")


def density_of_crystal(crystal: Wavefunction) -> SumField:
    """The density of its atoms by Hartree-Fock, in its cell."""

    def make() -> GaussianExpansion:
        atoms = with_images(crystal)
        there = atoms.atomic_numbers > 0
        kinds = [hartree_fock_atom(number) for number in atoms.atomic_numbers[there].tolist()]
        return sum_of_atoms(kinds, atoms.positions[there])

    expansion = _DENSITIES.of(crystal, None, make)
    return density_field(crystal, expansion, "density of free atoms", EMPTY)

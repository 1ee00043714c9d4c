r"""Weak interactions in numbers: regions of small reduced gradient, and what atoms of two fragments do to each other.

Regions where the reduced density gradient is small are told apart by the density with the sign of the middle eigenvalue
of its Hessian (E. R. Johnson et al., J. Am. Chem. Soc. 2010, 132, 6498), and integrated over as by R. A. Boto et al.
(J. Chem. Theory Comput. 2020, 16, 4150).

Of two atoms, :math:`\delta g_{ij} = |\nabla\rho_i| + |\nabla\rho_j| - |\nabla\rho_i + \nabla\rho_j|`, and the index of
the pair is its integral over space; that of an atom is the sum over all atoms of the other fragment (T. Lu and
Q. Chen, J. Comput. Chem. 2022, 43, 539).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.watch import checkpoint, stage
from ..evaluation.boxes import enclosing_lattice
from ..evaluation.devices import device_session
from ..evaluation.lattices import compute
from ..evaluation.points import evaluate
from ..evaluation.requests import field_of
from ..fields.weak_interactions import plain, within_range
from ..gaussians.promolecule import free_atoms_of
from ..integrals.grids import grid_of
from ..model.cell import molecules_only
from ..model.free_atoms import FreeAtom
from ..model.wavefunction import Wavefunction

_POINTS = 1 << 20
"""Points of the lattice, at most about so many: 8 MB for two fields."""
_SPACING = 0.12
"""Its spacing in bohr, where that is no more points."""

_ATTRACTION = 0.01
"""Densities in e bohr^-3 beyond which an interaction is strong, as a hydrogen bond is, or a clash."""


@dataclass(frozen=True, eq=False)
class SampledInteractions:
    """The reduced density gradient and the signed density on a lattice.

    Attributes
    ----------
    gradient, signed_density : ndarray of float32, shape (n,)
        Reduced density gradient, large within one fragment, and sign(lambda2) rho in e bohr^-3.
    cell : float
        Volume of each point in bohr^3.
    spacing : float
        Of the lattice, in bohr.
    """

    gradient: NDArray[np.float32]
    signed_density: NDArray[np.float32]
    cell: float
    spacing: float


@dataclass(frozen=True)
class Region:
    """Where the reduced density gradient is small, and the interaction of one kind.

    Attributes
    ----------
    name : str
    volume : float
        In bohr^3.
    electrons : float
        Integral of the density.
    lowest, highest : float
        Of the signed density, in e bohr^-3; NaN where there is no such region.
    """

    name: str
    volume: float
    electrons: float
    lowest: float
    highest: float


@dataclass(frozen=True, eq=False)
class InteractionIndices:
    """Integrals of what gradients of atoms of two fragments take from each other.

    Attributes
    ----------
    one, other : ndarray of int
        Atoms of both fragments that are near the other one, from 0.
    pairs : ndarray, shape (len(one), len(other))
        Index of each pair, in e bohr^-1.
    electrons : float
        Electrons that the points of the quadrature find; NaN where it does not reach all atoms.
    """

    one: NDArray[np.intp]
    other: NDArray[np.intp]
    pairs: Reals
    electrons: float


def sampled_interactions(
    wavefunction: Wavefunction, listed: str = "", device: str | None = None
) -> SampledInteractions:
    """Sample what diagrams of weak interactions show.

    Parameters
    ----------
    wavefunction
        A molecule, or a promolecule.
    listed
        Atoms as 1-12, for what is between these and the rest; empty for all interactions.
    device
        As for `compute`.

    Raises
    ------
    FieldError
        As `orbitile.fields.weak_interactions.resolve`.
    """
    molecules_only(wavefunction, "interactions", "regions that cross the faces of the cell would be counted twice")
    behind = f":{listed}" if listed else ""
    surface = field_of(wavefunction, f"rdg{behind}")
    low, high = surface.enclosing_box(1.0)
    spacing = max(_SPACING, float(np.prod(high - low) / _POINTS) ** (1 / 3))
    lattice = enclosing_lattice(wavefunction, surface, 1.0, spacing=spacing)
    with stage(0.0, 0.4):
        gradient = compute(wavefunction, plain(surface), lattice, device=device).values
    with stage(0.4, 1.0):
        signed = compute(wavefunction, f"nci{behind}", lattice, device=device).values
    return SampledInteractions(gradient.reshape(-1), signed.reshape(-1), lattice.cell_volume, spacing)


def regions_of(sampled: SampledInteractions, isovalue: float) -> tuple[Region, ...]:
    """Attraction, van der Waals contacts and repulsion where the reduced density gradient is below an isovalue."""
    density = np.abs(sampled.signed_density)
    signed = sampled.signed_density[within_range(sampled.gradient, density) < isovalue].astype(np.float64)
    kinds = (
        ("strong attraction", signed < -_ATTRACTION),
        ("van der Waals", np.abs(signed) <= _ATTRACTION),
        ("repulsion", signed > _ATTRACTION),
        ("all", np.ones(len(signed), bool)),
    )
    return tuple(
        Region(
            name,
            float(there.sum() * sampled.cell),
            float(np.abs(signed[there]).sum() * sampled.cell),
            float(signed[there].min()) if there.any() else np.nan,
            float(signed[there].max()) if there.any() else np.nan,
        )
        for name, there in kinds
    )


_NEAR = 13.0
"""Distance in bohr up to which atoms of two fragments interact: further apart an index is below 1e-6."""
_SLIGHT = 1e-7
"""Gradients in e bohr^-4 below which an atom is not at a point."""
_NO_WEIGHT = 1e-14
"""Weights of points that do not count, in bohr^3: those in the cells of other atoms."""
_AT_ONCE = 1024
"""Points that are dealt with together."""


def interaction_indices(
    wavefunction: Wavefunction,
    atoms: NDArray[np.intp],
    *,
    shared: bool = True,
    level: int = 3,
    device: str | None = None,
) -> InteractionIndices:
    """Indices of all pairs of atoms of two fragments: the atoms that are named, and the rest.

    Parameters
    ----------
    wavefunction
    atoms
        Of one fragment, from 0.
    shared
        Whether the density of the molecule is shared among its atoms as F. L. Hirshfeld did; otherwise it is that of
        the free atoms, as it is in a promolecule.
    level
        Of the quadrature, see `orbitile.integrals.grids.grid_of`.
    device
        As for `compute`.
    """
    from scipy.spatial import cKDTree

    free, positions = free_atoms_of(wavefunction), wavefunction.positions
    real = np.flatnonzero(wavefunction.atomic_numbers > 0)
    one, other = real[np.isin(real, atoms)], real[~np.isin(real, atoms)]
    near = cKDTree(positions[one]).query_ball_tree(cKDTree(positions[other]), _NEAR)
    one, other = one[[bool(found) for found in near]], other[sorted({n for found in near for n in found})]
    pairs = np.zeros((len(one), len(other)))
    if not pairs.size:
        return InteractionIndices(one, other, pairs, np.nan)
    # what weakens each other's gradient lies about the atoms of the two
    here = np.concatenate([one, other])
    numbers = np.zeros_like(wavefunction.atomic_numbers)
    numbers[here] = wavefunction.atomic_numbers[here]
    with device_session(device, "double") as target, stage(0.0, 0.1):
        grid = grid_of(numbers, positions, target, level)
    points, weights = grid.points[np.abs(grid.weights) > _NO_WEIGHT], grid.weights[np.abs(grid.weights) > _NO_WEIGHT]
    hirshfeld = shared and not wavefunction.promolecule
    if hirshfeld:
        with stage(0.1, 0.4):
            whole, slope = _of_molecule(wavefunction, points, device)
    tables = {id(atom): _table(atom) for atom in free if atom is not None}
    # to share the density out takes all free atoms that have a part in it, on neither side of the border too
    tree = cKDTree(positions[real])
    electrons = 0.0
    for first in range(0, len(points), _AT_ONCE):
        checkpoint(0.4 + 0.6 * first / len(points))
        some = slice(first, first + _AT_ONCE)
        where, weight = points[some], weights[some]
        low, high = where.min(axis=0), where.max(axis=0)
        about = real[tree.query_ball_point((low + high) / 2, float(np.linalg.norm(high - low)) / 2 + _NEAR)]
        density, gradient = _of_atoms([free[n] for n in about.tolist()], tables, positions[about], where)
        total = density.sum(axis=1)
        if hirshfeld:
            share = density / np.maximum(total, 1e-30)[:, None]
            rest = gradient - share[..., None] * gradient.sum(axis=1)[:, None]
            ratio = whole[some] / np.maximum(total, 1e-30)
            gradient = share[..., None] * slope[some, None] + ratio[:, None, None] * rest
            total = whole[some]
        electrons += float(weight @ total)
        length = np.linalg.norm(gradient, axis=2)
        there = length.max(axis=0) > _SLIGHT
        left = np.flatnonzero(there & np.isin(about, one))
        right = np.flatnonzero(there & np.isin(about, other))
        rows, columns = np.searchsorted(one, about[left]), np.searchsorted(other, about[right])
        for row, i in zip(rows.tolist(), left.tolist(), strict=True):
            together = np.linalg.norm(gradient[:, i, None] + gradient[:, right], axis=2)
            pairs[row, columns] += weight @ (length[:, i, None] + length[:, right] - together)
    return InteractionIndices(one, other, pairs, electrons if len(here) == len(real) else np.nan)


_RADII = np.geomspace(1e-4, 60.0, 4000)
"""Distances in bohr between which densities of free atoms are interpolated, to 1e-6 of themselves."""

Table = tuple[Reals, Reals]
"""Density at `_RADII`, and its slope over the distance."""


def _table(atom: FreeAtom) -> Table:
    with np.errstate(under="ignore"):
        gaussians = atom.electrons * (atom.exponents / np.pi) ** 1.5 * np.exp(-np.outer(_RADII**2, atom.exponents))
    return gaussians.sum(axis=1), gaussians @ (-2 * atom.exponents)


def _of_atoms(
    atoms: list[FreeAtom | None], tables: dict[int, Table], places: Reals, points: Reals
) -> tuple[Reals, Reals]:
    """Density and gradient of each free atom, shapes (n_points, n_atoms) and (n_points, n_atoms, 3)."""
    apart = points[:, None] - places[None]
    place = np.log(np.maximum(np.linalg.norm(apart, axis=2), _RADII[0])) - np.log(_RADII[0])
    place /= np.log(_RADII[1] / _RADII[0])
    low = np.minimum(place.astype(np.int64), len(_RADII) - 2)
    part = np.minimum(place - low, 1.0)
    density, slope = np.empty(place.shape), np.empty(place.shape)
    for n, atom in enumerate(atoms):
        for values, out in zip(tables[id(atom)], (density, slope), strict=True):
            out[:, n] = values[low[:, n]] * (1 - part[:, n]) + values[low[:, n] + 1] * part[:, n]
    return density, slope[..., None] * apart


def _of_molecule(wavefunction: Wavefunction, points: Reals, device: str | None) -> tuple[Reals, Reals]:
    """Density and gradient of the molecule, shapes (n_points,) and (n_points, 3)."""
    names = ("density", "gradient:x", "gradient:y", "gradient:z")
    found = [evaluate(wavefunction, name, points, device=device, precision="double") for name in names]
    return found[0].astype(np.float64), np.stack(found[1:], axis=1).astype(np.float64)

r"""Hirshfeld surfaces: `hirshfeld`, of some atoms `hirshfeld:1-12`, and what colours them, as `dnorm:1-12`.

The surface is where the free atoms of a molecule have half of the density of all free atoms (M. A. Spackman and P. G.
Byrom, Chem. Phys. Lett. 1997, 267, 215): the field is their share

.. math::  w = \frac{\rho_A}{\rho_A + \max(\rho_B, \varepsilon)}

and its isovalue 1/2. With the floor, :math:`\varepsilon = 5 \cdot 10^{-4}\ e\,a_0^{-3}`, the surface closes where a
molecule has no neighbours, as a ligand towards the solvent of a pocket: there it is the isosurface of the molecule's
own density, and elsewhere it is Hirshfeld's.

Coloured by (J. J. McKinnon, D. Jayatilaka and M. A. Spackman, Chem. Commun. 2007, 3814; J. J. McKinnon, M. A. Spackman
and A. S. Mitchell, Acta Cryst. B 2004, 60, 627)

- `di`, `de`: the distance to the nearest nucleus inside and outside, in Angstrom;
- `dnorm`: both in units of van der Waals radii, :math:`\sum_{i,e} \min_A (d_A - r_A)/r_A`, negative where atoms are
  closer than these. The radii are Bondi's, with 1.09 Angstrom for hydrogen and 2 where he has none, as published values
  have them (R. S. Rowland and R. Taylor, J. Phys. Chem. 1996, 100, 7384; Cambridge Structural Database);
- `shapeindex`: :math:`S = \frac{2}{\pi} \arctan \frac{\kappa_1 + \kappa_2}{\kappa_1 - \kappa_2}` of the principal
  curvatures (J. J. Koenderink and A. J. van Doorn, Image Vis. Comput. 1992, 10, 557), 1 for a bump, -1 for a hollow;
- `curvedness`: :math:`C = \frac{2}{\pi} \ln \sqrt{(\kappa_1^2 + \kappa_2^2)/2}`, curvatures in
  1/bohr, as CrystalExplorer's engine (OCC) has them.

`contact:1-12:H-O` is 1 where the nearest atom inside is a hydrogen and the nearest one outside an oxygen, and 0
elsewhere; `fingerprint:1-12:1.1,1.4` is 1 where `di` and `de` are within 0.05 Angstrom of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.expressions import Value, at_least
from taichi_kernels.target import Target

from ..base.arguments import atom_list
from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.errors import FieldError
from ..gaussians.expansion import GaussianExpansion
from ..gaussians.promolecule import promolecular_density, promolecular_derivatives
from ..model.elements import NUMBERS, SYMBOLS, VAN_DER_WAALS_RADII
from ..model.geometry import Geometry, molecules_of
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction
from . import Field, PointEvaluator, References
from ._sums import SumField, enclosing_box
from .igm import Corners, named_atoms, near_atoms, reaching_gaussians

PRIORITY = 57
GROUP = "Hirshfeld surfaces"
NAMES = (
    ("hirshfeld", "The Hirshfeld surface: where a molecule (or atoms, as hirshfeld:1-6) has half of the density"),
    ("dnorm", "On it, how close contacts are: negative where closer than van der Waals radii"),
    ("di", "On it, the distance to the nearest nucleus inside, in Angstrom"),
    ("de", "On it, the distance to the nearest nucleus outside, in Angstrom"),
    ("shapeindex", "On it, its shape: 1 for a bump, 0 for a saddle, -1 for a hollow"),
    ("curvedness", "On it, how strongly it is curved: low where it is flat, as between stacked rings"),
    ("contact::H-O", "On it, where the nearest atoms inside and outside are H and O (contact:1-6:H-O)"),
    ("fingerprint::1.1,1.4", "On it, where the nearest nuclei inside and outside are 1.1 and 1.4 Angstrom away"),
)

_ON_SURFACE = ("dnorm", "di", "de", "shapeindex", "curvedness", "contact", "fingerprint")
DRAWN_ON = dict.fromkeys(_ON_SURFACE, "hirshfeld")
"""Fields that colour a Hirshfeld surface, and have no isosurface of their own."""

FLOOR = 5e-4
"""Density in e bohr^-3 that the surroundings have at least."""

HALF = 0.5
"""Isovalue of the surface."""

_HYDROGEN, _USUAL = 1.09, 2.0
"""Van der Waals radii in Angstrom: of hydrogen, and of elements that the table has not (those of the CSD)."""

_CLOSEST = 12
"""Atoms, nearest first, of which the closest in units of its radius is one."""

_AROUND = 0.05
"""Half of the edge of a square of the fingerprint, in Angstrom."""

_LOOKED_AT = 2_000
"""Atoms among which molecules are counted before a menu is shown."""

_LARGEST = 300
"""Atoms of a molecule that is taken where none is named."""

_MOST_ATOMS = 3_000
"""Of a molecule whose surface is made."""

_BENT = 1e-6
"""Sum of the squares of curvatures, in bohr^-2, below which a surface counts as flat."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A molecule and what is around it.

    Attributes
    ----------
    inside, outside : ndarray of int
        Atoms with nuclei, from 0.
    numbers : ndarray of int, shape (n_atoms,)
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    """

    inside: NDArray[np.intp]
    outside: NDArray[np.intp]
    numbers: NDArray[np.int64]
    positions: Reals

    def nearest(self, points: Reals) -> tuple[Reals, NDArray[np.intp], Reals, NDArray[np.intp]]:
        """Distance to the nearest nucleus inside in bohr, which atom that is, and the same outside: shapes (n,)."""
        (one, which), (other, what) = (_closest(self.positions[atoms], points, 1) for atoms in self._sides())
        return one[:, 0], self.inside[which[:, 0]], other[:, 0], self.outside[what[:, 0]]

    def normalised(self, points: Reals) -> Reals:
        """Both distances in units of radii, less these, added: shape (n,)."""
        total = np.zeros(len(points))
        for atoms in self._sides():
            distances, which = _closest(self.positions[atoms], points, min(_CLOSEST, len(atoms)))
            radii = angstrom * contact_radii(self.numbers[atoms])[which]
            total += (distances / radii - 1).min(axis=1)
        return total

    def _sides(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return self.inside, self.outside


NOBODY = Neighbours(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0, np.int64), np.zeros((0, 3)))


def _closest(positions: Reals, points: Reals, count: int) -> tuple[Reals, NDArray[np.intp]]:
    from scipy.spatial import KDTree

    distances, which = KDTree(positions).query(points, list(range(1, count + 1)))
    return distances, which


def contact_radii(numbers: NDArray[np.int64]) -> Reals:
    """Van der Waals radii in Angstrom by atomic numbers, as published Hirshfeld surfaces have them."""
    known = {number: VAN_DER_WAALS_RADII.get(SYMBOLS[number], _USUAL) for number in np.unique(numbers).tolist()}
    known[1] = _HYDROGEN
    return np.array([known[number] for number in numbers.tolist()])


def neighbours_of(wavefunction: Wavefunction, field: str, listed: str) -> Neighbours:
    """The two sides that the name of a field states, as 1-12; without a list those of `the_molecule`.

    Raises
    ------
    FieldError
        When the list cannot be read, names atoms that are not there, or leaves no nucleus on one of the sides.
    """
    if not listed.strip():
        listed = atom_list(the_molecule(wavefunction))
    inside, outside = named_atoms(wavefunction, field, listed)
    if len(inside) > _MOST_ATOMS:
        raise FieldError(
            f"field '{field}': expected a molecule of up to {_MOST_ATOMS:,} atoms, got {len(inside):,}; name the atoms "
            "of a ligand, as hirshfeld:1-40"
        )
    return Neighbours(inside, outside, wavefunction.atomic_numbers, wavefunction.positions)


_ALONE = "there is one molecule, and nothing is around it"


def the_molecule(wavefunction: Wavefunction) -> tuple[int, ...]:
    """Atoms of the smaller of two molecules, or of the first of several, from 0.

    Raises
    ------
    FieldError
        When there is one, or it is a large one.
    """
    molecules = molecules_of(wavefunction.atomic_numbers, wavefunction.positions)
    if len(molecules) < 2:
        raise FieldError(
            f"Hirshfeld surface: {_ALONE}; open a crystal, a complex or a cluster, or name the atoms of a part, such "
            "as 1-12"
        )
    first = min(molecules, key=len) if len(molecules) == 2 else min(molecules, key=lambda atoms: int(atoms[0]))
    if len(first) > _LARGEST:
        raise FieldError(
            f"Hirshfeld surface: expected the atoms of a molecule, such as 1-12 or the name of a ligand, as the first "
            f"one has {len(first):,} atoms"
        )
    return tuple(first.tolist())


def without_surroundings(molecule: Wavefunction | Geometry) -> str:
    """Why a molecule has no Hirshfeld surface, or ""; of a large structure that is not looked at."""
    numbers = molecule.atomic_numbers
    few = len(numbers) <= _LOOKED_AT
    alone = few and len(molecules_of(numbers, molecule.positions)) < 2
    return _ALONE if alone else ""


_DENSITIES = Derived[tuple[GaussianExpansion, GaussianExpansion]]("sums of Gaussians")


def _densities(wavefunction: Wavefunction, sides: Neighbours) -> tuple[GaussianExpansion, GaussianExpansion]:
    """Densities of the free atoms of a molecule, and of those around it that reach it, in e bohr^-3."""

    def make() -> tuple[GaussianExpansion, GaussianExpansion]:
        one = promolecular_density(wavefunction, sides.inside)
        low, high = enclosing_box(one, FLOOR)
        near = promolecular_density(wavefunction, near_atoms(wavefunction, sides.outside, low, high))
        there = reaching_gaussians(near, low, high)
        return one, there if len(there) else near

    return _DENSITIES.of(wavefunction, sides.inside.tobytes(), make)


def share_of_density(one: Value, other: Value) -> Value:
    """Share that free atoms have of the density of all."""
    one = at_least(one, 0.0)
    return one / (one + at_least(other, FLOOR))


def _own_density(isovalue: float) -> float:
    """Density of the molecule below which its share is below an isovalue."""
    return FLOOR * isovalue / max(1 - isovalue, 1e-6)


@dataclass(frozen=True, eq=False)
class ShareField(SumField):
    """The share of a molecule in the density of all free atoms: nothing but it need be on the lattice.

    Attributes
    ----------
    sides : Neighbours
    """

    sides: Neighbours = NOBODY
    is_local: bool = True


@dataclass(frozen=True, eq=False)
class SurfaceColour(Field):
    """A field that colours a Hirshfeld surface, known at points.

    Attributes
    ----------
    quantity, unit : str
    isovalue : float
    values : callable
        Of points in bohr, shape (n, 3).
    share : ShareField
        Whose surface it colours.
    colour_range : float or None
        As for `orbitile.fields.Field`.
    jumps : bool
    """

    quantity: str
    unit: str
    isovalue: float
    values: Callable[[Reals], Reals]
    share: ShareField
    colour_range: float | None = None
    jumps: bool = False
    is_local: bool = True

    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for arbitrary points."""
        return lambda points: self.values(np.asarray(points, np.float64)).astype(target.dtype)

    def enclosing_box(self, isovalue: float) -> Corners:
        """Corners of the box of the surface that it colours, in bohr."""
        return self.share.enclosing_box(HALF)


@dataclass(frozen=True, eq=False)
class ShareAtPoints:
    r"""Of :math:`f = \ln \rho_A - \ln \max(\rho_B, \varepsilon)`, which is 0 on the surface, at n points.

    Attributes
    ----------
    slope : ndarray, shape (3, n)
        Gradient, in bohr^-1.
    bend : ndarray, shape (3, 3, n)
        Hessian, in bohr^-2.
    is_open : ndarray of bool, shape (n,)
        Where the floor is more than the surroundings have.
    """

    slope: Reals
    bend: Reals
    is_open: NDArray[np.bool_]


def share_at(wavefunction: Wavefunction, sides: Neighbours, points: Reals) -> ShareAtPoints:
    """How the share of a molecule changes at points near its surface, in bohr, shape (n, 3)."""
    near = near_atoms(wavefunction, sides.outside, points.min(axis=0), points.max(axis=0))
    outside = promolecular_derivatives(wavefunction, near, points)
    one = _of_logarithm(promolecular_derivatives(wavefunction, sides.inside, points), _NOTHING)
    other = _of_logarithm(outside, FLOOR)
    return ShareAtPoints(one[0] - other[0], one[1] - other[1], outside[0] < FLOOR)


_NOTHING = 1e-30
_HESSIAN = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])


def _of_logarithm(sums: Reals, lowest: float) -> tuple[Reals, Reals]:
    """Gradient and Hessian of the logarithm of a density that is at least so large."""
    there = sums[0] > lowest
    density = np.where(there, sums[0], lowest)
    slope, bend = (np.where(there, some / density, 0.0) for some in (sums[1:4], sums[4:]))
    return slope, bend[_HESSIAN] - slope[:, None] * slope


def curvatures(slope: Reals, bend: Reals) -> tuple[Reals, Reals]:
    r"""Mean and Gaussian curvature of surfaces of equal f, positive for a sphere about an f that falls outwards.

    .. math::  2 H = \frac{g^T h g - |g|^2 \mathrm{tr}\, h}{|g|^3}, \qquad K = \frac{g^T \mathrm{adj}(h)\, g}{|g|^4}

    R. Goldman, Comput. Aided Geom. Des. 2005, 22, 632.

    Parameters
    ----------
    slope : ndarray, shape (3, n)
        Gradient g, in bohr^-1.
    bend : ndarray, shape (3, 3, n)
        Hessian h, in bohr^-2.

    Returns
    -------
    H, K : ndarray, shape (n,)
        In bohr^-1 and bohr^-2.
    """
    square = np.maximum(np.einsum("in,in->n", slope, slope), _NOTHING)
    along = np.einsum("in,ijn,jn->n", slope, bend, slope)
    # rows of cofactors: the matrix is symmetric
    adjugate = np.cross(bend[[1, 2, 0]], bend[[2, 0, 1]], axis=1)
    mean = (along - square * np.einsum("iin->n", bend)) / (2 * square**1.5)
    return mean, np.einsum("in,ijn,jn->n", slope, adjugate, slope) / square**2


def shape_index(mean: Reals, gaussian: Reals) -> Reals:
    """Shape index by mean and Gaussian curvature, from -1 to 1."""
    result: Reals = 2 / np.pi * np.arctan2(mean, np.sqrt(np.maximum(mean**2 - gaussian, 0.0)))
    return result


def curvedness(mean: Reals, gaussian: Reals) -> Reals:
    """Curvedness by mean and Gaussian curvature in atomic units."""
    halves = np.maximum(2 * mean**2 - gaussian, _BENT)  # of the squares of both curvatures
    result: Reals = np.log(halves) / np.pi
    return result


def unavailable(wavefunction: Wavefunction) -> Mapping[str, str]:
    """All, of a molecule alone."""
    reason = without_surroundings(wavefunction)
    return dict.fromkeys(dict(NAMES), reason) if reason else {}


def resolve(wavefunction: Wavefunction, name: str, references: References) -> Field | None:
    """The field that a name stands for, or None.

    Raises
    ------
    FieldError
        When the atoms cannot be read, are none or all of them, or what follows them cannot be read.
    """
    family, _, rest = name.strip().partition(":")
    family = family.lower()
    if family not in ("hirshfeld", *_ON_SURFACE):
        return None
    listed, _, which = rest.partition(":")
    sides = neighbours_of(wavefunction, name, listed)
    one, other = _densities(wavefunction, sides)
    share = ShareField(
        (one, other),
        "share of the density of free atoms",
        "",
        HALF,
        one,
        wavefunction.positions,
        _own_density,
        share_of_density,
        sides=sides,
    )
    if family == "hirshfeld":
        return share
    if family in _SHAPES:
        quantity, of_curvatures, colours = _SHAPES[family]
        return SurfaceColour(quantity, "", HALF, partial(_shape_at, wavefunction, sides, of_curvatures), share, colours)
    return _of_contacts(sides, share, family, which, name)


_SHAPES = {
    "shapeindex": ("shape index", shape_index, 1.0),
    "curvedness": ("curvedness", curvedness, None),
}


def _shape_at(
    wavefunction: Wavefunction, sides: Neighbours, of_curvatures: Callable[[Reals, Reals], Reals], points: Reals
) -> Reals:
    share = share_at(wavefunction, sides, points)
    return of_curvatures(*curvatures(share.slope, share.bend))


def _distance_at(sides: Neighbours, inside: bool, points: Reals) -> Reals:
    """In Angstrom."""
    one, _, other, _ = sides.nearest(points)
    return np.asarray((one if inside else other) / angstrom)


def _are_met(sides: Neighbours, pair: tuple[int, int], points: Reals) -> Reals:
    """1 where the nearest atoms inside and outside are of two elements."""
    _, one, _, other = sides.nearest(points)
    return ((sides.numbers[one] == pair[0]) & (sides.numbers[other] == pair[1])).astype(np.float64)


def _are_as_far(sides: Neighbours, wanted: tuple[float, float], points: Reals) -> Reals:
    """1 where both distances are about those that are wanted, in Angstrom."""
    inside, _, outside, _ = sides.nearest(points)
    off = np.abs(np.stack([inside, outside], axis=1) / angstrom - wanted).max(axis=1)
    return (off <= _AROUND).astype(np.float64)


def _of_contacts(sides: Neighbours, share: ShareField, family: str, which: str, name: str) -> SurfaceColour:
    """Distances to the nearest atoms, or where they are of two elements, or so far."""
    if family == "dnorm":
        return SurfaceColour("d_norm", "", 0.1, sides.normalised, share, colour_range=1.0)
    if family in ("di", "de"):
        quantity = f"distance to the nearest nucleus {'inside' if family == 'di' else 'outside'}"
        return SurfaceColour(quantity, "Angstrom", 1.5, partial(_distance_at, sides, family == "di"), share)
    if family == "contact":
        first, second = [NUMBERS.get(symbol.strip().capitalize(), 0) for symbol in f"{which}-".split("-")[:2]]
        if which.count("-") != 1 or not first or not second:
            raise FieldError(
                f"field '{name}': expected two elements after the atoms, as contact:1-6:H-O, got {which!r}"
            )
        met = partial(_are_met, sides, (first, second))
        return SurfaceColour(f"contacts {which}", "", HALF, met, share, colour_range=1.0, jumps=True)
    found = re.fullmatch(r"\s*(\d+\.?\d*)\s*,\s*(\d+\.?\d*)\s*", which)
    if found is None:
        raise FieldError(
            f"field '{name}': expected two distances in Angstrom after the atoms, as fingerprint:1-6:1.1,1.4, got "
            f"{which!r}"
        )
    wanted = float(found[1]), float(found[2])
    quantity = f"contacts of {wanted[0]:g} and {wanted[1]:g} Angstrom"
    as_far = partial(_are_as_far, sides, wanted)
    return SurfaceColour(quantity, "", HALF, as_far, share, colour_range=1.0, jumps=True)

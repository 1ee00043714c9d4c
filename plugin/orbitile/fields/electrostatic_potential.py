"""The electrostatic potential of nuclei and electrons: `esp`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.errors import FieldError
from ..base.watch import checkpoint, watcher
from ..gaussians.expansion import GaussianExpansion, fallen, integrals
from ..gaussians.kernels._charges import potential_near_and_far
from ..gaussians.kernels._sums import in_double
from ..gaussians.kernels._tolerances import tolerances
from ..gaussians.multipoles import (
    DISTANCES,
    Class,
    FarField,
    far_field,
    hermite_coefficients,
    largest_potentials,
    sum_of_magnitudes,
)
from ..gaussians.products import TOLERANCE
from ..model.cell import molecules_only
from ..model.volume import PointCharges
from ..model.wavefunction import Wavefunction
from . import Field, PointEvaluator, References
from ._sums import MANY_ATOMS
from .density import density_of

if TYPE_CHECKING:
    from taichi_kernels.electrostatics import Sources

PRIORITY = 80
GROUP = "Electrostatic potential"
NAMES = (
    ("esp", "Where a positive charge is attracted (negative) or repelled (positive)"),
    ("esp:FILE", "The same with the point charges of a file (.pqr, or lines of x y z q)"),
)

_SCREENED = 0.3
"""Share of the tolerance for distributions that are left out; the rest is for multipoles."""

_PRODUCTS = 0.01
"""Density in e bohr^-3 that products left out may have in all, in units of the tolerance of the potential. A Gaussian
of exponent p has 2 pi / p times the potential; the diffuse ones have p of 0.1 and more."""

_ORDER, _ORDER_TIGHT, _TIGHT = 10, 16, 1e-7
"""Highest order of the multipoles; for tolerances below the last number, the second one."""

_SINGLE_SUFFICES = 200.0
"""Sum of the magnitudes of all terms, in hartree/e, up to which single precision keeps the error below 1e-5."""

_NOT_PERIODIC = (
    "the potentials of all cells add up to no limit of their own (an Ewald sum chooses one), and only those of "
    "molecules are added up here"
)

_DIRECTIONS = np.array([[1.0, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]]) / np.sqrt(3)
_DISTANCE = 1.2
"""Distance from the atoms, in bohr, at which that is looked for."""

_ISOVALUE, _BEYOND = 0.05, 4.0
"""Usual isovalue, in hartree/e, and the distance in bohr from the atoms at which the surface of the potential of an ion
is shown: that of the surface of a molecule."""

_NUCLEUS = 1e10
"""Exponent of the Gaussian, in bohr^-2, that stands for a nucleus: a point charge from 1e-4 bohr on, and finite."""

_MARGIN = 8.0
"""The potential of a neutral molecule is shown within this distance of the atoms, in bohr, at least."""

_NEAREST, _FARTHEST, _WIDTH = 1e-3, 30.0, 0.02
"""Distances in bohr from the centre of charge between which the potential of an ion is followed, what lies farther is
cut; and how exactly."""


@dataclass(frozen=True, eq=False)
class ElectrostaticPotential(Field):
    """The electrostatic potential, a `Field`. At a nucleus it is large, 1e5 times its charge, but finite.

    Attributes
    ----------
    wavefunction : Wavefunction
    quantity, unit : str
        Shown to people.
    isovalue : float
        The default; about an ion it follows from the charge.
    charges : PointCharges or None
        Given charges whose potential is added, as those around the quantum part of a QM/MM calculation.
    tolerance : float or None
        Bound in hartree/e on what leaving out weak distributions and truncating multipoles cost at any point. None:
        1e-5, in double precision 1e-10.
    far_field : bool
        Whether distributions that are far from a point are taken together as multipoles on the atoms.
    """

    wavefunction: Wavefunction
    quantity: str = "electrostatic potential"
    unit: str = "hartree/e"
    isovalue: float = _ISOVALUE
    charges: PointCharges | None = None
    tolerance: float | None = None
    far_field: bool = True
    is_bounded: bool = field(default=False, init=False)
    is_smooth: bool = field(default=True, init=False)
    peaks_at_nuclei: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        molecules_only(self.wavefunction, "electrostatic potential", _NOT_PERIODIC)

    def enclosing_box(self, isovalue: float) -> tuple[Reals, Reals]:
        """Corners of a box about the atoms and what charge, dipole and quadrupole tell of the isosurface beyond.

        It is no proof, and ends where the surface is too far away: `orbitile.evaluation` has `is_cut` to tell.
        """
        positions = self.wavefunction.positions
        centre, radius = _reach(self.wavefunction, isovalue)
        low, high = positions.min(axis=0) - _MARGIN, positions.max(axis=0) + _MARGIN
        return np.minimum(low, centre - radius), np.maximum(high, centre + radius)

    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for points, by Hermite Gaussians and multipoles."""
        from taichi_kernels.electrostatics import potential_at_points

        tolerance = tolerances(target.dtype).potential if self.tolerance is None else self.tolerance
        field = _far_field(self.wavefunction, tolerance)
        electrons = field.classes[1:]  # without the nuclei
        working = in_double(target) if _cancels(self.wavefunction.positions, field, electrons) else target
        sources = _sources(field, (1 - _SCREENED) * tolerance if self.far_field else 0.0, working)

        def evaluate(points: Reals) -> NDArray[np.floating]:
            if len(points) == 0:
                return np.zeros(0, target.dtype)
            checkpoint()
            values = potential_at_points(points, sources, watcher())
            if self.charges is not None:
                checkpoint()
                values += potential_near_and_far(self.charges, points, working)
            return values.astype(target.dtype)

        return evaluate


@dataclass(frozen=True, eq=False)
class PotentialOfCharges(Field):
    r"""The potential of charges alone, :math:`\sum_m q_m / |r - r_m|`: partial charges of atoms, a `Field`.

    On a CPU in single precision far charges are taken together, see `taichi_kernels.charge_mesh`.

    Attributes
    ----------
    charges : PointCharges
    quantity, unit : str
        Shown to people.
    isovalue : float
        In hartree/e.
    """

    charges: PointCharges
    quantity: str
    isovalue: float
    unit: str = "hartree/e"
    most_points: int = MANY_ATOMS
    is_bounded: bool = field(default=False, init=False)
    is_smooth: bool = field(default=True, init=False)
    peaks_at_nuclei: bool = field(default=True, init=False)

    def enclosing_box(self, isovalue: float) -> tuple[Reals, Reals]:
        """Corners of a box about the charges and the sphere on which their sum alone has the isovalue: no proof."""
        places = self.charges.positions
        low, high = places.min(axis=0) - _MARGIN, places.max(axis=0) + _MARGIN
        centre, radius = places.mean(axis=0), abs(float(self.charges.charges.sum())) / isovalue
        radius = min(radius, float(np.linalg.norm(high - low)) / 2 + _FARTHEST)
        return np.minimum(low, centre - radius), np.maximum(high, centre + radius)

    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for points."""
        return lambda points: potential_near_and_far(self.charges, points, target).astype(target.dtype)


@dataclass(frozen=True, eq=False)
class PotentialOfSum(Field):
    r"""The integral of a sum of Gaussians over the distance, :math:`\int f(r') / |r - r'| dr'`, a `Field`.

    Attributes
    ----------
    expansion : GaussianExpansion
    sites : ndarray, shape (n, 3)
        Where far distributions are taken together as multipoles, in bohr: the atoms.
    quantity, unit : str
        Shown to people.
    isovalue : float
    tolerance : float
        Bound on what leaving out weak distributions and truncating multipoles cost at any point.
    """

    expansion: GaussianExpansion
    sites: Reals
    quantity: str
    unit: str
    isovalue: float
    tolerance: float
    is_bounded: bool = field(default=False, init=False)
    is_smooth: bool = field(default=True, init=False)
    peaks_at_nuclei: bool = field(default=True, init=False)

    def enclosing_box(self, isovalue: float) -> tuple[Reals, Reals]:
        """Corners of a box about the sites: no proof."""
        return self.sites.min(axis=0) - _MARGIN, self.sites.max(axis=0) + _MARGIN

    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for points, by Hermite Gaussians and multipoles."""
        from taichi_kernels.electrostatics import potential_at_points

        def make() -> FarField:
            order = _ORDER if self.tolerance > _TIGHT else _ORDER_TIGHT
            return far_field(_distributions(self.expansion, 1.0, self.tolerance), self.sites, order, self.tolerance)

        found = _FAR_FIELDS.of(self.expansion, (self.tolerance, self.sites.tobytes()), make)
        largest = self.tolerance / tolerances(target.dtype).potential
        working = in_double(target) if _cancels(self.sites, found, found.classes, largest) else target
        sources = _sources(found, (1 - _SCREENED) * self.tolerance, working)

        def evaluate(points: Reals) -> NDArray[np.floating]:
            checkpoint()
            if len(points) == 0:
                return np.zeros(0, target.dtype)
            return potential_at_points(points, sources, watcher()).astype(target.dtype)

        return evaluate


def _reach(wavefunction: Wavefunction, isovalue: float) -> tuple[Reals, float]:
    r"""Centre of charge and the distance from it (bohr) where the potential has fallen to an isovalue; 0 if too far.

    Of the multipoles about it, :math:`|q| / R + |d| / R^2 + |\Theta| / R^3` with the largest eigenvalue of
    :math:`\Theta = \tfrac12 (3 Q - \mathrm{tr}\, Q)` is no less than the potential of the first three; it falls
    with the distance.
    """

    def make() -> tuple[Reals, tuple[float, float, float]]:
        charges, positions = wavefunction.core_charges, wavefunction.positions
        electrons, first, second = integrals(density_of(wavefunction))
        charge, dipole = charges.sum() - electrons, charges @ positions - first
        quadrupole = np.einsum("n,ni,nj->ij", charges, positions, positions) - second
        centre = dipole / charge if abs(charge) > _CHARGED else positions.mean(axis=0)
        shift = np.outer(centre, dipole)
        quadrupole = quadrupole - shift - shift.T + charge * np.outer(centre, centre)
        theta = np.linalg.eigvalsh(1.5 * quadrupole - 0.5 * np.trace(quadrupole) * np.eye(3))
        dipole = dipole - charge * centre
        return centre, (abs(charge), float(np.linalg.norm(dipole)), float(np.abs(theta).max()))

    centre, (monopole, dipole, quadrupole) = _MOMENTS.of(wavefunction, None, make)

    def is_above(r: float) -> bool:
        return bool(monopole / r + dipole / r**2 + quadrupole / r**3 > isovalue)

    if is_above(_FARTHEST):
        return centre, 0.0
    return centre, fallen(is_above, _NEAREST, _FARTHEST, width=_WIDTH)


_CHARGED = 0.5
"""Charge in e from which its centre is that of the potential."""


def _far_field(wavefunction: Wavefunction, tolerance: float) -> FarField:
    """The nuclei and the density as Hermite Gaussians and multipoles; made once per wavefunction and tolerance."""

    def make() -> FarField:
        density = density_of(wavefunction, tolerance=min(TOLERANCE, _PRODUCTS * tolerance))
        kept = _distributions(density, -1.0, tolerance)
        order = _ORDER if tolerance > _TIGHT else _ORDER_TIGHT
        return far_field([_nuclei(wavefunction), *kept], wavefunction.positions, order, tolerance)

    return _FAR_FIELDS.of(wavefunction, tolerance, make)


def _distributions(density: GaussianExpansion, charge: float, tolerance: float) -> list[Class]:
    """A sum, times a charge, as Hermite Gaussians; without those whose potentials are negligible together."""
    from taichi_kernels.hermite_tables import powers_of

    classes: list[Class] = []
    bounds: list[Reals] = []
    for degree in np.unique(density.degree).tolist():
        checkpoint()
        some = density.chosen(density.degree == degree)
        scale = charge * 2 * np.pi / some.exponent
        orders = powers_of(degree)
        hermite = hermite_coefficients(some, degree, orders) * scale[:, None]
        classes.append(Class(degree, some.centre, some.exponent, hermite, orders))
        bounds.append(largest_potentials(hermite, some.exponent, orders))
    ordered = np.sort(np.concatenate(bounds))
    weak = np.searchsorted(np.cumsum(ordered), _SCREENED * tolerance)
    least = ordered[min(int(weak), len(ordered) - 1)]
    strong = [bound >= least for bound in bounds]
    return [class_.chosen(which) for class_, which in zip(classes, strong, strict=True) if which.any()]


def _sources(field: FarField, left_out: float, target: Target) -> Sources:
    """Distributions and multipoles on the device of the current session, whose errors add up to so much (hartree/e)."""
    from taichi_kernels.electrostatics import Distributions, Levels, Multipoles, send_sources
    from taichi_kernels.session import generation

    def make() -> Sources:
        near = [
            Distributions(class_.degree, class_.centre, class_.exponent, class_.hermite, ranges)
            for class_, ranges in zip(field.classes, field.ranges, strict=True)
        ]
        rows_a_site = len(field.moments) // len(field.sites)
        far = Multipoles(field.order, np.repeat(field.sites, rows_a_site, axis=0), field.moments)
        return send_sources(near, far, Levels(field.sites, DISTANCES, field.bounds, left_out), target)

    return _SENT.of(field, (left_out, target, generation()), make)


def _nuclei(wavefunction: Wavefunction) -> Class:
    """Nuclei as Gaussians of charge q, q (p / pi)^(3/2), times 2 pi / p."""
    charged = wavefunction.core_charges != 0
    charges = wavefunction.core_charges[charged]
    hermite = (2 * charges * np.sqrt(_NUCLEUS / np.pi))[:, None]
    return Class(0, wavefunction.positions[charged], np.full(len(charges), _NUCLEUS), hermite, ((0, 0, 0),))


def _cancels(sites: Reals, field: FarField, classes: Sequence[Class], unit: float = 1.0) -> bool:
    """Whether the terms of a potential are so much larger than it that single precision would show.

    The unit is what stands for a hartree/e, in that of the potential.
    """

    def make() -> bool:
        points = (sites[:16, None] + _DISTANCE * _DIRECTIONS).reshape(-1, 3)
        return any(
            sum(
                sum_of_magnitudes(point, class_.centre, class_.hermite, class_.exponent, class_.orders)
                for class_ in classes
            )
            > _SINGLE_SUFFICES * unit
            for point in points
        )

    return _CANCELLATIONS.of(field, None, make)


_MOMENTS = Derived[tuple[Reals, tuple[float, float, float]]]("sums of Gaussians")
_FAR_FIELDS = Derived[FarField]("sums of Gaussians")
_CANCELLATIONS = Derived[bool]("numbers")
_SENT: Derived[Sources] = Derived("arrays on a device")
"""By how often the device was started too: what was on it before is lost."""


_NO_CHARGES = (
    "atoms without a wavefunction need partial charges for it, and these have none, as in a PDB file; load the PQR "
    "file that PDB2PQR makes of it, or name that as esp:FILE.pqr (in PyMOL, alter sets partial_charge too)"
)


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """The potential, with the reason, of a periodic system, and of free atoms without charges."""
    if len(wavefunction.cell):
        return {"esp": _NOT_PERIODIC}
    return {"esp": _NO_CHARGES} if wavefunction.promolecule and not len(wavefunction.partial_charges) else {}


def _of_charges(wavefunction: Wavefunction, charges: PointCharges | None) -> PotentialOfCharges:
    """The potential of the partial charges of free atoms, or of given ones in place of them."""
    if charges is None:
        if not len(wavefunction.partial_charges):
            raise FieldError(f"field 'esp': {_NO_CHARGES}")
        charges = _CHARGES.of(
            wavefunction, None, lambda: PointCharges(wavefunction.positions, wavefunction.partial_charges)
        )
    total, n = float(charges.charges.sum()), len(charges.charges)
    quantity = f"electrostatic potential of {n} partial charges"
    return PotentialOfCharges(charges, quantity, default_isovalue(wavefunction, total))


_CHARGES = Derived[PointCharges]("sums of Gaussians")


def resolve(wavefunction: Wavefunction, name: str, references: References) -> Field | None:
    """The potential, or None for another name.

    Raises
    ------
    FileError
        When charges are named that cannot be read.
    FieldError
        When free atoms have no charges.
    OrbitileError
        When the wavefunction is periodic.
    """
    family, _, file = name.partition(":")
    if family.strip().lower() != "esp":
        return None
    charges = references.charges(file.strip()) if file.strip() else None
    if wavefunction.promolecule:
        return _of_charges(wavefunction, charges)
    quantity = (
        "electrostatic potential" if charges is None else f"electrostatic potential with {len(charges.charges)} charges"
    )
    cores = wavefunction.atomic_numbers - wavefunction.core_charges
    if np.any((cores > 0.5) & (wavefunction.core_charges > 0)):
        quantity += " (valence charges of effective cores)"
    return ElectrostaticPotential(
        wavefunction, quantity, isovalue=default_isovalue(wavefunction, wavefunction.charge), charges=charges
    )


def default_isovalue(wavefunction: Wavefunction, charge: float) -> float:
    """Isovalue whose surface is close to the atoms: of an ion that of its charge, a few bohr beyond the outermost."""
    nuclei = wavefunction.positions[~wavefunction.is_ghost]
    centre = nuclei.mean(axis=0) if len(nuclei) else np.zeros(3)
    radius = float(np.linalg.norm(nuclei - centre, axis=1).max(initial=0.0)) + _BEYOND
    return max(_ISOVALUE, float(f"{abs(charge) / radius:.1g}"))

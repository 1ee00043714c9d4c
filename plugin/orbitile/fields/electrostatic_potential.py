"""The electrostatic potential of nuclei and electrons: `esp`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..charges import PointCharges, load_charges
from ..hermite import hermite_coefficients, largest_potentials, sum_of_magnitudes
from ..lattice import Lattice
from ..wavefunction import Wavefunction
from . import PointEvaluator, SlabEvaluator
from .density import density_of

NAMES = (
    ("esp", "electrostatic potential of nuclei and electrons"),
    ("esp:FILE", "the same with the point charges of a file (.pqr, or lines of x y z q)"),
)

_TOLERANCE = {"single": 3e-6, "double": 1e-11}
"""Bound, in hartree/e, on what distributions that are left out would add up to at any point."""

_SINGLE_SUFFICES = 200.0
"""Sum of the magnitudes of all terms, in hartree/e, up to which single precision keeps the error below 1e-5."""

_DIRECTIONS = np.array([[1.0, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]]) / np.sqrt(3)
_DISTANCE = 1.2
"""Distance from the atoms, in bohr, at which that is looked for."""

_NUCLEUS = 1e10
"""Exponent of the Gaussian, in bohr^-2, that stands for a nucleus: a point charge from 1e-4 bohr on, and finite."""

_MARGIN = 8.0
"""The potential of an ion falls too slowly to be enclosed: shown within this distance of the atoms, in bohr."""


@dataclass(frozen=True, eq=False)
class ElectrostaticPotential:
    """The electrostatic potential, a `Field`. At a nucleus it is large, 1e5 times its charge, but finite.

    Attributes
    ----------
    wavefunction : Wavefunction
    quantity, unit : str
        For people.
    isovalue : float
        One that shows the field well.
    charges : PointCharges or None
        Given charges whose potential is added, as those around the quantum part of a QM/MM calculation.
    """

    wavefunction: Wavefunction
    quantity: str = "electrostatic potential"
    unit: str = "hartree/e"
    isovalue: float = 0.05
    charges: PointCharges | None = None

    def enclosing_box(self, isovalue: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Corners of a box about the atoms, with a margin: no promise for potentials that reach farther."""
        positions = self.wavefunction.positions
        return positions.min(axis=0) - _MARGIN, positions.max(axis=0) + _MARGIN

    def on_slabs(self, lattice: Lattice, precision: str, device: str) -> SlabEvaluator | None:
        """There is no separable form: points will do."""
        return None

    def at_points(self, precision: str, device: str) -> PointEvaluator:
        """Evaluator for points, by Hermite Gaussians."""
        from taichi_kernels import runtime
        from taichi_kernels.electrostatics import potential_at_points

        classes = _classes(self.wavefunction, precision)
        working = "double" if _cancels(self.wavefunction) and runtime.probe(device).double else precision
        dtype = np.float32 if precision == "single" else np.float64

        def evaluate(points: NDArray[np.float64]) -> NDArray[np.floating]:
            values = potential_at_points(points, classes, working, device)
            if self.charges is not None:
                values += self.charges.potential_in_session(points, device, working)
            result: NDArray[np.floating] = values.astype(dtype)
            return result

        return evaluate


Class = tuple[int, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""Degree, centres, exponents and Hermite coefficients."""


def _classes(wavefunction: Wavefunction, precision: str) -> list[Class]:
    """The density as Hermite Gaussians, by degree, scaled and signed for a potential; made once per wavefunction."""
    from taichi_kernels.electrostatics import powers_of

    key = ("esp", precision)
    if key not in wavefunction.cache:
        density = density_of(wavefunction)
        everything: list[Class] = []
        bounds: list[NDArray[np.float64]] = []
        for degree in np.unique(density.degree).tolist():
            some = density.chosen(density.degree == degree)
            scale = -2 * np.pi / some.exponent
            hermite = hermite_coefficients(some, degree, powers_of(degree)) * scale[:, None]
            everything.append((degree, some.centre, some.exponent, hermite))
            bounds.append(largest_potentials(hermite, some.exponent, powers_of(degree)))
        ordered = np.sort(np.concatenate(bounds))
        weak = ordered[min(int(np.searchsorted(np.cumsum(ordered), _TOLERANCE[precision])), len(ordered) - 1)]
        kept = [
            (degree, *(array[bound >= weak] for array in arrays))
            for (degree, *arrays), bound in zip(everything, bounds, strict=True)
            if np.any(bound >= weak)
        ]
        wavefunction.cache[key] = [(0, *_nuclei(wavefunction)), *kept]
    classes: list[Class] = wavefunction.cache[key]
    return classes


def _nuclei(wavefunction: Wavefunction) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Centres, exponents and coefficients of the nuclei: Gaussians of charge q, q (p / pi)^(3/2), times 2 pi / p."""
    charged = wavefunction.core_charges != 0
    charges = wavefunction.core_charges[charged]
    exponents = np.full(len(charges), _NUCLEUS)
    return wavefunction.positions[charged], exponents, (2 * charges * np.sqrt(_NUCLEUS / np.pi))[:, None]


def _cancels(wavefunction: Wavefunction) -> bool:
    """Whether the terms of the potential are so much larger than it that single precision would show."""
    from taichi_kernels.electrostatics import powers_of

    key = ("esp", "cancels")
    if key not in wavefunction.cache:
        points = (wavefunction.positions[:16, None] + _DISTANCE * _DIRECTIONS).reshape(-1, 3)
        classes = _classes(wavefunction, "single")[1:]  # without the nuclei
        wavefunction.cache[key] = any(
            sum(
                sum_of_magnitudes(point, centre, hermite, exponent, powers_of(degree))
                for degree, centre, exponent, hermite in classes
            )
            > _SINGLE_SUFFICES
            for point in points
        )
    return bool(wavefunction.cache[key])


def resolve(wavefunction: Wavefunction, name: str) -> ElectrostaticPotential | None:
    """The potential, or None for another name.

    Raises
    ------
    FileError
        When charges are named that cannot be read.
    """
    family, _, file = name.partition(":")
    if family.strip().lower() != "esp":
        return None
    charges = load_charges(file.strip()) if file.strip() else None
    quantity = (
        "electrostatic potential" if charges is None else f"electrostatic potential with {len(charges.charges)} charges"
    )
    cores = wavefunction.atomic_numbers - wavefunction.core_charges
    if np.any((cores > 0.5) & (wavefunction.core_charges > 0)):
        quantity += " (valence charges of effective cores)"
    return ElectrostaticPotential(wavefunction, quantity, charges=charges)

"""Densities: `density`, `density:alpha`, `spin`, `density:homo-2..homo`, and differences of two calculations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taichi_kernels.target import Target

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.errors import FieldError
from ..gaussians.expansion import GaussianExpansion, merged
from ..gaussians.kernels._free_atoms import box_of_free_atoms, free_atoms_on_slabs
from ..gaussians.products import TOLERANCE, density_products
from ..gaussians.promolecule import promolecular_density, with_images
from ..model.lattice import Lattice
from ..model.wavefunction import Spinors, Wavefunction
from . import Field, PointEvaluator, References, SlabEvaluator
from ._sums import MANY_ATOMS, SMALL, SumField
from .orbital import orbital_range

PRIORITY = 90
GROUP = "Electron density"
NAMES = (
    ("density", "Electrons per volume: the shape of the molecule (electron density)"),
    ("spin", "Where unpaired electrons are: alpha density minus beta density"),
    ("difference:FILE", "The density minus that of another file, or of several, such as fragments: FILE,FILE"),
    ("density:alpha", "The density of the alpha electrons alone (or :beta)"),
    ("density:homo-2..homo", "The density of some orbitals with their occupations"),
)

Weighted = tuple[Reals, Reals]
"""Coefficients of orbitals, shape (n_basis, n_orbitals), and the weights of their squares."""

_MOLECULE = 0.001
"""Density of the surface of a molecule, on which others are shown: R. F. W. Bader et al., J. Am. Chem. Soc. 1987, 109,
7968."""

_DENSITIES = Derived[GaussianExpansion]("sums of Gaussians")


def occupied(wavefunction: Wavefunction, which: str) -> Weighted:
    """Orbitals and weights that make a density: total, alpha, beta, or spin (alpha less beta).

    Where the file gives a density matrix of a correlated method, that is meant.

    Raises
    ------
    FieldError
        When there are no occupied orbitals, or natural orbitals do not tell the spins apart.
    """
    if wavefunction.promolecule:
        raise FieldError(f"density ({which}): {_OF_FREE_ATOMS}")
    if wavefunction.density_missing:
        raise FieldError(f"density ({which}): {wavefunction.density_missing}")
    if wavefunction.density_matrix.size:
        return _of_matrix(wavefunction, which)
    if wavefunction.spinors is not None:
        return _of_spinors(wavefunction.spinors, which)
    if wavefunction.beta is not None:
        chosen = [(o, sign) for o, sign in zip(wavefunction.sets, _SIGNS[which], strict=True) if sign]
        coefficients = np.hstack([orbitals.coefficients for orbitals, _ in chosen])
        weights = np.concatenate([sign * orbitals.occupations for orbitals, sign in chosen])
    else:
        n = wavefunction.alpha.occupations
        if which != "total" and _is_of_both_spins(n):
            raise FieldError(f"density of {which}: {_OF_BOTH_SPINS}")
        coefficients, weights = wavefunction.alpha.coefficients, _of_shared(n, which)
    counts = np.abs(weights) > 1e-10
    if not counts.any() and which != "spin":
        raise FieldError(f"density ({which}): the file gives no occupied orbitals")
    return coefficients[:, counts], weights[counts]


_SIGNS = {"total": (1, 1), "alpha": (1, 0), "beta": (0, 1), "spin": (1, -1)}
"""What alpha and beta electrons count in a density."""


def _of_shared(n: Reals, which: str) -> Reals:
    """Weights of orbitals that both spins share; singly occupied ones of an open shell hold alpha electrons."""
    beta = np.floor(n / 2 + 1e-6)
    return {"total": n, "alpha": n - beta, "beta": beta, "spin": n - 2 * beta}[which]


def _of_matrix(wavefunction: Wavefunction, which: str) -> Weighted:
    """Eigenvectors and eigenvalues of a density matrix: no natural orbitals, but the same sum of squares."""
    total, spin = wavefunction.density_matrix, wavefunction.spin_density_matrix
    if not spin.size and which != "total" and wavefunction.kind != "restricted":
        raise FieldError(f"density of {which}: {_NO_SPIN_MATRIX}")
    spin = spin if spin.size else np.zeros_like(total)
    matrix = {"total": total, "alpha": (total + spin) / 2, "beta": (total - spin) / 2, "spin": spin}[which]
    values, vectors = np.linalg.eigh(matrix)
    counts = np.abs(values) > 1e-12 * max(np.abs(values).max(), 1e-300)
    return vectors[:, counts], values[counts]


def _of_spinors(spinors: Spinors, which: str) -> Weighted:
    """Real and imaginary parts of complex orbitals: the sum of their squares is that of the magnitudes."""
    n, parts = spinors.occupations, spinors.parts()
    if len(parts) == 2:  # one component, which both spins share
        of_spins = [_of_shared(n, which)] * 2
    else:
        up, down = _SIGNS[which]
        of_spins = [up * n, up * n, down * n, down * n]
    coefficients, weights = np.hstack(list(parts)), np.concatenate(of_spins)
    counts = (np.abs(weights) > 1e-10) & np.any(coefficients != 0, axis=0)
    if not counts.any() and which != "spin":
        raise FieldError(f"density ({which}): the file gives no occupied orbitals")
    return coefficients[:, counts], weights[counts]


def _paired_spinors(wavefunction: Wavefunction) -> bool:
    """Whether complex orbitals have no spin density: by its matrix, since pairs of them cancel."""
    coefficients, weights = occupied(wavefunction, "spin")
    return not len(weights) or float(np.abs((coefficients * weights) @ coefficients.T).max()) < _SAME


_OF_FREE_ATOMS = "these are free atoms, which have a density together, but no orbitals and no spin"
_PAIRED = "all electrons are paired, so there is no spin density"
_NO_Z = "no spin points along z, so there is no spin density; magnetisation shows spin in other directions"
_OF_BOTH_SPINS = "these natural orbitals are of both spins, which the file does not tell apart"
_NO_SPIN_MATRIX = "the file gives no spin density matrix of the correlated method"

_SAME = 1e-5
"""Coefficients of alpha and beta orbitals that differ by no more are the same: files print some seven digits."""


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """The spin density, with the reason, where there is none."""
    reason = _without_spin(wavefunction)
    return {"spin": reason} if reason else {}


def _without_spin(wavefunction: Wavefunction) -> str:
    if wavefunction.promolecule:
        return _OF_FREE_ATOMS
    alpha, beta = wavefunction.alpha, wavefunction.beta
    if wavefunction.density_matrix.size:
        matrix = wavefunction.spin_density_matrix
        if not matrix.size and wavefunction.kind != "restricted":
            return _NO_SPIN_MATRIX
        return "" if np.any(np.abs(matrix) > _SAME) else _PAIRED
    if wavefunction.spinors is not None:
        return _NO_Z if _paired_spinors(wavefunction) else ""
    if beta is None:
        if _is_of_both_spins(alpha.occupations):
            return _OF_BOTH_SPINS
        return "" if np.any(np.round(alpha.occupations) == 1) else _PAIRED
    n = min(len(alpha), len(beta))
    same = np.allclose(alpha.occupations[:n], beta.occupations[:n], atol=_SAME) and not (
        np.any(alpha.occupations[n:]) or np.any(beta.occupations[n:])
    )
    there = alpha.occupations[:n] > 0
    if same and np.allclose(alpha.coefficients[:, :n][:, there], beta.coefficients[:, :n][:, there], atol=_SAME):
        return _PAIRED
    return ""


def _is_of_both_spins(occupations: Reals) -> bool:
    return bool(np.any(np.abs(occupations - np.round(occupations)) > 1e-4))


def density_of(wavefunction: Wavefunction, which: str = "total", tolerance: float = TOLERANCE) -> GaussianExpansion:
    """Density as a sum of Gaussians: total, alpha, beta or spin; made once per wavefunction and tolerance.

    The tolerance is that of `density_products`, in e bohr^-3.
    """

    def make() -> GaussianExpansion:
        if wavefunction.promolecule and which == "total":
            return promolecular_density(with_images(wavefunction))
        coefficients, weights = occupied(wavefunction, which)
        if len(weights) == 0:
            raise FieldError(f"spin: {_PAIRED if wavefunction.spinors is None else _NO_Z}")
        return density_products(wavefunction, coefficients, weights, tolerance)

    return _DENSITIES.of(wavefunction, (which, tolerance), make)


def resolve(wavefunction: Wavefunction, name: str, references: References) -> Field | None:
    """The density that a name stands for, or None.

    Raises
    ------
    FieldError
        When the wavefunction does not have it.
    """
    family, _, rest = name.partition(":")
    family = family.strip().lower()
    if family == "difference":
        return _difference(wavefunction, rest.strip(), references)
    rest = rest.strip().lower()
    if family == "spin" and not rest:
        if reason := _without_spin(wavefunction):
            raise FieldError(f"field 'spin': {reason}")
        expansion, quantity, isovalue = density_of(wavefunction, "spin"), "spin density", 0.005
    elif family != "density":
        return None
    elif rest in ("", "alpha", "beta", "a", "b"):
        which = {"": "total", "a": "alpha", "b": "beta"}.get(rest, rest)
        if wavefunction.promolecule and which == "total":
            return FreeAtomsDensity(with_images(wavefunction))
        expansion = density_of(wavefunction, which)
        quantity, isovalue = "electron density" if which == "total" else f"{which} density", 0.02
        if wavefunction.density_matrix.size:
            quantity += " (by the density matrix of the file)"
    else:
        expansion, quantity, isovalue = _of_some(wavefunction, rest), f"density of {rest}", 0.005
    surface = _MOLECULE if family == "density" and not rest else None
    return density_field(wavefunction, expansion, quantity, isovalue, family == "spin", surface)


def density_field(
    wavefunction: Wavefunction,
    expansion: GaussianExpansion,
    quantity: str,
    isovalue: float,
    is_difference: bool = False,
    coloured_isovalue: float | None = None,
) -> SumField:
    """A density in e bohr^-3 as a field; what large densities leave of each other is a difference."""
    return SumField(
        (expansion,),
        quantity,
        "e bohr^-3",
        isovalue,
        expansion,
        wavefunction.positions,
        is_difference=is_difference,
        fewest_points=SMALL,
        coloured_isovalue=coloured_isovalue,
    )


@dataclass(frozen=True, eq=False)
class FreeAtomsDensity(Field):
    """The density of a promolecule, a `Field`: on lattices of a CPU atom by atom, elsewhere as the sum of Gaussians.

    Attributes
    ----------
    wavefunction : Wavefunction
        The promolecule.
    """

    wavefunction: Wavefunction
    quantity: str = "electron density"
    unit: str = "e bohr^-3"
    isovalue: float = 0.02
    coloured_isovalue: float = _MOLECULE
    fewest_points: int = SMALL
    most_points: int = MANY_ATOMS
    peaks_at_nuclei: bool = True

    def _sum(self) -> SumField:
        return density_field(self.wavefunction, density_of(self.wavefunction), self.quantity, self.isovalue)

    def enclosing_box(self, isovalue: float) -> tuple[Reals, Reals]:
        """Corners of a box outside which the density is smaller, in bohr."""
        return box_of_free_atoms(self.wavefunction, isovalue)

    def on_slabs(self, lattice: Lattice, target: Target) -> SlabEvaluator | None:
        """Evaluator for slabs of a lattice."""
        evaluate = free_atoms_on_slabs(self.wavefunction, lattice, target)
        return evaluate if evaluate is not None else self._sum().on_slabs(lattice, target)

    def at_points(self, target: Target) -> PointEvaluator:
        """Evaluator for arbitrary points."""
        return self._sum().at_points(target)


def _of_some(wavefunction: Wavefunction, text: str) -> GaussianExpansion:
    """Density of a range or a list of orbitals: homo-2..homo, mo:5,mo:7, homo."""
    columns: dict[tuple[str, int], None] = {}
    orbitals = {spin: wavefunction.orbitals(spin) for spin in ("alpha", "beta")}
    for item in text.split(","):
        chosen = orbital_range(wavefunction, item.strip())
        if chosen is None:
            raise FieldError(
                f"field 'density:{text}': expected orbitals such as homo-2..homo or mo:5,mo:7, got {item.strip()!r}"
            )
        both = wavefunction.beta is not None and not re.search(r":(a|b|alpha|beta)\b", item)
        for spin in ("alpha", "beta") if both else (chosen[0].spin,):
            # a file may hold fewer orbitals of one spin, such as the occupied ones
            columns.update(((spin, orbital.index), None) for orbital in chosen if orbital.index < len(orbitals[spin]))
    parts = [orbitals[spin].parts()[:, :, index].T for spin, index in columns]
    coefficients = np.hstack(parts)
    weights = np.repeat([orbitals[spin].occupations[index] for spin, index in columns], parts[0].shape[1])
    if not np.any(weights > 0):
        raise FieldError(f"field 'density:{text}': these orbitals are empty; name occupied ones")
    return density_products(wavefunction, coefficients, weights)


def _difference(wavefunction: Wavefunction, text: str, references: References) -> SumField:
    """Density less those of other files: deformation densities, a complex less its fragments."""
    files = [file.strip() for file in text.split(",") if file.strip()]
    if not files:
        raise FieldError("field 'difference': expected the other file behind a colon: difference:cation.molden")
    others = [references.wavefunction(file) for file in files]
    quantity = f"density minus that of {', '.join(Path(other.source).name for other in others)}"
    return difference_of(wavefunction, others, quantity)


def difference_of(wavefunction: Wavefunction, others: Sequence[Wavefunction], quantity: str) -> SumField:
    """The density of a wavefunction less those of others."""
    expansion = merged([density_of(wavefunction), *(density_of(other).scaled(-1.0) for other in others)])
    return density_field(wavefunction, expansion, quantity, 0.003, is_difference=True)

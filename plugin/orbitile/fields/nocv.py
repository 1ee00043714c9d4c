r"""What the interaction of fragments does to their electrons: deformation densities, and NOCV that they are made of.

The fragments' occupied orbitals, made orthogonal by Loewdin's method, are the determinant that interaction begins from
in the extended transition state method (T. Ziegler, A. Rauk, Theor. Chim. Acta 1977, 46, 1). With its density matrix
:math:`P^0` and that of the whole, P, of each spin, over orthonormal functions, natural orbitals for chemical valence
are the eigenvectors of :math:`\Delta P = P - P^0` (A. Michalak, M. Mitoraj, T. Ziegler, J. Phys. Chem. A 2008, 112,
1933). Their eigenvalues are pairs :math:`\pm v_k`, and

.. math::  \Delta\rho = \sum_k \Delta\rho_k, \qquad \Delta\rho_k = v_k\, (\psi_k^2 - \psi_{-k}^2).

Both matrices are projectors on as many orbitals. So the pairs follow from the angles between the two spaces, also where
several have one eigenvalue: with orbitals :math:`a_k` of the whole and :math:`b_k` of the fragments whose overlaps
:math:`a_k \cdot b_l = \delta_{kl} \cos\theta_k` a singular value decomposition gives (A. Bjoerck, G. H. Golub, Math.
Comput. 1973, 27, 579), and :math:`c_k = (a_k - b_k \cos\theta_k) / \sin\theta_k`,

.. math::  v_k = \sin\theta_k, \quad \psi_k = \cos\alpha_k\, b_k + \sin\alpha_k\, c_k, \quad
    \psi_{-k} = -\sin\alpha_k\, b_k + \cos\alpha_k\, c_k, \quad \alpha_k = \frac\pi4 + \frac{\theta_k}2 .

Where all are closed shells an orbital holds two electrons, and :math:`v_k` is twice as large.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.errors import Cancelled, FieldError, OrbitileError
from ..gaussians.expansion import GaussianExpansion, merged
from ..gaussians.fragments import Assembled, OccupiedFragment, assembled, why_not
from ..gaussians.overlap import inverse_root
from ..gaussians.products import density_products
from ..model.wavefunction import Orbitals, Spin, Wavefunction
from . import References, without_files
from ._sums import SumField
from .density import density_field, density_of
from .orbital import Orbital

PRIORITY = 60
GROUP = "Interaction of fragments"
NAMES = (
    ("deformation:FILE", "What bonding does to electrons: the density less that of orthogonal fragments: FILE,FILE"),
    ("pauli:FILE", "What antisymmetry does to electrons of fragments: orthogonal less frozen ones: FILE,FILE"),
    ("nocv:N:FILE", "The part of the deformation density that the Nth pair of NOCV makes: FILE,FILE"),
    ("nocv:N:to:FILE", "The orbital of the Nth pair that electrons go to: FILE,FILE"),
    ("nocv:N:from:FILE", "The orbital of the Nth pair that electrons come from: FILE,FILE"),
)

_NAME = re.compile(r"(deformation|pauli)|nocv:(\d{1,9})(?::(alpha|beta))?(?::(to|from))?", re.IGNORECASE)

_ISOVALUE = 0.003

_SMALLEST = 1e-7
"""Eigenvalue below which a pair is nothing."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """NOCV of one spin, or of both together where all are closed shells; the pair of the largest eigenvalue first.

    Attributes
    ----------
    spin : str
    values : ndarray, shape (n_pairs,)
        Eigenvalues v, positive, in e.
    gaining, losing : ndarray, shape (n_basis, n_pairs)
        Coefficients of the orbitals with eigenvalues v and -v.
    """

    spin: Spin
    values: Reals
    gaining: Reals
    losing: Reals


@dataclass(frozen=True, eq=False)
class Deformation:
    """What the interaction of fragments does to their electrons.

    Attributes
    ----------
    whole : Wavefunction
    others : tuple of Wavefunction
        Of the fragments.
    fragments : tuple of OccupiedFragment
    pairs : tuple of Pairs
        Of each spin, or one where all are closed shells.
    before, after : ndarray, shape (n_spins, n_basis, n_basis)
        Density matrices of the orthogonal fragments and of the whole: of each spin, or one of both together.
    """

    whole: Wavefunction
    others: tuple[Wavefunction, ...]
    fragments: tuple[OccupiedFragment, ...]
    pairs: tuple[Pairs, ...]
    before: Reals
    after: Reals

    @property
    def electrons_an_orbital(self) -> int:
        """Electrons that each orbital holds: 2 where all are closed shells."""
        return 3 - len(self.pairs)

    def of_spin(self, spin: Spin) -> Pairs:
        """Pairs of a spin; of both together where all are closed shells."""
        return self.pairs[-1 if spin == "beta" else 0]

    def pair(self, spin: Spin, number: int) -> GaussianExpansion:
        """Deformation density of a pair, counted from 1, in e bohr^-3."""
        pairs, n = self.of_spin(spin), number - 1
        coefficients = np.stack([pairs.gaining[:, n], pairs.losing[:, n]], axis=1)
        return density_products(self.whole, coefficients, pairs.values[n] * np.array([1.0, -1.0]))

    @cached_property
    def orbital(self) -> GaussianExpansion:
        """The density of the whole less that of the orthogonal fragments, in e bohr^-3: the sum of all pairs."""
        coefficients = np.hstack([c for pairs in self.pairs for c in (pairs.gaining, pairs.losing)])
        weights = np.concatenate([v for pairs in self.pairs for v in (pairs.values, -pairs.values)])
        return density_products(self.whole, coefficients, weights)

    @cached_property
    def total(self) -> GaussianExpansion:
        """The density of the whole less those of the frozen fragments, in e bohr^-3."""
        return merged([density_of(self.whole), *(density_of(other).scaled(-1.0) for other in self.others)])


_DEFORMATIONS = Derived[Deformation]("orbitals")


def deformation_of(whole: Wavefunction, others: Sequence[Wavefunction]) -> Deformation:
    """The deformation of fragments; kept for a while.

    Parameters
    ----------
    whole
        Orbitals of a single determinant.
    others
        Its fragments, two or more: the same basis functions and places, atoms in any order.

    Raises
    ------
    OrbitileError
        As `orbitile.gaussians.fragments.assembled`.
    """

    def make() -> Deformation:
        together = assembled(whole, others)
        electrons, functions = together.electrons_an_orbital, together.functions
        spins: tuple[Spin, ...] = ("alpha",) if len(together.whole) == 1 else ("alpha", "beta")
        separate = [_orthogonal(orbitals) for orbitals in together.separate]
        pairs = tuple(_pairs(spin, a, b, together) for spin, a, b in zip(spins, together.whole, separate, strict=True))
        before, after = (
            np.array([electrons * (functions @ c) @ (functions @ c).T for c in orbitals])
            for orbitals in (separate, together.whole)
        )
        return Deformation(whole, tuple(others), together.fragments, pairs, before, after)

    return _DEFORMATIONS.of(whole, tuple(others), make)


_LEAST_OVERLAP = 1e-8
"""Eigenvalue of the overlap of the fragments' orbitals below which one is a combination of the others."""


def _orthogonal(orbitals: Reals) -> Reals:
    """Loewdin's orthogonal orbitals."""
    gram = orbitals.T @ orbitals
    if len(gram) and np.linalg.eigvalsh(gram)[0] < _LEAST_OVERLAP:
        raise OrbitileError("fragments: their occupied orbitals are linearly dependent; are fragments too close?")
    return orbitals @ inverse_root(gram) if len(gram) else orbitals


def _pairs(spin: Spin, whole: Reals, separate: Reals, together: Assembled) -> Pairs:
    """NOCV from the angles between two spaces of orbitals, as the head of this module says."""
    left, cosines, right = np.linalg.svd(separate.T @ whole)
    b, a = separate @ left, whole @ right.T
    rests = a - b * cosines
    sines = np.linalg.norm(rests, axis=0)
    order = np.argsort(-sines, kind="stable")
    order = order[sines[order] > _SMALLEST]
    b, c, sines, cosines = b[:, order], rests[:, order] / sines[order], sines[order], cosines[order]
    alpha = np.pi / 4 + np.arctan2(sines, cosines) / 2
    gaining, losing = np.cos(alpha) * b + np.sin(alpha) * c, np.cos(alpha) * c - np.sin(alpha) * b
    functions = together.functions
    return Pairs(spin, together.electrons_an_orbital * sines, functions @ gaining, functions @ losing)


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """All names, with the reason, of a wavefunction that is no single determinant."""
    reason = why_not(wavefunction)
    return dict.fromkeys(dict(NAMES), reason) if reason else {}


def resolve(wavefunction: Wavefunction, name: str, references: References) -> SumField | Orbital | None:
    """The field that a name stands for, or None for another name.

    Raises
    ------
    FieldError
        When files are missing, the fragments are not those of the wavefunction, or there is no such pair.
    FileError
        When a file cannot be read.
    """
    if name.partition(":")[0].strip().lower() not in ("deformation", "pauli", "nocv"):
        return None
    head, files = without_files(name)
    match = _NAME.fullmatch(head.strip().rstrip(":"))
    if match is None or not files:
        raise FieldError(
            f"field {name!r}: expected deformation, pauli, nocv:1, nocv:1:to or nocv:1:from, and behind a colon the "
            "files of the fragments, as nocv:1:borane.molden,ammonia.molden"
        )
    kind, number, spin, side = match.groups()
    others = [references.wavefunction(file) for file in files]
    try:
        found = deformation_of(wavefunction, others)
    except Cancelled:
        raise
    except OrbitileError as error:
        raise FieldError(f"field {head.rstrip(':')}: {error}") from error
    among = " and ".join(fragment.name for fragment in found.fragments)
    if kind:
        parts = [found.orbital] if kind.lower() == "deformation" else [found.total, found.orbital.scaled(-1.0)]
        quantity = "orbital deformation density" if kind.lower() == "deformation" else "Pauli deformation density"
        return density_field(wavefunction, merged(parts), f"{quantity} of {among}", _ISOVALUE, is_difference=True)
    return _of_pair(found, int(number), _spin(spin), (side or "").lower(), f" of {among}")


def _spin(text: str | None) -> Spin:
    return "beta" if text and text.lower() == "beta" else "alpha"


def _of_pair(found: Deformation, number: int, spin: Spin, side: str, among: str) -> SumField | Orbital:
    pairs = found.of_spin(spin)
    if not 1 <= number <= len(pairs.values):
        raise FieldError(f"field nocv:{number}: expected a pair from 1 to {len(pairs.values)}")
    which = f"{pairs.spin} NOCV pair {number}" if len(found.pairs) > 1 else f"NOCV pair {number}"
    quantity = f"{which} ({pairs.values[number - 1]:.3f} e){among}"
    if not side:
        return density_field(found.whole, found.pair(spin, number), quantity, _ISOVALUE, is_difference=True)
    coefficients = pairs.gaining if side == "to" else pairs.losing
    sign = 1.0 if side == "to" else -1.0
    one = replace(
        found.whole,
        alpha=Orbitals(coefficients[:, number - 1 : number], sign * pairs.values[number - 1 : number]),
        beta=None,
        natural=True,
        excitations=(),
    )
    return Orbital(one, "alpha", 0, f"orbital that electrons go {side}, {quantity}".replace("go from", "come from"))

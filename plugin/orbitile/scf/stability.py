r"""Whether orbitals are a minimum of the energy or a saddle point: the lowest second derivative along rotations.

Orbitals are stable where no eigenvalue of the Hessian of the energy is negative (R. Seeger, J. A. Pople, J. Chem. Phys.
1977, 66, 3045): *internally*, along rotations of orbitals of their kind; closed shells also *externally*, along those
that turn the orbitals of both spins in opposite directions, towards unrestricted ones. Products of the Hessian with a
rotation are differences of the gradient, so that whatever enters the Fock matrices counts; the lowest eigenvalue is
found by E. R. Davidson's method (J. Comput. Phys. 1975, 17, 87).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.watch import Cancel, Progress, checkpoint, watched
from ..evaluation.devices import device_session
from ..integrals.method_names import split_name
from ..model.geometry import Geometry
from ..model.wavefunction import Basis, Shell, Wavefunction
from .calculation import Calculation, NotConverged
from .kohn_sham import Operator
from .level_of_theory import shells_of
from .occupation import Occupation
from .rotations import Rotations

_STEP = 3e-3
"""Angle in radians of the differences: their errors are some 1e-5 of the largest eigenvalue that matters."""

_SETTLED = 1e-3
"""Norm of the residual of the eigenvector, in hartree; the eigenvalue is right to its square over the next gap."""

_MOST = 60
"""Products of the Hessian at most."""

_FIRST, _CLOSE = 3, 0.02
"""Rotations to begin with; and least difference of the diagonal from the eigenvalue, in hartree."""

_STATIONARY = 1e-2
"""Norm of the gradient up to which orbitals count as those of the functional."""

_NEGATIVE = -1e-4
"""Eigenvalue below which orbitals are unstable; directions in which nothing changes, such as rotations of an atom, have
0."""


@dataclass(frozen=True)
class Stability:
    """Lowest second derivatives of the energy along rotations of orbitals, in hartree.

    Attributes
    ----------
    internal : float
        Among orbitals of their kind.
    external : float or None
        Of closed shells, towards orbitals of each spin; None for others.
    """

    internal: float
    external: float | None

    @property
    def is_internal(self) -> bool:
        """Whether they are a minimum among orbitals of their kind."""
        return self.internal > _NEGATIVE

    @property
    def is_external(self) -> bool:
        """Whether no orbitals of each spin, nearby, have a lower energy."""
        return self.external is None or self.external > _NEGATIVE


def stability(
    wavefunction: Wavefunction,
    calculation: Calculation,
    *,
    device: str | None = None,
    precision: str = "double",
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Stability:
    """Test the stability of self-consistent orbitals.

    Parameters
    ----------
    wavefunction
        Real orbitals, filled or empty.
    calculation
        What they are the orbitals of: its functional, solvent, and basis set with its core potentials.
    device, precision
        As for `orbitile.evaluate`.
    progress, cancelled
        As for `orbitile.energies`.

    Raises
    ------
    OrbitileError
        When orbitals are not those of the functional, or partly filled; when our engine has no such functional; when
        functions of a file with core potentials are not those of the basis set.
    NotConverged
        When the eigenvalue does not settle.
    """
    from .engines.orbitile import check, hamiltonian_of  # engines come after what they share

    wavefunction.require_real()
    calculation = replace(calculation, method=split_name(calculation.method)[0])  # dispersion knows no orbitals
    check(calculation)
    geometry = Geometry(wavefunction.atomic_numbers, wavefunction.positions)
    basis, charges = Basis(wavefunction.shells, wavefunction.positions), wavefunction.core_charges
    if np.any(charges != wavefunction.atomic_numbers) and not _same(basis, shells_of(geometry, calculation)):
        raise OrbitileError(
            f"stability: core potentials are those of a basis set, and the functions of this file are not those of "
            f"{calculation.basis!r} in our order; compute the orbitals by `orbitile scf` first"
        )
    occupation, orbitals = _occupied(wavefunction)
    with watched(progress, cancelled), device_session(device, precision) as target:
        operator = hamiltonian_of(geometry, charges, basis, calculation, target, close=True)
        return stability_of(operator, occupation, orbitals, str(calculation))


def stability_of(operator: Operator, occupation: Occupation, orbitals: list[Reals], name: str) -> Stability:
    """The same of orbitals of an operator, (n_basis, n) of each set, occupied ones first; the name is for errors."""
    internal = _lowest(operator, occupation, orbitals, name)
    if len(occupation.occupied) == 2:
        return Stability(internal, None)
    pair = Occupation(occupation.occupied * 2)
    return Stability(internal, _lowest(operator, pair, orbitals * 2, name, opposite=True))


def _same(basis: Basis, shells: tuple[Shell, ...]) -> bool:
    return len(basis.shells) == len(shells) and all(
        (one.atom, one.angular_momentum, one.pure) == (other.atom, other.angular_momentum, other.pure)
        and one.exponents.shape == other.exponents.shape
        and np.allclose(one.exponents, other.exponents, rtol=1e-6)
        for one, other in zip(basis.shells, shells, strict=True)
    )


def _occupied(wavefunction: Wavefunction) -> tuple[Occupation, list[Reals]]:
    """Occupation and orbitals of each set, the occupied ones first."""
    ranks = [np.argsort(-orbitals.occupations, kind="stable") for orbitals in wavefunction.sets]
    filled = [orbitals.occupations[rank] for orbitals, rank in zip(wavefunction.sets, ranks, strict=True)]
    if any(np.abs(n - np.round(n)).max() > 1e-6 for n in filled) or wavefunction.natural:
        raise OrbitileError("stability: expected orbitals that are filled or empty, got partly filled ones")
    orbitals = [part.coefficients[:, rank] for part, rank in zip(wavefunction.sets, ranks, strict=True)]
    if wavefunction.beta is not None:
        return Occupation((round(filled[0].sum()), round(filled[1].sum()))), orbitals
    n_alpha, n_beta = int((filled[0] > 0.5).sum()), int((filled[0] > 1.5).sum())
    if n_alpha == n_beta:
        return Occupation((n_alpha,)), orbitals
    return Occupation((n_alpha, n_beta), shared=True), orbitals


def _lowest(
    operator: Operator, occupation: Occupation, orbitals: list[Reals], name: str, opposite: bool = False
) -> float:
    """Lowest eigenvalue of the Hessian; `opposite`: along rotations of two sets in opposite directions."""
    rotations = Rotations(occupation, orbitals[0].shape[1])
    numbers, _ = occupation.of_energies([np.zeros(c.shape[1]) for c in orbitals])

    def fock(some: list[Reals]) -> Reals:
        checkpoint()
        return operator.fock(occupation.densities(some, numbers))[1]

    _, matrices = operator.fock(occupation.densities(orbitals, numbers), exact=True)
    turns, _ = rotations.canonical(orbitals, matrices)
    orbitals = [c @ u for c, u in zip(orbitals, turns, strict=True)]
    error = np.linalg.norm(rotations.gradient(orbitals, matrices))
    if error > _STATIONARY:
        raise OrbitileError(
            f"stability: the orbitals are not those of {name}: the gradient of its energy has the norm {error:.1e}, "
            f"expected {_STATIONARY:.0e} at most; name the functional that they were computed with"
        )

    def product(x: Reals) -> Reals:
        ahead, behind = (
            rotations.gradient(some, fock(some))
            for some in (
                rotations.rotated(orbitals, step * (np.concatenate([x, -x]) if opposite else x))
                for step in (_STEP, -_STEP)
            )
        )
        return folded((ahead - behind) / (2 * _STEP))

    def folded(rotation: Reals) -> Reals:
        return np.subtract(*np.split(rotation, 2)) if opposite else rotation

    diagonal = rotations.stiffness(orbitals, matrices)
    if opposite:
        diagonal = 2 * diagonal[: len(diagonal) // 2]
    return _lowest_eigenvalue(product, diagonal, name)


def _lowest_eigenvalue(product: Callable[[Reals], Reals], diagonal: Reals, name: str) -> float:
    """Lowest eigenvalue of a symmetric matrix that is near its diagonal."""
    if not len(diagonal):
        return np.inf
    # the softest rotations, and a share of all others: none is left out by symmetry
    softest = np.argsort(diagonal, kind="stable")[:_FIRST]
    start = 0.05 * np.random.default_rng(0).normal(size=(len(softest), len(diagonal))) * diagonal.min() / diagonal
    start[np.arange(len(softest)), softest] += 1
    space, images = np.zeros((0, len(diagonal))), np.zeros((0, len(diagonal)))
    new = list(start)
    while len(space) < min(_MOST, len(diagonal)):
        for vector in new:
            for _ in range(2):
                vector = vector - space.T @ (space @ vector)
            vector = vector / np.linalg.norm(vector)
            space, images = np.vstack([space, vector]), np.vstack([images, product(vector)])
        matrix = space @ images.T
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        residual = vectors[:, 0] @ images - values[0] * (vectors[:, 0] @ space)
        if np.linalg.norm(residual) < _SETTLED:
            break
        apart = diagonal - values[0]
        new = [residual / np.where(np.abs(apart) < _CLOSE, _CLOSE, apart)]
    else:
        if len(space) < len(diagonal):
            raise NotConverged(f"stability of {name}: the eigenvalue did not settle in {_MOST} products of the Hessian")
    return float(values[0])

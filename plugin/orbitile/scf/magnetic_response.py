r"""How orbitals respond to a magnetic field where exact exchange couples them (coupled-perturbed equations).

A magnetic field, or a momentum, makes a first-order density matrix that is imaginary and antisymmetric. It has no
density at any point, so that neither the Coulomb potential nor a functional of the density and its gradient responds:
only the exact exchange of Hartree-Fock and of hybrid functionals does (R. M. Stevens, R. M. Pitzer and W. N. Lipscomb,
J. Chem. Phys. 1963, 38, 550). With an antisymmetric perturbation o, the coefficients of orbitals of one spin are

.. math::

    U_{ai} = \frac{\langle a|\tfrac12 o + K[D]|i\rangle}{\epsilon_a - \epsilon_i}, \qquad
    D = \sum_{ai} U_{ai} (c_a c_i^T - c_i c_a^T)

K being the exchange matrix of the functional's share. Several perturbations are solved for together, in the space of
all that was tried for any of them (J. A. Pople, R. Krishnan, H. B. Schlegel and J. S. Binkley, Int. J. Quantum Chem.
Symp. 1979, 13, 225).

`orbitile.fields.currents` finds this module by its name, since fields come before integrals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.watch import checkpoint
from ..evaluation.devices import device_session, exact_precision
from ..fields.currents import Transitions
from ..gaussians.overlap import dense, own_overlap
from ..integrals.exchange import exchange_of
from ..integrals.functionals import Functional, functional
from ..integrals.grids import Quality, exchange_grid_of
from ..integrals.method_names import split_name
from ..model.wavefunction import Wavefunction
from .calculation import NotConverged
from .from_file import methods_named

_CONVERGED = 1e-6
"""Norm of the residual of coefficients, in units of that of the perturbation."""

_MOST = 30
"""Rounds at most; some eight are usual."""

_DEPENDENT = 1e-10
"""Norm of what is new in a coefficient, in units of all of it, below which it is left out."""

_QUALITY: Quality = "coarse"
"""Grid of exact exchange: errors of what is small already are smaller still."""


def functional_of(wavefunction: Wavefunction) -> Functional | None:
    """The functional that orbitals are of, as far as their file names one that is known; Hartree-Fock is one too."""
    for name, _ in methods_named(wavefunction.method.partition("/")[0].strip(), ""):
        try:
            return functional(split_name(name)[0])
        except OrbitileError:
            continue
    return None


def by_method(wavefunction: Wavefunction, method: str) -> Wavefunction:
    """The same orbitals as those of a method that is stated in place of what the file names.

    Raises
    ------
    OrbitileError
        When no such functional is known.
    """
    result = replace(wavefunction, method=method)
    if functional_of(result) is None:
        raise OrbitileError(f"method: expected hf or a functional such as pbe or b3lyp, got {method!r}")
    return result


def why_uncoupled(wavefunction: Wavefunction) -> str:
    """What keeps the whole response from being computed; empty where it is."""
    known = functional_of(wavefunction)
    if known is None:
        return "the file names no method that is known here, and its exact exchange, if it has any, would respond"
    return "the kinetic energy density, on which the functional depends, would respond" if known.needs_tau else ""


def coupled(wavefunction: Wavefunction, spins: Sequence[Transitions], bare: Sequence[Reals]) -> list[Reals]:
    """Solve the coupled-perturbed equations.

    Parameters
    ----------
    wavefunction
        Has a functional that `why_uncoupled` has nothing against.
    spins
        Orbitals of each spin; one entry for closed shells.
    bare : sequence of ndarray, shape (n_perturbations, n_virtual, n_occupied)
        Coefficients without coupling, of each spin.

    Returns
    -------
    list of ndarray, shapes of `bare`

    Raises
    ------
    NotConverged
        When the equations do not converge, as where the orbitals are no minimum of the energy.
    """
    known = functional_of(wavefunction)
    if known is None or not known.is_hybrid:
        return list(bare)
    ends = np.cumsum([part[0].size for part in bare])[:-1]
    basis, numbers = wavefunction, np.where(wavefunction.is_ghost, 0, wavefunction.atomic_numbers)
    device = None if exact_precision(None) == "double" else "cpu"  # residuals are below what single precision tells
    with device_session(device, "double") as target:
        grid = exchange_grid_of(numbers, basis.positions, target, _QUALITY)
        exchange = exchange_of(basis, grid, dense(own_overlap(basis)), target)

        def response(vectors: Reals) -> Reals:
            """What exchange makes of coefficients, a row for each."""
            found = []
            for spin, part in zip(spins, np.split(vectors, ends, axis=1), strict=True):
                half = spin.virtual @ part.reshape(-1, *spin.gaps.shape) @ spin.occupied.T
                densities = half - half.transpose(0, 2, 1)
                matrices = np.concatenate(
                    [exchange.matrices(densities[n : n + 2], known.exact, True) for n in range(0, len(densities), 2)]
                )
                driven = spin.virtual.T @ matrices @ spin.occupied
                found.append((driven / spin.gaps).reshape(len(vectors), -1))
            return np.hstack(found)

        solved = _solved(response, np.hstack([part.reshape(len(part), -1) for part in bare]))
    return [part.reshape(like.shape) for part, like in zip(np.split(solved, ends, axis=1), bare, strict=True)]


def _solved(response: Callable[[Reals], Reals], wanted: Reals) -> Reals:
    """Rows x with x - response(x) = wanted, shape (n, size)."""
    size = np.linalg.norm(wanted, axis=1)
    space: Reals = np.zeros((0, wanted.shape[1]))
    images: Reals = space
    residual: Reals = wanted
    factors: Reals = np.zeros((0, len(wanted)))
    for _ in range(_MOST):
        checkpoint()
        left = np.linalg.norm(residual, axis=1) > _CONVERGED * size
        if not left.any():
            break
        new = _independent(residual[left] / np.linalg.norm(residual[left], axis=1)[:, None], space)
        if not len(new):
            break
        space, images = np.vstack([space, new]), np.vstack([images, new - response(new)])
        factors = np.asarray(np.linalg.lstsq(images.T, wanted.T, rcond=None)[0], np.float64)
        residual = wanted - factors.T @ images
    left = np.linalg.norm(residual, axis=1) > _CONVERGED * size
    if left.any():
        raise NotConverged(
            f"response to a magnetic field: the coupled equations did not converge in {_MOST} rounds; are the orbitals "
            "a minimum of the energy, and of the method that is named?"
        )
    return factors.T @ space if len(space) else np.zeros_like(wanted)


def _independent(rows: Reals, space: Reals) -> Reals:
    """Orthonormal rows of what rows have beyond a space of orthonormal rows."""
    for _ in range(2):
        rows = rows - rows @ space.T @ space
    _, values, axes = np.linalg.svd(rows, full_matrices=False)
    return axes[values > _DEPENDENT]

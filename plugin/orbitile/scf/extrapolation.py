r"""Densities that a frame begins from, extrapolated from the frames before.

In orthonormalised functions (P.-O. Loewdin, J. Chem. Phys. 1950, 18, 365) the projector on occupied orbitals,
:math:`\Gamma = S^{1/2} C C^T S^{1/2}`, is a smooth function of the geometry. The overlap of the new frame is written as
a combination of those of the frames before, whose factors add up to 1, by least squares; the same combination of the
projectors is close to the new one, and the nearest projector is that of its eigenvectors with the largest eigenvalues
(E. Polack et al., J. Chem. Theory Comput. 2021, 17, 6965, with the projectors themselves in place of their logarithms).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import eigh

from ..base.arrays import Reals
from ..base.caches import Derived
from ..gaussians.overlap import own_overlap
from ..model.wavefunction import Wavefunction

_LEAST = 1e-10
"""Eigenvalues of the overlap below it stand for functions that depend on others."""

_NOISE = 1e-3
"""Relative size of what differs between frames, below which it is left alone: it would come from noise."""


@dataclass(frozen=True, eq=False)
class _Frame:
    overlap: Reals
    projectors: Reals


_FRAMES = Derived[_Frame]("pairs of functions")


def extrapolated_densities(before: Sequence[Wavefunction], overlap: Reals) -> Reals:
    """Density matrices of a frame: of all electrons where orbitals are closed shells, otherwise of each spin.

    Parameters
    ----------
    before
        Frames of the same atoms and basis set, the latest last; one at least.
    overlap : ndarray, shape (n_basis, n_basis)
        Of the basis functions where the atoms are now.

    Returns
    -------
    ndarray, shape (1 or 2, n_basis, n_basis)
    """
    frames = [_FRAMES.of(one, None, partial(_frame, one)) for one in before]
    last = frames[-1]
    combined = last.projectors
    if len(frames) > 1:
        steps = np.array([(frame.overlap - last.overlap).ravel() for frame in frames[:-1]]).T
        factors, *_ = np.linalg.lstsq(steps, (overlap - last.overlap).ravel(), rcond=_NOISE)
        for factor, frame in zip(factors, frames[:-1], strict=True):
            combined = combined + factor * (frame.projectors - last.projectors)
    _, inverse_root = _roots(overlap)
    sets = _occupied(before[-1])
    densities = []
    for projector, occupied in zip(combined, sets, strict=True):
        n = occupied.shape[1]
        size = len(projector)
        vectors = eigh(projector, subset_by_index=(size - n, size - 1))[1] if n else np.zeros((size, 0))
        orbitals = inverse_root @ vectors
        densities.append(orbitals @ orbitals.T * (2 / len(sets)))
    return np.array(densities)


def _frame(wavefunction: Wavefunction) -> _Frame:
    matrix = own_overlap(wavefunction)
    overlap = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    root, _ = _roots(overlap)
    halves = [root @ occupied for occupied in _occupied(wavefunction)]
    return _Frame(overlap, np.array([half @ half.T for half in halves]))


def _occupied(wavefunction: Wavefunction) -> list[Reals]:
    """Coefficients of occupied orbitals: one set for closed shells, otherwise one for each spin."""
    alpha, beta = wavefunction.alpha, wavefunction.beta
    if beta is not None:
        return [spin.coefficients[:, spin.occupations > 0.5] for spin in (alpha, beta)]
    if wavefunction.n_unpaired:
        return [alpha.coefficients[:, alpha.occupations > least] for least in (0.5, 1.5)]
    return [alpha.coefficients[:, alpha.occupations > 0.5]]


def _roots(overlap: Reals) -> tuple[Reals, Reals]:
    """S^(1/2) and S^(-1/2), without functions that depend on others."""
    values, axes = np.linalg.eigh(overlap)
    kept = values > _LEAST
    axes, roots = axes[:, kept], np.sqrt(values[kept])
    return (axes * roots) @ axes.T, (axes / roots) @ axes.T

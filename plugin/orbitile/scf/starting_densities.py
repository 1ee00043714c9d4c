r"""Where a self-consistent field begins: densities extrapolated from frames before, or superposed free atoms.

**Extrapolation.** In orthonormalised functions (P.-O. Loewdin, J. Chem. Phys. 1950, 18, 365) the projector on occupied
orbitals, :math:`\Gamma = S^{1/2} C C^T S^{1/2}`, is a smooth function of the geometry. The overlap of the new frame is
written as a combination of those of the frames before, whose factors add up to 1, by least squares; the same
combination of the projectors is close to the new one, and the nearest projector is that of its eigenvectors with the
largest eigenvalues (E. Polack et al., J. Chem. Theory Comput. 2021, 17, 6965, with the projectors themselves in place
of their logarithms).

**Superposed atoms.** Each atom is computed alone, spherically averaged and with fractional occupations, in the
functions that it has in the molecule. Everything is then a function of r: matrices are sums over a logarithmic mesh,
the potential of the electrons comes from Poisson's equation, and exchange is :math:`-\tfrac32 \alpha\,
(3\rho/\pi)^{1/3}` (J. C. Slater, Phys. Rev. 1951, 81, 385; :math:`\alpha = 0.7`, about what K. Schwarz found best for
atoms, Phys. Rev. B 1972, 5, 2466): as good a beginning as any functional of the molecule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import gamma, pi

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid
from scipy.linalg import eigh

from ..base.arrays import Reals
from ..base.caches import Derived
from ..gaussians.overlap import dense, own_overlap
from ..model.conventions import pure_from_cartesian
from ..model.wavefunction import Shell, Wavefunction
from .core_potentials import CorePotential

_LEAST = 1e-10
"""Eigenvalue of the overlap below which functions count as linearly dependent."""

_NOISE = 1e-4
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
    frames = [_FRAMES.of(frame, None, partial(_frame, frame)) for frame in before]
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
    overlap = dense(own_overlap(wavefunction))
    root, _ = _roots(overlap)
    halves = [root @ occupied for occupied in _occupied(wavefunction)]
    return _Frame(overlap, np.array([half @ half.T for half in halves]))


def _occupied(wavefunction: Wavefunction) -> list[Reals]:
    """Coefficients of occupied orbitals: one set for closed shells, otherwise one for each spin."""
    if wavefunction.beta is None and wavefunction.n_unpaired:
        alpha = wavefunction.alpha
        return [alpha.coefficients[:, alpha.occupations > least] for least in (0.5, 1.5)]
    return [orbitals.coefficients[:, orbitals.occupations > 0.5] for orbitals in wavefunction.sets]


def _roots(overlap: Reals) -> tuple[Reals, Reals]:
    """S^(1/2) and S^(-1/2), without functions that depend on others."""
    values, axes = np.linalg.eigh(overlap)
    kept = values > _LEAST
    axes, roots = axes[:, kept], np.sqrt(values[kept])
    return (axes * roots) @ axes.T, (axes / roots) @ axes.T


# ---- superposed atoms

_MESH = np.exp(np.linspace(np.log(1e-5), np.log(60.0), 400))
"""Distances from the nucleus in bohr."""

_STEP = float(np.log(_MESH[1] / _MESH[0]))

_EXCHANGE = 0.7

_ITERATIONS = 60

_CONVERGED = 1e-4
"""Change of the number of electrons in a shell below which an atom is good enough to begin with."""


def superposed_densities(
    atomic_numbers: NDArray[np.int64], shells: Sequence[Shell], core_potentials: Mapping[int, CorePotential] = {}
) -> Reals:
    """Density matrix of atoms that do not feel each other, shape (n_basis, n_basis), both spins together.

    Parameters
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
        Of the atoms that the shells are on.
    shells
        The basis set.
    core_potentials
        By atomic number; the electrons that they stand for are left out.
    """
    n_basis = sum(shell.n_functions for shell in shells)
    matrix = np.zeros((n_basis, n_basis))
    members: dict[tuple[int, int], list[tuple[int, Shell]]] = defaultdict(list)
    first = 0
    for shell in shells:
        members[shell.atom, shell.angular_momentum].append((first, shell))
        first += shell.n_functions
    radial: dict[int, dict[int, tuple[_Contraction, ...]]] = defaultdict(dict)
    for (atom, l), own in members.items():
        radial[atom][l] = tuple((tuple(s.exponents.tolist()), tuple(s.coefficients.tolist())) for _, s in own)
    for (atom, l), own in members.items():
        number = int(atomic_numbers[atom])
        of_atom = _atom(number, tuple(sorted(radial[atom].items())), core_potentials.get(number, _ALL_ELECTRONS))
        of_shells = of_atom[l] / (2 * l + 1)
        for i, (row, left) in enumerate(own):
            for j, (column, right) in enumerate(own):
                block = _spherical(l, left.pure).T @ _spherical(l, right.pure)
                matrix[row : row + len(block), column : column + len(block[0])] = of_shells[i, j] * block
    return matrix


_Contraction = tuple[tuple[float, ...], tuple[float, ...]]
"""Exponents and coefficients of normalised primitives."""


def _spherical(l: int, pure: bool) -> Reals:
    """Pure functions of a shell in terms of its functions."""
    return pure_from_cartesian(l) if l > 1 and not pure else np.eye(2 * l + 1)


_ALL_ELECTRONS = CorePotential(0, ())


@lru_cache(maxsize=128)
def _atom(
    number: int, basis: tuple[tuple[int, tuple[_Contraction, ...]], ...], core: CorePotential
) -> dict[int, Reals]:
    """Electrons of an atom for each angular momentum, over its contractions: their matrix has the trace P S."""
    functions = {l: _on_mesh(l, contractions) for l, contractions in basis}
    volume = _MESH**3 * _STEP  # r^2 dr
    overlaps = {l: (f * volume) @ f.T for l, (f, _) in functions.items()}
    fixed = {
        l: 0.5 * ((slope * volume) @ slope.T + (f * volume * (l * (l + 1) / _MESH**2)) @ f.T)
        + (f * volume * (core.at(_MESH, l) - (number - core.electrons) / _MESH)) @ f.T
        for l, (f, slope) in functions.items()
    }
    electrons = _electrons(number, core.electrons)
    density = np.zeros_like(_MESH)
    matrices: dict[int, Reals] = {}
    for iteration in range(_ITERATIONS):
        potential = _potential(density)
        for l, (f, _) in functions.items():
            _, orbitals = eigh(fixed[l] + (f * volume * potential) @ f.T, overlaps[l])
            room = 2 * (2 * l + 1)
            occupations = np.clip(electrons.get(l, 0) - room * np.arange(len(f)), 0, room)
            matrices[l] = (orbitals * occupations) @ orbitals.T
        found = sum(np.einsum("ir,ij,jr->r", f, matrices[l], f) for l, (f, _) in functions.items()) / (4 * pi)
        change = 4 * pi * float(np.abs(found - density) @ volume)
        density = found if iteration == 0 else 0.6 * density + 0.4 * found
        if change < _CONVERGED:
            break
    return matrices


def _on_mesh(l: int, contractions: Sequence[_Contraction]) -> tuple[Reals, Reals]:
    """Radial parts of some contractions and their derivatives on the mesh, each of shape (n, size of the mesh)."""
    values, slopes = [], []
    for exponents, coefficients in contractions:
        a = np.array(exponents)[:, None]
        norm = np.sqrt(2 * (2 * a) ** (l + 1.5) / gamma(l + 1.5))
        with np.errstate(under="ignore"):
            primitives = np.array(coefficients)[:, None] * norm * _MESH**l * np.exp(-a * _MESH**2)
        values.append(primitives.sum(axis=0))
        slopes.append(((l / _MESH - 2 * a * _MESH) * primitives).sum(axis=0))
    return np.array(values), np.array(slopes)


def _electrons(number: int, n_core: int) -> dict[int, int]:
    """Electrons of each angular momentum in an atom: shells filled by n + l, then by n (Madelung's rule).

    The core is what has the lowest n, then the lowest l.
    """
    order = sorted(((n, l) for n in range(1, 9) for l in range(min(n, 4))), key=lambda shell: (sum(shell), shell[0]))
    filled = {}
    for n, l in order:
        filled[n, l] = min(number, 2 * (2 * l + 1))
        number -= filled[n, l]
    result: dict[int, int] = defaultdict(int)
    for (_, l), electrons in sorted(filled.items()):
        in_core = min(n_core, electrons)
        result[l] += electrons - in_core
        n_core -= in_core
    return result


def _potential(density: Reals) -> Reals:
    """Of electrons on the mesh: repulsion of a spherical density, and exchange, in hartree."""
    inside = cumulative_trapezoid(density * _MESH**3, dx=_STEP, initial=0.0)
    outside = cumulative_trapezoid(density * _MESH**2, dx=_STEP, initial=0.0)
    repulsion: Reals = 4 * pi * (inside / _MESH + outside[-1] - outside)
    return repulsion - 1.5 * _EXCHANGE * np.cbrt(3 * density / pi)

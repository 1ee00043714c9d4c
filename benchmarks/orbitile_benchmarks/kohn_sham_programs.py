"""The pieces of a Kohn-Sham calculation by several programs, each as a call that can be timed.

Each function prepares what a program keeps from one iteration to the next, and returns the call that is made in every
iteration. What calls give is in our basis, on the host, in hartree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitile.model.geometry import Geometry
from orbitile.scf.calculation import Calculation, Solution
from taichi_kernels.target import Target

from .kohn_sham_cases import Case
from .reference_energies import FUNCTIONALS

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExchangeCorrelation:
    """Electrons on the quadrature, the energy, and a matrix for each density of the case."""

    electrons: float
    energy: float
    matrix: Array


def orbitile_coulomb(case: Case, target: Target) -> Callable[[], Array]:
    """Ours, inside a session of the target's device."""
    from orbitile.integrals.coulomb import coulomb_values
    from orbitile.integrals.pairs import pairs_of, to_hermite, to_matrix

    pairs, density = pairs_of(case.wavefunction), case.ours(case.total)

    def coulomb_matrix() -> Array:
        coefficients = to_hermite(pairs, density, target)
        values = coulomb_values(pairs.list, pairs.list, coefficients, target, bra_bound=pairs.bound)
        return to_matrix(pairs, values, target)

    return coulomb_matrix


def pyscf_coulomb(case: Case, tolerance: float = 1e-13) -> Callable[[], Array]:
    """J of PySCF, integrals computed on the way, screened at a tolerance."""
    from pyscf.scf import hf

    field = hf.RHF(case.molecule)
    field.direct_scf_tol = tolerance
    options = field.init_direct_scf(case.molecule)
    return lambda: case.operator(hf.get_jk(case.molecule, case.total, 1, options, with_k=False)[0])


def gpu4pyscf_coulomb(case: Case) -> Callable[[], Array]:
    """`get_j` of gpu4pyscf, by its engine for J alone; where that fails, by the one for J and K."""
    import cupy
    from gpu4pyscf.scf import j_engine, jk

    def by_j_engine() -> Array:
        return case.operator(cupy.asnumpy(j_engine.get_j(case.molecule, case.total, 1, options)))

    try:
        options = j_engine._VHFOpt(case.molecule).build()
        by_j_engine()
        return by_j_engine
    except RuntimeError as error:
        print(f"gpu4pyscf's engine for J failed ({error}); J comes from its get_jk")
        both = jk._VHFOpt(case.molecule).build()
        return lambda: case.operator(
            cupy.asnumpy(jk.get_jk(case.molecule, case.total, 1, both, with_j=True, with_k=False)[0])
        )


def orbitile_exchange_correlation(case: Case, functional: str, target: Target) -> Callable[[], ExchangeCorrelation]:
    """Ours, from density matrices to matrices, inside a session of the target's device."""
    from orbitile.integrals.functionals import functional as functional_of
    from orbitile.integrals.grids import grid_of
    from orbitile.integrals.pairs import pairs_of, to_hermite, to_matrix
    from orbitile.integrals.quadrature import exchange_correlation, quadrature_of

    pairs = pairs_of(case.wavefunction)
    grid = grid_of(case.wavefunction.atomic_numbers, case.wavefunction.positions, target)
    quadrature = quadrature_of(pairs, grid, target)
    kind = functional_of(FUNCTIONALS[functional])
    densities = [case.ours(matrix) for matrix in case.density]

    def call() -> ExchangeCorrelation:
        found = exchange_correlation(quadrature, [to_hermite(pairs, matrix, target) for matrix in densities], kind)
        matrices = np.array([to_matrix(pairs, values, target) for values in found.values])
        return ExchangeCorrelation(sum(found.electrons), found.energy, matrices)

    return call


def pyscf_exchange_correlation(
    case: Case, functional: str, cutoff: float | None = None
) -> Callable[[], ExchangeCorrelation]:
    """`nr_rks` or `nr_uks` of PySCF on its own grid, which has the same points and weights.

    Basis functions are left out where they are below a cutoff: PySCF's own, which costs diffuse functions up to 5e-5
    hartree in the matrix, or another.
    """
    from pyscf.dft import gen_grid, numint

    grids, integrator = gen_grid.Grids(case.molecule), numint.NumInt()
    if cutoff is not None:
        grids.cutoff = integrator.cutoff = cutoff
    return _by_numint(case, functional, integrator, grids.build(with_non0tab=True), np.asarray)


def gpu4pyscf_exchange_correlation(case: Case, functional: str) -> Callable[[], ExchangeCorrelation]:
    """The same by gpu4pyscf, the functional by its libxc on the GPU."""
    import cupy
    from gpu4pyscf.dft import gen_grid, numint

    grids = gen_grid.Grids(case.molecule).build()
    return _by_numint(case, functional, numint.NumInt().build(case.molecule, grids.coords), grids, cupy.asnumpy)


def _by_numint(
    case: Case, functional: str, integrator: Any, grids: Any, at_home: Callable[[Any], Array]
) -> Callable[[], ExchangeCorrelation]:
    spins = len(case.density)
    density = case.density if spins == 2 else case.density[0]
    method = integrator.nr_uks if spins == 2 else integrator.nr_rks

    def call() -> ExchangeCorrelation:
        electrons, energy, matrix = method(case.molecule, grids, FUNCTIONALS[functional], density)
        matrices = at_home(matrix).reshape(spins, *case.total.shape)
        return ExchangeCorrelation(float(np.sum(at_home(electrons))), float(energy), case.operator(matrices))

    return call


def fitted(geometry: Geometry, calculation: Calculation, on_gpu: bool) -> Solution:
    """A whole calculation by PySCF, or gpu4pyscf, with density fitting and its own choice of auxiliary functions."""
    from orbitile.scf.engines.pyscf import solution

    def moved(field: Any) -> Any:
        field = field.density_fit()
        return field.to_gpu() if on_gpu else field

    return solution(geometry, calculation, (), False, False, moved)

"""The exchange matrix of one density in every way: seconds of processors, and errors against PySCF's analytic one.

    python benchmarks/exchange.py [--systems "ethanol;threonine"] [--bases "6-31g*,def2-tzvp"] [--device cpu]

PySCF's direct K comes with J, whose integrals are the same; its fitted K has the auxiliary functions of its choice.
"Before" is what is made once a geometry: a first call less a second one, and the fit of products. The density is that
of Hueckel orbitals.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any

import numpy as np

os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))  # PySCF's kernels

from kohn_sham import clocked, processor, table
from orbitile.base.arrays import one_thread_of_blas
from orbitile.evaluation.devices import device_session
from orbitile.integrals.exchange import exchange_of
from orbitile.integrals.exchange_fitting import fitted_exchange_of, may_be_fitted
from orbitile.integrals.functionals import ExactExchange
from orbitile.integrals.grids import exchange_grid_of
from orbitile.integrals.one_electron import overlap
from orbitile.integrals.pairs import pairs_of
from orbitile_benchmarks.geometries import ETHANOL, water_cluster
from orbitile_benchmarks.kohn_sham_cases import Case, case_of
from orbitile_benchmarks.measurement import worst
from orbitile_benchmarks.systems import THREONINE, fullerene

SYSTEMS: dict[str, Callable[[], str]] = {
    "ethanol": lambda: ETHANOL,
    "threonine": lambda: THREONINE,
    "(H2O)8": lambda: water_cluster(8),
    "C60": fullerene,
}


def of_pyscf(case: Case) -> Iterable[tuple[str, float, float, Any]]:
    """Name, seconds before, seconds of K, and K by PySCF."""
    from pyscf import scf

    field = scf.RHF(case.molecule)
    field.direct_scf_tol = 1e-11
    density = case.density[0]
    (_, matrix), _, busy = clocked(lambda: field.get_jk(case.molecule, density))
    yield "PySCF, analytic, with J", 0.0, busy, case.operator(matrix)
    fitted = scf.RHF(case.molecule).density_fit()
    _, _, built = clocked(fitted.with_df.build)
    _, _, first = clocked(lambda: fitted.get_jk(case.molecule, density, with_j=False))
    (_, matrix), _, busy = clocked(lambda: fitted.get_jk(case.molecule, density, with_j=False))
    yield "PySCF, fitted", built + max(first - busy, 0.0), busy, case.operator(matrix)


def of_ours(case: Case, device: str) -> Iterable[tuple[str, float, float, Any]]:
    """The same by ours; kernels are compiled, or loaded, by a first call that is not counted."""
    basis, density, full = case.wavefunction, case.ours(case.density), ExactExchange(1.0)
    with device_session(device, "single") as target, one_thread_of_blas(basis.n_basis):
        pairs = pairs_of(basis)
        of_functions = overlap(pairs, target)

        def on_grid(quality: Any) -> Any:
            grid = exchange_grid_of(basis.atomic_numbers, basis.positions, target, quality)
            return exchange_of(basis, grid, of_functions, target)

        on_grid("coarsest").matrices(density, full)
        if target.on_host and may_be_fitted(pairs):
            fitted_exchange_of(pairs, full, target)
            fitted, _, built = clocked(lambda: fitted_exchange_of(pairs, full, target))
            matrices, _, busy = clocked(lambda: fitted.matrices(density))
            yield "Orbitile, fitted", built, busy, matrices[0]
        for quality in ("coarse", "medium", "fine"):
            exchange, _, made = clocked(lambda quality=quality: on_grid(quality))
            _, _, first = clocked(lambda exchange=exchange: exchange.matrices(density, full))
            matrices, _, busy = clocked(lambda exchange=exchange: exchange.matrices(density, full))
            yield f"Orbitile, {quality} grid", made + max(first - busy, 0.0), busy, matrices[0]


def lines(options: argparse.Namespace) -> Iterable[tuple[Any, ...]]:
    """Of the table."""
    from pyscf import gto, scf

    for system in options.systems.split(";"):
        for basis in options.bases.split(","):
            molecule = gto.M(atom=SYSTEMS[system](), basis=basis, verbose=0)
            case = case_of(system, molecule, scf.RHF(molecule).init_guess_by_huckel(molecule))
            density, reference = case.ours(case.density)[0], None
            for found in (of_pyscf(case), of_ours(case, options.device)):
                for name, before, busy, matrix in found:
                    reference = matrix if reference is None else reference
                    energy = 0.25 * np.vdot(density, matrix - reference)
                    errors = f"{worst(matrix, reference):.0e}", f"{abs(energy):.0e}"
                    yield system, basis, molecule.nao, name, f"{before:.2f}", f"{busy:.2f}", *errors


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default="ethanol;threonine;(H2O)8", help="with semicolons between")
    parser.add_argument("--bases", default="6-31g*,def2-tzvp")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    print(f"{processor()}, {os.cpu_count()} cores, {date.today():%d %B %Y}, {time.strftime('%H:%M')}")
    print(f"python benchmarks/exchange.py {' '.join(sys.argv[1:])}\n")
    columns = "molecule, basis set, functions, way, before, K in seconds of processors, error of an element"
    table(f"{columns}, of the energy of exchange", lines(options))


if __name__ == "__main__":
    main()

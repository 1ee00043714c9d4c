"""Other programs that only run on NVIDIA GPUs, on the same points, in the same process; see `peers`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import packages_distributions
from typing import Any

import numpy as np

from .measurement import Array, Case, Peer, Row, peer_row, released, timed, worst

BLOCK_VALUES = 1 << 27
"""Values of basis functions that are held at once: 1 GB."""


def gpu4pyscf(case: Case, vertices: Array) -> Iterator[Row]:
    """PySCF on an NVIDIA GPU: its own sorted basis functions in blocks, and products with the coefficients; left there.

    Orders of functions and coefficients are prepared once, and points are on the GPU already.
    """
    import cupy
    from gpu4pyscf.dft.numint import NumInt, _GDFTOpt

    if case.molecule is None:
        raise RuntimeError("needs PySCF to read the file")
    molecule, coefficients, occupations = case.molecule
    order = _GDFTOpt.from_mol(molecule)
    column = order.coeff @ cupy.asarray(coefficients[:, case.homo])
    occupied = np.flatnonzero(occupations)
    columns = (order.coeff @ cupy.asarray(coefficients[:, occupied] * np.sqrt(occupations[occupied]))).T.copy()
    points = cupy.asarray(case.lattice.points())
    block = max(1, BLOCK_VALUES // len(column))

    def evaluated(combine: Callable[[Any], Any]) -> Any:
        values = cupy.empty(len(points))
        for first in range(0, len(points), block):
            part = slice(first, first + block)
            functions = NumInt.eval_ao(order._sorted_mol, points[part], deriv=0, gdftopt=order, transpose=False)
            values[part] = combine(functions)
        cupy.cuda.Device().synchronize()
        return values

    package = packages_distributions().get("gpu4pyscf", ["gpu4pyscf"])[0]
    name = f"gpu4pyscf {released(package)}, left there"
    sums: dict[str, tuple[Callable[[Any], Any], Array]] = {
        "orbital": (lambda functions: column @ functions, case.orbital_reference)
    }
    if case.system.whole:
        sums["density"] = (lambda functions: ((columns @ functions) ** 2).sum(axis=0), case.density_reference)
    for part, (combine, reference) in sums.items():
        timing = timed(partial(evaluated, combine), most=5)
        error = case.error(cupy.asnumpy(timing.result), reference)
        yield peer_row(part, case, name, timing, case.lattice.n_points, error, device="cuda")


def cugbasis(case: Case, vertices: Array) -> Iterator[Row]:
    """cuGBasis: whole calls with points and values in NumPy arrays."""
    import cugbasis as program

    from orbitile.readers.iodata import dialects_of_iodata

    if not case.system.whole:
        raise RuntimeError("needs all occupied orbitals")
    with dialects_of_iodata(package="iodata"):  # the overlap of qc-iodata itself takes minutes for a large molecule
        molecule = program.Molecule(str(case.path))
    name, n = f"cuGBasis {released('qc-cuGBasis')}", case.lattice.n_points
    points = case.lattice.points()
    timing = timed(lambda: molecule.compute_density(points), most=5)
    yield peer_row("density", case, name, timing, n, case.error(timing.result, case.density_reference), device="cuda")
    timing = timed(lambda: molecule.compute_laplacian(points), most=3)
    yield peer_row("laplacian", case, name, timing, n, None, device="cuda")
    few = np.ascontiguousarray(vertices[: 20_000 if case.wavefunction.n_basis < 500 else 200])
    timing = timed(lambda: molecule.compute_electrostatic_potential(few), most=3)
    some = 20
    error = worst(timing.result[:some], case.potential_at(few[:some]))
    yield peer_row("potential", case, name, timing, len(vertices), error, len(few), device="cuda")


GPU_PEERS: dict[str, Peer] = {"gpu4pyscf": gpu4pyscf, "cuGBasis": cugbasis}
"""Programs that only run on NVIDIA GPUs, by name."""

"""Integrals of 64 hydrogen atoms as Ufimtsev and Martinez map them: python benchmarks/two_electron.py [--device cuda]

Their table 1 (J. Chem. Theory Comput. 2008, 4, 222, doi 10.1021/ct700268q): a cube of 4 x 4 x 4 hydrogen atoms at 0.74
Angstrom, all unique integrals by 8-fold symmetry, in three mappings. What is done once for pairs of functions, the
kernels, and the way home are told apart, as they did. Where PySCF is installed, its `int2e` computes the same integrals
in the same run, and errors are measured against it; otherwise against our own double precision. Then their figure 8:
errors by the magnitude of the integral; and beside PySCF general classes of functions, for which they have no figures.
"""

import argparse
import datetime
import os
import time
from importlib.util import find_spec

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads and those of PySCF would fight for the same cores

import numpy as np

from orbitile import Shell
from orbitile.integrals.two_electron import SPairs, repulsion_integrals, repulsion_tensor, s_blocks, s_pairs
from orbitile.model.units import angstrom
from orbitile.model.wavefunction import Basis
from orbitile_benchmarks.geometries import alkane, atoms_of, hydrogen_cube
from taichi_kernels.devices import probe
from taichi_kernels.session import session
from taichi_kernels.target import Target
from taichi_kernels.two_electron.s_functions import GROUP, MAPPINGS, integrals_of_s_functions

HYDROGEN = {
    "STO-6G": [
        ([35.52322122, 6.513143725, 1.822142904, 0.625955266, 0.243076747, 0.100112428],
         [0.00916359628, 0.04936149294, 0.1685383049, 0.3705627997, 0.4164915298, 0.1303340841]),
    ],
    "6-311G": [
        ([33.865, 5.09479, 1.15879], [0.0254938, 0.190373, 0.852161]),
        ([0.32584], [1.0]),
        ([0.102741], [1.0]),
    ],
}  # fmt: skip

THEIRS = {
    "6-311G": {"1B1CI": 7.086, "1T1CI": 0.675, "1T1PI": 0.428, "transfer": 0.883, "GAMESS": 170.8},
    "STO-6G": {"1B1CI": 1.608, "1T1CI": 1.099, "1T1PI": 2.863, "transfer": 0.012, "GAMESS": 90.6},
}
"""Seconds: 8800 GTX, and GAMESS on one core."""

GENERAL = {
    "water, cc-pVTZ": ("O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587", "cc-pvtz", False),
    "propane, 6-31G*, Cartesian": (alkane(3), "6-31g*", True),
    "neon, cc-pVQZ": ("Ne 0 0 0", "cc-pvqz", False),
}

DECADES = 12


def cube(basis: str, edge: int) -> Basis:
    """Hydrogen atoms on a cubic lattice."""
    positions = atoms_of(hydrogen_cube(edge))[1] * angstrom
    shells = []
    for numbers in HYDROGEN[basis]:
        exponents, coefficients = map(np.array, numbers)
        both = exponents[:, None] + exponents
        overlap = (2 * np.sqrt(exponents[:, None] * exponents) / both) ** 1.5
        shells.append((exponents, coefficients / np.sqrt(coefficients @ overlap @ coefficients)))
    return Basis(tuple(Shell(atom, 0, False, *shell) for atom in range(len(positions)) for shell in shells), positions)


class Stopwatch:
    """Seconds of the clock and of the processors of this process."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def __enter__(self) -> "Stopwatch":
        self._begin = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self.wall += time.perf_counter() - self._begin[0]
        self.cpu += time.process_time() - self._begin[1]

    def __str__(self) -> str:
        return f"{self.wall:9.3f} s ({self.cpu:9.3f} s of processors)"


def sweep(pairs: SPairs, mapping: str, target: Target, kernels: Stopwatch, transfer: Stopwatch):
    """Block by block, where it is and its integrals."""
    for first, last in s_blocks(pairs):
        with kernels:
            fetch = integrals_of_s_functions(pairs.packed, first, last, mapping, pairs.tolerance, target)
        with transfer:
            values = fetch()
        yield first, last, values


class Errors:
    """Errors by the decade of the integral."""

    def __init__(self) -> None:
        self.count = np.zeros(DECADES, int)
        self.largest, self.relative, self.sum = np.zeros(DECADES), np.zeros(DECADES), np.zeros(DECADES)

    def add(self, values: np.ndarray, reference: np.ndarray) -> None:
        size, error = np.abs(reference), np.abs(values - reference)  # in double precision
        with np.errstate(divide="ignore"):
            decade = np.clip(np.floor(1 - np.log10(size)), 0, DECADES - 1).astype(int)
        self.count += np.bincount(decade, minlength=DECADES)
        self.sum += np.bincount(decade, error, minlength=DECADES)
        np.maximum.at(self.largest, decade, error)
        np.maximum.at(self.relative, decade, error / np.maximum(size, 1e-300))

    def print(self) -> None:
        print("    |integral|, hartree   how many   mean error     largest   largest share of it")
        for n in np.flatnonzero(self.count):
            below = f"1e{-n:+03d} to 1e{1 - n:+03d}" if n < DECADES - 1 else f"below 1e{1 - n:+03d}"
            mean = self.sum[n] / self.count[n]
            share = f"{self.relative[n]:.1e}" if n < DECADES - 1 else ""  # what is screened is zero
            largest = f"{self.largest[n]:.1e}   {share}"
            print(f"    {below:18s} {self.count[n]:12,d}   {mean:.1e}        {largest}")


def of_pyscf(basis: Basis, watch: Stopwatch):
    """All unique integrals as a function of pairs of pairs."""
    from pyscf import gto

    shells = [[0, *zip(shell.exponents, shell.coefficients, strict=True)] for shell in basis.shells if shell.atom == 0]
    atoms = [("H", position) for position in basis.positions]
    molecule = gto.M(atom=atoms, unit="bohr", basis={"H": shells}, spin=None, verbose=0)
    with watch:
        integrals = molecule.intor("int2e", aosym="s8")

    def chosen(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        one, other = (pairs[:, 0].astype(np.int64) * (pairs[:, 0] + 1) // 2 + pairs[:, 1] for pairs in (left, right))
        high, low = np.maximum(one[:, None], other), np.minimum(one[:, None], other)
        return integrals[high * (high + 1) // 2 + low]

    return chosen


def compare(found: Errors, pairs: SPairs, first: int, last: int, values: np.ndarray, reference, options) -> None:
    """Add the errors of a block, of some of its bras."""
    some = slice(first * GROUP, last * GROUP, options.every)
    left, right = pairs.functions[some], pairs.functions[: last * GROUP]
    if reference is not None:
        exact = reference(left, right)
    else:
        double = Target(options.device, "double")
        exact = integrals_of_s_functions(pairs.packed, first, last, "1T1CI", 0.0, double)()[:: options.every]
    inside = np.arange(len(right)) <= np.arange(some.start, some.stop, some.step)[: len(left), None]
    found.add(*(array[: len(left), : len(right)][inside] for array in (values[:: options.every], exact)))


def measure(basis_name: str, options: argparse.Namespace) -> None:
    basis = cube(basis_name, options.edge)
    preparation = Stopwatch()
    few = s_pairs(cube(basis_name, 2), options.tolerance)
    with preparation:
        pairs = s_pairs(basis, options.tolerance)
    n, products = len(pairs.functions), len(pairs.packed.products)
    print(
        f"\n{basis_name}, {len(basis.positions)} atoms: {basis.n_basis} functions, {n:,d} pairs, {n * (n + 1) // 2:,d} "
        f"integrals; {products:,d} products of primitives"
    )
    print(f"  pairs, on the host       {preparation}")
    watch = Stopwatch()
    reference = None if options.without_pyscf else of_pyscf(basis, watch)
    if reference is not None:
        print(f"  PySCF int2e              {watch}")
    theirs = THEIRS[basis_name]
    errors = {}
    for precision in options.precision:
        target = Target(options.device, precision)
        with session(options.device, precision=precision):
            for mapping in options.mapping:
                for _ in sweep(few, mapping, target, Stopwatch(), Stopwatch()):
                    pass  # compiles
                runs, found = [], Errors()
                for run in range(options.repeat):
                    runs.append((Stopwatch(), Stopwatch()))
                    for first, last, values in sweep(pairs, mapping, target, *runs[-1]):
                        if run == 0:
                            compare(found, pairs, first, last, values, reference, options)
                kernels, transfer = min(runs, key=lambda run: run[0].wall)
                errors[precision, mapping] = found
                print(
                    f"  {precision:6s} {mapping}             {kernels}, way home {transfer.wall:6.3f} s, "
                    f"largest error {found.largest.max():.1e} hartree; theirs {theirs[mapping]:.3f} s, "
                    f"way home {theirs['transfer']:.3f} s"
                )
    print(f"  theirs by GAMESS, one core {theirs['GAMESS']:7.1f} s")
    which = f", of one pair in {options.every}" if options.every > 1 else ""
    for (precision, mapping), found in errors.items():
        print(f"  figure 8, {precision}, {mapping}{which}")
        found.print()


def measure_general(name: str, options: argparse.Namespace) -> None:
    """All unique integrals of a molecule shell by shell, beside PySCF."""
    from pyscf import gto

    from orbitile.scf.engines.pyscf import functions_of_pyscf

    geometry, basis_name, cartesian = GENERAL[name]
    molecule = gto.M(atom=geometry, basis=basis_name, cart=cartesian, verbose=0)
    shells = tuple(
        Shell(molecule.bas_atom(n), molecule.bas_angular(n), not cartesian, molecule.bas_exp(n), column)
        for n in range(molecule.nbas)
        for column in molecule.bas_ctr_coeff(n).T
    )
    basis = Basis(shells, molecule.atom_coords())
    rows, factors = functions_of_pyscf(molecule)
    theirs = Stopwatch()
    with theirs:
        molecule.intor("int2e", aosym="s8")
    exact = molecule.intor("int2e")[np.ix_(rows, rows, rows, rows)]
    scale = np.multiply.outer(np.outer(factors, factors), np.outer(factors, factors))
    print(f"\n{name}: {basis.n_basis} functions up to l = {max(shell.angular_momentum for shell in shells)}")
    print(f"  PySCF int2e              {theirs}")
    for precision in options.precision:
        target = Target(options.device, precision)
        with session(options.device, precision=precision):
            error = np.abs(repulsion_tensor(basis, target) - exact / scale).max()  # compiles
            runs = []
            for _ in range(options.repeat):
                runs.append(Stopwatch())
                with runs[-1]:
                    for _ in repulsion_integrals(basis, target):
                        pass
        least = min(runs, key=lambda run: run.wall)
        print(f"  {precision:6s}                   {least}, largest error {error:.1e} hartree")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--basis", nargs="*", default=list(HYDROGEN), choices=list(HYDROGEN))
    parser.add_argument("--mapping", nargs="*", default=list(MAPPINGS), choices=list(MAPPINGS))
    parser.add_argument("--precision", nargs="*", default=["single", "double"], choices=["single", "double"])
    parser.add_argument("--edge", type=int, default=4, help="atoms along an edge of the cube")
    parser.add_argument("--repeat", type=int, default=3, help="calls of which the fastest counts")
    parser.add_argument("--every", type=int, default=1, help="errors are those of each so many-th pair")
    parser.add_argument("--tolerance", type=float, default=1e-10, help="what an integral may lose, in hartree")
    parser.add_argument("--general", nargs="*", default=list(GENERAL), choices=list(GENERAL))
    options = parser.parse_args()
    options.without_pyscf = find_spec("pyscf") is None
    print(f"{probe(options.device).detail}; host {probe('cpu').detail}; {datetime.date.today():%d %B %Y}")
    for basis in options.basis:
        measure(basis, options)
    for name in [] if options.without_pyscf else options.general:
        measure_general(name, options)


if __name__ == "__main__":
    main()

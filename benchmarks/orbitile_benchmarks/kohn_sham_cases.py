"""Molecules with density matrices, in the order of PySCF's basis functions and in ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitile import Wavefunction

from .geometries import alkane, hydrogen_cube, water_cluster
from .optional import needed
from .strand import CHARGE, geometry
from .systems import THREONINE, fullerene

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Case:
    """A molecule and a density matrix.

    Attributes
    ----------
    name : str
    molecule : pyscf.gto.Mole
    density : ndarray, shape (n_spins, n_basis, n_basis)
        In the basis of PySCF: that of all electrons, or one for each spin.
    wavefunction : Wavefunction
        The same atoms and basis functions as ours, with orbitals that mean nothing.
    rows : ndarray of int, shape (n_basis,)
        Which function of PySCF each of ours is,
    factors : ndarray, shape (n_basis,)
        and by what a coefficient of PySCF's is multiplied.
    """

    name: str
    molecule: Any
    density: Array
    wavefunction: Wavefunction
    rows: NDArray[np.intp]
    factors: Array

    @property
    def total(self) -> Array:
        """Density matrix of all electrons, in the basis of PySCF."""
        return np.asarray(self.density.sum(axis=0))

    def ours(self, density: Array) -> Array:
        """A density matrix, or several, in our basis."""
        return np.asarray(density[..., self.rows[:, None], self.rows] * np.outer(self.factors, self.factors))

    def operator(self, matrix: Array) -> Array:
        """A matrix of PySCF's between its basis functions, between ours."""
        return np.asarray(matrix[..., self.rows[:, None], self.rows] / np.outer(self.factors, self.factors))


def case_of(name: str, molecule: Any, density: Array) -> Case:
    """A case for a molecule of PySCF and a density matrix of shape (n, n) or (n_spins, n, n).

    How basis functions correspond is read off orthonormal orbitals, which are converted by `wavefunction_of`: a row of
    these stays a row, times a factor.
    """
    from orbitile.scf.engines.pyscf import wavefunction_of

    overlap = molecule.intor_symmetric("int1e_ovlp")
    values, vectors = np.linalg.eigh(overlap)
    orbitals = vectors / np.sqrt(values)
    n = len(overlap)
    wavefunction = wavefunction_of(molecule, orbitals, np.zeros(n), np.arange(float(n)))
    rows = np.abs(wavefunction.alpha.coefficients @ (orbitals.T @ overlap)).argmax(axis=1)
    largest = np.abs(orbitals[rows]).argmax(axis=1)
    at = np.arange(n)
    factors = wavefunction.alpha.coefficients[at, largest] / orbitals[rows, largest]
    return Case(name, molecule, np.asarray(density).reshape(-1, n, n), wavefunction, rows, factors)


def timing_case(name: str) -> Case:
    """A case of `TIMED`, with the density of Hueckel orbitals: what it costs does not depend on that."""
    needed("pyscf", "has the other engine")
    from pyscf import gto, scf

    make, basis, options = TIMED[name]
    molecule = gto.M(atom=make(), basis=basis, verbose=0, **options)
    return case_of(name, molecule, scf.RHF(molecule).init_guess_by_huckel(molecule))


_Made = tuple[Callable[[], str], str, dict[str, Any]]

TIMED: dict[str, _Made] = {
    "threonine": (lambda: THREONINE, "6-31+g*", {"cart": True}),
    "C60": (fullerene, "6-31g*", {"cart": True}),
    "DNA": (geometry, "3-21g", {"charge": CHARGE}),
    "H64": (hydrogen_cube, "6-311g", {}),
    **{f"(H2O){n}": (partial(water_cluster, n), "6-31g*", {}) for n in (6, 12)},
    **{f"C{n}H{2 * n + 2}": (partial(alkane, n), "6-31g*", {}) for n in (5, 13)},
}
"""Geometry, basis set and options for PySCF, by name."""

ODD: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "He": ("He 0 0 0", "cc-pv5z", {"cart": True}),
    "Zn2+": ("Zn 0.3 -0.2 0.1", "cc-pvqz", {"charge": 2}),
    "OH radical": ("O 0 0 0; H 0.2 0.3 0.9", "aug-cc-pvqz", {"spin": 1}),
    "NO2 radical": ("N 0 0 0.1; O 0 1.1 -0.35; O 0 -1.1 -0.35", "cc-pvtz", {"spin": 1, "cart": True}),
    "CN-": ("C 0 0 0; N 0.4 0.9 0.62", "aug-cc-pvqz", {"charge": -1, "cart": True}),
    "triplet O2": ("O 0 0 0; O 0.7 0.8 0.56", "def2-qzvp", {"spin": 2}),
    "H2, 100 bohr apart": ("H 0 0 0; H 30 30 31.75", "cc-pv5z", {}),
    "AgH, all electrons": ("Ag 0 0 0; H 0 0.3 1.59", "x2c-tzvpall", {}),
    "LiF": ("Li 0 0 0; F 0.9 0.9 0.91", "aug-cc-pvqz", {"cart": True}),
    "S2O": ("S 0 0 0; S 0 1.884 0; O 1.386 -0.5 0.1", "def2-tzvpp", {}),
}
"""Ten molecules with functions up to g, pure and Cartesian: geometry, basis set, options for PySCF."""


def odd_cases(names: Iterable[str] = ODD) -> Iterator[Case]:
    """Some of `ODD`, with densities after a few cycles of Hartree-Fock: all basis functions take part in them."""
    needed("pyscf", "has the other engine")
    from pyscf import gto, scf

    for name in names:
        atoms, basis, options = ODD[name]
        molecule = gto.M(atom=atoms, basis=basis, verbose=0, **options)
        field = (scf.UHF if molecule.spin else scf.RHF)(molecule)
        field.max_cycle = 4
        field.kernel()
        yield case_of(name, molecule, np.asarray(field.make_rdm1()))

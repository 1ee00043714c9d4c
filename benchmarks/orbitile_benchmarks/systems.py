"""The molecules of the benchmarks: the six of Stone et al. (GPGPU 2009, table 3) and three that are larger.

    python -m orbitile_benchmarks.systems C60-b c60b.molden

makes one file with PySCF. The benchmarks make what is missing and keep it in a cache folder of the user.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import orbitile as ob
from orbitile import OrbitileError
from orbitile.model.units import angstrom

from . import strand
from .fragments import random_rotation, superposition
from .optional import needed

Array = NDArray[np.float64]

Solved: TypeAlias = tuple[Any, Array, Array, Array]
"""A molecule of PySCF, orbital coefficients, energies and occupations."""

HARTREE_FOCK = "restricted Hartree-Fock"
HUECKEL = "Hueckel, no self-consistent field"

THREONINE = """
C -1.937842 0.729928 0.448139; C -0.931159 -0.400084 0.281433; O -1.588781 -1.455281 -0.440495
C 0.337713 0.024736 -0.486604; N 1.011029 -1.208440 -1.016986; C 1.299303 0.817817 0.406353
O 1.010115 1.577400 1.314890; O 2.598938 0.635638 0.071141; H -1.536034 1.558326 1.036543
H -2.255997 1.115585 -0.526829; H -2.841560 0.361887 0.946466; H -0.666924 -0.803024 1.266287
H -0.879050 -1.878957 -0.970066; H 0.078565 0.646903 -1.350287; H 1.882731 -0.892713 -1.456555
H 1.331915 -1.760290 -0.217125; H 3.087038 1.216310 0.693696
"""

WATER = "O 0 0 0; H 0.7572 0.5865 0; H -0.7572 0.5865 0"
WATER_EDGE = 3.1
"""Edge in Angstrom of the cube that a molecule has to itself: 29.8 cubic Angstrom, as in the liquid (0.997 g/cm^3)."""

WATER_STEPS = 21
"""Points along that edge, so that every cluster has 21^3 points a molecule."""


@dataclass(frozen=True)
class System:
    """A molecule, its orbitals, and the lattice it is benchmarked on.

    Attributes
    ----------
    name : str
    title : str
        What it is, with its basis set.
    orbitals : str
        What its orbitals are.
    write : callable
        Makes the Molden file.
    shape : tuple of int or None
        Points of the lattice about the molecule; None for a box.
    spacing : float
        In Angstrom.
    whole : bool
        Whether the file holds all occupied orbitals, so that densities and potentials mean something.
    """

    name: str
    title: str
    orbitals: str
    write: Callable[[Path], None]
    shape: tuple[int, int, int] | None = None
    spacing: float = 0.075
    whole: bool = True

    @property
    def file(self) -> str:
        """Name of its Molden file."""
        return f"{self.name.lower().replace('-', '')}.molden"

    def lattice(self, wavefunction: ob.Wavefunction) -> ob.Lattice:
        """Of the given shape, centred on the molecule; else the box of the atoms and 3 Angstrom about it."""
        step = self.spacing * angstrom
        if self.shape is None:
            return ob.Lattice.around(wavefunction, step, 3.0 * angstrom)
        middle = (wavefunction.positions.max(axis=0) + wavefunction.positions.min(axis=0)) / 2
        return ob.Lattice(middle - (np.array(self.shape) - 1) * step / 2, np.eye(3) * step, self.shape)


def benzene() -> str:
    """D6h benzene, C-C 1.397 and C-H 1.084 Angstrom."""
    lines = []
    for element, radius in (("C", 1.397), ("H", 1.397 + 1.084)):
        for angle in np.arange(6) * np.pi / 3:
            lines.append(f"{element} {radius * np.cos(angle):.8f} {radius * np.sin(angle):.8f} 0")
    return "; ".join(lines)


def fullerene() -> str:
    """Icosahedral C60, bonds 1.45 (pentagon) and 1.40 Angstrom."""
    golden = (1 + 5**0.5) / 2
    seeds = ((0, 1, 3 * golden), (1, 2 + golden, 2 * golden), (golden, 2, 2 * golden + 1))
    cyclic = [p for p in permutations(range(3)) if p in ((0, 1, 2), (1, 2, 0), (2, 0, 1))]
    points = {
        tuple(round(sign * seed[i], 9) + 0.0 for sign, i in zip(signs, order, strict=True))
        for seed in seeds
        for signs in product((1, -1), repeat=3)
        for order in cyclic
    }
    return "; ".join(f"C {x * 0.7135:.8f} {y * 0.7135:.8f} {z * 0.7135:.8f}" for x, y, z in sorted(points))


def _pyscf() -> Any:
    return needed("pyscf", "makes the molecules; or give a folder that has them with --data")


def _write(path: Path, molecule: Any, coefficients: Array, energies: Array, occupations: Array) -> None:
    """Write a Molden file, in one piece."""
    from pyscf.tools import molden

    partial = path.with_suffix(f".{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="ascii") as stream:
            molden.header(molecule, stream)
            molden.orbital_coeff(molecule, stream, coefficients, ene=energies, occ=occupations)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _hartree_fock(geometry: str, basis: str, cartesian: bool) -> Solved:
    """Molecule, coefficients, energies and occupations of the occupied and ten virtual orbitals."""
    _pyscf()
    from pyscf import gto, scf

    molecule = gto.M(atom=geometry, basis=basis, cart=cartesian, verbose=0)
    field = scf.RHF(molecule).run()
    keep = slice(0, molecule.nelectron // 2 + 10)
    return molecule, field.mo_coeff[:, keep], field.mo_energy[keep], field.mo_occ[keep]


def hartree_fock(geometry: Callable[[], str], basis: str, cartesian: bool = True) -> Callable[[Path], None]:
    """Restricted Hartree-Fock; all occupied and ten virtual orbitals are written."""

    def write(path: Path) -> None:
        _write(path, *_hartree_fock(geometry(), basis, cartesian))

    return write


def _hueckel(geometry: str, basis: str, cartesian: bool, charge: int = 0) -> Solved:
    """Molecule, coefficients, energies and occupations of orbitals without a self-consistent field.

    Atomic orbitals in the rule of Wolfsberg and Helmholz, as PySCF makes them for a first guess: orthonormal, and as
    delocalised as those of a converged calculation.
    """
    _pyscf()
    from pyscf import gto, scf

    molecule = gto.M(atom=geometry, basis=basis, cart=cartesian, charge=charge, verbose=0)
    energies, coefficients = scf.hf._init_guess_huckel_orbitals(molecule)
    order = np.argsort(energies)[: molecule.nelectron // 2 + 10]
    occupations = 2.0 * (np.arange(len(order)) < molecule.nelectron // 2)
    return molecule, coefficients[:, order], energies[order], occupations


def hueckel(geometry: Callable[[], str], basis: str, cartesian: bool = True, charge: int = 0) -> Callable[[Path], None]:
    """Hueckel orbitals, all occupied and ten virtual ones: for molecules whose Hartree-Fock takes many minutes."""

    def write(path: Path) -> None:
        _write(path, *_hueckel(geometry(), basis, cartesian, charge))

    return write


def water_places(n: int) -> tuple[list[Array], list[Array]]:
    """Rotations and centres (Angstrom) of n^3 water molecules.

    Centres form a cubic lattice of the density of the liquid. Of sixteen random orientations the one that stays
    farthest from the molecules placed before it is taken.
    """
    generator = np.random.default_rng(17)
    shape = np.array([[float(v) for v in atom.split()[1:]] for atom in WATER.split(";")])
    rotations: list[Array] = []
    centres: list[Array] = []
    atoms = np.empty((0, 3))
    for cell in product(range(n), repeat=3):
        centre = (np.array(cell) - (n - 1) / 2) * WATER_EDGE
        near = atoms[np.abs(atoms - centre).max(axis=1) < 1.8 * WATER_EDGE] if len(atoms) else atoms
        choices = [random_rotation(generator) for _ in range(16)]
        apart = [
            np.linalg.norm((shape @ r.T + centre)[:, None] - near, axis=2).min() if len(near) else 0.0 for r in choices
        ]
        rotations.append(choices[int(np.argmax(apart))])
        centres.append(centre)
        atoms = np.concatenate([atoms, shape @ rotations[-1].T + centre])
    return rotations, centres


def stack_places(n: int) -> tuple[list[Array], list[Array]]:
    """Rotations and centres (Angstrom) of n fullerenes in a row, 10 Angstrom apart as in the crystal."""
    generator = np.random.default_rng(5)
    return [random_rotation(generator) for _ in range(n)], [np.array([0, 0, 10.0 * i]) for i in range(n)]


def fragments(
    one: Callable[[], Solved],
    basis: str,
    places: Callable[[], tuple[list[Array], list[Array]]],
) -> Callable[[Path], None]:
    """Like molecules, with orbitals that superpose the two highest occupied ones of each, rotated with it.

    See `superposition`.
    """

    def write(path: Path) -> None:
        molecule, orbitals, energies, occupations = one()
        homo = int(np.flatnonzero(occupations)[-1])
        rotations, centres = places()
        atoms = molecule.atom_coords() / angstrom
        elements = [molecule.atom_symbol(i) for i in range(molecule.natm)]
        from pyscf import gto

        whole = gto.M(
            atom=[
                (element, place)
                for rotation, centre in zip(rotations, centres, strict=True)
                for element, place in zip(elements, atoms @ rotation.T + centre, strict=True)
            ],
            basis=basis,
            cart=True,
            verbose=0,
        )
        coefficients = superposition(molecule, whole, orbitals[:, homo - 1 : homo + 1], rotations)
        n = coefficients.shape[1]
        levels = np.where(np.arange(n) < n // 2, energies[homo - 1], energies[homo])
        levels = levels + 1e-6 * np.arange(n)  # readers sort by energy: the last is the HOMO
        _write(path, whole, coefficients, levels, np.full(n, 2.0))

    return write


def _water(n: int) -> Callable[[Path], None]:
    return fragments(lambda: _hartree_fock(WATER, "6-31g*", True), "6-31g*", lambda: water_places(n))


def _stone(name: str, title: str, geometry: Callable[[], str], basis: str, shape: tuple[int, int, int]) -> System:
    if name.startswith("C60"):
        return System(name, title, HUECKEL, hueckel(geometry, basis), shape)
    return System(name, title, HARTREE_FOCK, hartree_fock(geometry, basis), shape)


_SUPERPOSED = "superposed from the Hartree-Fock orbitals of one molecule"

STONE = (
    _stone("C60-a", "C60, STO-3G", fullerene, "sto-3g", (172, 173, 169)),
    _stone("C60-b", "C60, 6-31G*", fullerene, "6-31g*", (172, 173, 169)),
    _stone("Thr-a", "threonine, STO-3G", lambda: THREONINE, "sto-3g", (161, 128, 118)),
    _stone("Thr-b", "threonine, 6-31+G*", lambda: THREONINE, "6-31+g*", (161, 128, 118)),
    _stone("Kr-a", "krypton, STO-3G", lambda: "Kr 0 0 0", "sto-3g", (108, 108, 108)),
    _stone("Kr-b", "krypton, cc-pVQZ", lambda: "Kr 0 0 0", "cc-pvqz", (108, 108, 108)),
)
"""The six systems of Stone et al., all Cartesian. They give the number of points for C60 only."""

LARGE = (
    System("DNA", "256-atom strand C77 P8 N31 H91 O49, 3-21G", HUECKEL,
           hueckel(strand.geometry, "3-21g", cartesian=False, charge=strand.CHARGE), spacing=0.15),
    System("C60-stack", "nine C60 in a row, 540 atoms, 6-31G*", "superposed from the Hueckel orbitals of one",
           fragments(lambda: _hueckel(fullerene(), "6-31g*", True), "6-31g*", lambda: stack_places(9)),
           spacing=0.15, whole=False),
    System("Water", "343 water molecules, 1,029 atoms, 6-31G*", _SUPERPOSED, _water(7), spacing=0.15, whole=False),
)  # fmt: skip

SYSTEMS = {system.name: system for system in (*STONE, *LARGE)}

CLUSTERS = {
    n: System(f"Water-{n**3}", f"{n**3} water molecules, 6-31G*", _SUPERPOSED, _water(n), (n * WATER_STEPS,) * 3,
              WATER_EDGE / WATER_STEPS, whole=False)
    for n in range(1, 8)
}  # fmt: skip
"""Water clusters of n^3 molecules on lattices of as many points an atom."""

SHIPPED = System("benzene", "benzene, 6-31G*", HARTREE_FOCK, hartree_fock(benzene, "6-31g*", cartesian=False))
"""The molecule that comes with Orbitile."""

NAMED = {**SYSTEMS, SHIPPED.name: SHIPPED}
"""All that have a row somewhere, by name."""


def chosen_systems(names: str | None) -> tuple[System, ...]:
    """Systems by their names with commas between; all without any.

    Raises
    ------
    OrbitileError
        For an unknown name.
    """
    if not names:
        return tuple(SYSTEMS.values())
    known = {name.lower(): system for name, system in SYSTEMS.items()}
    found = []
    for name in names.split(","):
        if name.strip().lower() not in known:
            raise OrbitileError(f"system: expected some of {', '.join(SYSTEMS)}, got {name.strip()!r}")
        found.append(known[name.strip().lower()])
    return tuple(dict.fromkeys(found))


def cache_folder() -> Path:
    """Where files that were made are kept: orbitile/benchmarks in the cache folder of the user."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "orbitile" / "benchmarks"


def path_of(system: System, data: Path | None = None) -> Path:
    """The Molden file of a system: in the given folder, else in the cache, where it is made when it is missing.

    Raises
    ------
    OrbitileError
        When it has to be made and PySCF is missing, or the folder cannot be written to.
    """
    if data is not None and (data / system.file).is_file():
        return data / system.file
    path = cache_folder() / system.file
    if not path.is_file():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            system.write(path)
        except OSError as error:
            raise OrbitileError(f"{path}: cannot be written ({error.strerror})") from error
    return path


def main() -> None:
    """Write one molecule to a Molden file."""
    if len(sys.argv) != 3 or sys.argv[1] not in NAMED:
        sys.exit(f"usage: python -m orbitile_benchmarks.systems {{{','.join(NAMED)}}} FILE.molden")
    NAMED[sys.argv[1]].write(Path(sys.argv[2]))


if __name__ == "__main__":
    main()

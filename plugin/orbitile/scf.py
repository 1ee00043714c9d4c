"""Orbitals of a trajectory of geometries, frame by frame, by PySCF (extra `orbitile[scf]`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from .check import checked
from .conventions import component_names
from .elements import SYMBOLS
from .errors import Cancelled, FileError, OrbitileError
from .geometry import Geometries, Geometry
from .readers import load_geometries
from .series import SeriesFrames, SeriesWriter
from .trajectory import Trajectory
from .wavefunction import Orbitals, Shell, Wavefunction

_ONE_PLACE = 0.01
"""Atoms closer than this in bohr are at one place: basis functions on them are the same, and PySCF breaks down."""


@dataclass(frozen=True)
class Calculation:
    """What is computed for each frame: restricted where no electron is unpaired, unrestricted otherwise.

    Attributes
    ----------
    method : str
        "hf", or a density functional by its name in PySCF: "pbe", "b3lyp", "wb97x-v" ...
    basis : str
        A basis set by its name in PySCF, with its effective core potentials; pure d and f functions.
    charge : int
        Of the molecule.
    unpaired : int
        Electrons of spin alpha less those of spin beta.
    """

    method: str = "hf"
    basis: str = "def2-svp"
    charge: int = 0
    unpaired: int = 0

    def __str__(self) -> str:
        return f"{self.method.lower()}/{self.basis.lower()}, charge {self.charge}, unpaired electrons {self.unpaired}"


def compute_series(
    source: str | PathLike[str],
    path: str | PathLike[str],
    calculation: Calculation | None = None,
    *,
    topology: str | PathLike[str] | None = None,
    progress: Callable[[float], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    report: Callable[[str], None] | None = None,
) -> Trajectory:
    """Compute the orbitals of a trajectory of geometries and write them to a series file as they come.

    Each frame starts from the orbitals of the last one in the file, so a computation that was interrupted, by whatever,
    is taken up by the same call and ends with the same file: to the bit on one thread (`OMP_NUM_THREADS=1`), to the
    convergence of the self-consistent field on several.

    Parameters
    ----------
    source
        Geometries: xyz or extended xyz; DCD, XTC and others with a topology.
    path
        The series file. One that is there is continued if it was computed from the same geometries in the same way.
    calculation
        Method, basis set, charge, unpaired electrons.
    topology
        File that names the elements, where `source` does not.
    progress
        Called with the share that is done.
    cancelled
        Asked in each iteration; when it says True the frame is given up and all before it are kept.
    report
        Told in one line of each frame that is left out, since it did not converge, its geometry is damaged or its atoms
        are others.

    Returns
    -------
    Trajectory
        The series file, opened.

    Raises
    ------
    FileError
        When the geometries cannot be read, or the file is another series.
    OrbitileError
        When PySCF is missing, or knows no such method or basis set for these atoms; when charge and unpaired electrons
        do not go together; when no frame can be computed.
    Cancelled
        When `cancelled` said so.
    """
    calculation = calculation or Calculation()
    geometries = load_geometries(source, topology)
    _pyscf()
    target = Path(path).expanduser()
    before = _last_frame(target, geometries, calculation) if target.exists() else None
    with SeriesWriter(target, settings=str(calculation)) as writer:
        for index in range(writer.numbers[-1] + 1 if writer.numbers else 0, len(geometries)):
            try:
                before = _computed(_sound(geometries.read(index), before), calculation, before, cancelled)
            except (FileError, _LeftOut) as error:
                if report is not None:
                    report(f"frame {index + 1} left out: {error}")
                continue
            writer.append(before, index)
            if progress is not None:
                progress((index + 1) / len(geometries))
    if before is None:
        raise OrbitileError(f"{geometries.name}: no frame could be computed with {calculation}")
    return Trajectory(SeriesFrames(target))


class _LeftOut(OrbitileError):
    """A frame whose orbitals cannot be computed, or do not belong to those before; others may be sound."""


def _sound(geometry: Geometry, before: Wavefunction | None) -> Geometry:
    """The geometry, unless it is of other atoms than the frame before, or two of its atoms are at one place."""
    if before is not None and not np.array_equal(geometry.atomic_numbers, before.atomic_numbers):
        raise _LeftOut("its atoms are others than those before, or in another order")
    close = cKDTree(geometry.positions).query_pairs(_ONE_PLACE)
    if close:
        one, other = min(close)
        raise _LeftOut(f"atoms {one + 1} and {other + 1} are at one place")
    return geometry


def _last_frame(target: Path, geometries: Geometries, calculation: Calculation) -> Wavefunction | None:
    """The frame to go on from, after a test that the file belongs to these geometries."""
    series = SeriesFrames(target)
    try:
        frame = None
        for index in range(len(series)) if series.settings == str(calculation) else ():
            frame, number = series.read(index, check=False), series.number(index)
            there = geometries.read(number) if number < len(geometries) else None
            if there is None or not np.array_equal(there.positions, frame.positions):
                raise FileError(
                    f"{target.name}: frame {index + 1} has another geometry than frame {number + 1} of "
                    f"{geometries.name}; write to another file"
                )
        return frame
    finally:
        series.close()


def _pyscf() -> Any:
    try:
        import pyscf
        import pyscf.dft
        import pyscf.gto
        import pyscf.scf
    except ImportError as error:
        raise OrbitileError("orbitals are computed by the package pyscf: pip install 'orbitile[scf]'") from error
    return pyscf


def _computed(
    geometry: Geometry, calculation: Calculation, before: Wavefunction | None, cancelled: Callable[[], bool] | None
) -> Wavefunction:
    """Wavefunction of one frame, begun from the orbitals of another one or, without it, from atomic densities."""
    molecule = _molecule(geometry, calculation)
    field = _mean_field(molecule, calculation)

    def ask(_: Any) -> None:
        if cancelled is not None and cancelled():
            raise Cancelled("cancelled")

    field.callback = ask
    try:
        field.kernel(None if before is None else _start(molecule, before))
        if not field.converged:
            ask(None)
            field = field.newton()
            field.kernel(field.mo_coeff, field.mo_occ)
    except np.linalg.LinAlgError as error:
        raise _LeftOut(f"{calculation} broke down ({error}); are atoms too close to each other?") from error
    if not field.converged:
        raise _LeftOut(f"{calculation} did not converge, by DIIS nor to second order")
    return wavefunction_of(molecule, field.mo_coeff, field.mo_occ, field.mo_energy, method=str(calculation))


def _molecule(geometry: Geometry, calculation: Calculation) -> Any:
    gto = _pyscf().gto
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice to install another package
        return _built(gto, [SYMBOLS[number] for number in geometry.atomic_numbers], geometry, calculation)


def _built(gto: Any, symbols: list[str], geometry: Geometry, calculation: Calculation) -> Any:
    core = {}
    for symbol in dict.fromkeys(symbols):
        try:
            core[symbol] = gto.basis.load_ecp(calculation.basis, symbol)
        except (KeyError, RuntimeError, ValueError, OSError):  # what it raises of basis sets without any
            continue
    try:
        return gto.M(
            atom=list(zip(symbols, geometry.positions.tolist(), strict=True)),
            unit="Bohr",
            basis=calculation.basis,
            ecp={symbol: potential for symbol, potential in core.items() if potential},
            charge=calculation.charge,
            spin=calculation.unpaired,
            verbose=0,
        )
    except (KeyError, RuntimeError, ValueError, OSError) as error:
        detail = f"{type(error).__name__}: {error}".split("\n")[0]
        raise OrbitileError(
            f"PySCF cannot set up {calculation} for {', '.join(dict.fromkeys(symbols))} ({detail}); is the basis set "
            "known to it, and do charge and unpaired electrons go together?"
        ) from error


def _mean_field(molecule: Any, calculation: Calculation) -> Any:
    pyscf = _pyscf()
    restricted = molecule.spin == 0
    if calculation.method.lower() == "hf":
        return pyscf.scf.RHF(molecule) if restricted else pyscf.scf.UHF(molecule)
    try:
        pyscf.dft.libxc.parse_xc(calculation.method)
    except (KeyError, ValueError) as error:
        raise OrbitileError(
            f"method {calculation.method!r}: expected hf or a functional that PySCF knows, such as pbe or b3lyp"
        ) from error
    field = pyscf.dft.RKS(molecule) if restricted else pyscf.dft.UKS(molecule)
    field.xc = calculation.method
    return field


def _start(molecule: Any, before: Wavefunction) -> NDArray[np.float64]:
    """Density matrix of the occupied orbitals of another frame, made orthonormal where the atoms are now."""
    rows = _rows(molecule)
    overlap = molecule.intor_symmetric("int1e_ovlp")
    matrices = []
    for orbitals in (before.alpha, before.beta):
        if orbitals is not None:
            occupied = orbitals.occupations > 0
            coefficients = np.empty((before.n_basis, int(occupied.sum())))
            coefficients[rows] = orbitals.coefficients[:, occupied]
            values, axes = np.linalg.eigh(coefficients.T @ overlap @ coefficients)
            orthonormal = coefficients @ (axes / np.sqrt(values)) @ axes.T
            matrices.append((orthonormal * orbitals.occupations[occupied]) @ orthonormal.T)
    return matrices[0] if len(matrices) == 1 else np.array(matrices)


def wavefunction_of(
    molecule: Any, coefficients: Any, occupations: Any, energies: Any, *, method: str = ""
) -> Wavefunction:
    """Wavefunction of a molecule of PySCF.

    Parameters
    ----------
    molecule : pyscf.gto.Mole
        With pure basis functions (`cart` is False).
    coefficients, occupations, energies
        `mo_coeff`, `mo_occ` and `mo_energy` of a mean field; two of each where spins have orbitals of their own.
    method
        For people.

    Raises
    ------
    OrbitileError
        When its basis functions are Cartesian.
    ConventionError
        When the orbitals are not orthonormal.
    """
    if molecule.cart:
        raise OrbitileError("molecule of PySCF: expected pure basis functions (cart=False), got Cartesian ones")
    shells = []
    for n in range(molecule.nbas):
        for column in molecule.bas_ctr_coeff(n).T:
            l = molecule.bas_angular(n)
            shells.append(Shell(molecule.bas_atom(n), l, l > 1, molecule.bas_exp(n), column))
    rows = _rows(molecule)
    sets = (
        zip(coefficients, occupations, energies, strict=True)
        if np.ndim(coefficients) == 3
        else ((coefficients, occupations, energies),)
    )
    parts = [Orbitals(np.asarray(c)[rows], o, e) for c, o, e in sets]
    numbers = [SYMBOLS.index(molecule.atom_pure_symbol(n)) for n in range(molecule.natm)]
    return checked(
        Wavefunction(
            atomic_numbers=np.array(numbers),
            positions=molecule.atom_coords(),
            core_charges=molecule.atom_charges().astype(np.float64),
            shells=tuple(shells),
            alpha=parts[0],
            beta=parts[1] if len(parts) > 1 else None,
            program=f"PySCF {_pyscf().__version__}",
            method=method,
        )
    )


def _rows(molecule: Any) -> NDArray[np.intp]:
    """Row of PySCF for each of our basis functions: its p shells are x, y, z, others go from m = -l to l."""
    rows: list[int] = []
    first = 0
    for n in range(molecule.nbas):
        l = int(molecule.bas_angular(n))
        for _ in range(molecule.bas_nctr(n)):
            if l < 2:
                rows += range(first, first + 2 * l + 1)
            else:
                m = [int(name[1:]) * (-1 if name[0] == "s" else 1) for name in component_names(l, pure=True)]
                rows += [first + l + one for one in m]
            first += 2 * l + 1
    return np.array(rows, np.intp)

"""Orbitals of a trajectory of geometries, frame by frame, by PySCF (extra `orbitile[scf]`)."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, prod, sqrt
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ..errors import FileError, OrbitileError
from ..exporters._series import SeriesWriter
from ..files.writing import checked_target, refuse_inputs
from ..gaussians.orthonormality import checked
from ..gaussians.overlap import inverse_root
from ..model.conventions import angular_normalization, cartesian_powers, component_names
from ..model.elements import SYMBOLS
from ..model.geometry import Geometries, Geometry
from ..model.trajectory import Trajectory
from ..model.wavefunction import Orbitals, Shell, Wavefunction
from ..readers import load_geometries
from ..readers.series import SeriesFrames
from ..watch import checkpoint, tell, watched
from .level_of_theory import Calculation, functional, library, mean_field, molecule_of

_ONE_PLACE = 0.01
"""Atoms closer than this in bohr are at one place: basis functions on them are the same, and PySCF breaks down."""


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
        Method, basis set, charge, unpaired electrons, kind of basis functions.
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
    geometries = load_geometries(source, topology)
    refuse_inputs(path, [source] if topology is None else [source, topology])
    with watched(progress, cancelled):
        return continue_series(geometries, path, calculation or Calculation(), report)


def continue_series(
    geometries: Geometries,
    path: str | PathLike[str],
    calculation: Calculation,
    report: Callable[[str], None] | None = None,
) -> Trajectory:
    """The same for geometries that have been read, under the watch of the caller (`orbitile.watch`)."""
    functional(calculation)  # refused before a file is touched
    target = checked_target(path)
    before = _last_frame(target, geometries, calculation) if target.exists() else None
    with SeriesWriter(target, settings=str(calculation)) as writer:
        for index in range(writer.numbers[-1] + 1 if writer.numbers else 0, len(geometries)):
            try:
                before = _computed(_sound(geometries.read(index), before), calculation, before)
            except (FileError, _LeftOut) as error:
                if report is not None:
                    report(f"frame {index + 1} left out: {error}")
                continue
            writer.append(before, index)
            tell((index + 1) / len(geometries))
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
        if series.settings != str(calculation) or not len(series):
            return None
        frame = series.read(len(series) - 1, check=False)
        for index, positions in enumerate(series.geometries()):
            number = series.number(index)
            there = geometries.read(number) if number < len(geometries) else None
            if (
                there is None
                or not np.array_equal(there.atomic_numbers, frame.atomic_numbers)
                or not np.array_equal(there.positions, positions)
            ):
                raise FileError(
                    f"{target.name}: frame {index + 1} has another geometry than frame {number + 1} of "
                    f"{geometries.name}; write to another file"
                )
        return frame
    finally:
        series.close()


def _computed(geometry: Geometry, calculation: Calculation, before: Wavefunction | None) -> Wavefunction:
    """Wavefunction of one frame, begun from the orbitals of another one or, without it, from atomic densities."""
    molecule = molecule_of(geometry, calculation)
    field = mean_field(molecule, calculation)
    field.callback = lambda _: checkpoint()  # in each iteration
    try:
        field.kernel(None if before is None else _start(molecule, before))
        if not field.converged:
            checkpoint()
            field = field.newton()
            field.kernel(field.mo_coeff, field.mo_occ)
    except np.linalg.LinAlgError as error:
        raise _LeftOut(f"{calculation} broke down ({error}); are atoms too close to each other?") from error
    if not field.converged:
        raise _LeftOut(f"{calculation} did not converge, by DIIS nor to second order")
    return wavefunction_of(molecule, field.mo_coeff, field.mo_occ, field.mo_energy, method=str(calculation))


def _start(molecule: Any, before: Wavefunction) -> NDArray[np.float64]:
    """Density matrix of the occupied orbitals of another frame, made orthonormal where the atoms are now.

    One for both spins, or one each, shape (2, n_basis, n_basis), where electrons are unpaired.
    """
    rows, factors = functions_of_pyscf(molecule)
    overlap = molecule.intor_symmetric("int1e_ovlp")

    def density(orbitals: Orbitals, occupations: NDArray[np.float64]) -> NDArray[np.float64]:
        occupied = occupations > 0
        coefficients = np.empty((before.n_basis, int(occupied.sum())))
        coefficients[rows] = orbitals.coefficients[:, occupied] / factors[:, None]
        orthonormal = coefficients @ inverse_root(coefficients.T @ overlap @ coefficients)
        matrix: NDArray[np.float64] = (orthonormal * occupations[occupied]) @ orthonormal.T
        return matrix

    alpha, beta = before.alpha, before.beta
    if beta is not None:
        return np.array([density(orbitals, orbitals.occupations) for orbitals in (alpha, beta)])
    if before.n_unpaired:
        return np.array([density(alpha, (alpha.occupations > least).astype(np.float64)) for least in (0.5, 1.5)])
    return density(alpha, alpha.occupations)


def wavefunction_of(
    molecule: Any, coefficients: Any, occupations: Any, energies: Any, *, method: str = ""
) -> Wavefunction:
    """Wavefunction of a molecule of PySCF.

    Parameters
    ----------
    molecule : pyscf.gto.Mole
    coefficients, occupations, energies
        `mo_coeff`, `mo_occ` and `mo_energy` of a mean field; two of each where spins have orbitals of their own.
    method
        For people.

    Raises
    ------
    ConventionError
        When the orbitals are not orthonormal.
    """
    shells = []
    for n in range(molecule.nbas):
        for column in molecule.bas_ctr_coeff(n).T:
            l = molecule.bas_angular(n)
            shells.append(Shell(molecule.bas_atom(n), l, not molecule.cart, molecule.bas_exp(n), column))
    rows, factors = functions_of_pyscf(molecule)
    sets = (
        zip(coefficients, occupations, energies, strict=True)
        if np.ndim(coefficients) == 3
        else ((coefficients, occupations, energies),)
    )
    parts = [Orbitals(np.asarray(c)[rows] * factors[:, None], o, e) for c, o, e in sets]
    symbols = [molecule.atom_pure_symbol(n) for n in range(molecule.natm)]
    numbers = [0 if symbol.upper().startswith("GHOST") else SYMBOLS.index(symbol) for symbol in symbols]
    return checked(
        Wavefunction(
            atomic_numbers=np.array(numbers),
            positions=molecule.atom_coords(),
            core_charges=molecule.atom_charges().astype(np.float64),
            shells=tuple(shells),
            alpha=parts[0],
            beta=parts[1] if len(parts) > 1 else None,
            program=f"PySCF {library().__version__}",
            method=method,
        )
    )


def functions_of_pyscf(molecule: Any) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    r"""Row of PySCF for each of our basis functions, and what a coefficient of PySCF is multiplied by.

    Its p shells are x, y, z, other pure ones go from m = -l to l; its Cartesian shells are in our order. From d on it
    normalises their radial part alone, :math:`\int R^2 r^{2l+2} dr = 1`, so that a component has the norm

    .. math::  \int x^{2i} y^{2j} z^{2k} d\Omega = 4\pi \frac{(2i-1)!!\,(2j-1)!!\,(2k-1)!!}{(2l+1)!!}.
    """
    rows: list[int] = []
    factors: list[float] = []
    for n in range(molecule.nbas):
        l = int(molecule.bas_angular(n))
        order, scales = list(range(2 * l + 1)), [1.0] * (2 * l + 1)
        if l > 1 and molecule.cart:
            powers = cartesian_powers(l)
            common = sqrt(4 * pi / (2**l * prod(range(2 * l + 1, 0, -2))))  # (2i)! / i! is 2^i (2i - 1)!!
            order, scales = list(range(len(powers))), [common / angular_normalization(power) for power in powers]
        elif l > 1:
            order = [l + int(name[1:]) * (-1 if name[0] == "s" else 1) for name in component_names(l, pure=True)]
        for _ in range(molecule.bas_nctr(n)):
            first = len(rows)
            rows += [first + component for component in order]
            factors += scales
    return np.array(rows, np.intp), np.array(factors)


__all__ = ["Calculation", "compute_series", "continue_series", "functions_of_pyscf", "wavefunction_of"]

"""Clocks, references and the rows of the tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import orbitile as ob
from orbitile.fields.orbital import orbital_of
from orbitile.model.conventions import (
    angular_normalization,
    cartesian_powers,
    pure_from_cartesian,
    radial_normalization,
)

from .systems import System

Array = NDArray[np.float64]

SAMPLE = 20_000
"""Random points of a lattice at which errors are taken."""

PATIENCE = 15.0
"""Seconds after which a slow program is measured on part of the points."""


@dataclass(frozen=True)
class Row:
    """One measurement.

    Attributes
    ----------
    part : str
        orbital, density, potential, isosurface, end to end.
    system, program : str
    device, precision : str
    points : int
        Points that the time stands for.
    seconds : float or None
        Median of the runs; None where there is none, and `note` says why.
    error : float or None
        Largest difference from float64 values, in atomic units.
    least : float or None
        Least time of the runs: beside neighbours on a machine it says more than the median.
    runs : int
        How many were timed, after one that was not.
    cores : float or None
        Seconds of processors per second, of the whole process.
    measured : int
        Points that were evaluated, where the time of all was extrapolated from them; else 0.
    note : str
    """

    part: str
    system: str
    program: str
    device: str
    precision: str
    points: int
    seconds: float | None
    error: float | None = None
    least: float | None = None
    runs: int = 0
    cores: float | None = None
    measured: int = 0
    note: str = ""


@dataclass(frozen=True)
class Timing:
    """Median and least seconds of a call, how many runs, processors busy, and what the call gave."""

    seconds: float
    least: float
    runs: int
    cores: float
    result: Any = field(repr=False, default=None)


def released(package: str) -> str:
    """Version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def peer_row(
    part: str,
    case: Case,
    program: str,
    timing: Timing,
    points: int,
    error: float | None,
    measured: int = 0,
    **more: Any,
) -> Row:
    """A row of another program, in double precision on a CPU unless said; of all points, where some were measured."""
    share = points / measured if measured else 1.0
    known = {"device": "cpu", "precision": "double"} | more
    return Row(
        part,
        case.system.name,
        program,
        points=points,
        seconds=timing.seconds * share,
        error=error,
        least=timing.least * share,
        runs=timing.runs,
        cores=timing.cores,
        measured=measured,
        **known,
    )


def timed(call: Callable[[], Any], most: int = 15, patience: float = 3.0) -> Timing:
    """Time a call: one run that is not counted, then as many as fit in the patience; three, unless they take long.

    Of a call whose first run takes longer than a minute that run counts.
    """
    result, first, cores = _clocked(call)
    if first > 60:
        return Timing(first, first, 1, cores, result)
    times: list[float] = []
    used = 0.0
    while len(times) < most and sum(times) < patience * (5 if len(times) < 3 else 1):
        result, seconds, share = _clocked(call)
        times.append(seconds)
        used += share * seconds
    return Timing(float(np.median(times)), min(times), len(times), used / sum(times), result)


def _clocked(call: Callable[[], Any]) -> tuple[Any, float, float]:
    begin, before = time.perf_counter(), time.process_time()
    result = call()
    seconds = time.perf_counter() - begin
    return result, seconds, (time.process_time() - before) / seconds


def plain_sum(wavefunction: ob.Wavefunction, coefficients: Array, points: Array) -> Array:
    """Values of orbitals at points by the definition, in float64 and NumPy, shape (n_points, n_orbitals)."""
    values = np.zeros((len(points), coefficients.shape[1]))
    first = 0
    for shell in wavefunction.shells:
        l = shell.angular_momentum
        apart = points - wavefunction.positions[shell.atom]
        square = np.einsum("ij,ij->i", apart, apart)
        radial = np.exp(-np.outer(square, shell.exponents)) @ (
            shell.coefficients * radial_normalization(shell.exponents, l)
        )
        functions = np.stack(
            [angular_normalization(power) * np.prod(apart ** np.array(power), axis=1) for power in cartesian_powers(l)],
            axis=1,
        )
        if shell.pure:
            functions = functions @ pure_from_cartesian(l).T
        values += (functions * radial[:, None]) @ coefficients[first : first + shell.n_functions]
        first += shell.n_functions
    return values


@dataclass(frozen=True, eq=False)
class Case:
    """A system, read, with its lattice and reference values."""

    system: System
    path: Path
    wavefunction: ob.Wavefunction
    lattice: ob.Lattice

    @cached_property
    def homo(self) -> int:
        """Index of the orbital that `homo` stands for, in the order of the file."""
        orbital = orbital_of(self.wavefunction, "homo")
        assert orbital is not None  # it is a name of an orbital
        return orbital.index

    @cached_property
    def sample(self) -> NDArray[np.int64]:
        """Indices of random points of the lattice."""
        return np.random.default_rng(0).integers(0, self.lattice.n_points, SAMPLE)

    @cached_property
    def sample_points(self) -> Array:
        """Where they are, in bohr."""
        return self.points_of(self.sample)

    def points_of(self, index: NDArray[np.int64]) -> Array:
        """Points of the lattice by their index, in bohr."""
        corner = np.stack(np.unravel_index(index, self.lattice.shape), axis=1)
        return np.asarray(self.lattice.origin + corner @ self.lattice.axes)

    def every(self, stride: int) -> ob.Lattice:
        """The lattice of every so manieth point along each axis."""
        nx, ny, nz = (-(-n // stride) for n in self.lattice.shape)
        return ob.Lattice(self.lattice.origin, self.lattice.axes * stride, (nx, ny, nz))

    @cached_property
    def molecule(self) -> tuple[Any, Array, Array] | None:
        """Molecule, coefficients and occupations as PySCF reads them; None where it is not installed."""
        try:
            from pyscf.tools import molden
        except ImportError:
            return None
        molecule, _, coefficients, occupations, *_ = molden.load(str(self.path))
        return molecule, np.asarray(coefficients), np.asarray(occupations)

    def orbital_at(self, points: Array) -> Array:
        """The HOMO at points, in float64."""
        return self._orbitals_at(points, [self.homo])[:, 0]

    def density_at(self, points: Array) -> Array:
        """The density of the occupied orbitals at points, in float64."""
        occupations = self.wavefunction.alpha.occupations
        occupied = np.flatnonzero(occupations)
        return np.asarray(self._orbitals_at(points, occupied.tolist()) ** 2 @ occupations[occupied])

    def potential_at(self, points: Array) -> Array:
        """The electrostatic potential at points: by PySCF's integrals, else by ours in double precision."""
        if self.molecule is None:
            return np.asarray(ob.evaluate(self.wavefunction, "esp", points, device="cpu", precision="double"))
        molecule, coefficients, occupations = self.molecule
        matrix = (coefficients * occupations) @ coefficients.T
        electrons = -np.einsum("pij,ij->p", molecule.intor("int1e_grids", grids=points), matrix)
        apart = np.linalg.norm(points[:, None] - molecule.atom_coords(), axis=2)
        return np.asarray(electrons + (molecule.atom_charges() / apart).sum(axis=1))

    @cached_property
    def orbital_reference(self) -> Array:
        """The HOMO at the sample."""
        return self.orbital_at(self.sample_points)

    @cached_property
    def density_reference(self) -> Array:
        """The density at the sample."""
        return self.density_at(self.sample_points)

    def error(self, values: NDArray[np.floating], reference: Array) -> float:
        """Largest difference of a whole volume from reference values at the sample."""
        return float(np.abs(values.reshape(-1)[self.sample] - reference).max())

    def _orbitals_at(self, points: Array, which: list[int]) -> Array:
        parts = np.array_split(points, max(1, len(points) * self.wavefunction.n_basis // (1 << 24)))
        if self.molecule is None:
            columns = self.wavefunction.alpha.coefficients[:, which]
            return np.concatenate([plain_sum(self.wavefunction, columns, part) for part in parts])
        from pyscf.dft import numint

        molecule, coefficients, _ = self.molecule
        return np.concatenate([numint.eval_ao(molecule, part) @ coefficients[:, which] for part in parts])


def worst(found: NDArray[np.floating], reference: Array) -> float:
    """Largest difference."""
    return float(np.abs(np.asarray(found) - reference).max())


Peer = Callable[[Case, Array], Iterator[Row]]
"""Measures another program on a case; the points are those of potentials, in bohr."""

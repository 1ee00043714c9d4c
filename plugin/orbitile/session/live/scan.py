"""A scan by hand: a distance, an angle or a dihedral takes one value after the other, and all are computed ahead.

What lies behind the bond that is stretched, bent or turned moves as a whole, the smaller part of the molecule. Bonds
are those of `find_bonds`, by distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...base.arguments import alternatives
from ...base.caches import Cache
from ...base.errors import OrbitileError
from ...model.geometry import connected_parts, find_bonds
from ...model.units import angstrom, kilocalorie_per_mole
from ...pictures.request import Request
from ..source import OneFile
from .order import Converged, Order, Positions

Values = float | NDArray[np.float64]
_Numbers = NDArray[np.int64]

_IN_LINE = 1e-3
"""Sine of an angle below which three atoms are in a line."""


def distance(positions: Positions, atoms: tuple[int, int]) -> float:
    """Distance of two atoms in bohr; positions of shape (n_atoms, 3) in bohr, atoms from 0."""
    i, j = atoms
    return float(np.linalg.norm(positions[j] - positions[i]))


def angle(positions: Positions, atoms: tuple[int, int, int]) -> float:
    """Angle at the second of three atoms, from 0 to pi; arguments as for `distance`."""
    i, j, k = atoms
    one, other = positions[i] - positions[j], positions[k] - positions[j]
    return float(np.arctan2(np.linalg.norm(np.cross(one, other)), one @ other))


def dihedral(positions: Positions, atoms: tuple[int, int, int, int]) -> float:
    """Dihedral of four atoms in radian, from -pi to pi; arguments as for `distance`.

    It is positive where the last bond is turned clockwise from the first one, seen along the middle one (IUPAC).

    Raises
    ------
    OrbitileError
        When three atoms in a row are in a line: there is no dihedral.
    """
    i, j, k, l = atoms
    for row in ((i, j, k), (j, k, l)):
        if np.sin(angle(positions, row)) < _IN_LINE:
            raise OrbitileError(f"atoms {_listed(row)} are in a line: {_listed(atoms)} have no dihedral")
    first, axis, last = positions[j] - positions[i], positions[k] - positions[j], positions[l] - positions[k]
    one, other = np.cross(first, axis), np.cross(axis, last)
    return float(np.arctan2(np.linalg.norm(axis) * (first @ other), one @ other))


def with_distance(numbers: _Numbers, positions: Positions, atoms: tuple[int, int], value: Values) -> Positions:
    """The geometry with another distance of two atoms: one of them goes along their line with all that it holds.

    Parameters
    ----------
    numbers : ndarray of int, shape (n_atoms,)
        Atomic numbers.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    atoms : tuple of int
        From 0.
    value : float or ndarray, shape (n,)
        In bohr; of several a geometry each.

    Returns
    -------
    ndarray, shape (n_atoms, 3) or (n, n_atoms, 3)

    Raises
    ------
    OrbitileError
        When the atoms are joined by others as well, as in a ring, or are at one place.
    """
    i, j = atoms
    line = positions[j] - positions[i]
    length = np.linalg.norm(line)
    if not np.all(np.asarray(value) > 0) or length == 0:
        raise OrbitileError(
            f"distance of atoms {_listed(atoms)}: expected more than 0, now and at all values of the scan"
        )
    fragments = _fragments(numbers, positions, (i, j))
    if fragments[i] == fragments[j]:
        raise OrbitileError(
            f"{_bond(i, j)} cannot be stretched: its atoms are also connected in another way, as in a ring"
        )
    is_last = np.sum(fragments == fragments[j]) <= np.sum(fragments == fragments[i])
    moving = fragments == fragments[j if is_last else i]
    step = np.multiply.outer(np.asarray(value) - length, (1 if is_last else -1) * line / length)
    moved = _copies(positions, value)
    moved[..., moving, :] += step[..., None, :]
    return moved


def with_angle(numbers: _Numbers, positions: Positions, atoms: tuple[int, int, int], value: Values) -> Positions:
    """The geometry with another angle at the second of three atoms: what one of the others holds turns about it.

    Parameters and what is returned are as for `with_distance`, the value from 0 to pi.

    Raises
    ------
    OrbitileError
        When the angle is in a ring.
    """
    i, j, k = atoms
    if not np.all((np.asarray(value) > 0) & (np.asarray(value) <= np.pi)):
        raise OrbitileError(f"angle of atoms {_listed(atoms)}: expected more than 0 and at most 180 degrees")
    behind = []
    for end, other, sign in ((k, i, 1.0), (i, k, -1.0)):
        fragments = _fragments(numbers, positions, (j, end))
        moving = fragments == fragments[end]
        if not moving[j] and not moving[other]:
            behind.append((moving, sign))
    if not behind:
        raise OrbitileError(f"the angle of atoms {_listed(atoms)} is in a ring: it cannot be bent")
    moving, sign = min(behind, key=lambda one: int(one[0].sum()))
    first, last = positions[i] - positions[j], positions[k] - positions[j]
    axis = np.cross(first, last)
    if np.linalg.norm(axis) < _IN_LINE * np.linalg.norm(first) * np.linalg.norm(last):  # bent to any side
        axis = np.cross(first, np.eye(3)[np.argmin(np.abs(first))])
    return _turned(positions, moving, positions[j], axis, sign * (np.asarray(value) - angle(positions, atoms)))


def with_dihedral(
    numbers: _Numbers, positions: Positions, atoms: tuple[int, int, int, int], value: Values
) -> Positions:
    """The geometry with another dihedral of four atoms: what is behind the middle bond turns about it.

    Parameters and what is returned are as for `with_distance`, the value in radian.

    Raises
    ------
    OrbitileError
        When the middle bond is in a ring, the atoms are not in a row, or there is no dihedral, see `dihedral`.
    """
    i, j, k, l = atoms
    fragments = _fragments(numbers, positions, (j, k))
    if fragments[j] == fragments[k]:
        raise OrbitileError(
            f"nothing can turn about {_bond(j, k)}: its atoms are also connected in another way, as in a ring"
        )
    behind = []
    for end, other, sign in ((l, i, 1.0), (i, l, -1.0)):
        moving = fragments == fragments[end]
        if not moving[other]:
            behind.append((moving, sign))
    if not behind:
        raise OrbitileError(
            f"atoms {_listed(atoms)} are not in a chain: expected the first and the last on "
            "different sides of the middle bond"
        )
    moving, sign = min(behind, key=lambda one: int(one[0].sum()))
    axis = positions[k] - positions[j]
    return _turned(positions, moving, positions[j], axis, sign * (np.asarray(value) - dihedral(positions, atoms)))


def _fragments(numbers: _Numbers, positions: Positions, bond: tuple[int, int]) -> NDArray[np.int32]:
    """Number of the connected part that each atom belongs to once a bond, if there is such, is broken."""
    bonds = [pair for pair in find_bonds(numbers, positions).tolist() if set(pair) != set(bond)]
    return connected_parts(len(positions), np.array(bonds, np.int64).reshape(-1, 2))


def _turned(
    positions: Positions, moving: NDArray[np.bool_], origin: Positions, axis: Positions, by: NDArray[np.float64]
) -> Positions:
    """Positions, some of them turned about an axis, anticlockwise where it points at the reader (O. Rodrigues)."""
    cross = np.cross(np.eye(3), axis / np.linalg.norm(axis))  # cross @ r is the product of the axis and r
    turns = np.eye(3) + np.multiply.outer(np.sin(by), cross) + np.multiply.outer(1 - np.cos(by), cross @ cross)
    moved = _copies(positions, by)
    moved[..., moving, :] = np.einsum("...xy,ay->...ax", turns, positions[moving] - origin) + origin
    return moved


def _copies(positions: Positions, value: Values) -> Positions:
    """Positions, for each of some values."""
    return np.broadcast_to(positions, (*np.shape(value), *positions.shape)).copy()


def _bond(one: int, other: int) -> str:
    return f"the bond {one + 1}-{other + 1}"


def _listed(atoms: Sequence[int]) -> str:
    return "-".join(str(atom + 1) for atom in atoms)


class KnownGeometries:
    """Converged geometries without their samples, of which `SampleCache` takes care: the latest that were asked for."""

    def __init__(self) -> None:
        self._found = Cache[Converged]("geometries of live molecules", size=_size)

    def add(self, found: Converged) -> None:
        """Keep a geometry; of those that were not asked for the longest some may be forgotten."""
        self._found.put(found.positions.tobytes(), replace(found, samples=()))

    def at(self, positions: Positions) -> Converged | None:
        """What converged at exactly these positions, as the viewer gives them back; None where nothing is known."""
        key = positions.tobytes()
        found = self._found.get(key)
        if found is not None and not Path(OneFile.read(found.source).path).exists():
            self._found.pop(key)
            return None
        return found

    def nearest(self, positions: Positions, other: Converged | None) -> Converged | None:
        """What is nearest to some positions of all that is known, and of another one."""
        known = [*([] if other is None else [replace(other, samples=())]), *self._found]
        return min(known, key=lambda found: float(np.linalg.norm(found.positions - positions)), default=None)


def _size(found: Converged) -> int:
    wavefunction = found.wavefunction
    sets = [wavefunction.alpha] if wavefunction.beta is None else [wavefunction.alpha, wavefunction.beta]
    return sum(orbitals.coefficients.nbytes for orbitals in sets)


Kind = Literal["distance", "angle", "dihedral"]

_KINDS: dict[int, tuple[Kind, str, float, Callable[..., float], Callable[..., Positions]]] = {
    2: ("distance", "Angstrom", angstrom, distance, with_distance),
    3: ("angle", "degrees", np.pi / 180, angle, with_angle),
    4: ("dihedral", "degrees", np.pi / 180, dihedral, with_dihedral),
}
"""By the number of atoms: kind, unit, the unit in bohr or radian, what measures and what changes a geometry."""

SCAN_UNITS = alternatives(list(dict.fromkeys(unit for _, unit, *_ in _KINDS.values())))
"""Units of values that are scanned, for people."""

MOST = 361
"""Values of a scan."""

_APART = 4e-7
"""What tells one place from the same place, in bohr: less than `_SAME`, and more than digits of single precision."""

_SAME = 1e-6
"""Positions in bohr that differ by less are the same."""

_WIDTH = 90
"""Letters of a reason in a table."""

_USUAL = {"distance": 21, "angle": 21, "dihedral": 37}
"""Number of values of a scan of each kind, by default."""


@dataclass(frozen=True, eq=False)
class Scan:
    """Geometries that differ in a distance, an angle or a dihedral.

    Attributes
    ----------
    atoms : tuple of int
        From 0: two, three or four.
    values : ndarray, shape (n,)
        In bohr or radian.
    geometries : ndarray, shape (n, n_atoms, 3)
        In bohr, as the viewer gives them back when its atoms are there.
    """

    atoms: tuple[int, ...]
    values: NDArray[np.float64]
    geometries: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        values = self.shown_values
        return f"{self.name} at {len(self)} values from {values[0]:.4g} to {values[-1]:.4g} {self.unit}"

    @property
    def kind(self) -> Kind:
        """What is changed."""
        return _KINDS[len(self.atoms)][0]

    @property
    def unit(self) -> str:
        """Of the values for people."""
        return _KINDS[len(self.atoms)][1]

    @property
    def shown_values(self) -> tuple[float, ...]:
        """The values in Angstrom or degrees."""
        return tuple((self.values / _KINDS[len(self.atoms)][2]).tolist())

    @property
    def name(self) -> str:
        """What is scanned, for people."""
        return f"{self.kind} {'-'.join(str(atom + 1) for atom in self.atoms)}"

    def index_of(self, value: float) -> int:
        """Of the value nearest to one in Angstrom or degrees."""
        return self._nearest(value * _KINDS[len(self.atoms)][2])

    def index_at(self, positions: Positions) -> int:
        """Of the value nearest to that of some positions."""
        try:
            return self._nearest(_KINDS[len(self.atoms)][3](positions, self.atoms))
        except OrbitileError:  # there is no dihedral
            return int(np.argmin(np.linalg.norm(self.geometries - positions, axis=(1, 2))))

    def _nearest(self, value: float) -> int:
        away = np.abs(self.values - value)
        if self.kind == "dihedral":
            away = np.minimum(away, np.abs(np.angle(np.exp(1j * away))) + _SAME)  # ends of a full circle are told apart
        return int(np.argmin(away))


def scan_of(
    atomic_numbers: NDArray[np.int64],
    positions: Positions,
    atoms: tuple[int, ...],
    first: float | None,
    last: float | None,
    n_values: int | None,
    as_held: Callable[[Positions], Positions],
) -> Scan:
    """A scan about a geometry.

    Parameters
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    atoms
        Two, three or four, from 0.
    first, last
        Values in Angstrom or degrees. By default a dihedral goes all the way round, an angle 40 degrees to either side,
        and a distance from three quarters to the double.
    n_values
        From the first to the last, both included; by default 37 of a dihedral and 21 of others.
    as_held
        `Viewer.as_held`.

    Raises
    ------
    OrbitileError
        When these are not two to four different atoms of the molecule, there are too few or too many values, or the
        value of these atoms cannot be changed, see `with_distance`.
    """
    if len(atoms) not in _KINDS or len(set(atoms)) < len(atoms) or not all(0 <= n < len(positions) for n in atoms):
        listed = "-".join(str(atom + 1) for atom in atoms) or "none"
        raise OrbitileError(f"atoms: expected two, three or four of 1 to {len(positions)}, each once, got {listed}")
    kind, unit, one, measured, changed = _KINDS[len(atoms)]
    now = measured(positions, atoms) / one
    low, high = {
        "distance": (0.75 * now, 2 * now),
        "angle": (max(now - 40, 20), min(now + 40, 180)),
        "dihedral": (-180.0, 180.0),
    }[kind]
    low, high = low if first is None else first, high if last is None else last
    n = _USUAL[kind] if n_values is None else n_values
    if not 2 <= n <= MOST or low == high:
        raise OrbitileError(f"steps: expected 2 to {MOST} values that differ, got {n} from {low:g} to {high:g} {unit}")
    values = np.linspace(low, high, n) * one
    geometries = as_held(changed(atomic_numbers, positions, atoms, values))
    if np.array_equal(geometries[0], geometries[-1]):  # full circle, from where orbitals may come back with other signs
        geometries[-1] = as_held(geometries[-1] + _APART)
    return Scan(atoms, values, geometries)


@dataclass(frozen=True)
class ScanStatus:
    """What there is to say of a scan.

    Attributes
    ----------
    name : str
        Kind and atoms, as "dihedral 1-2-3-4".
    kind : str
    unit : str
        Angstrom or degrees.
    values : tuple of float
        In that unit.
    index : int
        Where the atoms are, from 0.
    known : tuple of bool
        Whether each geometry has been computed.
    energies : tuple of float or None
        In hartree.
    problems : tuple of str
        Why each geometry could not be computed; empty where there is no reason.
    """

    name: str
    kind: Kind
    unit: str
    values: tuple[float, ...]
    index: int
    known: tuple[bool, ...]
    energies: tuple[float | None, ...]
    problems: tuple[str, ...]

    @property
    def text(self) -> str:
        """How far it is, in some words."""
        failed = sum(map(bool, self.problems))
        return f"scan: {sum(self.known)} of {len(self.values)} computed" + (f", {failed} failed" if failed else "")

    @property
    def table(self) -> str:
        """Values and energies, a line each."""
        lowest = min((energy for energy in self.energies if energy is not None), default=0.0)
        lines = [f"{self.unit:>10} {'hartree':>16} {'kcal/mol':>10}   {self.name}"]
        for value, energy, problem in zip(self.values, self.energies, self.problems, strict=True):
            there = shorten(problem, _WIDTH, placeholder=" ...") or "not computed yet"
            if energy is not None:
                there = f"{energy:16.7f} {(energy - lowest) / kilocalorie_per_mole:10.3f}"
            lines.append(f"{value:10.3f} {there}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Ahead:
    """What of a scan is to be computed next.

    Attributes
    ----------
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    fields : tuple of Request
        That are not known there.
    beside : ndarray or None
        The geometry of the value before, going outwards from where the atoms are, where that is known: from there
        orbitals keep their identity, though another one may be as near when a dihedral comes full circle.
    compares : bool
        As of `Order`.
    """

    positions: Positions
    fields: tuple[Request, ...]
    beside: Positions | None = None
    compares: bool = False


class RunningScan:
    """What is known of the geometries of a scan, and which one comes next.

    Parameters
    ----------
    scan : Scan
    positions : ndarray, shape (n_atoms, 3)
        Where the atoms are, in bohr.

    Attributes
    ----------
    index : int
        Of the value that the atoms were put to last.
    """

    def __init__(self, scan: Scan, positions: Positions) -> None:
        self.scan, self.index = scan, scan.index_at(positions)
        self._indices: dict[bytes, list[int]] = {}
        for index, geometry in enumerate(scan.geometries):  # both ends of a dihedral may be one place
            self._indices.setdefault(geometry.tobytes(), []).append(index)
        self._energies: dict[int, float] = {}
        self._sources: dict[int, str] = {}
        self._wanted: frozenset[Request] = frozenset()
        self._fields: dict[int, frozenset[Request]] = {}
        self._compared: set[int] = set()
        self._problems: dict[int, str] = {}

    @property
    def sources(self) -> tuple[str, ...]:
        """Files of the wavefunctions that are known, in the order of the values."""
        return tuple(self._sources[index] for index in sorted(self._sources))

    def go_to(self, index: int) -> Positions:
        """The geometry of a value, to which the atoms are put.

        Raises
        ------
        OrbitileError
            When there is none.
        """
        if not 0 <= index < len(self.scan):
            raise OrbitileError(f"scan: expected a value from 1 to {len(self.scan)}, got {index + 1}")
        self.index = index
        return self.scan.geometries[index]

    def index_at(self, positions: Positions) -> int:
        """Of the value where the atoms are: the first and the last of a dihedral may be one place."""
        is_there = np.abs(self.scan.geometries[self.index] - positions).max() < _SAME
        return self.index if is_there else self.scan.index_at(positions)

    def status(self, positions: Positions) -> ScanStatus:
        """What there is to say when the atoms are somewhere."""
        scan, every = self.scan, range(len(self.scan))
        return ScanStatus(
            scan.name,
            scan.kind,
            scan.unit,
            scan.shown_values,
            self.index_at(positions),
            tuple(index in self._energies for index in every),
            tuple(self._energies.get(index) for index in every),
            tuple(self._problems.get(index, "") for index in every),
        )

    def next(self, positions: Positions, fields: Iterable[Request]) -> Ahead | None:
        """What is to be computed next so that some fields of all geometries are known; None when they are.

        Geometries beside the one where the atoms are come first, of both sides in turn; when all are known, their
        fields are compared with those that begin from atoms.
        """
        here, wanted = self.index_at(positions), dict.fromkeys(fields)
        if wanted.keys() != self._wanted:
            self._wanted = frozenset(wanted)
            self._fields = {index: known & self._wanted for index, known in self._fields.items()}
        order = [index for index in _outwards(here, len(self.scan)) if index not in self._problems]
        for index in order:
            known = self._fields.get(index)
            missing = tuple(field for field in wanted if known is None or field not in known)
            if known is None or missing:
                beside = index + (1 if index < here else -1 if index > here else 0)
                before = self.scan.geometries[beside] if beside in self._sources else None
                return Ahead(self.scan.geometries[index], missing, before)
        left = next((index for index in order if index not in self._compared), None)
        return None if left is None else Ahead(self.scan.geometries[left], (), compares=True)

    def take(self, found: Converged, order: Order) -> bool:
        """Take note of what has converged; says whether it is a geometry of the scan."""
        indices = self._indices.get(found.positions.tobytes(), [])
        for index in indices:
            is_same = self._sources.get(index) == found.source
            before = self._fields[index] if is_same else frozenset()
            self._energies[index], self._sources[index] = found.energy, found.source
            self._fields[index] = before.union(order.fields)
            self._problems.pop(index, None)
            if found.is_compared or order.compares:
                self._compared.add(index)
        return bool(indices)

    def refuse(self, positions: Positions, problem: str) -> None:
        """Take note of a geometry that cannot be computed."""
        for index in self._indices.get(positions.tobytes(), []):
            self._problems[index] = problem


def _outwards(here: int, n: int) -> list[int]:
    """Numbers below n, those next to one first, of both sides in turn."""
    return sorted(range(n), key=lambda index: abs(index - here))

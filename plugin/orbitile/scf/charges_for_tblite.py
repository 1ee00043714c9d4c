r"""External charges for tblite, whose interfaces take none: an interaction of ours in place of its electric field.

The density of GFN1-xTB and GFN2-xTB is a charge q, a dipole and a traceless quadrupole moment of each atom, and those
are what the field of the charges acts on, to all orders that they have (A. J. Stone, The Theory of Intermolecular
Forces, 2nd ed., Oxford 2013, chapter 2):

.. math::  E = \sum_A \Bigl( q_A V(R_A) + \mu_A \cdot \nabla V(R_A)
    + \tfrac{1}{3} \sum_{ab} \Theta_{A,ab}\, \partial_a \partial_b V(R_A) \Bigr)

with V of points, or of Gaussians where charges have a width, both averaged over Gaussians for the extent of an atom. So
does tblite with its homogeneous field, which charges far away give; the program xtb has the first term alone.

What tblite sums over its interactions is found in a table of procedures for each kind of them. An electric field of
zero is given a copy of its table here, with two of them replaced. They take arrays as gfortran describes them; the
table, descriptions and shapes are compared with what is expected before anything is read or written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..gaussians.potentials import radial_derivatives
from ..model.external_charges import ExternalCharges

RELEASE = "0.8"
"""The series of tblite whose types these are."""

_MODULE = "__tblite_external_field_MOD_"
_WORDS = 16
"""Of a table: 6 or 7 of the type, by the compiler's version, then 8 procedures."""

_MATRIX, _CUBE = 88, 112
"""Bytes of the descriptions of arrays of two and three dimensions."""

_POTENTIAL = (8, 8 + 3 * _MATRIX, 8 + 3 * _MATRIX + _CUBE)
"""Where `potential_type` has potentials of charges, dipoles and quadrupoles of atoms."""

_DENSITY = (624, 624 + 2 * _MATRIX, 624 + 2 * _MATRIX + _CUBE)
"""Where `wavefunction_type` has charges, dipoles and quadrupoles of atoms."""

_ROW, _COLUMN = np.tril_indices(3)
_COLUMNS = slice(0, 1), slice(1, 4), slice(4, 10)
_SHARES = np.where(_ROW == _COLUMN, 1, 2) / 3
"""Components xx, xy, yy, xz, yz, zz of quadrupoles, columns of charges, dipoles and these, how often each counts."""

_EXTENT = 1.5
"""Width in bohr of the Gaussians that moments of atoms are: at 6 bohr as points (1e-8), and energies have a bound where
atoms are dragged over charges."""

_AT_ONCE = 4096
"""Charges whose numbers stay in the cache of a processor."""


class ChargesForTblite:
    """The interaction of one geometry with charges around it.

    Attributes
    ----------
    moments : ndarray, shape (n_atoms, 10)
        Charges, dipoles and quadrupoles of the atoms, after tblite has computed. To its gradient, which knows the field
        from the orbitals alone, `gradients` of these are to be added.
    """

    def __init__(self, external: ExternalCharges, positions: Reals) -> None:
        self._potentials = potentials(external, positions)
        self._error: Exception | None = None
        self.moments: Reals = np.zeros_like(self._potentials)

    @contextmanager
    def added_to(self, calculator: Any) -> Iterator[None]:
        """While a calculator of tblite's Python interface computes, it does so in the field of the charges."""
        tblite = import_module("tblite.library")
        table, original = _table()
        container = tblite.lib.tblite_new_electric_field(tblite.ffi.new("double[3]"))
        instance = (ctypes.c_size_t * 2).from_address(int(tblite.ffi.cast("uintptr_t", container)))
        if instance[1] != original:
            raise OrbitileError(_other_build())
        key, instance[1] = instance[0], ctypes.addressof(table)
        _in_use[key] = self
        try:
            tblite.calculator_push_back(calculator._ctx, calculator._calc, container)
            yield
        finally:
            del _in_use[key]
        if self._error is not None:
            raise self._error

    def get_potential(self, potential: int) -> None:
        """Add potentials to those of tblite."""
        for theirs, columns in self._of_atoms(potential, _POTENTIAL):
            theirs += self._potentials[:, columns].reshape(theirs.shape)

    def get_energy(self, density: int, energies: int) -> None:
        """Add energies of atoms to those of tblite, which asks for them last at the density that it ends with."""
        for theirs, columns in self._of_atoms(density, _DENSITY):
            self.moments[:, columns] = theirs.reshape(len(theirs), -1)
        _array(energies, (len(self.moments),))[...] += (self.moments * self._potentials).sum(1)

    def _of_atoms(self, address: int, offsets: tuple[int, int, int]) -> Iterator[tuple[Reals, slice]]:
        """What a type of tblite has for charges, dipoles and quadrupoles, each with the columns that it is here."""
        n = len(self.moments)
        for offset, shape, columns in zip(offsets, ((n,), (n, 3), (n, 6)), _COLUMNS, strict=True):
            yield _array(address + offset, (1, *shape))[0], columns


_in_use: dict[int, ChargesForTblite] = {}
"""By the address of tblite's instance."""


def obstacle() -> str:
    """Why the tblite that is installed takes no external charges, empty where it does."""
    found = version("tblite")
    if found != RELEASE and not found.startswith(f"{RELEASE}."):
        return f"external charges are for tblite {RELEASE}, and {found} is installed"
    try:
        _table()
    except OrbitileError as error:
        return str(error)
    return ""


def potentials(external: ExternalCharges, positions: Reals) -> Reals:
    """Potentials that charges, dipoles and quadrupoles of atoms are in, shape (n_atoms, 10), in atomic units.

    Of Gaussians where charges have widths; at positions in bohr.
    """
    result = np.zeros((len(positions), 10))
    for atom, _, along, (zeroth, first, second, _) in _around(external, positions):
        curvature = (along * second) @ along.T - first.sum() * np.eye(3)
        result[atom] += np.concatenate([[zeroth.sum()], -(along @ first), curvature[_ROW, _COLUMN] * _SHARES])
    return result


def gradients(external: ExternalCharges, positions: Reals, moments: Reals) -> tuple[Reals, Reals]:
    """Derivatives of the energy of moments in the field, when atoms or external charges move, in hartree/bohr.

    Parameters
    ----------
    external
        The charges.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    moments : ndarray, shape (n_atoms, 10)
        Charges, dipoles, and components xx, xy, yy, xz, yz, zz of quadrupoles.

    Returns
    -------
    tuple of ndarray, shapes (n_atoms, 3) and (n_charges, 3)
    """
    at_atoms, at_charges = np.zeros((len(positions), 3)), np.zeros((3, len(external)))
    tensors = np.zeros((len(positions), 3, 3))
    tensors[:, _ROW, _COLUMN] = tensors[:, _COLUMN, _ROW] = moments[:, 4:] / 3
    for atom, some, along, (_, first, second, third) in _around(external, positions):
        charge, dipole, turned = moments[atom, 0], moments[atom, 1:4], tensors[atom] @ along
        each = along * ((dipole @ along) * second - charge * first - (along * turned).sum(0) * third)
        each += turned * (2 * second)
        each -= np.outer(dipole, first)
        at_atoms[atom] += each.sum(1)
        at_charges[:, some] -= each
    return at_atoms, at_charges.T


def _around(external: ExternalCharges, positions: Reals) -> Iterator[tuple[int, slice, Reals, Reals]]:
    """For each atom and some of the charges: vectors from them, (3, n), and `radial_derivatives` to the third."""
    for start in range(0, len(external), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        places, widths = np.ascontiguousarray(external.positions[some].T), np.hypot(external.widths, _EXTENT)[some]
        charges = external.charges[some]
        for atom, position in enumerate(positions):
            along = position[:, None] - places
            yield atom, some, along, radial_derivatives(charges, (along**2).sum(0), widths, 3)


@cache
def _table() -> tuple[Any, int]:
    """The table of procedures with ours, and the address of that of tblite.

    Calculators refer to it until they end, so it is kept.

    Raises
    ------
    OrbitileError
        When the library is not built as is expected.
    """
    library = ctypes.CDLL(import_module("tblite._libtblite").__file__)
    try:
        original, *theirs = (
            ctypes.addressof(ctypes.c_char.in_dll(library, _MODULE + name))
            for name in ("__vtab_tblite_external_field_Electric_field", *_OURS)
        )
    except ValueError as error:
        raise OrbitileError(_other_build()) from error
    table = (ctypes.c_size_t * _WORDS).from_buffer_copy(
        ctypes.string_at(original, _WORDS * ctypes.sizeof(ctypes.c_size_t))
    )
    for address, ours in zip(theirs, _OURS.values(), strict=True):
        if list(table).count(address) != 1:
            raise OrbitileError(_other_build())
        table[list(table).index(address)] = ctypes.cast(ours, ctypes.c_void_p).value or 0
    return table, original


def _procedure(method: Callable[..., None], *taken: int) -> Any:
    """What Fortran calls: a method of the interaction that is in use, which takes some of the five arguments."""

    def call(instance: int, *arguments: int) -> None:
        field = _in_use[ctypes.c_size_t.from_address(instance).value]
        try:
            method(field, *(arguments[argument] for argument in taken))
        except Exception as error:  # raised when tblite has ended
            field._error = error

    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(call)


_OURS = {
    "get_potential": _procedure(ChargesForTblite.get_potential, 3),
    "get_energy": _procedure(ChargesForTblite.get_energy, 2, 3),
}
"""By the names of what they replace; arguments are the interaction, molecule, cache, density, and what is added to."""


def _array(description: int, shape: tuple[int, ...]) -> Reals:
    """An array that gfortran describes: address, offset, bytes a number, kind, span; then three words a dimension."""
    words = (ctypes.c_int64 * (5 + 3 * len(shape))).from_address(description)
    extents = tuple(words[i + 2] - words[i + 1] + 1 for i in range(5, len(words), 3))
    rank = words[3] >> 32 & 0xFF
    if not words[0] or words[2] != 8 or rank != len(shape) or words[5] != 1 or extents[::-1] != shape:
        raise OrbitileError(_other_build())
    return np.ctypeslib.as_array(ctypes.cast(words[0], ctypes.POINTER(ctypes.c_double)), shape)


def _other_build() -> str:
    return f"tblite {version('tblite')} is built in another way than its wheels, which take external charges"

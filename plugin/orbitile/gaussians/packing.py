r"""From a wavefunction to the flat arrays that the kernels read.

Two forms of the same orbital are built here. Both are linear in the orbital coefficients, so each keeps one sparse
matrix that takes coefficients in the basis of the wavefunction to its own: everything that conventions, pure functions,
normalisation and contraction ask for is folded into that matrix, once per wavefunction, and never seen by a kernel.

**Packed shells** (for the direct kernel; Stone et al., GPGPU 2009, section 3.1, doi 10.1145/1513895.1513897). The
orbital is

.. math::  \psi(r) = \sum_{atoms} \sum_{shells} \Big[\sum_m c'_m x^i y^j z^k\Big] \Big[\sum_p c'_p e^{-\zeta_p R^2}\Big]

The basis is stored once per distinct set of shells on an atom, atoms that share one stand together, and the
coefficients :math:`c'_m` stand in the order in which the loops read them. The part of the normalisation that depends on
the exponent is folded into :math:`c'_p`, the part that depends on the powers into :math:`c'_m` (eq. 5 there).

**Merged primitives** (for the lattice kernel). All shells of an atom that share an exponent are collected in one
polynomial,

.. math::  \psi(r) = \sum_p e^{-\zeta_p |r - R_p|^2} \sum_{i+j+k \le L_p} C^p_{ijk} x^i y^j z^k

Worked example
--------------
Hydrogen chloride in 6-31G*: chlorine has shells s(6) sp(6) sp(3) sp(1) d(1), hydrogen s(3) s(1). Readers split SP
shells, so chlorine has s s s s, p p p and d, hydrogen s s. Packed shells, chlorine's basis 0, hydrogen's basis 1::

    atom_basis                0 1
    basis_first_shell         0                 8     10
    shell_angular_momentum    0 0 1 0 1 0 1 2   0 0
    shell_first_primitive     0 6 12 18 21 24 25 26   27 30   31
    atom_first_coefficient    0 19              (19 = 4 * 1 + 3 * 3 + 6 Cartesian coefficients for chlorine)

Merged primitives: 17 for chlorine (6 of degree 0; 6 + 3 + 1 of degree 1, since s and p share them; 1 of degree 2)
and 4 of degree 0 for hydrogen, which makes 6 + 10 * 4 + 10 + 4 = 60 polynomial coefficients.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.caches import Derived
from ..model.cell import Cell, cell_of
from ..model.conventions import angular_normalization, cartesian_powers, pure_from_cartesian, radial_normalization
from ..model.neighbours import pairs_within
from ..model.wavefunction import Basis, Shell, Wavefunction
from .expansion import GaussianExpansion, polynomial_powers, runs, starts, term_counts
from .periodic import TOLERANCE, images_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Integers = NDArray[np.int32]


_MOST_PRODUCTS = 1 << 20
"""Products of numbers that take some ten milliseconds without SciPy, whose import takes 0.2 s."""


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A sparse matrix by rows, which takes a few columns by itself: small molecules need nothing of SciPy.

    Attributes
    ----------
    values : ndarray, shape (n_elements,)
    columns : ndarray of int, shape (n_elements,)
    first : ndarray of int, shape (n_rows + 1,)
        Range of elements of each row.
    n_columns : int
    """

    values: Reals
    columns: NDArray[np.integer]
    first: NDArray[np.integer]
    n_columns: int

    @classmethod
    def of(cls, matrix: csr_matrix) -> SparseRows:
        """Those of a matrix of SciPy."""
        rows = matrix.tocsr()
        return cls(rows.data, rows.indices, rows.indptr, rows.shape[1])

    @cached_property
    def matrix(self) -> csr_matrix:
        """The matrix for SciPy, shape (n_rows, n_columns)."""
        from scipy.sparse import csr_matrix

        return csr_matrix((self.values, self.columns, self.first), shape=(len(self.first) - 1, self.n_columns))

    def __matmul__(self, columns: NDArray[Any]) -> NDArray[Any]:
        """The product with a column, shape (n_columns,), or several, shape (n_columns, m)."""
        if len(self.values) * columns[:1].size > _MOST_PRODUCTS:
            return np.asarray(self.matrix @ columns)
        products = (self.values * columns[self.columns].T).T
        result = np.zeros((len(self.first) - 1, *columns.shape[1:]), products.dtype)
        filled = np.flatnonzero(np.diff(self.first))
        result[filled] = np.add.reduceat(products, self.first[filled], axis=0) if len(filled) else 0
        return result


@dataclass(frozen=True, eq=False)
class PackedShells:
    """Basis set in the order in which the direct kernel reads it. See the module for the layout.

    Attributes
    ----------
    atom_position : ndarray, shape (n_atoms, 3)
        Positions in bohr of the atoms that carry basis functions, those with equal bases together.
    atom_basis : ndarray of int32, shape (n_atoms,)
        Which distinct basis an atom has.
    atom_first_coefficient : ndarray of int32, shape (n_atoms,)
        First entry of the atom among the packed coefficients.
    basis_first_shell : ndarray of int32, shape (n_bases + 1,)
        Range of shells of each distinct basis.
    shell_angular_momentum : ndarray of int32, shape (n_shells,)
    shell_first_primitive : ndarray of int32, shape (n_shells + 1,)
        Range of primitives of each shell.
    exponent, contraction : ndarray, shape (n_primitives,)
        Exponents in bohr^-2 and normalised contraction coefficients.
    rows : SparseRows, shape (n_coefficients, n_basis)
        Takes orbital coefficients to packed Cartesian coefficients; `from_basis` is the same for SciPy.
    """

    atom_position: Reals
    atom_basis: Integers
    atom_first_coefficient: Integers
    basis_first_shell: Integers
    shell_angular_momentum: Integers
    shell_first_primitive: Integers
    exponent: Reals
    contraction: Reals
    rows: SparseRows

    @property
    def from_basis(self) -> csr_matrix:
        """The matrix of the rows."""
        return self.rows.matrix


@dataclass(frozen=True, eq=False)
class MergedPrimitives:
    """Gaussians times polynomials, one per distinct exponent on an atom.

    Attributes
    ----------
    centre : ndarray, shape (n_primitives, 3)
        In bohr.
    exponent : ndarray, shape (n_primitives,)
        In bohr^-2.
    degree : ndarray of int32, shape (n_primitives,)
        Degree L of the polynomial.
    first_term : ndarray of int32, shape (n_primitives + 1,)
        Range of polynomial coefficients of each primitive, in the order of `polynomial_powers`.
    rows : SparseRows, shape (n_terms, n_basis)
        Takes orbital coefficients to polynomial coefficients; `from_basis` is the same for SciPy.
    """

    centre: Reals
    exponent: Reals
    degree: Integers
    first_term: Integers
    rows: SparseRows

    @property
    def from_basis(self) -> csr_matrix:
        """The matrix of the rows."""
        return self.rows.matrix

    def with_terms(self, terms: Reals) -> GaussianExpansion:
        """The sum of its Gaussians with some polynomial coefficients, such as those of an orbital."""
        return GaussianExpansion(self.centre, self.exponent, self.degree, self.first_term, terms)

    def largest(self, terms: Reals) -> tuple[float, float]:
        """Largest magnitude of an orbital about the atoms, and that of the sum of the magnitudes of its terms.

        For a quick look at how large an orbital is: primitives farther than `_NEARBY` from a point are left out. The
        first orbital is evaluated as it is, which is all that a frame of a trajectory needs; from the second one on a
        matrix takes polynomial coefficients to values.

        Parameters
        ----------
        terms : ndarray, shape (n_terms,)
            Its polynomial coefficients.
        """
        if "_samplers" not in self.__dict__ and "_near" not in self.__dict__:
            values, magnitudes = self._values(terms)
        else:
            sampler, sampler_of_magnitudes = self._samplers
            values, magnitudes = np.abs(sampler @ terms), sampler_of_magnitudes @ np.abs(terms)
        return float(values.max()), float(magnitudes.max())

    @cached_property
    def _near(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Reals, Reals, int]:
        """Pairs of a point about the atoms and a primitive: both numbers, the vector between, the Gaussian; points."""
        atoms, atom_of = np.unique(self.centre, axis=0, return_inverse=True)
        atom_of = atom_of.reshape(-1)
        star = np.vstack([np.zeros((1, 3)), *(step * np.eye(3) for step in _STEPS)])
        offsets = star if len(atoms) <= _FEW else _STEPS[-1] * np.vstack([np.zeros(3), np.ones(3), -np.ones(3)])
        points = (atoms[:, None] + offsets).reshape(-1, 3)
        point, atom = pairs_within(points, atoms, _NEARBY)
        away = points[point] - atoms[atom]
        square = np.einsum("nd,nd->n", away, away)
        # the primitives of an atom, one after the other, for each pair with the atom
        of_atom, count = np.argsort(atom_of, kind="stable"), np.bincount(atom_of)
        pair = np.repeat(np.arange(len(atom)), count[atom])
        primitive = of_atom[runs(starts(count)[atom], count[atom])]
        power = self.exponent[primitive] * square[pair]
        counts = power < 30
        pair, primitive = pair[counts], primitive[counts]
        return point[pair], primitive, away[pair], np.exp(-power[counts]), len(points)

    def _monomials(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Reals]]:
        """Term by term: the pairs of `_near` that have it, its coefficients, and the values of the monomial there."""
        _, primitive, away, _, _ = self._near
        degrees = self.degree[primitive]
        for degree in sorted(set(self.degree.tolist())):  # np.unique would import numpy.ma
            chosen = np.flatnonzero(degrees == degree)
            first = self.first_term[primitive[chosen]].astype(np.intp)
            table = [np.ones((3, len(chosen)))]
            for _ in range(degree):
                table.append(table[-1] * away[chosen].T)
            for term, (i, j, k) in enumerate(polynomial_powers(degree)):
                yield chosen, first + term, table[i][0] * table[j][1] * table[k][2]

    def _values(self, terms: Reals) -> tuple[Reals, Reals]:
        """Magnitudes of an orbital, and sums of the magnitudes of its terms, at points about the atoms."""
        point, _, _, radial, n_points = self._near
        values, magnitudes = np.zeros(len(point)), np.zeros(len(point))
        for chosen, coefficient, monomial in self._monomials():
            part = monomial * terms[coefficient]
            values[chosen] += part
            magnitudes[chosen] += np.abs(part)
        totals = (np.bincount(point, part * radial, n_points).astype(np.float64) for part in (values, magnitudes))
        return np.abs(next(totals)), next(totals)

    @cached_property
    def _samplers(self) -> tuple[SparseRows, SparseRows]:
        """Take polynomial coefficients to values of the orbital at points about the atoms, shape (n_points, n_terms).

        The second holds the magnitudes of the first.
        """
        point, _, _, radial, n_points = self._near
        values, rows, columns = [], [], []
        for chosen, coefficient, monomial in self._monomials():
            values.append(radial[chosen] * monomial)
            rows.append(point[chosen])
            columns.append(coefficient)
        value, row, column = np.concatenate(values), np.concatenate(rows), np.concatenate(columns)
        order = np.argsort(row, kind="stable")
        order = order[np.abs(value[order]) >= 1e-12]
        parts = column[order], starts(np.bincount(row[order], minlength=n_points)), int(self.first_term[-1])
        return SparseRows(value[order], *parts), SparseRows(np.abs(value[order]), *parts)


_STEPS = (0.06, 0.25, 0.8)
"""Distances of sample points from the atom in bohr, along x, y and z."""

_FEW = 200
"""Larger molecules get three sample points an atom."""

_NEARBY = 15.0
"""Reach of the sampler in bohr: sums of diffuse functions that cancel must be seen whole."""


@dataclass(frozen=True)
class _AtomBasis:
    """One distinct basis: its shells (of the first atom that has it) and its blocks of the two matrices."""

    shells: tuple[Shell, ...]
    exponents: Reals
    degrees: Integers
    packed_block: Reals
    merged_block: Reals


@dataclass(frozen=True, eq=False)
class _Plan:
    """What depends on the basis set alone: both forms with all atoms at the origin, and which atoms they stand for."""

    packed: PackedShells
    merged: MergedPrimitives
    atoms: list[int]
    n_exponents: list[int]

    def at(self, positions: Reals) -> tuple[PackedShells, MergedPrimitives]:
        """Both forms with the atoms in their places; what does not move is shared."""
        where = positions[self.atoms]
        return (
            replace(self.packed, atom_position=where),
            replace(self.merged, centre=np.repeat(where, self.n_exponents, axis=0)),
        )


_PACKED = Derived[tuple[PackedShells, MergedPrimitives, _Plan]]("packed functions")

_plans_lock = threading.Lock()
_plans: WeakValueDictionary[tuple[object, ...], _Plan] = WeakValueDictionary()
"""By basis set, as long as a wavefunction that has it lives: frames of a trajectory share one."""


def packed_shells(wavefunction: Wavefunction | Basis) -> PackedShells:
    """Packed shells of a wavefunction; built at the first call and kept as long as the wavefunction lives."""
    return _pack(wavefunction)[0]


def merged_primitives(wavefunction: Wavefunction | Basis) -> MergedPrimitives:
    """Merged primitives of a wavefunction; built at the first call and kept as long as the wavefunction lives."""
    return _pack(wavefunction)[1]


def primitives_of_one_cell(wavefunction: Wavefunction) -> MergedPrimitives:
    """Merged primitives without images, about the places of the atoms in the cell; all there are, for a molecule."""
    cell = cell_of(wavefunction)
    if cell is None:
        return merged_primitives(wavefunction)
    return _plan_of(wavefunction.shells).at(cell.wrapped(wavefunction.positions))[1]


def _pack(wavefunction: Wavefunction | Basis) -> tuple[PackedShells, MergedPrimitives, _Plan]:
    def make() -> tuple[PackedShells, MergedPrimitives, _Plan]:
        plan = _plan_of(wavefunction.shells)
        packed, merged = plan.at(wavefunction.positions)
        if isinstance(wavefunction, Wavefunction) and (cell := cell_of(wavefunction)) is not None:
            packed, merged = _with_images(wavefunction, cell, packed, merged, plan.n_exponents)
        return packed, merged, plan

    return _PACKED.of(wavefunction, None, make)


def _plan_of(shells: tuple[Shell, ...]) -> _Plan:
    key = tuple((shell.atom, *_kind(shell)) for shell in shells)
    with _plans_lock:
        plan = _plans.get(key)
        if plan is None:
            plan = _plans[key] = _build(shells)
    return plan


def _kind(shell: Shell) -> tuple[object, ...]:
    """What two shells that differ in their atoms alone have in common."""
    return shell.angular_momentum, shell.pure, shell.exponents.tobytes(), shell.coefficients.tobytes()


def _build(shells: tuple[Shell, ...]) -> _Plan:
    shells_of: dict[int, list[int]] = {}
    first_function = np.concatenate([[0], np.cumsum([shell.n_functions for shell in shells])])
    for index, shell in enumerate(shells):
        shells_of.setdefault(shell.atom, []).append(index)

    bases: list[_AtomBasis] = []
    known: dict[tuple[object, ...], int] = {}
    basis_of: dict[int, int] = {}
    for atom, indices in shells_of.items():
        mine = tuple(shells[index] for index in indices)
        key = tuple(_kind(shell) for shell in mine)
        if key not in known:
            known[key] = len(bases)
            bases.append(_atom_basis(mine))
        basis_of[atom] = known[key]
    atoms = sorted(shells_of, key=lambda atom: (basis_of[atom], atom))
    chosen = [bases[basis_of[atom]] for atom in atoms]
    columns = [
        np.concatenate([np.arange(first_function[index], first_function[index + 1]) for index in shells_of[atom]])
        for atom in atoms
    ]
    nowhere = np.zeros((len(atoms), 3))
    n_basis = int(first_function[-1])
    n_exponents = [len(basis.exponents) for basis in chosen]

    all_shells = [shell for basis in bases for shell in basis.shells]
    packed = PackedShells(
        atom_position=nowhere,
        atom_basis=np.array([basis_of[atom] for atom in atoms], np.int32),
        atom_first_coefficient=starts([basis.packed_block.shape[0] for basis in chosen])[:-1],
        basis_first_shell=starts([len(basis.shells) for basis in bases]),
        shell_angular_momentum=np.array([shell.angular_momentum for shell in all_shells], np.int32),
        shell_first_primitive=starts([len(shell.exponents) for shell in all_shells]),
        exponent=np.concatenate([shell.exponents for shell in all_shells]),
        contraction=np.concatenate(
            [shell.coefficients * radial_normalization(shell.exponents, shell.angular_momentum) for shell in all_shells]
        ),
        rows=_block_matrix([basis.packed_block for basis in chosen], columns, n_basis),
    )
    degree = np.concatenate([basis.degrees for basis in chosen])
    merged = MergedPrimitives(
        centre=np.repeat(nowhere, n_exponents, axis=0),
        exponent=np.concatenate([basis.exponents for basis in chosen]),
        degree=degree,
        first_term=starts(term_counts(degree)),
        rows=_block_matrix([basis.merged_block for basis in chosen], columns, n_basis),
    )
    return _Plan(packed, merged, atoms, n_exponents)


def _atom_basis(shells: tuple[Shell, ...]) -> _AtomBasis:
    """Blocks of the two matrices for the shells of one atom."""
    distinct = {exponent for shell in shells for exponent in shell.exponents.tolist()}
    exponents = np.array(sorted(distinct, reverse=True), float)
    index_of = {float(exponent): n for n, exponent in enumerate(exponents)}
    degrees = np.zeros(len(exponents), np.int32)
    for shell in shells:
        for exponent in shell.exponents:
            n = index_of[float(exponent)]
            degrees[n] = max(degrees[n], shell.angular_momentum)
    first_term = starts(term_counts(degrees))
    rows = [
        {powers: int(start) + n for n, powers in enumerate(polynomial_powers(int(degree)))}
        for start, degree in zip(first_term, degrees, strict=False)
    ]

    n_functions = sum(shell.n_functions for shell in shells)
    n_cartesian = sum(len(cartesian_powers(shell.angular_momentum)) for shell in shells)
    packed_block = np.zeros((n_cartesian, n_functions))
    merged_block = np.zeros((int(first_term[-1]), n_functions))
    row = column = 0
    for shell in shells:
        powers = cartesian_powers(shell.angular_momentum)
        # monomials (rows) in terms of basis functions (columns)
        block = np.diag([angular_normalization(p) for p in powers])
        if shell.pure:
            block = block @ pure_from_cartesian(shell.angular_momentum).T
        here = slice(column, column + shell.n_functions)
        packed_block[row : row + len(powers), here] = block
        radial = shell.coefficients * radial_normalization(shell.exponents, shell.angular_momentum)
        for exponent, weight in zip(shell.exponents, radial, strict=True):
            terms = rows[index_of[float(exponent)]]
            merged_block[[terms[p] for p in powers], here] += weight * block
        row += len(powers)
        column += shell.n_functions
    return _AtomBasis(shells, exponents, degrees, packed_block, merged_block)


def _block_matrix(blocks: list[Reals], columns: list[NDArray[np.int64]], n_columns: int) -> SparseRows:
    """Sparse matrix with the blocks below each other, each in the columns given for it."""
    values, indices, counts = [], [], []
    for block, column in zip(blocks, columns, strict=True):
        i, j = block.nonzero()
        values.append(block[i, j])
        indices.append(column[j])
        counts.append(np.bincount(i, minlength=len(block)))
    return SparseRows(np.concatenate(values), np.concatenate(indices), starts(np.concatenate(counts)), n_columns)


def _with_images(
    wavefunction: Wavefunction, cell: Cell, packed: PackedShells, merged: MergedPrimitives, n_primitives: list[int]
) -> tuple[PackedShells, MergedPrimitives]:
    """Both forms of a basis set with the images of its functions that matter in the cell.

    Parameters
    ----------
    wavefunction
        The largest coefficients of its orbitals tell how large a function may become.
    cell
        Where its orbitals are to be evaluated.
    packed, merged
        The forms of the basis set itself.
    n_primitives
        Merged primitives of each packed atom.
    """
    largest = np.max([np.abs(some.coefficients).max(axis=1) for some in wavefunction.sets if len(some)], axis=0)
    terms = abs(merged.from_basis) @ largest
    which, centre = images_of(merged.with_terms(terms), cell, TOLERANCE)
    counts = np.diff(merged.first_term)
    primitives = MergedPrimitives(
        centre=centre,
        exponent=merged.exponent[which],
        degree=merged.degree[which],
        first_term=starts(counts[which]),
        rows=SparseRows.of(merged.from_basis[runs(merged.first_term[which], counts[which])]),
    )
    # an atom goes with each of its primitives
    of_primitive = np.repeat(np.arange(len(n_primitives)), n_primitives)[which]
    shift = np.rint((centre - packed.atom_position[of_primitive]) @ np.linalg.inv(cell.vectors))
    rows = np.unique(np.column_stack([of_primitive, shift.astype(np.int64)]), axis=0)
    atom = rows[:, 0]
    size = np.diff([*packed.atom_first_coefficient, packed.from_basis.shape[0]])
    shells = PackedShells(
        atom_position=packed.atom_position[atom] + rows[:, 1:] @ cell.vectors,
        atom_basis=packed.atom_basis[atom],
        atom_first_coefficient=starts(size[atom])[:-1],
        basis_first_shell=packed.basis_first_shell,
        shell_angular_momentum=packed.shell_angular_momentum,
        shell_first_primitive=packed.shell_first_primitive,
        exponent=packed.exponent,
        contraction=packed.contraction,
        rows=SparseRows.of(packed.from_basis[runs(packed.atom_first_coefficient[atom], size[atom])]),
    )
    return shells, primitives

r"""Overlap of basis functions, screened and vectorised.

The matrix :math:`S_{\mu\nu} = \langle\phi_\mu|\phi_\nu\rangle` is sparse for large molecules; pairs of shells whose
Gaussian product is negligible are never formed, so that time and memory grow linearly with the number of atoms. Up to
2,000 basis functions it is an ordinary array, since that is filled and multiplied several times faster.
One-dimensional overlaps of primitives follow the recurrence of Obara and Saika (J. Chem. Phys. 1986, 84, 3963).
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..base.memory import share
from ..model.cell import Cell
from ..model.conventions import angular_normalization, cartesian_powers, pure_from_cartesian, radial_normalization
from ..model.wavefunction import Shell, Wavefunction

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Matrix: TypeAlias = "NDArray[np.float64] | csr_matrix"

_NEGLIGIBLE_EXPONENT = 37.0
"""Products of Gaussians with a prefactor below exp(-37) = 9e-17 are left out."""

_CHUNK = share("lists", 128)
"""Pairs of primitives, and elements, worked on at once: some 20 MB. The lists of near pairs and of elements of a sparse
matrix take about six times what it takes."""

_NO_CELL = np.empty(0)
"""Stands for the vectors of the cell of a molecule."""

_DENSE = 2000**2
"""Up to this many elements (32 MB) a matrix is an ordinary array."""

_latest: WeakKeyDictionary[Wavefunction, NDArray[np.float64]] = WeakKeyDictionary()
"""The overlap of one wavefunction, the last one asked for, where it is dense: a frame that was checked is followed
next."""


_latest_lock = threading.Lock()
_latest_repeated: dict[tuple[object, ...], NDArray[np.float64]] = {}
"""The overlap of one basis set that repeats with a cell, the last one asked for, where it is dense: a file is read with
the one that it is then checked with."""


def overlap_matrix(bra: Wavefunction, ket: Wavefunction | None = None) -> csr_matrix:
    """Overlap of the basis functions of one wavefunction, or of two.

    Parameters
    ----------
    bra, ket
        Wavefunctions whose basis functions are the rows and the columns; without `ket` those of `bra` are both.

    Returns
    -------
    scipy.sparse.csr_matrix, shape (bra.n_basis, ket.n_basis)
        Overlaps, in the conventions of `orbitile.model.conventions`; of a periodic system those of a function of one
        cell with a function of all cells.
    """
    from scipy.sparse import csr_matrix

    other = bra if ket is None else ket
    return csr_matrix(repeated_overlap(bra.shells, bra.positions, other.shells, other.positions, bra.cell))


def own_overlap(wavefunction: Wavefunction) -> Matrix:
    """Overlap of the basis functions of a wavefunction, sparse if it is large; read-only where it is dense."""
    known = _latest.get(wavefunction)
    if known is not None:
        return known
    shells, positions = wavefunction.shells, wavefunction.positions
    made = repeated_overlap(shells, positions, shells, positions, wavefunction.cell)
    if isinstance(made, np.ndarray):
        made.setflags(write=False)
        _latest.clear()
        _latest[wavefunction] = made
    return made


def orbital_norms(
    shells: Sequence[Shell],
    positions: NDArray[np.float64],
    coefficients: NDArray[np.float64],
    cell: NDArray[np.float64] = _NO_CELL,
) -> NDArray[np.float64]:
    """Norms <psi|psi> of orbitals, shape (n_orbitals,), from coefficients of shape (n_basis, n_orbitals).

    With the vectors of a cell, shape (3, 3), those within one cell of orbitals that repeat with it.
    """
    matrix = repeated_overlap(shells, positions, shells, positions, cell)
    return np.einsum("ij,ij->j", coefficients, matrix @ coefficients)


def contraction_norms(shells: Sequence[Shell]) -> NDArray[np.float64]:
    """Norms of the functions of each shell, shape (n_shells,): 1 where the contraction is normalised."""
    norms = np.empty(len(shells))
    for n, shell in enumerate(shells):
        alpha, beta = shell.exponents[:, None], shell.exponents[None]
        of_pairs = (2 * np.sqrt(alpha * beta) / (alpha + beta)) ** (shell.angular_momentum + 1.5)
        norms[n] = shell.coefficients @ of_pairs @ shell.coefficients
    return norms


def inverse_root(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """G^(-1/2) of a positive definite matrix: C G^(-1/2) is orthonormal where G is C^T S C."""
    values, axes = np.linalg.eigh(gram)
    return (axes / np.sqrt(np.maximum(values, np.finfo(float).tiny))) @ axes.T


def shell_overlap(
    bra: Sequence[Shell], bra_positions: NDArray[np.float64], ket: Sequence[Shell], ket_positions: NDArray[np.float64]
) -> Matrix:
    """Overlap of the functions of two lists of shells, sparse if it is large; positions in bohr, (n_atoms, 3)."""
    same = bra is ket and bra_positions is ket_positions
    left = _ShellTable(bra, bra_positions)
    return _matrix(left, left if same else _ShellTable(ket, ket_positions), same)


def _matrix(left: _ShellTable, right: _ShellTable, same: bool) -> Matrix:
    """Overlaps of the functions of two tables; half of them are computed where both are the `same`."""
    from scipy.sparse import coo_matrix

    shape = (left.n_functions, right.n_functions)
    if shape[0] * shape[1] <= _DENSE:
        dense = np.zeros(shape)
        for i, j, block in _entries(left, right, same):
            dense[i, j] = block
            if same:
                dense[j, i] = block
        return dense
    rows, columns, values = [], [], []
    for i, j, block in _entries(left, right, same):
        i, j = np.broadcast_to(i, block.shape), np.broadcast_to(j, block.shape)
        # within the block of a shell with itself both halves are there already
        off = np.flatnonzero(i[:, 0, 0] != j[:, 0, 0])
        for row, column, value in ((i, j, block), (j[off], i[off], block[off]))[: 1 + same]:
            rows.append(row.ravel())
            columns.append(column.ravel())
            values.append(value.ravel())
    if not values:
        return coo_matrix(shape).tocsr()
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return coo_matrix(entries, shape=shape).tocsr()


def repeated_overlap(
    bra: Sequence[Shell],
    bra_positions: NDArray[np.float64],
    ket: Sequence[Shell],
    ket_positions: NDArray[np.float64],
    vectors: NDArray[np.float64],
) -> Matrix:
    """Overlap of functions with others that repeat with a cell; `shell_overlap` where there is no cell.

    Parameters
    ----------
    bra, bra_positions, ket, ket_positions
        As for `shell_overlap`.
    vectors : ndarray, shape (3, 3) or (0,)
        Of the cell, in bohr; empty for a molecule.

    Raises
    ------
    OrbitileError
        When the cell is too small for functions that are as diffuse.
    """
    if not len(vectors):
        return shell_overlap(bra, bra_positions, ket, ket_positions)
    key = None
    if bra is ket and bra_positions is ket_positions:
        of_shells = tuple((s.atom, s.pure, s.exponents.tobytes(), s.coefficients.tobytes()) for s in bra)
        key = (of_shells, tuple(s.angular_momentum for s in bra), bra_positions.tobytes(), vectors.tobytes())
    with _latest_lock:
        if key is not None and key in _latest_repeated:
            return _latest_repeated[key]
    made = _repeated(bra, bra_positions, ket, ket_positions, vectors)
    if key is not None and isinstance(made, np.ndarray):
        made.setflags(write=False)
        with _latest_lock:
            _latest_repeated.clear()
            _latest_repeated[key] = made
    return made


def _repeated(
    bra: Sequence[Shell],
    bra_positions: NDArray[np.float64],
    ket: Sequence[Shell],
    ket_positions: NDArray[np.float64],
    vectors: NDArray[np.float64],
) -> Matrix:
    cell = Cell(np.zeros(3), vectors)
    # where a function is does not matter when it repeats; near each other, few images are met
    left, right = cell.wrapped(bra_positions), cell.wrapped(ket_positions)
    widths = [1 / min(shell.exponents.min() for shell in shells) for shells in (bra, ket)]
    shifts = cell.images_within(float(np.sqrt(_NEGLIGIBLE_EXPONENT * sum(widths))))
    same = bra is ket and bra_positions is ket_positions
    table = _ShellTable(bra, left)
    other = table if same else _ShellTable(ket, right)
    total = _matrix(table, other, same)
    shifts = shifts[1:]
    if same:  # the image on the other side has the transposed overlap
        shifts = shifts[_is_ahead(np.rint(shifts @ np.linalg.inv(vectors)))]
    for shift in shifts:
        image = _matrix(table, other.moved(shift), False)
        total = total + image + image.T if same else total + image
    return total


def _is_ahead(steps: NDArray[np.float64]) -> NDArray[np.bool_]:
    """One of each pair of opposite translations, by numbers of cells along each vector, shape (n, 3)."""
    x, y, z = steps.T
    return (x > 0) | ((x == 0) & ((y > 0) | ((y == 0) & (z > 0))))


def _entries(
    left: _ShellTable, right: _ShellTable, same: bool
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]]:
    """Rows, columns and blocks of shell pairs, shape (n, functions of a, functions of b); each pair once if `same`."""
    near = _near_atoms(left, right)
    for kind_a, class_a in left.classes.items():
        for kind_b, class_b in right.classes.items():
            if same and kind_b < kind_a:
                continue  # the transposed block is taken from its partner
            a, b = _near_pairs(class_a, class_b, *near)
            if same and kind_a == kind_b:
                keep = a <= b
                a, b = a[keep], b[keep]
            primitives = class_a.exponents.shape[1] * class_b.exponents.shape[1]
            step = max(1, _CHUNK // (primitives + class_a.n_monomials * class_b.n_monomials))
            for start in range(0, len(a), step):
                some_a, some_b = a[start : start + step], b[start : start + step]
                block = _blocks(class_a, some_a, class_b, some_b)
                i = class_a.first_function[some_a][:, None, None] + np.arange(block.shape[1])[:, None]
                j = class_b.first_function[some_b][:, None, None] + np.arange(block.shape[2])
                yield i, j, block


class _Class:
    """Shells of one angular momentum, pure or not, and of one number of primitives, as arrays, in the order of atoms.

    Coefficients include the normalisation of the radial parts.
    """

    def __init__(
        self, shells: Sequence[Shell], first_function: NDArray[np.intp], positions: NDArray[np.float64]
    ) -> None:
        atoms = np.array([shell.atom for shell in shells])
        order = np.argsort(atoms, kind="stable")
        ordered = [shells[n] for n in order]
        self.angular_momentum, self.pure = ordered[0].angular_momentum, ordered[0].pure
        self.n_monomials = len(cartesian_powers(self.angular_momentum))
        self.first_function = first_function[order]
        self.centres = positions[atoms[order]]
        self.exponents = np.stack([shell.exponents for shell in ordered])
        radial = radial_normalization(self.exponents, self.angular_momentum)
        self.coefficients = np.stack([shell.coefficients for shell in ordered]) * radial
        self.smallest_exponent = self.exponents.min(axis=1)
        self.count = np.bincount(atoms, minlength=len(positions))
        """Shells of each atom."""
        self.first = np.cumsum(self.count) - self.count

    def moved(self, shift: NDArray[np.float64]) -> _Class:
        """The same shells at places that are shifted, in bohr."""
        other = copy(self)
        other.centres = self.centres + shift
        return other


class _ShellTable:
    """Shells by class, and what is needed of the atoms to find near pairs."""

    def __init__(self, shells: Sequence[Shell], positions: NDArray[np.float64]) -> None:
        sizes = np.array([shell.n_functions for shell in shells])
        ends = np.cumsum(sizes)
        self.n_functions = int(ends[-1])
        groups: dict[tuple[int, bool, int], list[int]] = defaultdict(list)
        for index, shell in enumerate(shells):
            groups[shell.angular_momentum, shell.pure, len(shell.exponents)].append(index)
        self.classes = {
            kind: _Class([shells[n] for n in members], (ends - sizes)[members], positions)
            for kind, members in sorted(groups.items())
        }
        self.positions = positions
        self.smallest_exponent = np.full(len(positions), np.inf)
        for class_ in self.classes.values():
            np.minimum.at(
                self.smallest_exponent, np.repeat(np.arange(len(positions)), class_.count), class_.smallest_exponent
            )

    def moved(self, shift: NDArray[np.float64]) -> _ShellTable:
        """The same shells on atoms that are shifted, in bohr."""
        other = copy(self)
        other.positions = self.positions + shift
        other.classes = {kind: class_.moved(shift) for kind, class_ in self.classes.items()}
        return other


def _near_atoms(
    left: _ShellTable, right: _ShellTable
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Pairs of atoms whose most diffuse functions overlap: indices, and squares of distances."""
    from scipy.spatial import cKDTree

    widest = right.smallest_exponent.min()
    own = left.smallest_exponent
    with np.errstate(invalid="ignore"):
        reach = np.where(np.isfinite(own), np.sqrt(_NEGLIGIBLE_EXPONENT * (1 / own + 1 / widest)), 0.0)
    found = cKDTree(right.positions).query_ball_point(left.positions, reach)
    i = np.repeat(np.arange(len(own)), [len(near) for near in found])
    j = np.concatenate([np.asarray(near, np.intp) for near in found])
    return i, j, np.sum((left.positions[i] - right.positions[j]) ** 2, axis=1)


def _near_pairs(
    left: _Class, right: _Class, i: NDArray[np.intp], j: NDArray[np.intp], squares: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of shells of two classes whose product is not negligible, on pairs of atoms."""
    count = left.count[i] * right.count[j]
    pair = np.repeat(np.arange(len(i)), count)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
    per_right = right.count[j][pair]
    a = left.first[i][pair] + place // per_right
    b = right.first[j][pair] + place % per_right
    alpha, beta = left.smallest_exponent[a], right.smallest_exponent[b]
    keep = alpha * beta / (alpha + beta) * squares[pair] < _NEGLIGIBLE_EXPONENT
    return a[keep], b[keep]


@lru_cache
def _to_functions(angular_momentum: int, pure: bool) -> NDArray[np.float64]:
    """Basis functions of a shell in terms of plain monomials: rows functions, columns monomials."""
    norms = np.array([angular_normalization(powers) for powers in cartesian_powers(angular_momentum)])
    return pure_from_cartesian(angular_momentum) * norms if pure else np.diag(norms)


def _blocks(left: _Class, a: NDArray[np.intp], right: _Class, b: NDArray[np.intp]) -> NDArray[np.float64]:
    """Overlaps of the functions of shell a[n] with those of shell b[n], shape (n, functions of a, functions of b)."""
    # by pairs of primitives: (n, primitives of a, primitives of b)
    alpha, beta = left.exponents[a][:, :, None], right.exponents[b][:, None, :]
    separation = (left.centres[a] - right.centres[b])[:, :, None, None]
    total = alpha + beta
    square = np.einsum("ndij,ndij->nij", separation, separation)
    prefactor = left.coefficients[a][:, :, None] * right.coefficients[b][:, None, :] * (np.pi / total) ** 1.5
    with np.errstate(under="ignore"):
        prefactor *= np.exp(-alpha * beta / total * square)
    la, lb = left.angular_momentum, right.angular_momentum
    tables = [_one_dimensional(la, lb, alpha, beta, total, separation[:, d]) for d in range(3)]
    powers_a, powers_b = cartesian_powers(la), cartesian_powers(lb)
    block = np.empty((len(a), len(powers_a), len(powers_b)))
    for m, (i, j, k) in enumerate(powers_a):
        for n, (u, v, w) in enumerate(powers_b):
            block[:, m, n] = np.einsum(
                "nij,nij,nij,nij->n", prefactor, tables[0][i][u], tables[1][j][v], tables[2][k][w]
            )
    return _to_functions(la, left.pure) @ block @ _to_functions(lb, right.pure).T


def _one_dimensional(
    la: int,
    lb: int,
    alpha: NDArray[np.float64],
    beta: NDArray[np.float64],
    total: NDArray[np.float64],
    separation: NDArray[np.float64],
) -> list[list[NDArray[np.float64]]]:
    """Table [i][j] of overlaps of x_a^i and x_b^j under a Gaussian product, relative to that of i = j = 0."""
    from_a, from_b = -beta / total * separation, alpha / total * separation
    half = 0.5 / total
    one = np.ones_like(total)
    table = [[one] * (lb + 1) for _ in range(la + 1)]
    for i in range(la + 1):
        for j in range(lb + 1):
            if i == j == 0:
                continue
            if i:
                value = from_a * table[i - 1][j]
                if i > 1:
                    value = value + (i - 1) * half * table[i - 2][j]
                if j:
                    value = value + j * half * table[i - 1][j - 1]
            else:
                value = from_b * table[0][j - 1]
                if j > 1:
                    value = value + (j - 1) * half * table[0][j - 2]
            table[i][j] = value
    return table

r"""Overlap of basis functions, screened and vectorised, and what follows: positions, kinetic energy, momenta.

The matrix :math:`S_{\mu\nu} = \langle\phi_\mu|\phi_\nu\rangle` is sparse for large molecules; pairs of shells whose
Gaussian product is negligible are never formed, so that time and memory grow linearly with the number of atoms. Up to
2,000 basis functions it is an ordinary array, since that is filled and multiplied several times faster; up to 4,000
where a good part of all pairs of atoms is near.
One-dimensional overlaps of primitives follow the recurrence of Obara and Saika (J. Chem. Phys. 1986, 84, 3963).

**Positions.** About its atom A a Cartesian function of angular momentum l becomes, times x, one of l + 1 with the same
exponents, so that :math:`x\,\phi = (x - A_x)\,\phi + A_x\,\phi` is a combination of functions of an enlarged basis,
and the integrals of x are overlaps.

**Kinetic energy** is made of the same one-dimensional overlaps s: along each axis, of primitives with exponents
:math:`\alpha` and :math:`\beta`,

.. math:: \tfrac12 \langle\partial_x (x_A^i e^{-\alpha x_A^2}) | \partial_x (x_B^j e^{-\beta x_B^2})\rangle =
    \tfrac12 i j\, s_{i-1,j-1} - \beta i\, s_{i-1,j+1} - \alpha j\, s_{i+1,j-1} + 2 \alpha\beta\, s_{i+1,j+1}

**Momenta** likewise: :math:`\langle x_A^i|\partial_x|x_B^j\rangle = j\, s_{i,j-1} - 2\beta\, s_{i,j+1}`, and
:math:`\langle x_A^i|x|x_B^j\rangle = s_{i+1,j} + A_x\, s_{ij}`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Indices, Reals
from ..base.caches import Cache, Derived
from ..base.memory import share
from ..base.watch import checkpoint
from ..model.cell import Cell, molecules_only
from ..model.conventions import angular_normalization, cartesian_powers, pure_from_cartesian, radial_normalization
from ..model.neighbours import pairs_within
from ..model.wavefunction import Basis, Shell, Wavefunction

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Matrix: TypeAlias = "Reals | csr_matrix"

_NEGLIGIBLE_EXPONENT = 37.0
"""Products of Gaussians with a prefactor below exp(-37) = 9e-17 are left out."""

_CHUNK = share("lists", 128)
"""Pairs of primitives, and elements, worked on at once: some 20 MB. The lists of near pairs and of elements of a sparse
matrix take about six times what it takes."""

_NO_CELL = np.empty(0)
"""Stands for the vectors of the cell of a molecule."""

_DENSE, _DENSE_IF_FULL = 2000**2, 4000**2
"""Up to this many elements (32 MB, and 128 MB) a matrix is an ordinary array: always, and where it is hardly sparse."""

_FULL = 0.2
"""Share of near pairs of atoms from which on a matrix counts as full: products with a sparse one take longer by far."""

_LATEST: Cache[Reals] = Cache("pairs of functions", most=2)
"""Overlaps of basis sets with themselves, where they are dense: a frame that was checked is followed next."""


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


def own_overlap(basis: Basis | Wavefunction) -> Matrix:
    """Overlap of basis functions, of a wavefunction say, sparse if it is large; read-only where it is dense."""
    cell = basis.cell if isinstance(basis, Wavefunction) else _NO_CELL
    return repeated_overlap(basis.shells, basis.positions, basis.shells, basis.positions, cell)


def dense(matrix: Matrix) -> Reals:
    """A matrix as an ordinary array, which a large one is not."""
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray(), np.float64)


def orbital_norms(shells: Sequence[Shell], positions: Reals, coefficients: Reals, cell: Reals = _NO_CELL) -> Reals:
    """Norms <psi|psi> of orbitals, shape (n_orbitals,), from coefficients of shape (n_basis, n_orbitals).

    With the vectors of a cell, shape (3, 3), those within one cell of orbitals that repeat with it.
    """
    matrix = repeated_overlap(shells, positions, shells, positions, cell)
    return np.einsum("ij,ij->j", coefficients, matrix @ coefficients)


def contraction_norms(shells: Sequence[Shell]) -> Reals:
    """Norms of the functions of each shell, shape (n_shells,): 1 where the contraction is normalised."""
    norms = np.empty(len(shells))
    for n, shell in enumerate(shells):
        alpha, beta = shell.exponents[:, None], shell.exponents[None]
        of_pairs = (2 * np.sqrt(alpha * beta) / (alpha + beta)) ** (shell.angular_momentum + 1.5)
        norms[n] = shell.coefficients @ of_pairs @ shell.coefficients
    return norms


def inverse_root(gram: Reals) -> Reals:
    """G^(-1/2) of a positive definite matrix: C G^(-1/2) is orthonormal where G is C^T S C."""
    values, axes = np.linalg.eigh(gram)
    return (axes / np.sqrt(np.maximum(values, np.finfo(float).tiny))) @ axes.T


def shell_overlap(bra: Sequence[Shell], bra_positions: Reals, ket: Sequence[Shell], ket_positions: Reals) -> Matrix:
    """Overlap of the functions of two lists of shells, sparse if it is large; positions in bohr, (n_atoms, 3)."""
    same = bra is ket and bra_positions is ket_positions
    left = _ShellTable(bra, bra_positions)
    return _matrix(left, left if same else _ShellTable(ket, ket_positions), same)


def kinetic_matrix(basis: Basis | Wavefunction) -> Matrix:
    """Kinetic energy in basis functions of a molecule, shape (n_basis, n_basis) in hartree, sparse if it is large."""
    table = _ShellTable(basis.shells, basis.positions)
    return _matrix(table, table, True, kinetic=True)


def momentum_matrices(basis: Basis | Wavefunction, origin: Reals) -> tuple[Reals, Reals]:
    r"""Matrices of linear and angular momentum of a molecule, but for the factor :math:`-i`.

    Parameters
    ----------
    basis
        Functions and positions.
    origin : ndarray, shape (3,)
        Of the angular momentum, in bohr.

    Returns
    -------
    linear : ndarray, shape (3, n_basis, n_basis)
        :math:`\langle\mu|\nabla|\nu\rangle`, in bohr^-1.
    angular : ndarray, shape (3, n_basis, n_basis)
        :math:`\langle\mu|(r - origin) \times \nabla|\nu\rangle`. Both are antisymmetric.
    """
    table = _ShellTable(basis.shells, basis.positions)
    matrices = np.zeros((6, table.n_functions, table.n_functions))
    near = _near_atoms(table, table)
    for kind_a, left in table.classes.items():
        for kind_b, right in table.classes.items():
            if kind_b < kind_a:
                continue
            a, b = _near_pairs(left, right, *near)
            step = max(1, _CHUNK // (left.exponents.shape[1] * right.exponents.shape[1] + 6 * left.n_monomials))
            for start in range(0, len(a), step):
                checkpoint()
                some_a, some_b = a[start : start + step], b[start : start + step]
                blocks = _momenta(left, some_a, right, some_b, origin)
                i = left.first_function[some_a][:, None, None] + np.arange(blocks.shape[2])[:, None]
                j = right.first_function[some_b][:, None, None] + np.arange(blocks.shape[3])
                matrices[:, j, i] = -blocks
                matrices[:, i, j] = blocks
    return matrices[:3], matrices[3:]


def _matrix(
    left: _ShellTable, right: _ShellTable, same: bool, kinetic: bool = False, sparse: bool | None = None
) -> Matrix:
    """Overlaps of the functions of two tables, or kinetic energy; half are computed where both are the `same`.

    It is sparse where that pays, unless it is said whether it is to be.
    """
    shape, near = (left.n_functions, right.n_functions), _near_atoms(left, right)
    if sparse is None:
        full = len(near[0]) > _FULL * len(left.positions) * len(right.positions)
        sparse = shape[0] * shape[1] > (_DENSE_IF_FULL if full else _DENSE)
    if not sparse:
        dense = np.zeros(shape)
        for i, j, block in _entries(left, right, near, same, kinetic):
            dense[i, j] = block
            if same:
                dense[j, i] = block
        return dense
    from scipy.sparse import coo_matrix

    rows, columns, values = [], [], []
    for i, j, block in _entries(left, right, near, same, kinetic):
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
    bra: Sequence[Shell], bra_positions: Reals, ket: Sequence[Shell], ket_positions: Reals, vectors: Reals
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
    key = None
    if bra is ket and bra_positions is ket_positions and sum(shell.n_functions for shell in bra) ** 2 <= _DENSE_IF_FULL:
        of_shells = tuple((s.atom, s.pure, s.exponents.tobytes(), s.coefficients.tobytes()) for s in bra)
        key = (of_shells, tuple(s.angular_momentum for s in bra), bra_positions.tobytes(), vectors.tobytes())
        if (known := _LATEST.get(key)) is not None:
            return known
    if len(vectors):
        made = _add_images(bra, bra_positions, ket, ket_positions, vectors)
    else:
        made = shell_overlap(bra, bra_positions, ket, ket_positions)
    if key is not None and isinstance(made, np.ndarray):
        made.setflags(write=False)
        _LATEST.put(key, made)
    return made


def _add_images(
    bra: Sequence[Shell], bra_positions: Reals, ket: Sequence[Shell], ket_positions: Reals, vectors: Reals
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
        image = _matrix(table, other.moved(shift), False, sparse=not isinstance(total, np.ndarray))
        total = total + image + image.T if same else total + image
    return total


def _is_ahead(steps: Reals) -> NDArray[np.bool_]:
    """One of each pair of opposite translations, by numbers of cells along each vector, shape (n, 3)."""
    x, y, z = steps.T
    return (x > 0) | ((x == 0) & ((y > 0) | ((y == 0) & (z > 0))))


def _entries(
    left: _ShellTable, right: _ShellTable, near: tuple[Indices, Indices, Reals], same: bool, kinetic: bool
) -> Iterator[tuple[Indices, Indices, Reals]]:
    """Rows, columns and blocks of shell pairs, shape (n, functions of a, functions of b); each pair once if `same`."""
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
                block = _blocks(class_a, some_a, class_b, some_b, kinetic)
                i = class_a.first_function[some_a][:, None, None] + np.arange(block.shape[1])[:, None]
                j = class_b.first_function[some_b][:, None, None] + np.arange(block.shape[2])
                yield i, j, block


class _Class:
    """Shells of one angular momentum, pure or not, and of one number of primitives, as arrays, in the order of atoms.

    Coefficients include the normalisation of the radial parts.
    """

    def __init__(self, shells: Sequence[Shell], first_function: Indices, positions: Reals) -> None:
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

    def moved(self, shift: Reals) -> _Class:
        """The same shells at places that are shifted, in bohr."""
        other = copy(self)
        other.centres = self.centres + shift
        return other


class _ShellTable:
    """Shells by class, and what is needed of the atoms to find near pairs."""

    def __init__(self, shells: Sequence[Shell], positions: Reals) -> None:
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

    def moved(self, shift: Reals) -> _ShellTable:
        """The same shells on atoms that are shifted, in bohr."""
        other = copy(self)
        other.positions = self.positions + shift
        other.classes = {kind: class_.moved(shift) for kind, class_ in self.classes.items()}
        return other


def _near_atoms(left: _ShellTable, right: _ShellTable) -> tuple[Indices, Indices, Reals]:
    """Pairs of atoms whose most diffuse functions overlap: indices, and squares of distances."""
    widest = right.smallest_exponent.min()
    own = left.smallest_exponent
    with np.errstate(invalid="ignore"):
        reach = np.where(np.isfinite(own), np.sqrt(_NEGLIGIBLE_EXPONENT * (1 / own + 1 / widest)), 0.0)
    i, j = pairs_within(left.positions, right.positions, reach)
    return i, j, np.sum((left.positions[i] - right.positions[j]) ** 2, axis=1)


def _near_pairs(left: _Class, right: _Class, i: Indices, j: Indices, squares: Reals) -> tuple[Indices, Indices]:
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
def _to_functions(angular_momentum: int, pure: bool) -> Reals:
    """Basis functions of a shell in terms of plain monomials: rows functions, columns monomials."""
    norms = np.array([angular_normalization(powers) for powers in cartesian_powers(angular_momentum)])
    return pure_from_cartesian(angular_momentum) * norms if pure else np.diag(norms)


def _blocks(left: _Class, a: Indices, right: _Class, b: Indices, kinetic: bool) -> Reals:
    """Integrals of the functions of shell a[n] with those of shell b[n], shape (n, functions of a, functions of b)."""
    la, lb = left.angular_momentum, right.angular_momentum
    alpha, beta, prefactor, tables = _along_axes(left, a, right, b, la + kinetic, lb + kinetic)
    moving = [_of_derivatives(la, lb, alpha, beta, table) for table in tables] if kinetic else []
    powers_a, powers_b = cartesian_powers(la), cartesian_powers(lb)
    block = np.empty((len(a), len(powers_a), len(powers_b)))
    for m, (i, j, k) in enumerate(powers_a):
        for n, (u, v, w) in enumerate(powers_b):
            x, y, z = (table[p][q] for table, p, q in zip(tables, (i, j, k), (u, v, w), strict=True))
            if kinetic:
                along = moving[0][i][u] * y * z + x * moving[1][j][v] * z + x * y * moving[2][k][w]
                block[:, m, n] = np.einsum("nij,nij->n", prefactor, along)
            else:
                block[:, m, n] = np.einsum("nij,nij,nij,nij->n", prefactor, x, y, z)
    return _to_functions(la, left.pure) @ block @ _to_functions(lb, right.pure).T


def _along_axes(
    left: _Class, a: Indices, right: _Class, b: Indices, highest_a: int, highest_b: int
) -> tuple[Reals, Reals, Reals, list[list[list[Reals]]]]:
    """Exponents, prefactors and one-dimensional overlaps along x, y, z by pairs of primitives.

    Arrays have the shape (n, primitives of a, primitives of b), or one that is broadcast to it.
    """
    alpha, beta = left.exponents[a][:, :, None], right.exponents[b][:, None, :]
    separation = (left.centres[a] - right.centres[b])[:, :, None, None]
    total = alpha + beta
    square = np.einsum("ndij,ndij->nij", separation, separation)
    prefactor = left.coefficients[a][:, :, None] * right.coefficients[b][:, None, :] * (np.pi / total) ** 1.5
    with np.errstate(under="ignore"):
        prefactor *= np.exp(-alpha * beta / total * square)
    tables = [_one_dimensional(highest_a, highest_b, alpha, beta, total, separation[:, d]) for d in range(3)]
    return alpha, beta, prefactor, tables


def _momenta(left: _Class, a: Indices, right: _Class, b: Indices, origin: Reals) -> Reals:
    """Gradient and angular momentum between shells a[n] and b[n], shape (6, n, functions of a, functions of b)."""
    la, lb = left.angular_momentum, right.angular_momentum
    _, beta, prefactor, tables = _along_axes(left, a, right, b, la + 1, lb + 1)
    places = (left.centres[a] - origin)[:, :, None, None]

    def slope(axis: int, i: int, j: int) -> Reals:
        value = -2 * beta * tables[axis][i][j + 1]
        return value + j * tables[axis][i][j - 1] if j else value

    def place(axis: int, i: int, j: int) -> Reals:
        return tables[axis][i + 1][j] + places[:, axis] * tables[axis][i][j]

    powers_a, powers_b = cartesian_powers(la), cartesian_powers(lb)
    blocks = np.empty((6, len(a), len(powers_a), len(powers_b)))
    for m, of_a in enumerate(powers_a):
        for n, of_b in enumerate(powers_b):
            s, d, x = (
                [function(axis, of_a[axis], of_b[axis]) for axis in range(3)]
                for function in (lambda axis, i, j: tables[axis][i][j], slope, place)
            )
            for axis in range(3):
                u, v = (axis + 1) % 3, (axis + 2) % 3
                blocks[axis, :, m, n] = np.einsum("nij,nij,nij,nij->n", prefactor, d[axis], s[u], s[v])
                turning = x[u] * d[v] - d[u] * x[v]
                blocks[3 + axis, :, m, n] = np.einsum("nij,nij,nij->n", prefactor, turning, s[axis])
    return _to_functions(la, left.pure) @ blocks @ _to_functions(lb, right.pure).T


def _one_dimensional(la: int, lb: int, alpha: Reals, beta: Reals, total: Reals, separation: Reals) -> list[list[Reals]]:
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


def _of_derivatives(la: int, lb: int, alpha: Reals, beta: Reals, table: list[list[Reals]]) -> list[list[Reals]]:
    """Half the overlaps of the derivatives, from a table up to la + 1 and lb + 1."""

    def element(i: int, j: int) -> Reals:
        value = 2 * alpha * beta * table[i + 1][j + 1]
        if i:
            value -= i * beta * table[i - 1][j + 1]
        if j:
            value -= j * alpha * table[i + 1][j - 1]
        if i and j:
            value += 0.5 * i * j * table[i - 1][j - 1]
        return value

    return [[element(i, j) for j in range(lb + 1)] for i in range(la + 1)]


@dataclass(frozen=True, eq=False)
class Enlarged:
    """A basis, and what is needed to multiply its functions by x, y and z.

    Attributes
    ----------
    shells : tuple of Shell
        The shells of the molecule, and behind them those of l + 1.
    times : tuple of scipy.sparse.csr_matrix, shape (n_enlarged, n_basis)
        Take coefficients of a function to those of x, y and z times it, in bohr.
    """

    shells: tuple[Shell, ...]
    times: tuple[csr_matrix, csr_matrix, csr_matrix]


_ENLARGED = Derived[Enlarged]("packed functions")


def enlarged(wavefunction: Wavefunction) -> Enlarged:
    """The basis of a wavefunction, enlarged; kept with it."""
    return _ENLARGED.of(wavefunction, None, lambda: _enlarge(wavefunction))


def position_integrals(wavefunction: Wavefunction, orbitals: Reals) -> Reals:
    """Elements of x, y and z between orbitals, in bohr.

    Parameters
    ----------
    wavefunction
        Whose basis functions the orbitals are made of.
    orbitals : ndarray, shape (n_basis, n)

    Returns
    -------
    ndarray, shape (3, n, n)

    Raises
    ------
    OrbitileError
        For a periodic system.
    """
    molecules_only(wavefunction, "positions of orbitals", "where an orbital that repeats is has no meaning")
    basis = enlarged(wavefunction)
    positions = wavefunction.positions
    image = shell_overlap(basis.shells, positions, wavefunction.shells, positions) @ orbitals
    elements = np.empty((3, orbitals.shape[1], orbitals.shape[1]))
    for element, times in zip(elements, basis.times, strict=True):
        checkpoint()
        product = (times @ orbitals).T @ image
        element[:] = 0.5 * (product + product.T)
    return elements


def centres_and_spreads(wavefunction: Wavefunction, orbitals: Reals) -> tuple[Reals, Reals]:
    r"""Centres of orbitals and their spreads, :math:`\sqrt{\langle r^2\rangle - \langle r\rangle^2}`.

    Parameters
    ----------
    wavefunction, orbitals
        As for `position_integrals`.

    Returns
    -------
    centres : ndarray, shape (n, 3)
        In bohr.
    spreads : ndarray, shape (n,)
        In bohr.
    """
    basis = enlarged(wavefunction)
    overlap: Matrix = shell_overlap(basis.shells, wavefunction.positions, basis.shells, wavefunction.positions)
    image = overlap[:, : wavefunction.n_basis] @ orbitals
    centres = np.empty((orbitals.shape[1], 3))
    squares = np.zeros(orbitals.shape[1])
    for axis, times in enumerate(basis.times):
        checkpoint()
        moved = times @ orbitals
        centres[:, axis] = np.einsum("mi,mi->i", moved, image)
        # about the centre at once: two large numbers would cancel far from the origin
        moved[: wavefunction.n_basis] -= orbitals * centres[:, axis]
        squares += np.einsum("mi,mi->i", moved, overlap @ moved)
    return centres, np.sqrt(np.maximum(squares, 0.0))


def _enlarge(wavefunction: Wavefunction) -> Enlarged:
    from scipy.sparse import coo_matrix

    shells = wavefunction.shells
    raised = tuple(_raise(shell) for shell in shells)
    n_basis = wavefunction.n_basis
    n_all = n_basis + sum(shell.n_functions for shell in raised)
    times = []
    for axis in range(3):
        rows, columns, values = [np.arange(n_basis)], [np.arange(n_basis)], [np.zeros(n_basis)]
        first, first_raised = 0, n_basis
        for shell, higher in zip(shells, raised, strict=True):
            block = _multiplication(shell.angular_momentum, shell.pure, axis)
            row, column = np.nonzero(block)
            rows.append(first_raised + row)
            columns.append(first + column)
            values.append(block[row, column])
            values[0][first : first + shell.n_functions] = wavefunction.positions[shell.atom, axis]
            first, first_raised = first + shell.n_functions, first_raised + higher.n_functions
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        times.append(coo_matrix(entries, shape=(n_all, n_basis)).tocsr())
    return Enlarged((*shells, *raised), (times[0], times[1], times[2]))


def _raise(shell: Shell) -> Shell:
    """Cartesian functions of l + 1 whose radial part is that of the shell."""
    l = shell.angular_momentum
    ratio = radial_normalization(shell.exponents, l) / radial_normalization(shell.exponents, l + 1)
    return Shell(shell.atom, l + 1, False, shell.exponents, shell.coefficients * ratio)


@lru_cache(maxsize=64)
def _multiplication(angular_momentum: int, pure: bool, axis: int) -> Reals:
    """Matrix that takes the functions of a shell to those of l + 1 when they are multiplied by x - A_x."""
    higher = {powers: n for n, powers in enumerate(cartesian_powers(angular_momentum + 1))}
    block = np.zeros((len(higher), len(cartesian_powers(angular_momentum))))
    for column, powers in enumerate(cartesian_powers(angular_momentum)):
        i, j, k = (power + (axis == n) for n, power in enumerate(powers))
        ratio = angular_normalization(powers) / angular_normalization((i, j, k))
        block[higher[i, j, k], column] = ratio
    return block @ pure_from_cartesian(angular_momentum).T if pure else block


def kinetic_energy(wavefunction: Wavefunction) -> float:
    """Kinetic energy of the electrons in real orbitals by their occupations, in hartree."""
    density = np.sum([(o.coefficients * o.occupations) @ o.coefficients.T for o in wavefunction.sets], axis=0)
    return _trace(density, kinetic_matrix(wavefunction))


def _trace(density: Reals, matrix: Matrix) -> float:
    """Trace of the product of a symmetric matrix and another one, which may be sparse."""
    product = matrix * density if isinstance(matrix, np.ndarray) else matrix.multiply(density)
    return float(product.sum())

r"""Overlap of basis functions, screened and vectorised.

The matrix :math:`S_{\mu\nu} = \langle\phi_\mu|\phi_\nu\rangle` is sparse for large molecules; pairs of shells whose
Gaussian product is negligible are never formed, so that time and memory grow linearly with the number of atoms.
One-dimensional overlaps of primitives follow the recurrence of Obara and Saika (J. Chem. Phys. 1986, 84, 3963).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .conventions import angular_normalization, cartesian_powers, pure_from_cartesian, radial_normalization
from .wavefunction import Shell, Wavefunction

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_NEGLIGIBLE_EXPONENT = 37.0
"""Products of Gaussians with a prefactor below exp(-37) = 9e-17 are left out."""

_CHUNK = 1 << 17
"""Pairs of primitives worked on at once: bounds the memory to about 100 MB whatever the molecule."""


def overlap_matrix(bra: Wavefunction, ket: Wavefunction | None = None) -> csr_matrix:
    """Overlap of the basis functions of one wavefunction, or of two.

    Parameters
    ----------
    bra, ket
        Wavefunctions whose basis functions are the rows and the columns; without `ket` those of `bra` are both.

    Returns
    -------
    scipy.sparse.csr_matrix, shape (bra.n_basis, ket.n_basis)
        Overlaps, in the conventions of `orbitile.conventions`.
    """
    other = bra if ket is None else ket
    return shell_overlap(bra.shells, bra.positions, other.shells, other.positions)


def orbital_norms(
    shells: Sequence[Shell], positions: NDArray[np.float64], coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Norms <psi|psi> of orbitals, shape (n_orbitals,), from coefficients of shape (n_basis, n_orbitals)."""
    matrix = shell_overlap(shells, positions, shells, positions)
    norms: NDArray[np.float64] = np.einsum("ij,ij->j", coefficients, matrix @ coefficients)
    return norms


def shell_overlap(
    bra: Sequence[Shell], bra_positions: NDArray[np.float64], ket: Sequence[Shell], ket_positions: NDArray[np.float64]
) -> csr_matrix:
    """Overlap of the functions of two lists of shells; positions of atoms in bohr, shape (n_atoms, 3)."""
    from scipy.sparse import coo_matrix

    same = bra is ket and bra_positions is ket_positions
    left = _ShellTable(bra, bra_positions)
    right = left if same else _ShellTable(ket, ket_positions)
    rows, columns, values = [], [], []
    for class_a in left.classes:
        for class_b in right.classes:
            if same and class_b < class_a:
                continue  # the transposed block is taken from its partner
            for a, b in _near_pairs(left, class_a, right, class_b):
                if same and class_a == class_b:
                    keep = a <= b
                    a, b = a[keep], b[keep]
                if len(a) == 0:
                    continue
                block = _blocks(left, a, right, b)
                i = left.first_function[a][:, None, None] + np.arange(block.shape[1])[:, None]
                j = right.first_function[b][:, None, None] + np.arange(block.shape[2])
                i, j = np.broadcast_to(i, block.shape), np.broadcast_to(j, block.shape)
                rows.append(i.ravel())
                columns.append(j.ravel())
                values.append(block.ravel())
                if same:
                    off = (a != b).nonzero()[0]
                    rows.append(j[off].ravel())
                    columns.append(i[off].ravel())
                    values.append(block[off].ravel())
    shape = (left.n_functions, right.n_functions)
    if not values:
        return coo_matrix(shape).tocsr()
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return coo_matrix(entries, shape=shape).tocsr()


class _ShellTable:
    """Shells as flat arrays, grouped by (angular momentum, pure)."""

    def __init__(self, shells: Sequence[Shell], positions: NDArray[np.float64]) -> None:
        self.centres = positions[[shell.atom for shell in shells]]
        sizes = np.array([shell.n_functions for shell in shells])
        self.n_functions = int(sizes.sum())
        self.first_function = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.n_primitives = np.array([len(shell.exponents) for shell in shells])
        self.first_primitive = np.concatenate([[0], np.cumsum(self.n_primitives)[:-1]])
        self.exponents = np.concatenate([shell.exponents for shell in shells])
        momenta = np.repeat([shell.angular_momentum for shell in shells], self.n_primitives)
        radial = np.empty_like(self.exponents)
        for momentum in np.unique(momenta):
            chosen = momenta == momentum
            radial[chosen] = radial_normalization(self.exponents[chosen], int(momentum))
        self.coefficients = np.concatenate([shell.coefficients for shell in shells]) * radial
        self.smallest_exponent = np.minimum.reduceat(self.exponents, self.first_primitive)
        self.kinds = [(shell.angular_momentum, shell.pure) for shell in shells]
        groups: dict[tuple[int, bool], list[int]] = defaultdict(list)
        for index, kind in enumerate(self.kinds):
            groups[kind].append(index)
        self.classes = {kind: np.array(members) for kind, members in sorted(groups.items())}


@lru_cache
def _to_functions(angular_momentum: int, pure: bool) -> NDArray[np.float64]:
    """Basis functions of a shell in terms of plain monomials: rows functions, columns monomials."""
    norms = np.array([angular_normalization(powers) for powers in cartesian_powers(angular_momentum)])
    return pure_from_cartesian(angular_momentum) * norms if pure else np.diag(norms)


def _near_pairs(
    left: _ShellTable, class_a: tuple[int, bool], right: _ShellTable, class_b: tuple[int, bool]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Pairs of shells of two classes whose product is not negligible, in chunks of bounded size."""
    from scipy.spatial import cKDTree

    members_a, members_b = left.classes[class_a], right.classes[class_b]
    tree = cKDTree(right.centres[members_b])
    widest = right.smallest_exponent[members_b].min()
    mean_primitives = right.n_primitives[members_b].mean()
    step = max(1, int(_CHUNK / (left.n_primitives[members_a].mean() * mean_primitives * min(len(members_b), 200))))
    for start in range(0, len(members_a), step):
        chunk = members_a[start : start + step]
        a_min = left.smallest_exponent[chunk]
        reach = np.sqrt(_NEGLIGIBLE_EXPONENT * (a_min + widest) / (a_min * widest))
        found = tree.query_ball_point(left.centres[chunk], reach)
        a = np.repeat(chunk, [len(near) for near in found])
        b = members_b[np.concatenate([np.asarray(near, np.intp) for near in found])]
        alpha, beta = left.smallest_exponent[a], right.smallest_exponent[b]
        square = np.sum((left.centres[a] - right.centres[b]) ** 2, axis=1)
        keep = alpha * beta / (alpha + beta) * square < _NEGLIGIBLE_EXPONENT
        if keep.any():
            yield a[keep], b[keep]


def _ragged(first: NDArray[np.intp], count: NDArray[np.intp]) -> NDArray[np.intp]:
    """Concatenated ranges first[n], first[n] + 1, ..., first[n] + count[n] - 1."""
    ends = np.cumsum(count)
    return np.arange(ends[-1]) - np.repeat(ends - count, count) + np.repeat(first, count)


def _blocks(left: _ShellTable, a: NDArray[np.intp], right: _ShellTable, b: NDArray[np.intp]) -> NDArray[np.float64]:
    """Overlaps of the functions of shell a[n] with those of shell b[n], shape (n, functions of a, functions of b)."""
    (la, pure_a), (lb, pure_b) = left.kinds[a[0]], right.kinds[b[0]]
    # all primitive pairs of all shell pairs, flat: for each primitive of a, the range of primitives of b
    per_a = left.n_primitives[a]
    primitive_a = _ragged(left.first_primitive[a], per_a)
    pair_of_a = np.repeat(np.arange(len(a)), per_a)
    per_b = right.n_primitives[b][pair_of_a]
    primitive_b = _ragged(right.first_primitive[b][pair_of_a], per_b)
    pair = np.repeat(pair_of_a, per_b)
    primitive_a = np.repeat(primitive_a, per_b)
    separation = (left.centres[a] - right.centres[b])[pair]
    alpha, beta = left.exponents[primitive_a], right.exponents[primitive_b]
    exponent = alpha * beta / (alpha + beta) * np.einsum("nd,nd->n", separation, separation)
    keep = exponent < _NEGLIGIBLE_EXPONENT
    pair, alpha, beta, separation = pair[keep], alpha[keep], beta[keep], separation[keep]
    total = alpha + beta
    prefactor = left.coefficients[primitive_a[keep]] * right.coefficients[primitive_b[keep]]
    prefactor *= np.exp(-exponent[keep]) * (np.pi / total) ** 1.5
    tables = [_one_dimensional(la, lb, alpha, beta, total, separation[:, d]) for d in range(3)]
    powers_a, powers_b = cartesian_powers(la), cartesian_powers(lb)
    block = np.empty((len(a), len(powers_a), len(powers_b)))
    for m, (i, j, k) in enumerate(powers_a):
        for n, (u, v, w) in enumerate(powers_b):
            product = prefactor * tables[0][i][u] * tables[1][j][v] * tables[2][k][w]
            block[:, m, n] = np.bincount(pair, weights=product, minlength=len(a))
    result: NDArray[np.float64] = _to_functions(la, pure_a) @ block @ _to_functions(lb, pure_b).T
    return result


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
    one = np.ones_like(alpha)
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

"""Integrals over contracted s functions by the kernels of Ufimtsev and Martinez.

(J. Chem. Theory Comput. 2008, 4, 222, doi 10.1021/ct700268q.) For functions of any angular momentum see `two_electron`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..base.errors import OrbitileError
from ..base.memory import require_memory, share
from ..base.watch import checkpoint, watcher
from ..model.conventions import radial_normalization
from ..model.wavefunction import Basis, Wavefunction
from .two_electron import RepulsionBlock

if TYPE_CHECKING:
    from taichi_kernels.two_electron.s_functions import ContractedPairs

Reals = NDArray[np.float64]
Integers = NDArray[np.int32]

TOLERANCE = 1e-10
"""How much an integral may lose, in hartree."""

_LARGEST = share("large matrix", 4)
"""Integrals of a block, in single precision."""


@dataclass(frozen=True, eq=False)
class SPairs:
    """Pairs of s functions, those with the most products of primitives first.

    Attributes
    ----------
    functions : ndarray of int32, shape (n_pairs, 2)
        The basis functions i >= j of each.
    packed : ContractedPairs
        What the kernels read.
    tolerance : float
        What an integral may lose by products that were left out, in hartree.
    """

    functions: Integers
    packed: ContractedPairs
    tolerance: float


def s_pairs(basis: Basis | Wavefunction, tolerance: float = TOLERANCE) -> SPairs:
    r"""All pairs of the functions of a basis set that has only s functions.

    A product of primitives is left out where :math:`\sqrt{[pp|pp]}`, added up for its pair, is so small that by the
    inequality of Schwarz no integral loses more than the tolerance.

    Parameters
    ----------
    basis
        Shells and positions.
    tolerance
        In hartree.

    Returns
    -------
    SPairs
        To make it takes 200 bytes for each product of two primitives, as many for each pair as the longest contraction
        has; what is kept takes 90 bytes a product.

    Raises
    ------
    OrbitileError
        For a shell that is not an s shell, and when that does not fit in memory.
    """
    from taichi_kernels.two_electron.s_functions import grouped

    highest = max((shell.angular_momentum for shell in basis.shells), default=-1)
    if highest != 0:
        found = f"angular momentum {highest}" if highest > 0 else "no shell"
        raise OrbitileError(f"kernels for s functions: expected s shells, got {found}; use repulsion_integrals")
    most = max(len(shell.exponents) for shell in basis.shells)
    n_products = basis.n_basis * (basis.n_basis + 1) // 2 * most**2
    require_memory(200 * n_products, f"pairs of {basis.n_basis} s functions", "use repulsion_integrals")
    exponent, coefficient = np.ones((basis.n_basis, most)), np.zeros((basis.n_basis, most))
    for n, shell in enumerate(basis.shells):
        count = len(shell.exponents)
        exponent[n, :count] = shell.exponents
        coefficient[n, :count] = shell.coefficients * radial_normalization(shell.exponents, 0)
    centre = basis.positions[[shell.atom for shell in basis.shells]]
    centre = centre - centre.mean(axis=0)  # wherever it is, single precision has digits for distances only
    checkpoint()
    i, j = np.tril_indices(basis.n_basis)
    a, b = exponent[i][:, :, None], exponent[j][:, None, :]
    between = ((centre[i] - centre[j]) ** 2).sum(axis=1)[:, None, None]
    z = a + b
    products = np.empty((*z.shape, 5))
    products[..., :3] = (a[..., None] * centre[i][:, None, None] + b[..., None] * centre[j][:, None, None]) / z[
        ..., None
    ]
    products[..., 3] = z
    decay = np.exp(-a * b / z * between)
    products[..., 4] = np.sqrt(2) * np.pi**1.25 * coefficient[i][:, :, None] * coefficient[j][:, None, :] * decay / z
    checkpoint()
    products = products.reshape(len(i), -1, 5)
    norm = np.abs(products[..., 4]) / (2 * products[..., 3]) ** 0.25
    falling = np.argsort(-norm, axis=1, kind="stable")
    products = np.take_along_axis(products, falling[..., None], axis=1)
    norm = np.take_along_axis(norm, falling, axis=1)
    bound = norm.sum(axis=1)
    left_out = np.cumsum(norm[:, ::-1], axis=1)[:, ::-1]  # by leaving out this one and all behind it
    counts = (left_out * bound.max() > tolerance / 2).sum(axis=1)
    order = np.lexsort((-bound, -counts))
    packed = grouped(products[order], counts[order], bound[order])
    return SPairs(np.column_stack([i, j])[order].astype(np.int32), packed, tolerance)


def s_integrals(pairs: SPairs, target: Target, mapping: str = "1T1CI") -> Iterator[RepulsionBlock]:
    """Integrals (ij|kl) over s functions, block by block: each of all unique ones once.

    Parameters
    ----------
    pairs
        Of the basis set.
    target
        The device of the current session, and the precision.
    mapping
        1B1CI (a block of threads an integral), 1T1CI (a thread an integral) or 1T1PI (a thread a primitive integral).

    Yields
    ------
    RepulsionBlock
        Of some bras with all pairs up to the last of them, 64 MB in single and 128 MB in double precision. Where the
        ket comes after the bra in `pairs` the value is zero, and the integral in another place.

    Raises
    ------
    OrbitileError
        For another mapping.
    """
    from taichi_kernels.two_electron.s_functions import MAPPINGS, integrals_of_s_functions
    from taichi_kernels.two_electron.s_kernels import GROUP

    if mapping not in MAPPINGS:
        raise OrbitileError(f"mapping: expected {', '.join(MAPPINGS)}, got {mapping!r}")
    for first, last in s_blocks(pairs):
        fetch = integrals_of_s_functions(pairs.packed, first, last, mapping, pairs.tolerance, target, watcher())
        bras, kets = pairs.functions[first * GROUP : last * GROUP], pairs.functions[: last * GROUP]
        yield RepulsionBlock(bras, kets, fetch()[: len(bras), : len(kets)])


def s_blocks(pairs: SPairs) -> list[tuple[int, int]]:
    """Groups of pairs that are bras together, the first of each block and the one behind its last."""
    from taichi_kernels.two_electron.s_kernels import GROUP

    blocks, first, n = [], 0, pairs.packed.n_groups
    while first < n:
        last = first + 1
        while last < n and (last + 1 - first) * (last + 1) * GROUP**2 <= _LARGEST:
            last += 1
        blocks.append((first, last))
        first = last
    return blocks

"""Orbitals on a lattice with orthogonal axes: a screened matrix product of one-dimensional tables.

A Gaussian times a monomial is a product of three functions of one coordinate each. With U the polynomial in x summed up
for one primitive p and one pair of powers (j, k), Y and Z the plain factors,

    psi(x, y, z) = sum over p, k of  [ sum_j U_pjk(x) Y_pj(y) ]  Z_pk(z)

so a lattice needs exponentials along its three axes only; the rest is multiplications and additions. A pair (p, k) is a
*row*: it owns one table along z and degree - k + 1 tables along x, and shares the tables of its primitive along y.

The lattice is cut into bricks of 8 x 8 x 16 points, and each brick adds up only what matters there: rows of a list
(`lattice_rows`), or, for one sum of not too many Gaussians on a GPU, products that are marked (`lattice_products`).
"""

from functools import lru_cache

import numpy as np

from .arrays import DeviceArray
from .kept_arrays import Workspace
from .lattice_products import evaluate_products
from .lattice_rows import evaluate_rows
from .launching import Checkpoint
from .layout import BX, PLAIN, Layout, Orders, PackedSums
from .target import Target

_MANY_ROWS = 14
"""Bits of a number of rows that is large: densities have lists, and so a workspace, of a size of their own."""


def orbital_on_lattice(
    plan: Layout,
    centre: np.ndarray,
    exponent: np.ndarray,
    terms: np.ndarray,
    spacing: tuple[float, float, float],
    shape: tuple[int, int, int],
    start: int,
    tolerance: "float | np.ndarray",
    target: Target,
    out: "np.ndarray | DeviceArray",
    shear: float = 0.0,
    checkpoint: Checkpoint | None = None,
    orders: Orders = PLAIN,
) -> None:
    """Evaluate a sum of Gaussians times polynomials on (a slab of) a lattice.

    Parameters
    ----------
    plan
        `layout` of the degrees of the primitives.
    centre : ndarray of float64, shape (n_primitives, 3)
        Centres relative to the first point of the whole lattice, along its axes, in bohr.
    exponent : ndarray of float64, shape (n_primitives,)
        In bohr^-2.
    terms : ndarray of float64, shape (n_terms,) or (n_sums, n_terms)
        Polynomial coefficients; with a first axis, of several sums of the same Gaussians: they share the tables along
        y and z and the lists, which hold what any of them needs.
    spacing
        Distance of neighbouring points along each axis, in bohr.
    shape
        Points of the slab along each axis.
    start
        Index along the first axis at which the slab starts: a multiple of 8, so that slabs meet at bricks and the
        values do not depend on how the lattice is cut.
    tolerance : float, or ndarray of shape (n_sums,)
        Bound on the error of screening, of each sum.
    target
        The device of the current session, and the precision of tables and sums.
    out : ndarray, or array on the device, of float32 or float64, shape `shape`
        Where the values go; those of several sums follow one another along the first axis, shape (n_sums * nx, ny, nz).
    shear
        By how much a step along the first axis also moves along y, in bohr. Then there are tables along y for each
        plane: 8 values for each table, each 8 points and each plane.
    checkpoint
        Called some twenty times a second with the share that is done, between pieces of the work; what it raises ends
        it. Without one all is done at once.
    orders
        Derivatives along x, y and z that are wanted of each sum, in place of itself, each up to the second; not on
        sheared lattices. Those of a sum follow one another in the result as sums do, and the bound holds for each.
    """
    if shear and orders != PLAIN:
        raise ValueError("derivatives: expected a lattice with orthogonal axes, got a sheared one")
    primitives = placed(centre, exponent, spacing, target.dtype, start)
    if shear:
        primitives[:, 7] = _largest_factors(exponent, np.diff(plan.first_table) - 1)
    evaluate(
        PackedSums(plan, primitives, terms, spacing, shape, orders), start, tolerance, target, out, shear, checkpoint
    )


def placed(
    centre: np.ndarray,
    exponent: np.ndarray,
    spacing: tuple[float, float, float],
    dtype: "np.dtype[np.floating]",
    start: int = 0,
) -> np.ndarray:
    """Gaussians on a slab of a lattice as `PackedSums` has them, not sheared; parameters as for `orbital_on_lattice`.

    Raises
    ------
    ValueError
        When the slab does not start at a brick.
    """
    if start % BX:
        raise ValueError(f"start of a slab: expected a multiple of {BX}, got {start}")
    # Positions relative to the nearest point keep float32 tables exact to rounding wherever the molecule lies.
    primitives = np.zeros((len(exponent), 8), dtype)
    primitives[:, 0] = exponent
    place = centre / spacing  # one array for all: memory for another takes longer than what is done in it
    np.rint(place, out=place)
    primitives[:, 4:7] = place
    primitives[:, 4] -= start
    place *= spacing
    place -= centre
    primitives[:, 1:4] = place
    return primitives


def evaluate(
    packed: PackedSums,
    start: int,
    tolerance: "float | np.ndarray",
    target: Target,
    out: "np.ndarray | DeviceArray",
    shear: float = 0.0,
    checkpoint: Checkpoint | None = None,
) -> None:
    """Evaluate sums that are packed for a slab of a lattice; parameters as for `orbital_on_lattice`."""
    if isinstance(out, np.ndarray) and not out.flags.c_contiguous:
        raise ValueError("result of the lattice kernel: expected a C-ordered array")
    many = len(packed.plan.rows).bit_length() > _MANY_ROWS
    if not target.on_host and not many and not shear and packed.orders == PLAIN:
        evaluate_products(workspace_of(target.dtype, "products"), packed, tolerance, target, out, checkpoint)
        return
    space = workspace_of(target.dtype, "many rows" if many else "few rows")
    evaluate_rows(space, many, packed, start, tolerance, target, out, shear, checkpoint)


def _largest_factors(exponent: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """Bounds on |y^j z^k exp(-zeta (y^2 + z^2))| for all powers up to the degree: (n / 2 e zeta)^(n/2) for each."""
    power = np.arange(1, max(int(degree.max()), 1) + 1)
    largest = (power / (2 * np.e * exponent[:, None])) ** (power / 2)
    return np.maximum(1.0, np.where(power <= degree[:, None], largest, 0.0).max(axis=1)) ** 2


@lru_cache
def workspace_of(real: "np.dtype[np.floating]", use: str) -> Workspace:
    """The arrays of one use: those of another differ in type or size."""
    return Workspace(real)

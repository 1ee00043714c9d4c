r"""Many orbitals at scattered points, and the density that they make with its derivatives.

For each block of points all basis functions are computed first, with their gradients and Laplacians, and then the
orbitals, a few at once, as sums of them: a Gaussian is computed once for all orbitals.

A component of a shell is a monomial times a radial part, :math:`\varphi = P(u)\,R(u^2)`, whose derivatives are

.. math::  \partial_a \varphi = P_a R + 2 u_a P R', \qquad
    \nabla^2 \varphi = \nabla^2 P\, R + (4 l + 6) P R' + 4 u^2 P R''

and with weights n of the squares of orbitals

.. math::  \rho = \sum_i n_i \psi_i^2, \quad \nabla\rho = 2 \sum_i n_i \psi_i \nabla\psi_i, \quad
    \nabla^2\rho = 2 \sum_i n_i (\psi_i \nabla^2\psi_i + |\nabla\psi_i|^2)
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import kernel_from, lightly_optimised, number, ti, with_vectors
from .arrays import aligned
from .direct_sums.radial.exact import power_of_two
from .direct_sums.shells import LANES
from .kept_arrays import KeptArrays, vector_of
from .launching import indented, launch
from .target import Target

NUMBERS = {"density": 1, "gradient": 4, "laplacian": 5}
"""How many numbers of each basis function the density takes, with its gradient, and with its Laplacian as well."""

_TOGETHER = 4
"""Orbitals that are summed up at once: as many as there are registers for."""

_LOG2E = 1.4426950408889634

_held = KeptArrays()


@dataclass(frozen=True, eq=False)
class ScatteredShells:
    """Shells in the order of their angular momenta, each with primitives of its own.

    Attributes
    ----------
    position : ndarray of float64, shape (n_shells, 3)
        In bohr.
    angular_momentum : ndarray of int, shape (n_shells,)
    first_primitive : ndarray of int32, shape (n_shells + 1,)
    exponent, contraction : ndarray of float64, shape (n_primitives,)
        In bohr^-2; normalised.
    """

    position: np.ndarray
    angular_momentum: np.ndarray
    first_primitive: np.ndarray
    exponent: np.ndarray
    contraction: np.ndarray


def orbitals_at_points(
    shells: ScatteredShells,
    coefficients: np.ndarray,
    weights: np.ndarray,
    points: np.ndarray,
    wanted: str,
    target: Target,
) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate orbitals, and the density that they make.

    Parameters
    ----------
    shells
        One or more.
    coefficients : ndarray, shape (n_components, n_orbitals)
        Cartesian: by angular momentum, component, shell.
    weights : ndarray, shape (n_orbitals,)
        Of the squares of the orbitals in the density.
    points : ndarray of float64, shape (n_points, 3)
        One or more, in bohr. They are counted from the middle of all: in single precision they should be within some
        ten bohr of it.
    wanted
        Of the density: "density", "gradient" (with the density), or "laplacian" (with both).
    target
        The device of the current session, and the precision of the sums. Memory beside the results: so many numbers
        for each component and point as `NUMBERS` has.

    Returns
    -------
    orbitals : ndarray, shape (n_orbitals, n_points)
        In bohr^-3/2.
    density : ndarray, shape (n_numbers, n_points)
        The density, its gradient and its Laplacian, in e and bohr.
    """
    parts, real, lanes = NUMBERS[wanted], target.dtype, LANES[target.device, target.precision]
    n_components, n_orbitals = coefficients.shape
    n, groups = len(points), -(-n_orbitals // _TOGETHER)
    blocks = -(-n // lanes)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    place = aligned((3, blocks, lanes), real)
    flat = place.reshape(3, -1)
    flat[:, :n], flat[:, n:] = (points - middle).T, (points[-1] - middle)[:, None]
    of_orbitals = np.zeros((groups * _TOGETHER, n_components + 1))
    of_orbitals[:n_orbitals, :-1], of_orbitals[:n_orbitals, -1] = coefficients.T, weights
    most = int(shells.angular_momentum[-1])
    zeta = shells.exponent
    primitive = np.stack([-_LOG2E * zeta, shells.contraction, -2 * zeta, 4 * zeta**2], axis=1)
    # a thread of a CPU has the numbers of a block together; those of a GPU have the same ones of neighbours together
    of_block, of_number = (n_components * parts, 1) if target.on_host else (1, blocks)
    n_functions = (n_components * parts * blocks,)
    if target.on_host:
        functions = aligned((*n_functions, lanes), real)
    else:
        functions = _held.array("functions", vector_of(lanes, number(real)), n_functions)
    orbitals, density = (aligned((rows, blocks, lanes), real) for rows in (groups * _TOGETHER, parts))
    launch(
        _kernel(most, parts, target),
        n_blocks=blocks,
        n_groups=groups,
        n_components=n_components,
        of_block=of_block,
        of_number=of_number,
        place=place,
        first_shell=np.searchsorted(shells.angular_momentum, np.arange(most + 2)).astype(np.int32),
        position=np.ascontiguousarray(shells.position - middle, real),
        first_primitive=shells.first_primitive,
        primitive=_in_memory(primitive, real),
        coefficient=_in_memory(
            of_orbitals[:, :-1].reshape(groups, _TOGETHER, -1).transpose(0, 2, 1).reshape(-1, _TOGETHER), real
        ),
        weight=np.ascontiguousarray(of_orbitals[:, -1], real),
        function=functions,
        orbital=orbitals,
        density=density,
    )
    return orbitals.reshape(len(orbitals), -1)[:n_orbitals, :n], density.reshape(parts, -1)[:, :n]


def _in_memory(values: np.ndarray, real: "np.dtype[Any]") -> np.ndarray:
    """Values where vectors of a kernel may be."""
    there = aligned(values.shape, real)
    there[...] = values
    return there


def _product(*factors: str) -> str:
    return " * ".join(factor for factor in factors if factor)


def _monomial(powers: tuple[int, ...]) -> str:
    return _product(*(f"{axis}{power}" for axis, power in zip("xyz", powers, strict=True) if power))


def _lowered(powers: tuple[int, ...], axis: int, by: int) -> str:
    """A derivative of a monomial along an axis, empty where it is 0."""
    power = powers[axis]
    if power < by:
        return ""
    factor = power if by == 1 else power * (power - 1)
    lower = tuple(n - by * (k == axis) for k, n in enumerate(powers))
    return _product(f"{factor}.0", _monomial(lower), "radial")


def _statements_of(l: int, parts: int) -> list[str]:
    """Statements that store the numbers of all components of a shell."""
    lines = [f"{axis}1 = {axis} - position[shell, {n}]" for n, axis in enumerate("xyz")]
    lines += [f"{axis}{power} = {axis}{power - 1} * {axis}1" for axis in "xyz" for power in range(2, l + 1)]
    lines += [
        "square = x1 * x1 + y1 * y1 + z1 * z1",
        *(f"{part} = V(0.0)" for part in ("radial", "once", "twice", "p")),
        "for primitive_ in range(first_primitive[shell], first_primitive[shell + 1]):",
        "    one = primitive[primitive_]",
        "    for s in EACH:",
        "        g = one[1] * power_of_two(one[0] * square[s])",
        "        radial[s] += g",
        *(["        once[s] += g * one[2]"] if parts > 1 else []),
        *(["        twice[s] += g * one[3]"] if parts == 5 else []),
        *([f"curved = {2 * l + 3}.0 * once + square * twice"] if parts == 5 else []),
    ]
    for i in range(l, -1, -1):
        for j in range(l - i, -1, -1):
            powers = (i, j, l - i - j)
            stored = [_product(_monomial(powers), "radial")]
            if parts > 1:
                lines.append(f"p = {_product(_monomial(powers), 'once')}")
                slopes = ((f"{'xyz'[axis]}1 * p", _lowered(powers, axis, 1)) for axis in range(3))
                stored += [" + ".join(filter(None, slope)) for slope in slopes]
            if parts == 5:
                curved = (_product(_monomial(powers), "curved"), *(_lowered(powers, axis, 2) for axis in range(3)))
                stored.append(" + ".join(filter(None, curved)))
            lines += [f"function[(row * {parts} + {k}) * of_number + own] = {text}" for k, text in enumerate(stored)]
            lines.append("row += count")
    return lines


def _source(most: int, parts: int, lanes: int, on_host: bool) -> str:
    text = (
        "@ti.kernel\n"
        "def kernel(n_blocks: ti.i32, n_groups: ti.i32, n_components: ti.i32, of_block: ti.i32, of_number: ti.i32, "
        "place: V2, first_shell: I1, position: R2, first_primitive: I1, primitive: F1, coefficient: F1, weight: R1, "
        "function: V1, orbital: V2, density: V2):\n"
        "    for block in range(n_blocks):\n"
        "        own = block * of_block\n"
        "        first_row = 0\n"
    )
    text += indented([f"{axis} = place[{n}, block]" for n, axis in enumerate("xyz")], 2)
    for l in range(most + 1):
        text += indented(
            [
                f"count = first_shell[{l + 1}] - first_shell[{l}]",
                "for n in range(count):",
                f"    shell = first_shell[{l}] + n",
                "    row = first_row + n",
            ],
            2,
        )
        each = f"range({lanes})" if on_host else f"ti.static(range({lanes}))"
        text += indented([line.replace("EACH", each) for line in _statements_of(l, parts)], 3)
        text += indented([f"first_row += {(l + 1) * (l + 2) // 2} * count"], 2)
    orbitals = range(_TOGETHER)
    text += indented([*(f"d{k} = V(0.0)" for k in range(parts)), "for group in range(n_groups):"], 2)
    text += indented([f"t{o}{k} = V(0.0)" for o in orbitals for k in range(parts)], 3)
    text += indented(["for row in range(n_components):", "    c = coefficient[group * n_components + row]"], 3)
    for k in range(parts):
        text += indented([f"f{k} = function[(row * {parts} + {k}) * of_number + own]"], 4)
        text += indented([f"t{o}{k} += c[{o}] * f{k}" for o in orbitals], 4)
    for o in orbitals:
        lines = [
            f"which{o} = group * {_TOGETHER} + {o}",
            f"orbital[which{o}, block] = t{o}0",
            f"w{o} = weight[which{o}] * t{o}0",
            f"d0 += w{o} * t{o}0",
            *(f"d{k} += 2.0 * w{o} * t{o}{k}" for k in range(1, parts)),
        ]
        if parts == 5:
            squares = " + ".join(f"t{o}{k} * t{o}{k}" for k in (1, 2, 3))
            lines.append(f"d4 += 2.0 * weight[which{o}] * ({squares})")
        text += indented(lines, 3)
    return text + indented([f"density[{k}, block] = d{k}" for k in range(parts)], 2)


@lru_cache
def _kernel(most: int, parts: int, target: Target) -> Any:
    real, lanes = number(target.dtype), LANES[target.device, target.precision]
    vector, array = ti.types.vector, ti.types.ndarray
    V = vector(lanes, real)
    names = {
        "V": V,
        "V1": array(V, 1),
        "V2": array(V, 2),
        "F1": array(vector(4, real), 1),
        "R1": array(real, 1),
        "R2": array(real, 2),
        "I1": array(ti.i32, 1),
        "power_of_two": power_of_two(target.precision),
    }
    return with_vectors(
        lightly_optimised(kernel_from(_source(most, parts, lanes, target.on_host), "orbitals at points", names))
    )

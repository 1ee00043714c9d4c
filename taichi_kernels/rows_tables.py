"""What the kernels of `lattice_rows` share: tables of Gaussians along the axes, and what screening may leave out."""

from collections.abc import Callable
from typing import NamedTuple

from ._taichi import number, ti
from .elementary import along_axis, exponential, largest_of
from .layout import BX, BY, BZ, Families, Orders
from .target import Target

GROUP = {"cpu": 16, "cuda": 1, "vulkan": 1}
"""Bricks screened at once by a task: a vector of them on a CPU; a GPU wants tasks."""

WIDE = {"cpu": BY, "cuda": 2, "vulkan": 2}
"""Points along y that lie together in tables: a vector of a CPU, the columns of points of a thread of a GPU."""


_EVEN = 16.0
"""Times its even share of what may still be lost that a row may take. Most take far less, so some can take more: from 8
to 32, lists are within a twentieth of the shortest that there can be, those that leave out the smallest rows."""


class Tables(NamedTuple):
    """Taichi functions that make tables."""

    along_x: Callable[..., None]
    along_y: Callable[..., None]
    along_z: Callable[..., None]
    largest: Callable[..., object]


def tables_of(target: Target, sheared: bool, orders: Orders) -> Tables:
    """Taichi functions for one device and precision, and some derivatives.

    On a sheared lattice each plane has tables along y of its own, and there are no derivatives.
    """
    families = Families(orders)
    n_x = len(families.x)
    real, given, group = number(target.dtype), ti.template(), GROUP[target.device]
    wide = WIDE[target.device]
    V8, Some = ti.types.vector(8, real), ti.types.vector(wide, real)
    exp = exponential(target)
    polynomial, power = derived_polynomial(real), derived_power(real)
    eight_along, sixteen_along = along_axis(8, real, exp), along_axis(16, real, exp)

    @ti.func
    def tables_along_x(
        p, b, bricks_x, n_tables_x, n_terms, n_sums, step, primitive: given, first_table_x: given, table: given,
        terms: given, weight: given, x: given, largest_x: given,
    ):  # fmt: skip
        """Of one primitive and one brick, with the polynomials, and their largest magnitudes."""
        here = primitive[p]
        distance, factor = eight_along(here[0], here[1], here[4], b * BX, step)
        for t in range(first_table_x[p], first_table_x[p + 1]):
            for family, order in ti.static(enumerate(families.x)):
                largest = ti.cast(0.0, real)
                for o in range(n_sums):
                    last = o * n_terms + table[t][0] + table[t][1] - 1
                    value = V8(0.0)
                    if ti.static(order == 0):
                        for i in range(table[t][1]):
                            value = value * distance + terms[last - i]
                    else:
                        value = polynomial(order, table[t][1], last, terms, distance, here[0])
                    value *= factor
                    x[((o * n_x + family) * bricks_x + b) * n_tables_x + t] = value
                    largest = ti.max(largest, weight[o] * largest_of(value))
                largest_x[(family * bricks_x + b) * n_tables_x + t] = largest

    @ti.func
    def tables_along_y(
        p, b, layer, nx, bricks_y, n_tables, n_tables_x, tables_y, step, negligible, primitive: given,
        first_table: given, first_table_x: given, offset: given, y: given, largest_x: given, largest_y: given,
    ):  # fmt: skip
        """Of one primitive, one brick and, if sheared, the planes of one layer of bricks."""
        here = primitive[p]
        planes = 1
        if ti.static(sheared):
            planes = ti.min(BX, nx - layer * BX)
            size = ti.cast(0.0, real)
            for t in range(first_table_x[p], first_table_x[p + 1]):
                size += largest_x[layer * n_tables_x + t]
            if size * here[7] < negligible:  # the tables of primitives that far are not needed, nor are their rows
                planes = 0
                for t in range(first_table[p], first_table[p + 1]):
                    largest_y[b // group * tables_y + layer * n_tables + t][b % group] = 0.0
        for s in range(planes if ti.static(sheared) else 1):
            plane = layer * BX + s
            nearest = here[5]
            rest = here[2]
            if ti.static(sheared):
                nearest -= offset[plane][0]
                rest += offset[plane][1]
            distance, factor = eight_along(here[0], rest, nearest, b * BY, step)
            gaussian = factor
            groups = (bricks_y + group - 1) // group
            for t in range(first_table[p], first_table[p + 1]):
                for family, order in ti.static(enumerate(families.y)):
                    value = factor
                    if ti.static(order > 0):
                        value = power(order, t - first_table[p], distance, here[0]) * gaussian
                    place = ((plane if ti.static(sheared) else family) * bricks_y + b) * n_tables + t
                    if ti.static(wide == BY):
                        y[place] = value
                    else:
                        for part in ti.static(range(BY // wide)):
                            some = Some(0.0)
                            for n in ti.static(range(wide)):
                                some[n] = value[part * wide + n]
                            y[BY // wide * place + part] = some
                    largest = largest_of(value)
                    at = (family * groups + b // group) * tables_y + layer * n_tables + t
                    if ti.static(sheared):
                        if s > 0:
                            largest = ti.max(largest, largest_y[at][b % group])
                    largest_y[at][b % group] = largest
                factor *= distance

    @ti.func
    def tables_along_z(
        p, b, bricks_z, n_tables, step, primitive: given, first_table: given, z: given, largest_z: given
    ):  # fmt: skip
        """Of one primitive and one brick."""
        here = primitive[p]
        distance, factor = sixteen_along(here[0], here[3], here[6], b * BZ, step)
        gaussian = factor
        groups = (bricks_z + group - 1) // group
        for t in range(first_table[p], first_table[p + 1]):
            for family, order in ti.static(enumerate(families.z)):
                value = factor
                if ti.static(order > 0):
                    value = power(order, t - first_table[p], distance, here[0]) * gaussian
                z[(family * bricks_z + b) * n_tables + t] = value
                largest_z[(family * groups + b // group) * n_tables + t][b % group] = largest_of(value)
            factor *= distance

    @ti.func
    def largest_of_bricks(t, n_bricks, tables: ti.i32, largest: given):
        """Largest magnitude of a table in any brick along its axis; those of a family after those of the one before."""
        found = ti.cast(0.0, real)
        first = t // tables * ((n_bricks + group - 1) // group)
        for b in range(n_bricks):
            found = ti.max(found, largest[(first + b // group) * tables + t % tables][b % group])
        return found

    return Tables(tables_along_x, tables_along_y, tables_along_z, largest_of_bricks)


def share_of_rows(real: object) -> Callable[..., object]:
    """A Taichi function: the share of what may still be lost that a row may take, given the rows still to come with it.

    It is 1 at most, so no more is lost than may be, however many rows there are; and what the first rows leave is there
    for the last.
    """

    @ti.func
    def share_of(rows: ti.i32):
        return ti.min(ti.cast(_EVEN, real) / ti.cast(rows, real), ti.cast(1.0, real))

    return share_of


def derived_polynomial(real: object) -> Callable[..., object]:
    r"""A Taichi function: a polynomial that, times the Gaussian, is the first or second derivative of another times it.

    :math:`U' - 2 \zeta x U` and :math:`U'' - 4 \zeta x U' + (4 \zeta^2 x^2 - 2 \zeta) U`. Its arguments are the order,
    the number of coefficients, the place of the last, all coefficients, distances from the centre, and the exponent.
    """

    @ti.func
    def evaluate(order: ti.template(), n: ti.i32, last: ti.i32, terms: ti.template(), x, exponent: real):
        value = x * 0.0
        first = x * 0.0
        half_second = x * 0.0
        for i in range(n):  # Horner's rule, of the derivatives too
            if ti.static(order > 1):
                half_second = half_second * x + first
            first = first * x + value
            value = value * x + terms[last - i]
        slope = -2.0 * exponent * x
        result = first + slope * value
        if ti.static(order > 1):
            result = 2.0 * half_second + 2.0 * slope * first + (slope * slope - 2.0 * exponent) * value
        return result

    return evaluate


def derived_power(real: object) -> Callable[..., object]:
    """A Taichi function: the same of a power. Its arguments are the order, the power, distances, and the exponent."""

    @ti.func
    def evaluate(order: ti.template(), n: ti.i32, x, exponent: real):
        value = x * 0.0 + 1.0
        below = x * 0.0
        two_below = x * 0.0
        for _ in range(n):
            two_below = below
            below = value
            value *= x
        slope = -2.0 * exponent * x
        power = ti.cast(n, real)
        result = power * below + slope * value
        if ti.static(order > 1):
            result = power * (power - 1.0) * two_below + 2.0 * power * slope * below
            result += (slope * slope - 2.0 * exponent) * value
        return result

    return evaluate

"""The kernels of `hermite_map`."""

from functools import lru_cache
from types import SimpleNamespace

from ._taichi import quick, ti


@lru_cache
def map_kernels() -> SimpleNamespace:
    """Products with sparse matrices; the sums of the map and of its adjoint."""
    I1, I2 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(ti.i32, 2)
    R1, R2, R3 = (ti.types.ndarray(ti.f64, n) for n in (1, 2, 3))

    @ti.kernel
    def clear(rows: ti.i32, columns: ti.i32, matrix: R2):
        for i, j in ti.ndrange(rows, columns):
            matrix[i, j] = 0.0

    @ti.kernel
    def add_transpose(n: ti.i32, matrix: R2, out: R2):
        for i, j in ti.ndrange(n, n):
            out[i, j] = matrix[i, j] + matrix[j, i]

    @ti.kernel
    def from_left(rows: ti.i32, columns: ti.i32, first: I1, column: I1, value: R1, matrix: R2, out: R2):
        """The product of a sparse matrix and another one."""
        for i, j in ti.ndrange(rows, columns):
            total = ti.cast(0.0, ti.f64)
            for k in range(first[i], first[i + 1]):
                total += value[k] * matrix[column[k], j]
            out[i, j] = total

    @ti.kernel
    def add_from_left(rows: ti.i32, columns: ti.i32, first: I1, column: I1, value: R1, matrix: R2, out: R2):
        for i, j in ti.ndrange(rows, columns):
            total = out[i, j]
            for k in range(first[i], first[i + 1]):
                total += value[k] * matrix[column[k], j]
            out[i, j] = total

    @ti.kernel
    def from_right(rows: ti.i32, columns: ti.i32, first: I1, column: I1, value: R1, matrix: R2, out: R2):
        """The product of a matrix and the transpose of a sparse one."""
        for i, j in ti.ndrange(rows, columns):
            total = ti.cast(0.0, ti.f64)
            for k in range(first[j], first[j + 1]):
                total += value[k] * matrix[i, column[k]]
            out[i, j] = total

    @ti.kernel
    def to_orders(
        begin: ti.i32, end: ti.i32, first_value: ti.i32, n_orders: ti.i32, first_row: ti.i32, row: I1, column: I1,
        weight: R1, along: R3, first: I1, entry: I2, matrix: R2, out: R1,
    ):  # fmt: skip
        for i in range((end - begin) * n_orders):
            p = begin + i // n_orders
            n = i % n_orders
            total = ti.cast(0.0, ti.f64)
            for e in range(first[n], first[n + 1]):
                element = matrix[row[p] - first_row + entry[e, 0], column[p] + entry[e, 1]]
                total += element * along[p, 0, entry[e, 2]] * along[p, 1, entry[e, 3]] * along[p, 2, entry[e, 4]]
            out[first_value + p * n_orders + n] = weight[p] * total

    @ti.kernel
    def to_block(
        begin: ti.i32, end: ti.i32, first_value: ti.i32, n_orders: ti.i32, n_rows: ti.i32, n_columns: ti.i32,
        first_row: ti.i32, row: I1, column: I1, weight: R1, along: R3, first: I1, entry: I2, values: R1, out: R2,
    ):  # fmt: skip
        for i in range((end - begin) * n_rows * n_columns):
            p = begin + i // (n_rows * n_columns)
            n = i % (n_rows * n_columns)
            total = ti.cast(0.0, ti.f64)
            for e in range(first[n], first[n + 1]):
                value = values[first_value + p * n_orders + entry[e, 0]]
                total += value * along[p, 0, entry[e, 2]] * along[p, 1, entry[e, 3]] * along[p, 2, entry[e, 4]]
            out[row[p] - first_row + n // n_columns, column[p] + n % n_columns] = 0.5 * weight[p] * total

    return SimpleNamespace(
        clear=quick(clear),
        add_transpose=quick(add_transpose),
        from_left=quick(from_left),
        add_from_left=quick(add_from_left),
        from_right=quick(from_right),
        to_orders=quick(to_orders),
        to_block=quick(to_block),
    )

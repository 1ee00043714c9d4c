"""Formulas of values that lie on the device: one kernel for each formula, whose results stay there too.

A formula is a function of expressions, see `expressions`; the source of its kernel is written out. A thread takes one
point.
"""

import hashlib
import linecache
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ._taichi import lightly_optimised, number, ti
from .arrays import DeviceArray
from .elementary import elementary
from .expressions import Expression, Steps, written_out
from .target import Target

Formula = Callable[..., Expression]
"""Takes one value after the other to the result."""


def combine_values(
    formula: Formula,
    values: Sequence[tuple[DeviceArray, int]],
    planes: int,
    target: Target,
    out: DeviceArray,
    first_plane: int = 0,
) -> None:
    """Apply a formula at each point of some planes of a lattice.

    Parameters
    ----------
    formula
        Of expressions that have the type of the result.
    values
        For each value that the formula takes: an array of three dimensions on the device, of the type of the result,
        and where the planes begin in it. It may be the same array for several.
    planes
        How many.
    target
        The device of the current session, and the precision of values and result.
    out
        Takes the results, on the device too.
    first_plane
        Where the planes begin in the result.
    """
    arrays = list({id(array): array for array, _ in values}.values())
    places = tuple(next(n for n, one in enumerate(arrays) if one is array) for array, _ in values)
    steps = Steps(target.dtype)
    result = formula(*(steps.variable(f"v{n}") for n in range(len(values))))
    kernel = _kernel(tuple(written_out({"value": result})), places, target)
    kernel(planes, *out.shape[1:], first_plane, *(first for _, first in values), *arrays, out)


@lru_cache(maxsize=64)
def _kernel(lines: tuple[str, ...], places: tuple[int, ...], target: Target) -> Callable[..., None]:
    """The kernel for a formula: `places` says which of its arrays holds each value."""
    source = _source(lines, places)
    file = f"<formula {hashlib.sha256(source.encode()).hexdigest()}, {target.device}, {target.precision}>"
    real = number(target.dtype)
    functions = vars(elementary(target)) if target.precision == "double" else _in_single(target)
    names: dict[str, Any] = {"ti": ti, "real": real, "R3": ti.types.ndarray(real, 3), **functions}
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # where Taichi looks for it
    exec(compile(source, file, "exec"), names)
    return lightly_optimised(names["kernel"])


def _source(lines: tuple[str, ...], places: tuple[int, ...]) -> str:
    starts = ", ".join(f"first{n}: ti.i32" for n in range(len(places)))
    arrays = ", ".join(f"a{n}: R3" for n in range(max(places) + 1))
    loads = [f"v{n} = a{place}[first{n} + i, j, k]" for n, place in enumerate(places)]
    body = "".join(f"        {line}\n" for line in (*loads, *lines, "out[first + i, j, k] = value"))
    return (
        "@ti.kernel\n"
        f"def kernel(nx: ti.i32, ny: ti.i32, nz: ti.i32, first: ti.i32, {starts}, {arrays}, out: R3):\n"
        "    ti.loop_config(block_dim=128)\n"
        "    for n in range(nx * ny * nz):\n"
        "        k = n % nz\n"
        "        j = n // nz % ny\n"
        "        i = n // (nz * ny)\n" + body
    )


@lru_cache
def _in_single(target: Target) -> dict[str, Callable[..., object]]:
    """Functions that formulas are made of, for numbers in single precision."""

    @ti.func
    def log1p(x):
        return ti.log(1.0 + x)

    @ti.func
    def cbrt(x):
        root = ti.pow(x, ti.f32(1 / 3))
        return root - (root - x / (root * root)) * ti.f32(1 / 3)  # shaders' own powers lose a digit

    return {"log1p": log1p, "cbrt": cbrt}

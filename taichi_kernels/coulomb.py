r"""Coulomb integrals of Hermite Gaussians with a density of Hermite Gaussians.

These are derivatives of Gaussians with respect to their centres. By McMurchie and Davidson (J. Comput. Phys. 1978, 26,
218), for a bra at P with exponent z and kets at Q with exponents y,

.. math::  v_n(P) = \sum_Q \frac{2\pi^{5/2}}{z y \sqrt{z + y}} \sum_m (-1)^{|m|} H_m(Q)\, R_{n+m}(\alpha, P - Q),
    \quad \alpha = \frac{z y}{z + y}

with R from the Boys functions F_m(alpha |P - Q|^2) by R^m_000 = (-2 alpha)^m F_m and

.. math::  R^m_{t+1,u,v} = t R^{m+1}_{t-1,u,v} + (P_x - Q_x) R^{m+1}_{t,u,v}

No integral over contracted functions is formed (C. A. White and M. Head-Gordon, J. Chem. Phys. 1996, 104, 2620).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ._taichi import fill, number
from .arrays import to_numpy
from .cells import split_position
from .coulomb_kernels import (
    KET_ROWS,
    LANES,
    TILE,
    adding_kernel,
    is_written_out,
    looping_kernel,
    table_of,
    written_out_kernel,
)
from .devices import probe
from .hermite_tables import powers_of, recurrence
from .kept_arrays import Workspace
from .launching import Checkpoint, launch, pace_of, part_of, synchronise
from .target import Target

_TASKS = {"cpu": 64, "cuda": 1 << 16, "vulkan": 1 << 12}
"""Tasks that a device should have at once, if need be several chunks of kets for each bra."""

_PARTS = 1 << 24
"""Sums of tasks that are held at once: 128 MiB."""

_WORKERS, _HELD = {"cpu": 16, "cuda": 1 << 13, "vulkan": 1 << 12}, 1 << 25
"""Workers of the kernel with loops, and numbers that they hold in all: 256 MiB."""

_LITTLE = 1e7
"""Products of coefficients for which no kernel is compiled: the one with loops takes five times as long, 5 ms."""

_TILES = 16
"""Tiles that a task goes through where there is no double precision, so that it adds up few numbers."""

_TURNS = 60_000
"""Turns of the loops of a thread that a Vulkan driver in software is asked for: lavapipe ends them at 65,535."""

_HIGHEST = 16
"""Sum of degrees up to which products of odd numbers fit into single precision."""

_FEW = {"cpu": 1e5, "cuda": 1e8, "vulkan": 1e6}
"""Products of coefficients below which a launch for single precision costs more than it saves."""

_BOYS = 60
"""What Boys functions cost, in products of coefficients."""


@dataclass(frozen=True, eq=False)
class Gaussians:
    """Hermite Gaussians of one degree.

    Attributes
    ----------
    degree : int
        Highest order.
    centre : ndarray of float64, shape (n, 3)
        In bohr.
    exponent : ndarray of float64, shape (n,)
        In bohr^-2.
    """

    degree: int
    centre: np.ndarray
    exponent: np.ndarray


def coulomb_sums(
    bras: Sequence[Gaussians],
    kets: Sequence[Gaussians],
    coefficients: Sequence[np.ndarray],
    ends: Callable[[int, int], tuple[np.ndarray, np.ndarray]],
    target: Target,
    checkpoint: Checkpoint | None = None,
) -> list[np.ndarray]:
    """Integrals of each bra with a density.

    Parameters
    ----------
    bras, kets
        Gaussians by degree. Neighbours among the bras should have nearly the same numbers of kets.
    coefficients
        Hermite coefficients of the kets, shape (n_kets, number of orders), in the order of `powers_of`.
    ends
        Called with the places of a group of bras and a group of kets: for each bra, how many kets of the group count,
        the first ones; and how many of these need double precision, in single precision. Both of int, shape (n_bras,).
    target
        The device of the current session, and the precision. Single: terms are evaluated in single precision but for
        those that need more, and summed up in double precision where the device has it; double: all in double.
    checkpoint
        Called some thirty times a second with the share that is done, between pieces of the work; what it raises ends
        it. Without one all is done at once.

    Returns
    -------
    list of ndarray of float64, shape (n_bras, number of orders)
        For each group of bras. Beside that, memory is 128 MiB at most, and as much again for high degrees.
    """
    double = Target(target.device, "double") if probe(target.device).double else target
    steps = []
    for b, k in np.ndindex(len(bras), len(kets)):
        counted, exact = (_in_tiles(end, TILE[target.device]) for end in ends(b, k))
        none = np.zeros(len(counted), np.int32)
        if target == double or bras[b].degree + kets[k].degree > _HIGHEST:
            passes = [(double, none, counted)]
        else:
            passes = [(double, none, exact), (target, exact, counted)]
            left = np.maximum(counted - exact, 0).sum(dtype=np.float64) * _products(bras[b].degree, kets[k].degree)
            if left < _FEW[target.device]:
                passes = [(double, none, counted)]
        for kind, low, high in passes:
            if np.any(high > low):
                steps.append(_Step(kind, b, k, low, high, _products(bras[b].degree, kets[k].degree)))
    total, done = sum(float(step.work.sum()) for step in steps), 0.0
    tables = _Tables(bras, kets, coefficients, steps, double)
    for n, step in enumerate(steps):
        tables.add(n, part_of(checkpoint, done / total, step.work.sum() / total))
        done += float(step.work.sum())
    return tables.sums()


def _in_tiles(counts: np.ndarray, tile: int) -> np.ndarray:
    """Numbers of kets as multiples of a tile; the last one is filled up with nothing."""
    return (-(-counts // tile) * tile).astype(np.int32)


def _products(bra: int, ket: int) -> int:
    """About how many products a pair of Gaussians is."""
    n = bra + ket
    return len(powers_of(bra)) * len(powers_of(ket)) + (n + 1) * (n + 2) * (n + 3) * (n + 4) // 24 + _BOYS


@dataclass(frozen=True, eq=False)
class _Step:
    """For each bra of a group the kets low <= k < high of another group, in one precision."""

    target: Target
    bra: int
    ket: int
    low: np.ndarray
    high: np.ndarray
    products: int

    @cached_property
    def work(self) -> np.ndarray:
        """Of each bra, up to the last one that has any."""
        counts = np.maximum(self.high - self.low, 0)
        return counts[: int(np.flatnonzero(counts)[-1]) + 1] * float(self.products)


class _Tables:
    """What the kernels read and write: NumPy's arrays on a CPU, those kept on the device otherwise.

    Sums are added up on the device if it has double precision and is not the CPU, otherwise by NumPy.
    """

    def __init__(
        self,
        bras: Sequence[Gaussians],
        kets: Sequence[Gaussians],
        coefficients: Sequence[np.ndarray],
        steps: Sequence[_Step],
        double: Target,
    ) -> None:
        self._bras, self._kets, self._coefficients, self._double = bras, kets, coefficients, double
        self._steps, self._software = steps, probe(double.device).software
        self._of_bras, self._of_kets = lru_cache(self._packed_bras), lru_cache(self._packed_kets)
        self._there = not double.on_host and double.precision == "double"
        self._shapes = [(len(powers_of(group.degree)), len(group.exponent)) for group in bras]
        self._first_sum = np.cumsum([0, *map(math.prod, self._shapes)]).tolist()
        self._sums: Any = np.zeros(self._first_sum[-1])
        if self._there:
            self._sums = self._space("sums", self._first_sum[-1], double.dtype)
            fill(self._sums, 0.0)
        of_steps = [self._ranges(step) for step in steps]
        ranges = [pair for of_step in of_steps for pair in of_step]
        self._first_range = np.cumsum([0, *map(len, of_steps)])
        self._at = np.cumsum([0, *(2 * len(low) for low, _ in ranges)])
        self._ends = self._operand(
            "ends", np.concatenate([np.zeros(0, np.int32), *(np.ravel(pair) for pair in ranges)])
        )

    def sums(self) -> list[np.ndarray]:
        """What was added to each bra, shape (n_bras, number of orders)."""
        values = to_numpy(self._sums) if self._there else self._sums
        return [
            np.ascontiguousarray(values[first : first + math.prod(shape)].reshape(shape).T / group.exponent[:, None])
            for group, first, shape in zip(self._bras, self._first_sum, self._shapes, strict=False)
        ]

    def add(self, n: int, checkpoint: Checkpoint | None) -> None:
        """Add the kets of a step to the sums of its bras."""
        step = self._steps[n]
        target, device, written_out = step.target, step.target.device, self._is_written_out(step)
        bra, ket = self._bras[step.bra].degree, self._kets[step.ket].degree
        n_bras, n_orders, n_tiles = len(step.low), len(powers_of(bra)), int(step.high.max()) // TILE[device]
        wanted = max(-(-_TASKS[device] // n_bras), 1 if self._double.precision == "double" else n_tiles // _TILES)
        ranges = range(self._first_range[n], self._first_range[n + 1])
        n_chunks = max(1, min(wanted, n_tiles, _PARTS // (n_orders * n_bras))) if len(ranges) == 1 else 1
        cells, numbers = self._of_kets(step.ket, target)
        if not written_out:
            cells, numbers = (_in_lanes(array, LANES[device]) for array in (cells, numbers))
        kernel, own = self._kernel(target, bra, ket, written_out)
        table = self._operand(f"table {bra + ket}, {target.precision}", table_of(target.precision, bra + ket))
        parts = self._space("parts", n_chunks * n_orders * n_bras, self._double.dtype)
        for place in ranges:
            given = own | {
                "n_bras": n_bras,
                "n_chunks": n_chunks,
                "tiles": -(-n_tiles // n_chunks),
                **self._of_bras(step.bra, target),
                "at": int(self._at[place]),
                "ends": self._ends,
                "ket_cells": cells,
                "kets": numbers,
                "table": table,
                "parts": parts,
            }

            def piece(begin: int, end: int, given: dict[str, Any] = given) -> None:
                self._launch(kernel, begin=begin, end=end, **given)

            pace_of(1e7, "Coulomb sums", target, written_out).run(step.work, piece, checkpoint, synchronise)
            self._add_parts(step, parts, n_orders, n_chunks)

    def _is_written_out(self, step: _Step) -> bool:
        bra, ket = self._bras[step.bra].degree, self._kets[step.ket].degree
        return is_written_out(bra, ket) and float(step.work.sum()) > _LITTLE

    def _ranges(self, step: _Step) -> list[tuple[np.ndarray, np.ndarray]]:
        """Ranges of kets that make up those of a step, so short that no driver ends the loops of a worker."""
        if self._is_written_out(step) or not self._software:
            return [(step.low, step.high)]
        turns = -(-len(step.low) // _WORKERS[step.target.device])
        size = max(1, _TURNS // (2 * turns * step.products))
        edges = range(0, int(step.high.max()), size)
        return [(np.clip(step.low, edge, edge + size), np.clip(step.high, edge, edge + size)) for edge in edges]

    def _launch(self, kernel: Callable[..., Any], **arguments: object) -> None:
        if self._double.on_host:
            launch(kernel, **arguments)
        else:
            _kept.launch(kernel, **arguments)

    def _add_parts(self, step: _Step, parts: Any, n_orders: int, n_chunks: int) -> None:
        """Add up what the chunks gave, for the bras that have any kets."""
        n_active, n_bras, first = len(step.work), len(step.low), self._first_sum[step.bra]
        if self._there:
            sizes = {"n_active": n_active, "n_bras": n_bras, "n_orders": n_orders, "n_chunks": n_chunks}
            self._launch(adding_kernel(self._double.dtype), **sizes, first=first, parts=parts, out=self._sums)
            return
        values = parts if self._double.on_host else to_numpy(parts)
        shape = n_chunks, n_orders, n_bras
        held = self._sums[first : first + n_orders * n_bras].reshape(n_orders, n_bras)
        held[:, :n_active] += values[: math.prod(shape)].reshape(shape)[:, :, :n_active].sum(axis=0, dtype=np.float64)

    def _kernel(
        self, target: Target, bra: int, ket: int, written_out: bool
    ) -> tuple[Callable[..., Any], dict[str, Any]]:
        """The kernel for two degrees, and what only this one takes."""
        if written_out:
            return written_out_kernel(target, self._double.dtype, bra, ket), {}
        degree, n_orders, n_ket_orders = bra + ket, len(powers_of(bra)), len(powers_of(ket))
        n_held = len(powers_of(degree)) + degree + 1
        lanes = LANES[target.device]
        n_workers = max(1, min(_WORKERS[target.device], _HELD // (n_held * lanes)))
        worker_step, step = (n_held, 1) if target.on_host else (1, n_workers)
        held = self._space("R", n_workers * n_held * lanes, target.dtype)
        return looping_kernel(target, self._double.dtype), {
            "n_workers": n_workers,
            "worker_step": worker_step,
            "step": step,
            "degree": degree,
            "n_orders": n_orders,
            "n_ket_orders": n_ket_orders,
            "rule": self._operand(f"rule {degree}", recurrence(degree)),
            "sum_of_orders": self._operand(f"orders {bra} {ket}", sums_of_orders(bra, ket)),
            "held": _in_lanes(held, lanes),
        }

    def _packed_bras(self, b: int, target: Target) -> dict[str, Any]:
        """Cells of the centres; their remainders, exponents and one over these."""
        group = self._bras[b]
        cells, rest = split_position(group.centre)
        numbers = np.stack([*rest.T, group.exponent, 1 / group.exponent])
        name = f"bras {b}, {target.precision}"
        return {
            "bra_cells": self._operand(f"cells of {name}", np.ravel(cells.T)),
            "bras": self._operand(name, np.ravel(numbers).astype(target.dtype)),
        }

    def _packed_kets(self, k: int, target: Target) -> tuple[Any, Any]:
        """The same of the kets, and the coefficients with all that belongs to the kets alone, tile by tile."""
        group, tile = self._kets[k], TILE[target.device]
        orders = np.array(powers_of(group.degree)).sum(axis=1)
        factor = np.pi**3 / group.exponent[:, None] * (-1.0) ** orders  # the kernel has 2 / sqrt(pi)
        cells, rest = split_position(group.centre)
        columns = np.vstack([rest.T, group.exponent, 1 / group.exponent, (self._coefficients[k] * factor).T])
        name = f"kets {k}, {target.precision}"
        return (
            self._operand(f"cells of {name}", _tiled(cells.T, tile, 0).astype(np.int32)),
            self._operand(name, _tiled(columns, tile, 1).astype(target.dtype)),
        )

    def _operand(self, name: str, values: np.ndarray) -> Any:
        return _kept.operand(self._double, name, values, values.dtype)

    def _space(self, name: str, size: int, dtype: "np.dtype[Any]") -> Any:
        """Uninitialised."""
        if self._double.on_host:
            return np.empty(size, dtype)
        return _kept.array(f"{name}, {dtype.char}", number(dtype), (size,))


_kept = Workspace(np.dtype(np.float64))


def _tiled(rows: np.ndarray, tile: int, ones: int) -> np.ndarray:
    """From (rows, n) to (tiles * rows * tile,), filled up with zeros, or with ones in the rows that are divided by."""
    n_tiles = -(-rows.shape[1] // tile)
    filled = np.zeros((len(rows), n_tiles * tile), rows.dtype)
    filled[_EXPONENTS] = ones
    filled[:, : rows.shape[1]] = rows
    return filled.reshape(len(rows), n_tiles, tile).transpose(1, 0, 2).reshape(-1)


_EXPONENTS = slice(3, KET_ROWS)
"""Rows of a ket with its exponent and one over it."""


def _in_lanes(array: Any, lanes: int) -> Any:
    return array.reshape(-1, lanes) if lanes > 1 else array


@lru_cache
def sums_of_orders(bra: int, ket: int) -> np.ndarray:
    """Places of the sums of orders, shape (orders of the bra, orders of the ket)."""
    place = {p: n for n, p in enumerate(powers_of(bra + ket))}
    return np.array([[place[tuple(np.add(p, q).tolist())] for q in powers_of(ket)] for p in powers_of(bra)], np.int32)

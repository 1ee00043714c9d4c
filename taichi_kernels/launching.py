"""How kernels are launched: at once, or in pieces, between which somebody may look at how far it is, or end it."""

import time
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any

import numpy as np

from ._taichi import call, number, ti
from ._taichi import synchronise as synchronise
from .arrays import array_of, send
from .target import Target


def launch(kernel: Callable[..., object], **arguments: object) -> None:
    """Call a kernel that takes NumPy arrays, and wait for it.

    The compiler writes arrays back when the device is through, and keeps no reference to them: what is made for the
    call only has to live until then.
    """
    call(kernel, arguments)
    synchronise()


def sent(array: np.ndarray, target: Target, lanes: int = 0) -> Any:
    """An array for a kernel that is launched in pieces: a copy on the device if it is large, otherwise itself.

    Small ones travel with each launch in less time than an array on the device takes to make. With lanes, the last
    axis becomes a vector that is an element of the copy.
    """
    if target.on_host or array.nbytes < _LARGE:
        return array
    element = number(array.dtype)
    there = array_of(ti.types.vector(lanes, element) if lanes else element, array.shape[:-1] if lanes else array.shape)
    send(there, np.ascontiguousarray(array))
    return there


_BLOCK = 512
"""Turns of a parallel loop that the compiler gives to a thread of a CPU at a time, whatever block it is asked for."""


def turns_of(target: Target, together: int = 4) -> int:
    """Turns of a parallel loop for each of its tasks, so that few heavy tasks are shared out among threads of a CPU.

    Fewer tasks than the compiler gives to a thread at a time would all be of one thread. So a loop takes several turns
    for each task, of which all but the first are idle:

        for turn in range(n * turns):
            if idle(turn, turns):
                continue
            task = turn // turns

    An idle turn takes 0.2 ns. On a GPU it is one turn a task.

    Parameters
    ----------
    target
        What the kernel is for.
    together : int
        Tasks that a thread of a CPU is given at a time, a power of two: 1 for long ones. There must be fewer than 4
        million times as many.
    """
    return _BLOCK // together if target.on_host else 1


@ti.func
def idle(turn: ti.i32, turns: ti.template()):
    """Whether a turn is not the first one of its task; see `turns_of`."""
    if ti.static(turns == 1):
        return False
    return (turn & (turns - 1)) != 0


@ti.func
def turns_for(n: ti.i32, workers: ti.i32):
    """Turns of a loop over tasks of which each thread of a CPU takes the next one whenever it is free.

    The compiler gives every thread as many turns, one after the other: with unequal tasks most threads wait for one.
    Here a worker is as many turns as a thread is given at least, and in the first of them it takes tasks until there
    are none. They are counted in an element of an array, which has to be 0:

        for turn in range(turns_for(n, workers)):
            task = first_task(turn, n, taken, step)
            while task < n:
                work(task)
                task = next_task(taken, step)

    Tasks are taken in order, so long ones should not come last. Each is done whole by one worker, `worker_of(turn)`, so
    values do not depend on who takes which.
    """
    return ti.min(n, workers) * _BLOCK


@ti.func
def first_task(turn: ti.i32, n: ti.i32, taken: ti.template(), step: ti.i32):
    """The first task of a turn; n or more where there is none. See `turns_for`."""
    task = n
    if turn % _BLOCK == 0:
        task = ti.atomic_add(taken[step], 1)
    return task


@ti.func
def next_task(taken: ti.template(), step: ti.i32):
    """The next task of the same turn; the number of tasks or more where there is none. See `turns_for`."""
    return ti.atomic_add(taken[step], 1)


@ti.func
def worker_of(turn: ti.i32):
    """Whose a turn is. See `turns_for`."""
    return turn // _BLOCK


def indented(statements: list[str], depth: int) -> str:
    """Statements as text of a source, at a depth of blocks."""
    return "".join("    " * depth + statement + "\n" for statement in statements)


def loop_over_tasks(n: str, turns: int, task: str = "task") -> list[str]:
    """The same for kernels that are written out: the lines that the lines of a task follow."""
    if turns == 1:
        return [f"for {task} in range({n}):"]
    return [
        f"for turn in range({n} * {turns}):",
        f"    if (turn & {turns - 1}) != 0:",
        "        continue",
        f"    {task} = turn // {turns}",
    ]


_LARGE = 1 << 21
"""Bytes from which an array is sent once rather than with each piece: a copy of it takes 1 % of a piece."""


Checkpoint = Callable[[float], None]
"""Called between two pieces with the share that is done; ends the work by raising."""

PIECE = 0.045
"""Seconds that a piece should take: nobody waits for 0.1 s, and launching it is below 1 %."""

_FASTER = 4.0
"""Times by which the next piece may be larger or smaller."""


def part_of(checkpoint: Checkpoint | None, before: float, length: float) -> Checkpoint | None:
    """What a part of some work calls with its own share, for a checkpoint of the whole."""
    return None if checkpoint is None else lambda share: checkpoint(before + length * share)


class Pace:
    """How much work of one kind makes a piece, learned from the pieces before.

    Parameters
    ----------
    work
        Of the first piece, in whatever unit the caller counts.
    """

    def __init__(self, work: float) -> None:
        self.work = work

    def run(
        self,
        work: np.ndarray,
        launch: Callable[[int, int], None],
        checkpoint: Checkpoint | None,
        wait: Callable[[], None] | None = None,
    ) -> None:
        """Do some units of work in order, in pieces where there is a checkpoint, otherwise at once.

        Parameters
        ----------
        work : ndarray, shape (n_units,)
            Of each unit.
        launch
            Called with the first unit of a piece and the one behind its last.
        checkpoint
            Called between two pieces.
        wait
            Waits for what was launched, if `launch` does not. Short work is not waited for.
        """
        n = len(work)
        if checkpoint is None or n == 0 or (wait is not None and not self.tells(float(work.sum()))):
            launch(0, n)
            return
        ends = np.cumsum(work, dtype=np.float64)
        total, done, first = max(float(ends[-1]), 1.0), 0.0, 0
        while first < n:
            last = max(first + 1, int(np.searchsorted(ends, done + self.work, side="right")))
            begin = time.perf_counter()
            launch(first, last)
            size = float(ends[last - 1]) - done
            if wait is None or last < n or self.tells(size):
                if wait is not None:
                    wait()
                self.learn(size, time.perf_counter() - begin)
            done, first = done + size, last
            if first < n:
                checkpoint(done / total)

    def fits(self, work: float) -> bool:
        """Whether some work is not too much for a piece."""
        return work <= self.work

    def tells(self, size: float) -> bool:
        """Whether the time of that much work says how much makes a piece: of less it is that of launching it."""
        return size > self.work / 2

    def learn(self, size: float, seconds: float) -> None:
        """Take note of how long some work took."""
        if self.tells(size) or seconds > PIECE:
            wanted = size * PIECE / max(seconds, 1e-6)
            self.work = min(max(wanted, self.work / _FASTER), self.work * _FASTER)


@cache
def pace_of(first: float, *kind: Hashable) -> Pace:
    """The pace of one kind of work in this process; `first` is how much its first piece is."""
    return Pace(first)

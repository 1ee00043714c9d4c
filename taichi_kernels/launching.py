"""How kernels are launched."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ._taichi import Launch as Launch
from ._taichi import number, ti
from ._taichi import synchronise as synchronise
from .arrays import array_of, send
from .target import Target


def launch(kernel: Callable[..., object], *arguments: object) -> None:
    """Call a kernel that takes NumPy arrays, and wait for it.

    The compiler writes arrays back when the device is through, and keeps no reference to them: what is made for the
    call only has to live until then.
    """
    kernel(*arguments)
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

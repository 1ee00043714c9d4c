"""A task of a Dask cluster: what is sent for a call of a function, and how a worker of the cluster carries it out.

The call travels as a pickle of our own, which is opened after the versions were compared: a worker with another
Orbitile says so, where unpickling would fail in some way. Arguments that many calls have in common are sent apart, once
to each worker; the pickle has their numbers in their place.
"""

from __future__ import annotations

import io
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any

from .. import __version__
from ..base.errors import OrbitileError
from ..base.watch import Watch, checkpoint
from .failures import Failure

Versions = tuple[tuple[str, str], ...]

VERSIONS: Versions = (("Orbitile", __version__), ("Python", f"{sys.version_info.major}.{sys.version_info.minor}"))
"""What has to be the same in both processes."""

_EVERY = 0.02
"""Polling interval in seconds: whether a task that waits for its turn is still wanted."""

_turn = threading.Lock()
"""Held by the task that computes: a process has one device, whose tables and memory are used by one at a time. Dask
runs as many tasks at once in a worker as it has threads."""


class Kept:
    """Stands in the arguments of calls for an item that is sent to each worker once.

    Attributes
    ----------
    item
        What it stands for; anything that can be pickled.
    """

    def __init__(self, item: object) -> None:
        self.item = item


def pickled(call: object) -> tuple[bytes, tuple[Kept, ...]]:
    """A call as bytes, and what is kept of it, in the order of the numbers in these.

    Raises
    ------
    OrbitileError
        When it cannot be pickled.
    """
    stream = io.BytesIO()
    pickler = _Pickler(stream)
    try:
        pickler.dump(call)
    except Exception as error:  # whatever an object of a caller raises
        raise OrbitileError(f"a task for Dask cannot be sent ({type(error).__name__}: {error})") from error
    return stream.getvalue(), tuple(pickler.kept)


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=5)
        self.kept: list[Kept] = []

    def persistent_id(self, item: Any) -> int | None:
        if not isinstance(item, Kept):
            return None
        if item not in self.kept:
            self.kept.append(item)
        return self.kept.index(item)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, kept: tuple[object, ...]) -> None:
        super().__init__(io.BytesIO(data))
        self._kept = kept

    def persistent_load(self, number: Any) -> object:
        return self._kept[number]


# ---- on a worker


def hold(item: object) -> object:
    """The task whose result is what many calls have in common: found anew when the worker that had it is gone."""
    return item


def carry_out(versions: Versions, data: bytes, *kept: object) -> object:
    """The task of a call: the result of its function, or the `Failure` to have one, as data.

    It ends at the next checkpoint (`orbitile.base.watch`) when nobody wants it any more, or its worker is being closed.
    """
    try:
        if versions != VERSIONS:
            raise OrbitileError(f"{_difference(versions)}: give workers and client the same environment")
        with Watch(cancelled=_unwanted()).stage():
            while not _turn.acquire(timeout=_EVERY):
                checkpoint()
            try:
                checkpoint()
                function, arguments, keywords = _Unpickler(data, kept).load()
                return function(*arguments, **keywords)
            finally:
                _turn.release()
    except Exception as error:  # whatever goes wrong is told, and the worker goes on
        return Failure.of(error)


def _difference(versions: Versions) -> str:
    theirs = ", ".join(f"{name} {version}" for name, version in versions)
    ours = ", ".join(f"{name} {version}" for name, version in VERSIONS)
    return f"the worker of Dask has {ours}, and the process that asks has {theirs}"


def _unwanted() -> Callable[[], bool]:
    """Whether the task of this thread was withdrawn from its worker, which cannot end it."""
    from distributed import Status, get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def unwanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled" or worker.status in (Status.closing, Status.closed)

    return unwanted

"""One field on several devices of a machine or a cluster: slabs of its lattice, each computed by another process.

Taichi computes on one device a process. A worker of this machine (`orbitile.workers`) is told which GPU to see, and
keeps warm between calls. A slab is computed by a plain function of a plan and a number, `compute_slab`, so that any
executor of `concurrent.futures` can stand in the place of the workers, as that of a Dask cluster does: workers of this
machine write to memory of this process, others send what they have computed.
"""

from __future__ import annotations

import dataclasses
import os
import pickle
import secrets
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import DeviceError, OrbitileError
from ..base.watch import Watch, checkpoint, tell
from ..fields import Field
from ..model.derived import Derived
from ..model.lattice import Lattice
from ..model.wavefunction import Wavefunction
from ..workers import (
    Worker,
    WorkerEnded,
    WorkerError,
    WorkerNotStarted,
    Workers,
    awaited,
    environment,
    shared_array,
)
from ..workers.dask import DaskExecutor
from .plans import Pickled, Plan, compute_slab, release, slab_cuts
from .ring import Ring, gather
from .slabs import SLAB_POINTS, Cuts

Array = NDArray[Any]

_AHEAD = 2
"""Slabs a device that are asked for at once: while one is computed, another is read or waits."""

_LITTLE = 1 << 24
"""Bytes of a pickled wavefunction that are kept with it: to make them again takes as long as to compute a slab."""

_SLAB = 4 * SLAB_POINTS
"""Bytes of shared memory that are kept for each of them: 64 MiB a device."""


# ---- sharing out


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """A plan and who computes it.

    Attributes
    ----------
    executor : Executor
        `Workers`, or any other, whose own errors come as they are.
    plan : Plan
    cuts : tuple of (int, int)
        The slabs, the same as on one device.
    shape : tuple of three int
        Of the lattice.
    dtype : dtype
        Of the values.
    ahead : int
        Slabs that are asked for at once.
    ring : Ring or None
        What `Workers` write them to, if it is kept.
    """

    executor: Executor
    plan: Plan
    cuts: Cuts
    shape: tuple[int, int, int]
    dtype: np.dtype[np.floating]
    ahead: int
    ring: Ring | None = None

    def whole(self) -> Array:
        """All values."""
        values = np.empty(self.shape, self.dtype)
        with closing(self.slabs(Watch())) as slabs:
            gather(slabs, values)
        return values

    def slabs(self, watch: Watch) -> Generator[Array, None, None]:
        """The slabs in order, each in memory until the next is asked for; others are computed meanwhile."""
        longest = max(stop - start for start, stop in self.cuts)

        def place(n: int) -> slice:
            first = n % self.ahead * longest
            return slice(first, first + self.cuts[n][1] - self.cuts[n][0])

        with (
            self._memory((self.ahead * longest, *self.shape[1:])) as shared,
            closing(self._computed(shared, place, watch)) as slabs,
        ):
            for (_, stop), slab in zip(self.cuts, slabs, strict=True):
                yield slab
                with watch.stage():
                    tell(stop / self.shape[0])

    def _memory(self, shape: tuple[int, ...]) -> AbstractContextManager[Array | None]:
        """Memory to which whoever computes writes slabs."""
        return _memory(self.executor, shape, self.dtype) if self.ring is None else self.ring.array(shape, self.dtype)

    def _computed(
        self, shared: Array | None, place: Callable[[int], slice], watch: Watch
    ) -> Generator[Array, None, None]:
        """The slabs in order, not many more than the one that was yielded last; `place` tells their planes there."""
        pending: deque[Future[Array]] = deque()
        try:
            for n in range(len(self.cuts) + self.ahead):
                if n >= self.ahead:
                    start, stop = self.cuts[n - self.ahead]
                    with watch.stage(start / self.shape[0], stop / self.shape[0]), ending_as_a_device():
                        slab = awaited(pending.popleft())
                    yield slab
                if n < len(self.cuts):
                    with watch.stage():
                        checkpoint()
                    out = None if shared is None else shared[place(n)]
                    ring = None if self.ring is None else self.ring.memory
                    pending.append(self.executor.submit(compute_slab, self.plan, n, out, ring))
        finally:
            for future in pending:
                future.cancel()


def _memory(
    executor: Executor, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> AbstractContextManager[NDArray[Any] | None]:
    """Memory that whoever computes can use in place, where there is such a thing."""
    return shared_array(shape, dtype) if isinstance(executor, Workers) else nullcontext()


@contextmanager
def planned(
    executor: Executor,
    n_devices: int,
    wavefunction: Wavefunction,
    field: str | Field,
    lattice: Lattice,
    precision: str,
    ring: Ring | None = None,
) -> Iterator[Task]:
    """A field on a lattice, prepared by whoever computes it.

    Parameters
    ----------
    executor : Executor
    n_devices : int
        Slabs that it computes at a time.
    wavefunction, field, lattice, precision
        As for `orbitile.compute`.
    ring : Ring, optional
        Where slabs are written to, for `Workers`.

    Raises
    ------
    OrbitileError
        As for the same request on one device.
    """
    sent = _SENT.of(wavefunction, None, lambda: _Sent(secrets.token_hex(8)))
    with ExitStack() as stack:

        def pickled(key: str, data: NDArray[np.uint8]) -> Pickled:
            shared = stack.enter_context(_memory(executor, data.shape, data.dtype))  # it is sent with each slab
            if shared is not None:
                shared[...] = data
            item = Pickled(key, data if shared is None else shared)
            return executor.keep(item) if isinstance(executor, DaskExecutor) else item

        data = sent.data
        if data is None:
            data = _plain(dataclasses.replace(wavefunction))  # without what is kept with it
            if data.nbytes <= _LITTLE:
                sent.data = data
        plan = Plan(pickled(sent.key, data), pickled(secrets.token_hex(8), _plain((field, lattice, precision))))
        asked = [executor.submit(slab_cuts, plan) for _ in range(n_devices)]
        try:
            with ending_as_a_device():
                cuts = awaited(asked[0])  # the others are not waited for: one may only just have been started
            ahead = min(_AHEAD * n_devices, len(cuts))
            yield Task(executor, plan, cuts, lattice.shape, np.dtype(precision), ahead, ring)
        finally:
            for future in asked:
                future.cancel()


def _plain(item: object) -> NDArray[np.uint8]:
    try:
        return np.frombuffer(pickle.dumps(item, protocol=5), np.uint8)
    except Exception as error:  # whatever an object of a caller raises
        raise OrbitileError(f"the field cannot be sent to another process ({error}); give it by its name") from error


@dataclasses.dataclass(eq=False)
class _Sent:
    """What is kept with a wavefunction that was sent: its key, and the pickle if it is not long."""

    key: str
    data: NDArray[np.uint8] | None = None


_SENT = Derived[_Sent](most=1)


@contextmanager
def ending_as_a_device() -> Iterator[None]:
    """The end of a worker is an error of its device."""
    try:
        yield
    except (WorkerEnded, WorkerNotStarted) as error:
        raise DeviceError(str(error)) from error


# ---- the devices of this machine


@contextmanager
def prepared(
    devices: tuple[str, ...], wavefunction: Wavefunction, field: str | Field, lattice: Lattice, precision: str
) -> Iterator[Task]:
    """A field on a lattice on several devices, whose workers are started if need be and kept for the next call.

    Raises
    ------
    DeviceError
        When a device cannot be used, or its worker ends.
    OrbitileError
        As for the same request on one device; or when this thread is in the middle of another such computation.
    """
    with _lock:
        if any(pool.busy for pool in _pools):  # a callback asks, whose answers would get among the others
            raise OrbitileError("several devices are computing already: finish that before the next")
        pool = _pool_of(devices)
        pool.busy = True
        try:
            with planned(pool.workers, len(devices), wavefunction, field, lattice, precision, pool.ring) as task:
                yield task
        finally:
            pool.busy = False
            with suppress(WorkerError):  # one that has died has let go of everything
                pool.workers.on_each(release)


@dataclasses.dataclass(eq=False)
class _Pool:
    """The workers of several devices, and whether a computation is under way, also between its slabs."""

    devices: tuple[str, ...]
    workers: Workers
    ring: Ring
    busy: bool = False


_lock = threading.RLock()
_pools: list[_Pool] = []
"""The one pool there is, if any: GPUs are not shared with those that serve another list of devices."""


def _pool_of(devices: tuple[str, ...]) -> _Pool:
    if not _pools or _pools[0].devices != devices:
        end_processes()
        cpus = devices.count("cpu")
        workers = [Worker(f"the process for {name}", settings=partial(_settings, name, cpus)) for name in devices]
        _pools.append(_Pool(devices, Workers(workers), Ring(_AHEAD * len(devices) * _SLAB)))
    return _pools[0]


def _settings(device: str, cpus: int) -> Mapping[str, str]:
    """Environment of the worker of a device, of which so many are the CPU."""
    settings = environment()
    if device == "cpu":
        settings.setdefault("ORBITILE_THREADS", str(max(1, (os.cpu_count() or 1) // cpus)))
    else:
        visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
        number = int(device.removeprefix("cuda:"))
        settings["CUDA_VISIBLE_DEVICES"] = visible[number] if visible else str(number)
    settings["ORBITILE_DEVICE"] = device.partition(":")[0]
    return settings


def process_ids() -> list[int]:
    """Numbers of the processes that several devices keep."""
    return [number for pool in _pools for worker in pool.workers.workers if (number := worker.process_id) is not None]


def end_processes() -> None:
    """End the processes that several devices keep; the next call starts others."""
    with _lock:
        while _pools:
            pool = _pools.pop()
            pool.ring.close()
            pool.workers.shutdown(cancel_futures=True)


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

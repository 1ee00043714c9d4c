"""One field on several devices of a machine: slabs of its lattice, each computed by a worker (`orbitile.workers`).

Taichi computes on one device a process. A worker is told which GPU to see, and keeps warm between calls. A slab is
computed by a plain function of a plan and a number, `compute_slab`, so that any executor of `concurrent.futures` can
stand in the place of the workers, with processes of other machines too; workers write to memory of this process.
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
from functools import lru_cache, partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError, OrbitileError
from ..fields import Field
from ..model.lattice import Lattice
from ..model.wavefunction import Wavefunction
from ..watch import Watch, checkpoint, tell
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
from .requests import field_of
from .slabs import Cuts, Slabs, slabs_of

Array = NDArray[Any]

_AHEAD = 2
"""Slabs a device that are asked for at once: while one is computed, another is read or waits."""


# ---- what is computed, wherever


@dataclasses.dataclass(frozen=True)
class Pickled:
    """An object as plain data, told from others by its key: a process that has it reads no further."""

    key: str
    data: NDArray[np.uint8] = dataclasses.field(compare=False)


@dataclasses.dataclass(frozen=True)
class Plan:
    """A field on a lattice, for whoever computes a slab of it.

    Attributes
    ----------
    wavefunction : Pickled
    request : Pickled
        Field, lattice and precision.
    """

    wavefunction: Pickled
    request: Pickled


def slab_cuts(plan: Plan) -> Cuts:
    """The slabs of a plan, the same everywhere; errors as for `compute_slab`."""
    with _failing_as_a_device():
        return _prepared(plan).slabs.cuts


def compute_slab(plan: Plan, n: int, out: Array | None = None) -> Array:
    """Compute one slab on the device of this process.

    Parameters
    ----------
    plan : Plan
    n : int
        Number of the slab.
    out : ndarray, shape of the slab, optional
        Where its values are written to, in memory that is shared with this process.

    Returns
    -------
    ndarray, shape of the slab
        `out`, or a new array.

    Raises
    ------
    OrbitileError
        As for the same request on one device.
    """
    from taichi_kernels.session import session

    with _failing_as_a_device():
        prepared = _prepared(plan)
        start, stop = prepared.slabs.cuts[n]
        if out is None:
            out = np.empty((stop - start, *prepared.shape[1:]), np.dtype(prepared.precision))
        prepared.out = out
        with session(None, prepared.precision):
            prepared.slabs.fill(start, stop, out)
    return out


def release() -> None:
    """Let go of tables on the device and of shared memory; the wavefunction is kept for the next plan."""
    _prepared.cache_clear()


@dataclasses.dataclass(eq=False)
class _Prepared:
    """A plan with its tables on the device; `out` keeps memory mapped that is written to again and again."""

    slabs: Slabs
    shape: tuple[int, int, int]
    precision: str
    out: Array | None = None


@lru_cache(maxsize=1)
def _wavefunction(pickled: Pickled) -> Wavefunction:
    wavefunction: Wavefunction = pickle.loads(pickled.data.data)
    return wavefunction


@lru_cache(maxsize=1)
def _prepared(plan: Plan) -> _Prepared:
    from taichi_kernels.session import session
    from taichi_kernels.target import Target

    field, lattice, precision = pickle.loads(plan.request.data.data)
    wavefunction = _wavefunction(plan.wavefunction)
    resolved = field_of(wavefunction, field)
    with session(None, precision) as name:
        return _Prepared(slabs_of(wavefunction, resolved, lattice, Target(name, precision)), lattice.shape, precision)


@contextmanager
def _failing_as_a_device() -> Iterator[None]:
    """What goes wrong with a device is its error."""
    from taichi_kernels.devices import DeviceUnavailable

    try:
        yield
    except (DeviceUnavailable, RuntimeError) as error:
        raise DeviceError(f"the device failed: {' '.join(str(error).split())[:300]}") from error
    except MemoryError as error:
        raise DeviceError("the process of a device has no memory left for this") from error


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
    """

    executor: Executor
    plan: Plan
    cuts: Cuts
    shape: tuple[int, int, int]
    dtype: np.dtype[np.floating]
    ahead: int

    def whole(self) -> Array:
        """All values, in shared memory to which workers write their slabs."""
        with _memory(self.executor, self.shape, self.dtype) as shared:
            values = np.empty(self.shape, self.dtype) if shared is None else shared
            with closing(self._computed(shared, lambda n: slice(*self.cuts[n]), Watch())) as slabs:
                for (start, stop), slab in zip(self.cuts, slabs, strict=True):
                    if shared is None:
                        values[start:stop] = slab
                    tell(stop / self.shape[0])
        return values

    def slabs(self, watch: Watch) -> Iterator[Array]:
        """The slabs in order, each in memory until the next is asked for; others are computed meanwhile."""
        longest = max(stop - start for start, stop in self.cuts)

        def place(n: int) -> slice:
            first = n % self.ahead * longest
            return slice(first, first + self.cuts[n][1] - self.cuts[n][0])

        with (
            _memory(self.executor, (self.ahead * longest, *self.shape[1:]), self.dtype) as shared,
            closing(self._computed(shared, place, watch)) as slabs,
        ):
            for (_, stop), slab in zip(self.cuts, slabs, strict=True):
                yield slab
                with watch.stage():
                    tell(stop / self.shape[0])

    def _computed(
        self, shared: Array | None, place: Callable[[int], slice], watch: Watch
    ) -> Generator[Array, None, None]:
        """The slabs in order, not many more than the one that was yielded last; `place` tells their planes there."""
        pending: deque[Future[Array]] = deque()
        try:
            for n in range(len(self.cuts) + self.ahead):
                if n >= self.ahead:
                    start, stop = self.cuts[n - self.ahead]
                    with watch.stage(start / self.shape[0], stop / self.shape[0]), _ending_as_a_device():
                        slab = awaited(pending.popleft())
                    yield slab
                if n < len(self.cuts):
                    with watch.stage():
                        checkpoint()
                    out = None if shared is None else shared[place(n)]
                    pending.append(self.executor.submit(compute_slab, self.plan, n, out))
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
    executor: Executor, n_devices: int, wavefunction: Wavefunction, field: str | Field, lattice: Lattice, precision: str
) -> Iterator[Task]:
    """A field on a lattice, prepared by whoever computes it.

    Parameters
    ----------
    executor : Executor
    n_devices : int
        Slabs that it computes at a time.
    wavefunction, field, lattice, precision
        As for `orbitile.compute`.

    Raises
    ------
    OrbitileError
        As for the same request on one device.
    """
    key = _keys.setdefault(wavefunction, secrets.token_hex(8))
    plain = dataclasses.replace(wavefunction)  # without what is kept with it
    with ExitStack() as stack:

        def pickled(key: str, item: object) -> Pickled:
            try:
                data = np.frombuffer(pickle.dumps(item, protocol=5), np.uint8)
            except Exception as error:  # whatever an object of a caller raises
                raise OrbitileError(
                    f"the field cannot be sent to another process ({error}); give it by its name"
                ) from error
            shared = stack.enter_context(_memory(executor, data.shape, data.dtype))  # it is sent with each slab
            if shared is not None:
                shared[...] = data
            return Pickled(key, data if shared is None else shared)

        plan = Plan(pickled(key, plain), pickled(secrets.token_hex(8), (field, lattice, precision)))
        asked = [executor.submit(slab_cuts, plan) for _ in range(n_devices)]
        with _ending_as_a_device():
            cuts, *_ = [awaited(future) for future in asked]
        yield Task(executor, plan, cuts, lattice.shape, np.dtype(precision), min(_AHEAD * n_devices, len(cuts)))


@contextmanager
def _ending_as_a_device() -> Iterator[None]:
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
            with planned(pool.workers, len(devices), wavefunction, field, lattice, precision) as task:
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
    busy: bool = False


_lock = threading.RLock()
_pools: list[_Pool] = []
"""The one pool there is, if any: GPUs are not shared with those that serve another list of devices."""
_keys: WeakKeyDictionary[Wavefunction, str] = WeakKeyDictionary()


def _pool_of(devices: tuple[str, ...]) -> _Pool:
    if not _pools or _pools[0].devices != devices:
        end_processes()
        cpus = devices.count("cpu")
        workers = [Worker(f"the process for {name}", settings=partial(_settings, name, cpus)) for name in devices]
        _pools.append(_Pool(devices, Workers(workers)))
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
            _pools.pop().workers.shutdown(cancel_futures=True)


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

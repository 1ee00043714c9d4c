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
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from functools import lru_cache, partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..base.caches import Derived
from ..base.errors import DeviceError, OrbitileError
from ..base.memory import share
from ..base.watch import Watch, checkpoint, stage, tell
from ..fields import Field
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
from .devices import account_of
from .requests import field_of
from .slabs import Cuts, Slabs, slabs_of

Array = NDArray[Any]

_AHEAD = 2
"""Slabs a device that are asked for at once: while one is computed, another is read or waits."""

_SLAB = share("slab")
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

    def _most_ahead(self, cuts: Cuts) -> int:
        """How many slabs, or other cuts of the lattice, are asked for at once."""
        return self.ahead

    def _memory(self, shape: tuple[int, ...]) -> AbstractContextManager[Array | None]:
        """Memory to which whoever computes writes slabs."""
        return _memory(self.executor, shape, self.dtype) if self.ring is None else self.ring.array(shape, self.dtype)

    def _computed(
        self, shared: Array | None, place: Callable[[int], slice], watch: Watch
    ) -> Generator[Array, None, None]:
        """The slabs in order, not many more than the one that was yielded last; `place` tells their planes there."""
        pending: deque[Future[Array]] = deque()
        numbers = iter(range(len(self.cuts)))
        try:
            for start, stop in self.cuts:
                with watch.stage():
                    checkpoint()
                for n in islice(numbers, max(0, self._most_ahead(self.cuts) - len(pending))):
                    out = None if shared is None else shared[place(n)]
                    ring = None if self.ring is None else self.ring.memory
                    pending.append(self.executor.submit(compute_slab, self.plan, n, out, ring))
                with watch.stage(start / self.shape[0], stop / self.shape[0]), ending_as_a_device():
                    slab = awaited(pending.popleft())
                yield slab
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
    with ExitStack() as stack:

        def pickled(key: str, data: NDArray[np.uint8]) -> Pickled:
            shared = stack.enter_context(_memory(executor, data.shape, data.dtype))  # it is sent with each slab
            if shared is not None:
                shared[...] = data
            item = Pickled(key, data if shared is None else shared)
            return executor.keep(item) if isinstance(executor, DaskExecutor) else item

        key = _KEYS.of(wavefunction, None, lambda: secrets.token_hex(8))
        bare = dataclasses.replace(wavefunction)  # without what is kept with it
        data = _PICKLED.of(wavefunction, None, lambda: _plain(bare))
        plan = Plan(pickled(key, data), pickled(secrets.token_hex(8), _plain((field, lattice, precision))))
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


_KEYS = Derived[str]("numbers")
"""Names by which other processes know wavefunctions that were sent to them."""

_PICKLED = Derived[NDArray[np.uint8]]("pickled wavefunctions", alone=False)
"""Kept where they are not long: to make them again takes as long as to compute a slab."""


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
            raise OrbitileError("several devices are already computing; start this when they have finished")
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


# ---- memory through which processes of this machine hand over slabs, again and again. Shared memory is dear when it is
# new: 0.6 s a GB, since the system clears it page by page, and processes that touch it at once wait for each other. So
# workers write to a little of it that is kept from call to call; CUDA's driver copies to it at the rate of the bus, for
# it is pinned. Whoever asked copies a slab on from there while the next ones are computed.

_COPYING = 8
"""Threads that copy a slab: one does not copy as fast as a GPU delivers, above all to memory that is new."""


class Ring:
    """Shared memory of one size, made when it is first wanted.

    Parameters
    ----------
    size
        In bytes.

    Attributes
    ----------
    memory : ndarray of uint8, or None
        All of it, once there is one.
    """

    def __init__(self, size: int) -> None:
        self.memory: Array | None = None
        self._size = size
        self._names = ExitStack()

    @contextmanager
    def array(self, shape: tuple[int, ...], dtype: DTypeLike) -> Iterator[Array | None]:
        """Shared memory of some shape for the block, of which one runs at a time; what does not fit is not kept.

        None where there is not so much shared memory.
        """
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        if size > self._size:
            with shared_array(shape, dtype) as array:
                yield array
            return
        if self.memory is None:
            self.memory = self._names.enter_context(shared_array((self._size,), np.uint8))
        try:
            yield None if self.memory is None else self.memory[:size].view(dtype).reshape(shape)
        except BaseException:
            self.close()  # somebody may still write what is not wanted any more
            raise

    def close(self) -> None:
        """Give the memory back when nobody has it any more."""
        self.memory = None
        self._names.close()


def gather(slabs: Iterable[Array], values: Array) -> None:
    """Copy slabs one behind the other along the first axis of an array, each by several threads."""
    stop = 0
    with ThreadPoolExecutor(_COPYING) as threads:
        for slab in slabs:
            start, stop = stop, stop + len(slab)
            parts = (np.array_split(array, _COPYING) for array in (values[start:stop], slab))
            list(threads.map(np.copyto, *parts))


# ---- in a process that computes: a plain function of a plan and a number, so that any executor can have it done


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
        Field, lattice and precision. Both may be sent apart, see `DaskExecutor.keep`.
    """

    wavefunction: Pickled
    request: Pickled


def slab_cuts(plan: Plan) -> Cuts:
    """The slabs of a plan, the same everywhere; errors as for `compute_slab`."""
    with _failing_as_a_device():
        return _prepared(plan).slabs.cuts


def compute_slab(plan: Plan, n: int, out: Array | None = None, ring: Array | None = None) -> Array:
    """Compute one slab on the device of this process.

    Parameters
    ----------
    plan : Plan
    n : int
        Number of the slab.
    out : ndarray, shape of the slab, optional
        Where its values are written to, in memory that is shared with this process.
    ring : ndarray, optional
        Shared memory that will be written to again and again, and is held until there is another.

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
            if ring is not None:
                hold(ring)
            prepared.slabs.fill(start, stop, out)
    return out


def compute_planes(plan: Plan, start: int, stop: int) -> Array:
    """Compute planes of a lattice on the device of this process; errors as for `compute_slab`.

    Parameters
    ----------
    plan : Plan
    start, stop : int
        The first plane, a multiple of 8, and the one behind the last, a multiple of 8 or the number of planes.

    Returns
    -------
    ndarray, shape (stop - start, ny, nz)
        The values of slabs, bit by bit: where the cuts matter they are at multiples of 8 planes.
    """
    from taichi_kernels.session import session

    with _failing_as_a_device():
        prepared = _prepared(plan)
        step = prepared.slabs.cuts[0][1]
        values = np.empty((stop - start, *prepared.shape[1:]), np.dtype(prepared.precision))
        with session(None, prepared.precision):
            for first in range(start, stop, step):
                last = min(first + step, stop)
                with stage((first - start) / len(values), (last - start) / len(values)):
                    prepared.slabs.fill(first, last, values[first - start : last - start])
    return values


def release() -> None:
    """Let go of tables on the device; the wavefunction and the memory of a ring are kept for the next plan."""
    _prepared_on.cache_clear()


@dataclasses.dataclass(eq=False)
class _Prepared:
    """A plan with its tables on the device; `out` keeps memory mapped that is written to again and again."""

    slabs: Slabs
    shape: tuple[int, int, int]
    precision: str
    out: Array | None = None


@lru_cache(maxsize=1)
def _wavefunction(pickled: Pickled) -> Wavefunction:
    return pickle.loads(pickled.data.data)


@lru_cache(maxsize=1)
def _request(pickled: Pickled) -> tuple[str | Field, Lattice, str]:
    return pickle.loads(pickled.data.data)


def _prepared(plan: Plan) -> _Prepared:
    from taichi_kernels.session import generation, session

    with session(None, _request(plan.request)[2]) as device:
        return _prepared_on(plan, device, generation())


@lru_cache(maxsize=1)
def _prepared_on(plan: Plan, device: str, generation: int) -> _Prepared:
    """Within a session of the device, with whose generation it is lost: others use this process too, on a cluster."""
    from taichi_kernels.target import Target

    field, lattice, precision = _request(plan.request)
    wavefunction = _wavefunction(plan.wavefunction)
    slabs = slabs_of(wavefunction, field_of(wavefunction, field), lattice, Target(device, precision))
    return _Prepared(slabs, lattice.shape, precision)


@contextmanager
def _failing_as_a_device() -> Iterator[None]:
    """What goes wrong with a device is its error."""
    from taichi_kernels.devices import DeviceUnavailable

    try:
        yield
    except (DeviceUnavailable, RuntimeError) as error:
        raise DeviceError(account_of(error)) from error
    except MemoryError as error:
        raise DeviceError("the process of a device has no memory left for this") from error


class _Held(NamedTuple):
    memory: Array
    unpin: Callable[[], None]


_held: list[_Held] = []
"""The ring that slabs are written to, if any."""


def hold(memory: Array) -> None:
    """Keep the memory of a ring mapped, and pinned if kernels run on CUDA, in place of another's; in a session."""
    from taichi_kernels.arrays import pin

    if _held and _held[0].memory.ctypes.data == memory.ctypes.data:
        return
    while _held:
        _held.pop().unpin()
    _held.append(_Held(memory, pin(memory)))

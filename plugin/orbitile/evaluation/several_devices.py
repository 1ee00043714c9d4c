"""One field on several devices of a machine: slabs of its lattice, each computed by a process of its own.

Taichi computes on one device a process. A process is told which GPU to see, keeps warm between calls, and writes
values into memory that it shares with this one. `python -m orbitile.evaluation.several_devices` is such a process; how
it starts and ends is said in `orbitile.workers.child_process`.
"""

from __future__ import annotations

import atexit
import dataclasses
import mmap
import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.target import Target

from ..errors import DeviceError, OrbitileError
from ..fields import Field
from ..model.lattice import Lattice
from ..model.wavefunction import Wavefunction
from ..watch import Cancel, Watch, checkpoint, tell, watched
from ..workers.child_process import AnsweringProcess, ProcessError, parent
from ..workers.processes import environment, interpreter
from .requests import field_of
from .slabs import Cuts, Slabs, slabs_of

_ALL = "all"
_SLOTS = 2
"""Slabs a device that are asked for at once: while one is computed, another is read or waits."""
_EVERY = 0.05
"""Seconds between two looks at `cancelled`, and at whether a process goes on."""
_WITHDRAWN = 5.0
"""Seconds that a process may go on with what was cancelled."""


def several(device: str | None) -> tuple[str, ...]:
    """The devices that a request names one by one: `cuda:0,1`, `cuda:all`, `cpu,cpu`; none for `cuda`, `auto`, ...

    Without a request, `ORBITILE_DEVICE` is looked at.

    Raises
    ------
    DeviceError
        When there is no such GPU here, or one is named twice.
    """
    from taichi_kernels import runtime

    if device is None or device.lower() == "auto":
        device = os.environ.get("ORBITILE_DEVICE", "")
    text = device.lower().replace(" ", "")
    if "," not in text and ":" not in text:
        return ()
    gpus = runtime.gpus()
    names: list[str] = []
    kind = ""
    for item in text.split(","):
        head, _, number = item.partition(":")
        if head.isdigit() and kind == "cuda":  # the 1 of cuda:0,1
            head, number = kind, head
        kind = head
        if head == "cuda" and number == _ALL:
            names += [f"cuda:{n}" for n in range(len(gpus))]
        elif head == "cuda" and number.isdigit():
            names.append(f"cuda:{int(number)}")
        elif item == "cpu":
            names.append("cpu")
        else:
            raise DeviceError(f"device {device!r}: expected GPUs by number, such as cuda:0,1 or cuda:all, got {item!r}")
    missing = [name for name in names if name != "cpu" and int(name[5:]) >= len(gpus)]
    if missing or not names:
        have = ", ".join(f"cuda:{n} ({gpu})" for n, gpu in enumerate(gpus)) or "none"
        raise DeviceError(f"device {device!r}: there is no {', '.join(missing) or 'GPU'} here. CUDA GPUs here: {have}")
    if len({name for name in names if name != "cpu"}) + names.count("cpu") < len(names):
        raise DeviceError(f"device {device!r}: a GPU is named twice")
    return tuple(names)


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """A field on a lattice, prepared on several devices.

    Attributes
    ----------
    pool : Pool
        The processes.
    cuts : tuple of (int, int)
        The slabs, the same as on one device.
    shape : tuple of three int
        Of the lattice.
    dtype : dtype
        Of the values.
    """

    pool: Pool
    cuts: Cuts
    shape: tuple[int, int, int]
    dtype: np.dtype[np.floating]

    @property
    def _ahead(self) -> int:
        return min(_SLOTS * len(self.pool.workers), len(self.cuts))

    def whole(self) -> NDArray[np.floating]:
        """All values, in shared memory to which each process writes its slabs."""
        values = self.pool.share(self.shape, self.dtype)
        plane = values[0].nbytes
        with closing(self.pool.fill(self.cuts, lambda n: self.cuts[n][0] * plane, self._ahead, Watch())) as done:
            for n in done:
                tell(self.cuts[n][1] / self.shape[0])
        return values

    def slabs(self, watch: Watch) -> Iterator[NDArray[np.floating]]:
        """The slabs in order, each in memory until the next is asked for; others are computed meanwhile."""
        longest = max(stop - start for start, stop in self.cuts)
        slots = self._ahead
        held = self.pool.share((slots, longest, *self.shape[1:]), self.dtype)
        with closing(self.pool.fill(self.cuts, lambda n: n % slots * held[0].nbytes, slots, watch)) as done:
            for n in done:
                start, stop = self.cuts[n]
                yield held[n % slots, : stop - start]
                with watch.stage():
                    tell(stop / self.shape[0])


@contextmanager
def prepared(
    devices: tuple[str, ...], wavefunction: Wavefunction, field: str | Field, lattice: Lattice, precision: str
) -> Iterator[Task]:
    """A field on a lattice on several devices, whose processes are started if need be and kept for the next call.

    Raises
    ------
    DeviceError
        When a device cannot be used, or its process ends.
    OrbitileError
        As for the same request on one device; or when this thread is in the middle of another such computation.
    """
    with _lock:
        if any(pool.busy for pool in _pools):  # a callback asks, whose answers would get among the others
            raise OrbitileError("several devices are computing already: finish that before the next")
        pool = _pool_of(devices)
        pool.busy = True
        try:
            cuts = pool.prepare(wavefunction, field, lattice, precision)
            yield Task(pool, cuts, lattice.shape, np.dtype(precision))
        except DeviceError:
            pool.close()  # others are started for the next call
            raise
        finally:
            pool.busy = False
            if pool.alive:
                try:
                    pool.release()
                except DeviceError:  # all is computed; others are started for the next call
                    pool.close()


class Pool:
    """The processes of several devices.

    Parameters
    ----------
    devices
        Names, as from `several`.

    Attributes
    ----------
    busy : bool
        Whether a computation is under way, also between its slabs.
    """

    def __init__(self, devices: tuple[str, ...]) -> None:
        if not hasattr(os, "memfd_create"):
            raise DeviceError("several devices at once need Linux; name one, such as cuda")
        self.devices = devices
        self.busy = False
        self.workers: list[_Worker] = []
        self._stop = threading.Event()
        with ThreadPoolExecutor(len(devices)) as executor:
            starting = [executor.submit(_Worker, device, devices.count("cpu")) for device in devices]
        self.workers = [one.result() for one in starting if one.exception() is None]
        try:
            for one in starting:
                one.result()
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether all its processes run."""
        return bool(self.workers) and all(worker.child.running() for worker in self.workers)

    def prepare(self, wavefunction: Wavefunction, field: str | Field, lattice: Lattice, precision: str) -> Cuts:
        """Send what is to be computed; returns the slabs."""
        key = _keys.setdefault(wavefunction, next(_numbers))
        plain = dataclasses.replace(wavefunction)  # without what is kept with it
        answers = self._each(
            lambda worker: worker.ask(
                "prepare", key, None if worker.key == key else plain, field, lattice, precision, wavefunction_key=key
            )
        )
        cuts: Cuts = answers[0]
        return cuts

    def share(self, shape: tuple[int, ...], dtype: np.dtype[np.floating]) -> NDArray[np.floating]:
        """An array that the processes can write to."""
        n_values = int(np.prod(shape, dtype=np.int64))
        size = n_values * dtype.itemsize
        handle = os.memfd_create("orbitile")
        try:
            os.ftruncate(handle, size)
            memory = mmap.mmap(handle, size)
            self._each(lambda worker: worker.ask("share", os.getpid(), handle, size))
        finally:
            os.close(handle)
        values: NDArray[np.floating] = np.frombuffer(memory, dtype, n_values).reshape(shape)
        return values

    def fill(self, cuts: Cuts, place: Callable[[int], int], ahead: int, watch: Watch) -> Generator[int, None, None]:
        """Compute slabs, `ahead` of them at most beyond the one that was yielded last; yields their numbers in order.

        `place` tells the byte of the shared memory at which the values of a slab begin.
        """
        free: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self.workers:
            free.put(worker)
        self._stop.clear()

        def one(n: int) -> int:
            worker = free.get()
            try:
                worker.ask("fill", *cuts[n], place(n), withdrawn=self._stop.is_set)
            finally:
                free.put(worker)
            return n

        executor = ThreadPoolExecutor(len(self.workers))
        pending: deque[Future[int]] = deque()
        try:
            for n in range(len(cuts)):
                if len(pending) == ahead:
                    yield self._first(pending, watch)
                with watch.stage():
                    checkpoint()
                pending.append(executor.submit(one, n))
            while pending:
                yield self._first(pending, watch)
        finally:
            self._stop.set()
            executor.shutdown(wait=False, cancel_futures=True)
            for future in pending:
                self._settled(future)
            executor.shutdown()

    def release(self) -> None:
        """Have the processes let go of shared memory and tables."""
        self._each(lambda worker: worker.ask("release"))

    def close(self) -> None:
        """End the processes."""
        for worker in self.workers:
            worker.end()
        self.workers = []

    def _each(self, ask: Callable[[_Worker], Any]) -> list[Any]:
        with ThreadPoolExecutor(len(self.workers)) as executor:
            answers = [executor.submit(ask, worker) for worker in self.workers]
            for answer in answers:
                self._settled(answer)
        return [answer.result() for answer in answers]

    def _first(self, pending: deque[Future[int]], watch: Watch) -> int:
        self._settled(pending[0], watch)
        return pending.popleft().result()

    def _settled(self, future: Future[Any], watch: Watch | None = None) -> None:
        """Wait for a future; processes that do not go on are ended, since nobody else would notice."""
        while not wait([future], timeout=_EVERY).done:
            if watch is not None:
                with watch.stage():
                    checkpoint()
            for worker in self.workers:
                if worker.stands_still():
                    worker.child.give_up()


_lock = threading.RLock()
_pools: list[Pool] = []
"""The one pool there is, if any: GPUs are not shared with those that serve another list of devices."""
_keys: WeakKeyDictionary[Wavefunction, int] = WeakKeyDictionary()
_numbers = count(1)


def _pool_of(devices: tuple[str, ...]) -> Pool:
    if not _pools or _pools[0].devices != devices or not _pools[0].alive:
        end_processes()
        _pools.append(Pool(devices))
    return _pools[0]


@atexit.register
def end_processes() -> None:
    """End the processes that several devices keep; the next call starts others."""
    with _lock:
        while _pools:
            _pools.pop().close()


def _forget() -> None:
    """In a process that was forked from this one: the processes are the other's."""
    global _lock
    _lock = threading.RLock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class _Worker:
    """One process, as seen from here."""

    def __init__(self, device: str, cpus: int) -> None:
        self.device, self.key = device, 0
        self._number = 0
        self._withdrawn: float | None = None
        settings = environment()
        if device == "cpu":
            settings.setdefault("ORBITILE_THREADS", str(max(1, (os.cpu_count() or 1) // cpus)))
        else:
            visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
            number = int(device.removeprefix("cuda:"))
            settings["CUDA_VISIBLE_DEVICES"] = visible[number] if visible else str(number)
        settings["ORBITILE_DEVICE"] = device.partition(":")[0]
        try:
            self.child = AnsweringProcess(f"the process for {device}", interpreter(), __name__, settings=settings)
        except ProcessError as error:
            raise DeviceError(str(error)) from error

    def ask(
        self,
        what: str,
        *arguments: Any,
        wavefunction_key: int | None = None,
        withdrawn: Cancel = lambda: False,
    ) -> Any:
        """Send a request and wait for the answer; where it is withdrawn meanwhile, that is `Cancelled`."""
        connection = self.child.connection
        try:
            message = pickle.dumps((what, arguments))
        except Exception as error:  # whatever an object of a caller raises
            raise OrbitileError(
                f"the field cannot be sent to another process ({error}); give it by its name"
            ) from error
        self._number += 1
        try:
            connection.send((self._number, message))  # bytes, so that what cannot be read there ends where it ends
            while not connection.poll(_EVERY):
                if self._withdrawn is None and withdrawn():
                    self._withdrawn = time.monotonic()
                    connection.send((self._number, None))
            kind, result = connection.recv()
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
            self.child.end(5)
            raise DeviceError(f"the process for {self.device} ended ({self.child.ending()})") from error
        finally:
            self._withdrawn = None
        if kind == "refused":
            raise result
        if wavefunction_key is not None:
            self.key = wavefunction_key
        return result

    def stands_still(self) -> bool:
        """Whether it is stopped, or goes on with what was withdrawn; to be asked while an answer is waited for."""
        withdrawn = self._withdrawn
        if withdrawn is not None and time.monotonic() - withdrawn > _WITHDRAWN:
            return True
        return self.child.stands_still()

    def end(self) -> None:
        """End the process."""
        self.child.end(1)
        self.child.connection.close()


class _Server:
    """What a process holds between requests."""

    def __init__(self) -> None:
        self.wavefunctions: dict[int, Wavefunction] = {}
        self.memory: mmap.mmap | None = None
        self.slabs: Slabs | None = None
        self.shape: tuple[int, ...] = ()
        self.dtype: np.dtype[np.floating] = np.dtype(np.float32)
        self.cancelled: Cancel = lambda: False

    def prepare(
        self, key: int, wavefunction: Wavefunction | None, field: str | Field, lattice: Lattice, precision: str
    ) -> Cuts:
        from taichi_kernels import runtime

        if wavefunction is not None:
            self.wavefunctions = {key: wavefunction}
        resolved = field_of(self.wavefunctions[key], field)
        with runtime.session(None, precision) as name:
            self.slabs = slabs_of(resolved, lattice, Target(name, precision))
        self.shape, self.dtype = lattice.shape, np.dtype(precision)
        self.precision = precision
        return self.slabs.cuts

    def share(self, process: int, handle: int, size: int) -> None:
        with open(f"/proc/{process}/fd/{handle}", "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), size)

    def fill(self, start: int, stop: int, offset: int) -> None:
        from taichi_kernels import runtime

        assert self.slabs is not None  # prepared before
        assert self.memory is not None  # and shared
        shape = (stop - start, *self.shape[1:])
        size = int(np.prod(shape, dtype=np.int64))
        values = np.frombuffer(self.memory, self.dtype, size, offset).reshape(shape)
        with watched(cancelled=self.cancelled), runtime.session(None, self.precision):
            self.slabs.fill(start, stop, values)

    def release(self) -> None:
        self.memory = self.slabs = None


Waiting = SimpleQueue[tuple[int, bytes] | None]
"""Requests; None at the end."""


def main() -> None:
    """Serve requests until the process that asks is gone."""
    waiting: Waiting = SimpleQueue()
    withdrawn: set[int] = set()
    ended = threading.Event()

    def end() -> None:
        ended.set()
        waiting.put(None)

    def is_unwanted(number: int) -> bool:
        return number in withdrawn or ended.is_set()

    server = _Server()
    with suppress(EOFError, OSError), parent(end) as connection:
        threading.Thread(target=_listen, args=(connection, waiting, withdrawn, end), daemon=True).start()
        while (item := waiting.get()) is not None:
            number, message = item
            server.cancelled = partial(is_unwanted, number)
            connection.send(_answer(server, message))
            withdrawn.discard(number)


def _listen(connection: Connection, waiting: Waiting, withdrawn: set[int], end: Callable[[], None]) -> None:
    with suppress(EOFError, OSError):  # whoever asks has gone
        while True:
            number, message = connection.recv()
            if message is None:
                withdrawn.add(number)
            else:
                waiting.put((number, message))
    end()


def _answer(server: _Server, message: bytes) -> tuple[str, Any]:
    """What came of a request: whatever goes wrong is told, and the next one is served."""
    from taichi_kernels import runtime

    try:
        what, arguments = pickle.loads(message)
        return "done", getattr(server, what)(*arguments)
    except OrbitileError as error:
        return "refused", error
    except (runtime.DeviceUnavailable, RuntimeError) as error:
        return "refused", DeviceError(f"the device failed: {' '.join(str(error).split())[:300]}")
    except MemoryError:
        return "refused", DeviceError("the process of a device has no memory left for this")
    except Exception as error:
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        return "refused", OrbitileError(f"defect in the process of a device: {text}")


if __name__ == "__main__":
    main()

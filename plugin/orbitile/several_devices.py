"""One field on several devices of a machine: slabs of its lattice, each computed by a process of its own.

Taichi computes on one device a process. A process is told which GPU to see, keeps warm between calls, and writes
values into memory that it shares with this one. `python -m orbitile.several_devices DEVICE` is such a process; it reads
requests from its standard input and ends with it.
"""

from __future__ import annotations

import atexit
import dataclasses
import mmap
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from itertools import count
from queue import SimpleQueue
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from .errors import DeviceError, OrbitileError
from .fields import Field, resolve
from .lattice import Lattice
from .processes import environment, interpreter
from .slabs import Cuts, Slabs, slabs_of
from .watch import Watch, checkpoint, tell, watched
from .wavefunction import Wavefunction

_ALL = "all"
_SLOTS = 2
"""Slabs a device that are asked for at once: while one is computed, another is read or waits."""


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
            dtype: np.dtype[np.floating] = np.dtype(np.float64 if precision == "double" else np.float32)
            yield Task(pool, cuts, lattice.shape, dtype)
        except DeviceError:
            pool.close()  # others are started for the next call
            raise
        finally:
            pool.busy = False
            if pool.alive:
                pool.release()


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
        self.memory: mmap.mmap | None = None
        self.workers: list[_Worker] = []
        try:
            for device in devices:
                self.workers.append(_Worker(device, devices.count("cpu")))
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether all its processes run."""
        return bool(self.workers) and all(worker.process.poll() is None for worker in self.workers)

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
        """An array that the processes can write to; a byte behind it tells them that it is no longer wanted."""
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize + 1
        handle = os.memfd_create("orbitile")
        try:
            os.ftruncate(handle, size)
            self.memory = mmap.mmap(handle, size)
            self._each(lambda worker: worker.ask("share", os.getpid(), handle, size))
        finally:
            os.close(handle)
        n_values = int(np.prod(shape, dtype=np.int64))
        values: NDArray[np.floating] = np.frombuffer(self.memory, dtype, n_values).reshape(shape)
        return values

    def fill(self, cuts: Cuts, place: Callable[[int], int], ahead: int, watch: Watch) -> Generator[int, None, None]:
        """Compute slabs, `ahead` of them at most beyond the one that was yielded last; yields their numbers in order.

        `place` tells the byte of the shared memory at which the values of a slab begin.
        """
        free: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self.workers:
            free.put(worker)

        def one(n: int) -> int:
            worker = free.get()
            try:
                worker.ask("fill", *cuts[n], place(n))
            finally:
                free.put(worker)
            return n

        executor = ThreadPoolExecutor(len(self.workers))
        pending: deque[Future[int]] = deque()
        try:
            for n in range(len(cuts)):
                if len(pending) == ahead:
                    yield _awaited(pending.popleft(), watch)
                with watch.stage():
                    checkpoint()
                pending.append(executor.submit(one, n))
            while pending:
                yield _awaited(pending.popleft(), watch)
        finally:
            assert self.memory is not None  # shared before
            self.memory[-1] = _UNWANTED  # where all is done, nobody looks any more
            executor.shutdown(wait=True, cancel_futures=True)

    def release(self) -> None:
        """Let go of shared memory, and the processes of tables too."""
        self.memory = None
        self._each(lambda worker: worker.ask("release"))

    def close(self) -> None:
        """End the processes."""
        for worker in self.workers:
            worker.end()
        self.workers = []

    def _each(self, ask: Callable[[_Worker], Any]) -> list[Any]:
        with ThreadPoolExecutor(len(self.workers)) as executor:
            return list(executor.map(ask, self.workers))


_UNWANTED = 1
"""Value of the last byte of shared memory from which on a process computes no further."""

_ASK = 0.03
"""Seconds between two looks at whether what processes compute is still wanted."""


def _awaited(slab: Future[int], watch: Watch) -> int:
    """Number of a slab that is computed, unless nobody wants it any more."""
    while not wait([slab], _ASK).done:
        with watch.stage():
            checkpoint()
    return slab.result()


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


class _Worker:
    """One process, as seen from here."""

    def __init__(self, device: str, cpus: int) -> None:
        self.device, self.key = device, 0
        settings = environment()
        if device == "cpu":
            settings.setdefault("ORBITILE_THREADS", str(max(1, (os.cpu_count() or 1) // cpus)))
        else:
            visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
            number = int(device.removeprefix("cuda:"))
            settings["CUDA_VISIBLE_DEVICES"] = visible[number] if visible else str(number)
        settings["ORBITILE_DEVICE"] = device.partition(":")[0]
        try:
            self.process = subprocess.Popen(
                [interpreter(), "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=settings
            )
        except OSError as error:
            raise DeviceError(f"the process for {device} cannot be started ({error.strerror})") from error

    def ask(self, what: str, *arguments: Any, wavefunction_key: int | None = None) -> Any:
        """Send a request and wait for the answer."""
        request, answer = self.process.stdin, self.process.stdout
        assert request is not None  # both are pipes
        assert answer is not None
        try:
            message = pickle.dumps((what, arguments))
        except Exception as error:  # whatever an object of a caller raises
            raise OrbitileError(
                f"the field cannot be sent to another process ({error}); give it by its name"
            ) from error
        try:
            pickle.dump(message, request)  # within a frame, so that one that cannot be read ends where it ends
            request.flush()
            kind, result = pickle.load(answer)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
            with suppress(subprocess.TimeoutExpired):  # then its status is told as None
                self.process.wait(timeout=5)
            raise DeviceError(f"the process for {self.device} ended (status {self.process.poll()})") from error
        if kind == "refused":
            raise result
        if wavefunction_key is not None:
            self.key = wavefunction_key
        return result

    def end(self) -> None:
        """End the process."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):  # it has ended already
                    pipe.close()
        try:
            self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class _Server:
    """What a process holds between requests."""

    def __init__(self) -> None:
        self.wavefunctions: dict[int, Wavefunction] = {}
        self.memory: mmap.mmap | None = None
        self.slabs: Slabs | None = None
        self.shape: tuple[int, ...] = ()
        self.dtype: np.dtype[np.floating] = np.dtype(np.float32)

    def prepare(
        self, key: int, wavefunction: Wavefunction | None, field: str | Field, lattice: Lattice, precision: str
    ) -> Cuts:
        from taichi_kernels import runtime

        if wavefunction is not None:
            self.wavefunctions = {key: wavefunction}
        resolved = resolve(self.wavefunctions[key], field) if isinstance(field, str) else field
        with runtime.session(None, precision) as name:
            self.slabs = slabs_of(resolved, lattice, precision, name)
        self.shape, self.dtype = lattice.shape, np.dtype(np.float64 if precision == "double" else np.float32)
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
        memory = self.memory
        with watched(cancelled=lambda: memory[-1] == _UNWANTED), runtime.session(None, self.precision):
            self.slabs.fill(start, stop, values)

    def release(self) -> None:
        self.memory = self.slabs = None


def main() -> None:
    """Serve requests from standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is dealt with by the process that asks
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a driver prints does not get among the answers
    server = _Server()
    while True:
        try:
            message = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(_answer(server, message), answers)
        answers.flush()


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

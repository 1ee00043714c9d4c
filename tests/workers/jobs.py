"""What the tests of workers run in them: a worker finds functions by the name of their module."""

import os
import signal
import sys
import time
import warnings

import numpy as np

from orbitile.base.errors import FieldError, FileError
from orbitile.base.temporary import own_folder
from orbitile.base.watch import checkpoint, tell
from orbitile.workers import Worker, retire


class DerivedError(FileError):
    """An error of ours whose constructor wants more than a message."""

    def __init__(self, path, line):
        super().__init__(f"{path}, line {line}")
        self.handle = open(os.devnull)  # noqa: SIM115 - what cannot be pickled


class Unpicklable(Exception):
    """A foreign error that cannot be sent."""

    def __init__(self):
        super().__init__("it holds a lambda", lambda: None)


def import_path():
    """Where modules are looked for."""
    return sys.path


def leave_a_file():
    """Leave a file among the temporary ones of the worker."""
    (own_folder() / "left").write_text("")


def raised(kind):
    """Raise an error."""
    if kind == "field":
        raise FieldError("no such field")
    if kind == "derived":
        raise DerivedError("a.log", 7)
    if kind == "unpicklable":
        raise Unpicklable
    if kind == "memory":
        raise MemoryError
    raise KeyError(kind)


def unpicklable():
    """What cannot be sent back."""
    return lambda: None


def process_id():
    """Number of this process."""
    return os.getpid()


def process_of_another():
    """Number of the process of a worker of this one."""
    worker = Worker("another")
    try:
        return worker.call(process_id)
    finally:
        worker.end()


def doubled(array):
    """An array and twice the array; whether the first could be written to."""
    return array, array * 2, array.flags.writeable


def filled(array, value):
    """Write to an array of the caller."""
    array[...] = value
    return array


def zeros(n_bytes):
    """A large array, all ones but for its ends."""
    array = np.ones(n_bytes, np.uint8)
    array[[0, -1]] = 7
    return array


def stepping(seconds):
    """Tell progress; end when it is not wanted."""
    begin = time.monotonic()
    while (now := time.monotonic() - begin) < seconds:
        checkpoint()
        tell(now / seconds)
        time.sleep(0.005)
    return "done"


def deaf(seconds):
    """Ask nobody whether it is wanted."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.05)
    return os.getpid()


def signalled(number):
    """Send a signal to this process."""
    sys.stderr.write("the last words\n")
    os.kill(os.getpid(), number)
    time.sleep(30)


def warned(n_bytes):
    """Warn at length, and write as much to standard output."""
    text = 99 * "x"
    for n in range(n_bytes // 100):
        warnings.warn(f"{n}{text}", stacklevel=1)
        sys.stdout.write(f"{text}\n")
    sys.stderr.flush()
    return "done"


def compiled_cold(path):
    """Compile a kernel that is in no cache, which takes long and lets no thread of Python run."""
    from taichi_kernels._taichi import ti

    ti.init(ti.cpu, offline_cache=False, log_level=ti.ERROR)

    @ti.kernel
    def kernel(x: ti.f32) -> ti.f32:
        total = 0.0
        for i in ti.static(range(30_000)):
            total += ti.sin(x * i)
        return total

    open(path, "w").close()
    return kernel(1.0)


def stopped_once(path):
    """Stop this process, unless one did before."""
    if not os.path.exists(path):
        open(path, "w").close()
        os.kill(os.getpid(), signal.SIGSTOP)
    return os.getpid()


def died_before(folder, deaths):
    """Kill this process, unless so many were killed before."""
    before = len(os.listdir(folder))
    if before < deaths:
        open(os.path.join(folder, str(before)), "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return before


_running: list[int] = []


def is_alone(seconds):
    """Whether nothing else runs in this process meanwhile that calls this."""
    _running.append(0)
    time.sleep(seconds)
    alone = len(_running) == 1
    _running.pop()
    return alone


class Counted:
    """An object that counts how often it was unpickled in this process."""

    unpickled = 0

    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return self.text == other.text

    def __hash__(self):
        return hash(self.text)

    def __setstate__(self, state):
        type(self).unpickled += 1
        self.__dict__ = state


def text_of(items):
    """What is in an object within a dictionary."""
    return items["nested"].text


def traced(folder, number, seconds, data):
    """Leave a file of a number; the number, and the length of what came along."""
    time.sleep(seconds)
    (folder / str(number)).touch()
    return number, len(data)


def slow_in(process, slow, fast):
    """Take longer in one process than in others; the number of this one."""
    time.sleep(slow if os.getpid() == process else fast)
    return os.getpid()


def no_client():
    """As `distributed.default_client` where there is none."""
    raise ValueError("No clients found")


def last_words():
    """Number of this process, which ends."""
    retire()
    return os.getpid()


def filmed(target):
    """Write a film of a minute, picture by picture, as the process that draws does."""
    from pathlib import Path

    from orbitile.pictures.writing import write_film

    def pictures():
        for n in range(2000):
            time.sleep(0.02)
            tell((n + 1) / 2000)
            checkpoint()
            yield np.full((48, 64, 4), n % 256, np.uint8)

    write_film(pictures(), Path(target), (64, 48), 25.0)

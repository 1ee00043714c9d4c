"""A process that tries cases of one kind, told their numbers; whatever becomes of it, the one that asks lives on."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
import traceback
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.kinds import module_of

MEMORY = 4 << 30
"""Bytes that a case may take beyond what the process has."""

CHECKED = 25
"""Every so many cases, what is right is asked for."""


class TooLong(BaseException):
    """A case has taken the processor time that it may."""


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """No case may take longer, or ask for more memory."""

    def out_of_time(*_: object) -> None:
        raise TooLong(f"took longer than {seconds:g} s of processor time")

    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before, limits = signal.signal(signal.SIGPROF, out_of_time), resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY, limits[1]))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


class Bench:
    """Where cases of one kind are tried, one after the other.

    Parameters
    ----------
    kind
        Of `tests.fuzz.kinds`.
    seed
        Of all cases.
    folder
        For what they share, and a folder for each of them.
    """

    def __init__(self, kind: str, seed: int, folder: Path) -> None:
        self.kind, self.seed, self.folder = kind, seed, folder
        self.module = module_of(kind)
        shutil.rmtree(folder / "shared", ignore_errors=True)  # of a process that has died
        (folder / "shared").mkdir(parents=True)
        self.subject = self.module.Subject(folder / "shared")
        self._tried = 0

    def try_case(self, number: int) -> dict[str, Any]:
        """What has become of a case: `outcome` answered, refused or escaped, and `why` it did; an escaped one's folder
        stays."""
        case = self.folder / f"{self.kind}-{number}"
        shutil.rmtree(case, ignore_errors=True)
        case.mkdir()
        before = os.getcwd()
        os.chdir(case)
        random = np.random.default_rng([self.seed, zlib.crc32(self.kind.encode()), number])
        self._tried += 1
        try:
            with warnings.catch_warnings(), bounded(self.module.SECONDS):
                warnings.simplefilter("error")  # invalid values, say, that somebody has swallowed
                for kind in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
                    warnings.simplefilter("ignore", kind)  # of libraries, which the tests look at
                answered = self.subject.run(random, case)
            if self._tried % CHECKED == 0:
                self.subject.check()
            left = [str(path.relative_to(case)) for path in case.rglob(".orbitile-*")]
            assert not left, f"half-written: {', '.join(left)}"
        except BaseException as error:  # whatever escapes is what is looked for
            if isinstance(error, KeyboardInterrupt):
                raise
            why = "".join(traceback.format_exception(error))
            return {"number": number, "outcome": "escaped", "why": why, "folder": str(case)}
        finally:
            os.chdir(before)
        shutil.rmtree(case, ignore_errors=True)
        return {"number": number, "outcome": "answered" if answered else "refused"}

    def close(self) -> None:
        """End what was begun."""
        self.subject.close()


def main() -> None:
    """Try the cases whose numbers come, a line each, on standard input; the outcomes go to standard output."""
    kind, seed, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    asked, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    bench = Bench(kind, seed, folder)
    told.write(b"{}\n")  # all is prepared
    told.flush()
    for line in iter(asked.readline, b""):
        told.write(json.dumps(bench.try_case(int(line))).encode() + b"\n")
        told.flush()
    bench.close()


if __name__ == "__main__":
    main()

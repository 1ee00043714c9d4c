"""Cases shared out among processes that may crash or hang, and what has become of all of them."""

from __future__ import annotations

import json
import os
import queue
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.fuzz.kinds import NAMES, module_of

PATIENCE = 6.0
"""How many times its processor time a case may take by the clock, on a busy machine."""

START = 600.0
"""Seconds that the preparation of a kind may take, by the clock."""

EVERY = 10.0
"""Seconds between two lines about progress."""

ROOT = Path(__file__).parents[2]


def shares(n: int) -> dict[str, int]:
    """How many of n cases each kind gets."""
    given = {name: int(n * module_of(name).SHARE) for name in NAMES}
    given[NAMES[0]] += n - sum(given.values())
    return given


@dataclass
class Tally:
    """What has become of the cases so far."""

    seed: int
    escapes: Path
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    peaks: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, found: dict[str, Any], seconds: float) -> None:
        """Take note of a case; one that escaped is kept, and told."""
        with self.lock:
            self.outcomes[kind, found["outcome"]] += 1
            self.seconds[kind] += seconds
        if found["outcome"] != "escaped":
            return
        kept = self.escapes / f"{kind}-{found['number']}-seed{self.seed}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(found["folder"], kept, symlinks=True, ignore=_pipes)
        repeat = f"./install/test --fuzz {kind}:{found['number']} --seed {self.seed}"
        (kept / "escape.txt").write_text(f"{repeat}\n\n{found['why']}\n", encoding="utf-8", errors="replace")
        last = found["why"].strip().splitlines()[-1][:300]
        _tell(f"ESCAPED {kind}:{found['number']}: {last}\n  kept in {kept}; again: {repeat}")

    def n(self, kind: str = "", outcome: str = "") -> int:
        """Number of cases of a kind, or of all, with one outcome, or with any."""
        return sum(n for (k, o), n in self.outcomes.items() if kind in ("", k) and outcome in ("", o))

    def report(self) -> str:
        """A table, a line a kind."""
        lines = [f"{'kind':<14}{'cases':>9}{'answered':>10}{'refused':>9}{'escaped':>9}{'a second':>10}{'MB':>7}"]
        for kind in dict.fromkeys(kind for kind, _ in self.outcomes):
            if self.n(kind):
                rate = self.n(kind) / max(self.seconds[kind], 1e-9)
                counts = (self.n(kind, outcome) for outcome in ("answered", "refused", "escaped"))
                lines.append(
                    f"{kind:<14}{self.n(kind):>9}{next(counts):>10}{next(counts):>9}{next(counts):>9}{rate:>10.1f}"
                    f"{self.peaks[kind] / 1e6:>7.0f}"
                )
        return "\n".join(lines)


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _pipes(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_fifo()]


def _line_of(process: subprocess.Popen[bytes], patience: float) -> bytes | None:
    """What a process says next, empty where it has ended; None where it says nothing for so many seconds."""
    assert process.stdout is not None
    there, _, _ = select.select([process.stdout], [], [], patience)
    return process.stdout.readline() if there else None


class Child:
    """A process for the cases of one kind, started anew when it has died."""

    def __init__(self, kind: str, seed: int, folder: Path) -> None:
        self.kind, self.seed, self.folder = kind, seed, folder
        self.seconds = module_of(kind).SECONDS
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / f"{kind}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def try_case(self, number: int) -> dict[str, Any]:
        """As `tests.fuzz.child.Bench.try_case`, also where that crashes or hangs."""
        process = self._process or self._started()
        assert process.stdin is not None
        patience = PATIENCE * self.seconds
        line: bytes | None
        try:
            process.stdin.write(b"%d\n" % number)
            process.stdin.flush()
            line = _line_of(process, patience)
        except OSError:  # it has just died
            line = b""
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        if line is not None:
            process.wait()
            status = process.returncode
            why = signal.strsignal(-status) if status < 0 else f"status {status}"
            why = f"{self._log.read_text(errors='replace')[-4000:]}\nthe process ended: {why}"
        else:
            process.send_signal(signal.SIGABRT)  # whereupon it says where it is
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)
            where = self._log.read_text(errors="replace")[-4000:]
            why = f"{where}\nit has not come to an end within {patience:.0f} s by the clock"
        self.end(by_force=True)
        case = self.folder / f"{self.kind}-{number}"
        case.mkdir(exist_ok=True)
        return {"number": number, "outcome": "escaped", "why": why, "folder": str(case)}

    def _started(self) -> subprocess.Popen[bytes]:
        """A process that has prepared its kind."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
            "HOME": str(home),  # nothing of the user's is touched
            "ORBITILE_DEVICE": "cpu",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "plugin"), str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ORBITILE_THREADS"):
            environment.setdefault(name, "1")
        with self._log.open("wb") as log:
            process = self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-X",
                    "faulthandler",
                    "-m",
                    "tests.fuzz.child",
                    self.kind,
                    str(self.seed),
                    str(self.folder),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                cwd=ROOT,
                start_new_session=True,
            )
        if not _line_of(process, START):
            self.end(by_force=True)
            raise RuntimeError(f"{self.kind} cannot be prepared:\n{self._log.read_text(errors='replace')[-4000:]}")
        return process

    def peak(self) -> int:
        """Bytes of memory that the process had at most."""
        if self._process is None:
            return 0
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text()
        except OSError:
            return 0
        return next((1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)

    def end(self, *, by_force: bool = False) -> None:
        """End the process and those that it has started."""
        process, self._process = self._process, None
        if process is None:
            return
        if not by_force and process.stdin is not None:
            process.stdin.close()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                by_force = True
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its group is its own
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def run(n_of: dict[str, int], seed: int, escapes: Path, processes: int, first: int = 0) -> Tally:
    """Try so many cases of each kind, those from `first` on.

    Parameters
    ----------
    n_of
        Number of cases of each kind.
    seed
        Of all cases.
    escapes
        Folder for those that escape.
    processes
        How many work side by side.
    """
    tally = Tally(seed, escapes)
    waiting: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
    for kind, n in n_of.items():
        for number in range(first, first + n):
            waiting.put((kind, number))
    total, begun = sum(n_of.values()), time.monotonic()
    ended = threading.Event()
    failures: list[BaseException] = []

    def work(folder: Path) -> None:
        child: Child | None = None
        try:
            while not ended.is_set():
                kind, number = waiting.get_nowait()
                if child is None or child.kind != kind:
                    if child is not None:
                        child.end()
                    child = Child(kind, seed, folder)
                start = time.monotonic()
                found = child.try_case(number)
                tally.peaks[kind] = max(tally.peaks[kind], child.peak())
                tally.add(kind, found, (time.monotonic() - start) / processes)
        except queue.Empty:
            pass
        except BaseException as error:  # of this program; whoever waits is told
            failures.append(error)
        finally:
            if child is not None:
                child.end()

    with TemporaryDirectory(prefix="orbitile-fuzz-") as folder:
        threads = [threading.Thread(target=work, args=(Path(folder, str(n)),)) for n in range(processes)]
        for thread in threads:
            thread.start()
        told = begun
        try:
            while any(thread.is_alive() for thread in threads):
                threads[0].join(0.2) if threads[0].is_alive() else time.sleep(0.2)
                if time.monotonic() - told > EVERY:
                    told = time.monotonic()
                    rate = tally.n() / (told - begun)
                    _tell(f"{tally.n()} of {total} cases, {tally.n(outcome='escaped')} escaped, {rate:.1f} a second")
        except KeyboardInterrupt:  # whoever has seen enough is told of what there is
            pass
        finally:
            ended.set()
            for thread in threads:
                thread.join()
    if failures:
        raise failures[0]
    return tally

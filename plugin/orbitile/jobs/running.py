"""Batches: the same asked of many files, by whoever does the work, and continued where they were ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ..base.errors import OrbitileError
from ..base.watch import checkpoint, tell
from ..files.reading import user_path
from ..workers import WorkerEnded, WorkerError, WorkerNotStarted, ahead, first_done
from .columns import columns_of
from .files import files_in
from .folder import Records, opened
from .record import Record
from .request import DEFAULT_FORMATS, BatchRequest, request_of
from .sheet import write_sheet
from .table import write_tables
from .work import Outcome, Task, do, this_process

TIMEOUT = 600.0
"""Seconds that a file may take, unless told otherwise."""

_EVERY, _SHARE = 60.0, 0.05
"""Seconds between two tables of what there is so far; share of the time that may go to them."""

_ATTEMPTS = 2
"""How often a file is given to the executor whose workers die: at last it may be alone to blame."""


@dataclass(eq=False)
class Batch:
    """What has come of a batch.

    Attributes
    ----------
    folder : Path
    records : collection of Record
        One a file, in the order of the files; read from the folder while one goes through them.
    n_done, n_before, n_refused : int
        Files that were done now, those that had been done before, and those among both that could not be read.
    remarks : tuple of str
        What is to be told of the table.
    """

    folder: Path
    records: Collection[Record] = ()
    n_done: int = 0
    n_before: int = 0
    n_refused: int = 0
    remarks: tuple[str, ...] = ()


def run_batch(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    items: Sequence[str] | str = (),
    folder: str | os.PathLike[str] = "batch",
    *,
    to: Sequence[str] = DEFAULT_FORMATS,
    isovalue: float | None = None,
    quality: str = "medium",
    size: tuple[int, int] = (1600, 1200),
    device: str | None = None,
    precision: str = "single",
    accept_damaged: bool = False,
    timeout: float = TIMEOUT,
    executor: Executor | None = None,
    progress: Callable[[float], None] | None = None,
) -> Batch:
    """Ask the same of many files: pictures, surfaces, volumes, and a table and a contact sheet of all.

    What was done before in the same folder, of files of the same content, is not done again, whatever has ended the
    batch then. A file that cannot be read, takes too long, or kills whoever reads it, costs its row.

    Parameters
    ----------
    files
        Files, folders, archives, patterns such as `"runs/**/*.log"`, `@list.txt`.
    items
        Fields such as `homo`, `density+esp` (the first in the colours of the second), `homo-1..lumo` (one each), and
        analyses such as `charges` or `charges:scheme=hirshfeld`; by default homo and lumo.
    folder
        Is made where it is missing. In it are `index.html`, `table.csv`, `table.parquet`, and in `files` a folder for
        each file.
    to
        Some of png, json, html, mesh, volume, or endings of formats: glb, cube, ...
    isovalue, quality, size, device, precision, accept_damaged
        As for `orbitile render`.
    timeout
        Seconds that a file may take.
    executor
        Who does the work: `workers.local_workers(8)`, a `workers.dask.DaskExecutor`, or any other; by default this
        process.
    progress
        Called with the share of the files that are done.

    Returns
    -------
    Batch

    Raises
    ------
    OrbitileError
        When there are no files, the request cannot be read, another batch has the folder, or it cannot be written to.

    Examples
    --------
    >>> found = ob.run_batch("benz*.molden", ["homo", "charges:scheme=mulliken"], "out", to=["json"])
    >>> [record.values["formula"] for record in found.records]
    ['C6H6']
    """
    asked = [items] if isinstance(items, str) else list(items)
    request = request_of(
        asked,
        to,
        isovalue=isovalue,
        quality=quality,
        size=size,
        device=device,
        precision=precision,
        accept_damaged=accept_damaged,
    )
    if not timeout > 0:
        raise OrbitileError(f"timeout: expected a positive number of seconds, got {timeout:g}")
    target = Path(os.path.abspath(user_path(folder)))
    names = files_in([files] if isinstance(files, str | os.PathLike) else files, target)
    with opened(target) as run:
        return _Running(target, run, names, request, timeout).finish(executor, progress)


@dataclass(eq=False)
class _Running:
    """One run: which files have been done so far, and what of those whose records are in no file."""

    folder: Path
    run: str
    names: list[str]
    request: BatchRequest
    timeout: float
    keys: dict[int, str] = field(default_factory=dict)
    kept: dict[int, Record] = field(default_factory=dict)

    def finish(self, executor: Executor | None, progress: Callable[[float], None] | None) -> Batch:
        """Do all files, and write tables and sheets now and then, at the end, and when ended by whatever raises."""
        batch = Batch(self.folder, Records(self.folder, self.run, self.names, self.keys, self.kept))
        due, total = time.monotonic() + _EVERY, len(self.names)
        try:
            for place, outcome in self._outcomes(executor):
                if outcome.record is None:
                    self.keys[place] = outcome.key
                else:
                    self.kept[place] = outcome.record
                batch.n_done += outcome.is_new
                batch.n_before += not outcome.is_new
                batch.n_refused += outcome.is_refused
                tell(len(batch.records) / total)
                if progress is not None:
                    progress(len(batch.records) / total)
                if time.monotonic() > due:
                    due = self._write(batch)
        except BaseException:
            with suppress(OrbitileError):  # that of the work is told
                self._write(batch)
            raise
        self._write(batch)
        return batch

    def _write(self, batch: Batch) -> float:
        """Write tables and sheet; returns when to do it next."""
        started = time.monotonic()
        columns = columns_of(batch.records)
        missing = write_tables(batch.records, self.folder, columns)
        write_sheet(batch.records, self.folder, columns)
        batch.remarks = (missing,) if missing else ()
        ended = time.monotonic()
        return ended + max(_EVERY, (ended - started) / _SHARE)

    def _task(self, place: int) -> Task:
        name = self.names[place]
        file = os.path.abspath(user_path(name))
        return Task(file, name, self.request, str(self.folder), self.run, self.timeout, this_process())

    def _outcomes(self, executor: Executor | None) -> Iterator[tuple[int, Outcome]]:
        """The outcome of each file by its place, as they come; a few are under way at a time."""
        if executor is None:
            for place in range(len(self.names)):
                checkpoint()
                yield place, do(self._task(place))
            return
        lost: list[int] = []
        for attempt in range(_ATTEMPTS):
            places = iter(lost if attempt else range(len(self.names)))
            lost, under_way = [], dict[Future[Outcome], int]()
            try:
                while True:
                    for place in islice(places, max(0, ahead(executor) - len(under_way))):
                        under_way[executor.submit(do, self._task(place))] = place
                    if not under_way:
                        break
                    for future in first_done(under_way):
                        place = under_way.pop(future)
                        outcome = self._outcome(future, place, is_last=attempt + 1 == _ATTEMPTS)
                        if outcome is None:
                            lost.append(place)
                        else:
                            yield place, outcome
            finally:
                for future in under_way:
                    future.cancel()

    def _outcome(self, future: Future[Outcome], place: int, *, is_last: bool) -> Outcome | None:
        """What came of a task; None where its worker died and it is to be tried again."""
        try:
            return future.result()
        except WorkerEnded as error:
            if not is_last:
                return None
            said = f"it ended the process that read it ({error})"
        except WorkerNotStarted:
            raise
        except WorkerError as error:
            said = str(error)
        except OrbitileError:  # nothing can be written, or nobody does the work
            raise
        except BrokenExecutor as error:
            raise OrbitileError(f"the executor does not work any more ({error})") from error
        except Exception as error:  # a defect of ours at one file is no reason to give up ten thousand
            said = f"defect: {type(error).__name__}: {error}"
        return Outcome(is_refused=True, record=Record(self.names[place], "", refusals={"": said}))

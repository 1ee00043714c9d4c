"""Batches: the same asked of many files, by whoever does the work, and continued where they were ended.

The task of one file, `do`, runs in whatever process: nothing of it comes back but its key, or why there is none.
"""

from __future__ import annotations

import errno
import faulthandler
import hashlib
import os
import platform
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from ..base.errors import Cancelled, DeviceError, FileError, OrbitileError
from ..base.watch import checkpoint, tell, watched
from ..files.plain import SUFFIXES
from ..files.reading import user_path
from ..readers import MEMBER, load, within_archive
from ..workers import WorkerEnded, WorkerError, WorkerNotStarted, ahead, first_done
from .files import digest_of, files_in, stamp_of
from .folder import Records, named_folder, opened, put_in_place, record_of, workplace
from .outputs import Findings, attempt, fill
from .request import DEFAULT_FORMATS, BatchRequest, request_of
from .sheet import write_sheet
from .table import Output, Record, columns_of, write_tables

_GRACE, _LAST_GRACE = 5.0, 30.0
"""Seconds beyond its time after which a file that does not come to an end ends its process: from within Python, and, if
something lets no Python run, without it."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
"""Errors of writing that come again with the next file."""


_CHANGED = "the file was changed while it was read"


@dataclass(frozen=True)
class Task:
    """One file of a batch.

    Attributes
    ----------
    file : str
        Where it is.
    name : str
        As the user named it.
    request : BatchRequest
    folder : str
        Of the batch; other machines see it under the same name.
    run : str
        Which run this is.
    timeout : float
        Seconds that the file may take.
    owner : tuple of (str, int)
        Machine and process that wait for it: that one is not ended when time is up.
    """

    file: str
    name: str
    request: BatchRequest
    folder: str
    run: str
    timeout: float
    owner: tuple[str, int]


@dataclass(frozen=True)
class Outcome:
    """What comes of a task.

    Attributes
    ----------
    key : str
        Of the record in the folder; empty where there is none.
    is_new : bool
        Whether it was done now, and not before.
    is_refused : bool
        Whether the file could not be read.
    record : Record or None
        Where there is none in the folder.
    """

    key: str = ""
    is_new: bool = True
    is_refused: bool = False
    record: Record | None = None


class _NotWritten(FileError):
    """The folder of the batch cannot be written to."""


def this_process() -> tuple[str, int]:
    """Machine and number of this process."""
    return platform.node(), os.getpid()


def do(task: Task) -> Outcome:
    """Do what is asked of a file, unless there is a record of it; whatever goes wrong with the file is in the record.

    Raises
    ------
    FileError
        When the folder of the batch cannot be written to.
    Cancelled
        When the batch is not wanted any more.
    """
    started, folder = time.monotonic(), Path(task.folder)
    path = os.path.normpath(user_path(task.file))
    try:
        stamp, key = stamp_of(path), _key(path, task.request)
    except (OrbitileError, OSError, ValueError) as error:
        said = _without_folder(str(error), path)
        return Outcome(is_refused=True, record=Record(task.name, "", refusals={"": said}))
    before = record_of(folder, key, task.run)
    if before is not None and all((folder / output.path).exists() for output in before.outputs):
        return Outcome(key, is_new=False, is_refused=_is_refused(before))
    try:
        with workplace(folder, task.run) as place, _limited(task, key, place, started):
            return _done(task, path, key, stamp, place, started)
    except _NotWritten:
        raise
    except OSError as error:
        raise _NotWritten(f"{folder}: cannot be written ({error.strerror or error})") from error


def _key(path: str, request: BatchRequest) -> str:
    asked = f"{digest_of(path)} {request.digest} ".encode() + os.fsencode(_called(path))
    return hashlib.sha256(asked).hexdigest()


def _done(task: Task, path: str, key: str, stamp: object, place: Path, started: float) -> Outcome:
    name, stem = _called(path), _stem(path)
    outputs = place / "outputs"
    outputs.mkdir()
    found = Findings()
    until = started + task.timeout
    try:
        with watched(None, lambda: time.monotonic() > until):
            attempt(
                found,
                "",
                lambda: fill(
                    found, load(path, accept_damaged=task.request.accept_damaged), task.request, outputs, name
                ),
            )
    except Cancelled as cancelled:
        if time.monotonic() <= until:
            raise
        found = Findings(refusals={"": _out_of_time(task)}, errors=[cancelled])
    for error in found.errors:
        _raise_if_not_written(error)
    if not found.refusals.get("") and stamp_of(path) != stamp:
        found = Findings(refusals={"": _CHANGED}, errors=[Cancelled(_CHANGED)])
    where = named_folder(stem, key)
    written = tuple(Output(item, kind, f"{where}/{file}") for item, kind, file in found.written)
    record = Record(
        name,
        key,
        found.values,
        written,
        {item: _without_folder(text, path) for item, text in found.refusals.items()},
        tuple(_without_folder(text, path) for text in found.remarks),
        round(time.monotonic() - started, 3),
    )
    is_final = not any(isinstance(error, DeviceError | MemoryError | Cancelled) for error in found.errors)
    put_in_place(Path(task.folder), place, record, stem, is_final=is_final, run=task.run)
    return Outcome(key, is_refused=_is_refused(record))


def _is_refused(record: Record) -> bool:
    return "" in record.refusals and not record.values


def _raise_if_not_written(error: BaseException) -> None:
    """Raise what comes of a full disk: it is not due to the file, and the next one has it too."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _FULL:
            raise _NotWritten(str(error)) from error
        cause = cause.__cause__


def _called(path: str) -> str:
    """A file, or what is asked of an archive, without the folder that it lies in."""
    within = within_archive(path)
    return os.path.basename(path) if within is None else f"{within[0].name}{MEMBER}{within[1]}"


def _stem(path: str) -> str:
    """The same without its ending, and without that of a compression."""
    name = _called(path)
    return Path(Path(name).stem if name.lower().endswith(SUFFIXES) else name).stem


def _without_folder(text: str, path: str) -> str:
    """A message that is the same wherever the file lies."""
    return text.replace(path.removesuffix(_called(path)), "")


def _out_of_time(task: Task) -> str:
    return f"did not come to an end within {task.timeout:g} s; --timeout allows more"


@contextmanager
def _limited(task: Task, key: str, place: Path, started: float) -> Iterator[None]:
    """End this process when a file takes too long and does not hear of it, unless it is the one that waits for it."""
    if this_process() == task.owner:
        yield
        return

    def end() -> None:
        record = Record(_called(task.file), key, refusals={"": _out_of_time(task)})
        put_in_place(
            Path(task.folder),
            place,
            replace(record, seconds=round(time.monotonic() - started, 3)),
            _stem(task.file),
            is_final=False,
            run=task.run,
        )
        os._exit(1)

    timer = threading.Timer(task.timeout + _GRACE, end)
    timer.daemon = True
    timer.start()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        faulthandler.dump_traceback_later(task.timeout + _LAST_GRACE, file=nowhere, exit=True)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
            timer.cancel()


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
        for n in range(_ATTEMPTS):
            places = iter(lost if n else range(len(self.names)))
            lost, under_way = [], dict[Future[Outcome], int]()
            try:
                while True:
                    for place in islice(places, max(0, ahead(executor) - len(under_way))):
                        under_way[executor.submit(do, self._task(place))] = place
                    if not under_way:
                        break
                    for future in first_done(under_way):
                        place = under_way.pop(future)
                        outcome = self._outcome(future, place, is_last=n + 1 == _ATTEMPTS)
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
            said = f"the process that read it ended ({error})"
        except WorkerNotStarted:
            raise
        except WorkerError as error:
            said = str(error)
        except OrbitileError:  # nothing can be written, or nobody does the work
            raise
        except BrokenExecutor as error:
            raise OrbitileError(f"the executor no longer works ({error})") from error
        except Exception as error:  # a defect of ours at one file is no reason to give up ten thousand
            said = f"internal error (please report): {type(error).__name__}: {error}"
        return Outcome(is_refused=True, record=Record(self.names[place], "", refusals={"": said}))

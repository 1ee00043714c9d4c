"""The task of a batch: one file, in whatever process. Nothing of it comes back but its key, or why there is none."""

from __future__ import annotations

import errno
import faulthandler
import hashlib
import os
import platform
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ..base.errors import Cancelled, DeviceError, FileError, OrbitileError
from ..base.watch import watched
from ..files.plain import SUFFIXES
from ..files.reading import user_path
from ..readers import MEMBER, load
from ..readers._places import within_archive
from .contents import digest_of, stamp_of
from .folder import named_folder, put_in_place, record_of, workplace
from .outputs import Findings, attempt, fill
from .record import Output, Record
from .request import BatchRequest

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

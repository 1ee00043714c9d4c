"""The folder of a batch: what lies where in it, and how nothing half-written is ever seen there.

    files/STEM-KEY/     what was written of one file
    records/KEY.json    one record a file, written when all that it tells of is in place
    table.csv, table.parquet, index.html, ...
                        made of the records
    .orbitile/lock      held while a batch runs
    .orbitile/RUN/      what one run has under way; anything else there was left by a run that was killed

The key is a digest of a file and of what was asked of it: where there is a record, nothing is done.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..base.errors import FileError
from ..files.writing import claim
from .table import Output, Record

_HIDDEN = ".orbitile"
_KEY_SHOWN = 12
"""Letters of the key in the name of a folder."""


@contextmanager
def opened(folder: Path) -> Iterator[str]:
    """Have the folder for one run, which is made where it is missing.

    What killed runs have left half-done is removed.

    Yields
    ------
    str
        Name of the run.

    Raises
    ------
    FileError
        When another run has it, or it cannot be written to.
    """
    hidden = folder / _HIDDEN
    try:
        for each in (folder / "files", folder / "records", hidden):
            each.mkdir(parents=True, exist_ok=True)
        lock_file = hidden / "lock"
        lock_file.touch()
    except OSError as error:
        raise FileError(f"{folder}: cannot be written ({error.strerror or error})") from error
    try:
        lock = claim(lock_file)
    except FileError as error:
        raise FileError(f"{folder}: another batch is writing to it; wait for it, or stop it") from error
    run = secrets.token_hex(8)
    try:
        for left in hidden.iterdir():
            if left != lock_file:
                shutil.rmtree(left, ignore_errors=True)
        for left in folder.glob(f"{_HIDDEN}-*"):  # tables and sheets, by `written_atomically`
            left.unlink(missing_ok=True)
        (hidden / run).mkdir()
        yield run
    finally:
        shutil.rmtree(hidden / run, ignore_errors=True)
        os.close(lock)


@contextmanager
def workplace(folder: Path, run: str) -> Iterator[Path]:
    """A folder of its own for what is under way, removed at the end of the block.

    Raises
    ------
    OSError
        When the run has ended.
    """
    place = folder / _HIDDEN / run / secrets.token_hex(8)
    place.mkdir()
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def named_folder(stem: str, key: str) -> str:
    """Where what was written of a file is, relative to the folder of the batch."""
    return f"files/{re.sub(r'[^A-Za-z0-9_.+-]+', '_', stem).strip('.')[:60] or 'file'}-{key[:_KEY_SHOWN]}"


def put_in_place(folder: Path, place: Path, record: Record, stem: str, *, is_final: bool = True, run: str = "") -> None:
    """Put what was written in a workplace, and then its record, where they belong.

    Parameters
    ----------
    folder
        Of the batch.
    place
        Has the folder `outputs`.
    record
        Whose outputs are in `named_folder(stem, key)`.
    is_final : bool
        Whether it follows from the file alone; otherwise the next run does the file again.
    run
        Of which it is valid all the same.
    """
    target = folder / named_folder(stem, record.key)
    if record.outputs:
        for _ in range(3):  # another worker may have the same file under another name
            with suppress(OSError):
                os.replace(place / "outputs", target)
                break
            if record_of(folder, record.key, run) is not None:
                break
            shutil.rmtree(target, ignore_errors=True)
        else:
            os.replace(place / "outputs", target)
    content: dict[str, Any] = {"record": asdict(record), "final": is_final, **({} if is_final else {"run": run})}
    content["digest"] = _digest(content)
    unfinished = place / "record.json"
    with unfinished.open("w", encoding="utf-8") as stream:
        json.dump(content, stream)
    os.replace(unfinished, _record_file(folder, record.key))


def record_of(folder: Path, key: str, run: str = "") -> Record | None:
    """The record of a key, None where there is none that is valid in this run, or it is damaged."""
    try:
        content = json.loads(_record_file(folder, key).read_bytes())
        if content.pop("digest") != _digest(content):
            return None
        found = content["record"]
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in found["values"].items()}
        outputs = tuple(Output(**output) for output in found["outputs"])
        record = Record(
            found["file"], found["key"], values, outputs, found["refusals"], tuple(found["remarks"]), found["seconds"]
        )
        valid = content["final"] or content["run"] == run
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return record if valid and record.key == key else None


class Records(Collection[Record]):
    """The records of a batch in the order of its files, read from their files when they are gone through.

    Parameters
    ----------
    folder
        Of the batch.
    run
        Name of the run that they are read for.
    files : list of str
        As the user named them.
    keys : mapping
        Key of the record by the place of its file among the files; the others are not done yet.
    kept : mapping
        By place too: records of files that cannot even be read, and have no file.
    """

    def __init__(
        self, folder: Path, run: str, files: list[str], keys: Mapping[int, str], kept: Mapping[int, Record]
    ) -> None:
        self._folder, self._run, self._files, self._keys, self._kept = folder, run, files, keys, kept

    def __len__(self) -> int:
        return len(self._keys) + len(self._kept)

    def __iter__(self) -> Iterator[Record]:
        for place, file in enumerate(self._files):
            found = self._kept.get(place)
            if found is None and (key := self._keys.get(place)) is not None:
                found = record_of(self._folder, key, self._run)
                if found is None:
                    raise FileError(f"{_record_file(self._folder, key)}: was removed or changed while the batch ran")
            if found is not None:
                yield replace(found, file=file)

    def __contains__(self, record: object) -> bool:
        return any(record == other for other in self)


def _digest(content: Mapping[str, Any]) -> str:
    """What tells a record that was damaged from one that was written so, whatever time it took."""
    timeless = {**content, "record": {**content["record"], "seconds": 0}}
    return hashlib.sha256(json.dumps(timeless, sort_keys=True).encode()).hexdigest()


def _record_file(folder: Path, key: str) -> Path:
    return folder / "records" / f"{key}.json"

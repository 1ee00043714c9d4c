"""Rows of a series that wait for their turn: each a series of its own, in a folder beside the series, `NAME.parts`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ..errors import FileError
from ..files.locking import claim
from ..model.wavefunction import Wavefunction
from ..readers._any_series import open_series
from .calculation import Calculation

_STORE = ".zarr"
_FILE = ".h5"


def settings_of(calculation: Calculation, length: int | None) -> str:
    """What a series of these settings notes: one in rows is not continued without them, nor in others."""
    return str(calculation) if length is None else f"{calculation}, rows of {length} frames"


def length_in(target: Path) -> int | None:
    """Length of the rows of what was begun; None where nothing was, or frame after frame."""
    files = [target, *parts_in(folder_of_parts(target))]
    begun = next((file for file in files if file.exists()), None)
    if begun is None:
        return None
    with closing(open_series(begun)) as series:
        found = re.search(r", rows of (\d{1,9}) frames$", series.settings)
    return int(found[1]) if found else None


def folder_of_parts(target: Path) -> Path:
    """Where the rows of a series lie until it is their turn."""
    return target.with_name(f"{target.name}.parts")


def part_from(folder: Path, start: int) -> Path:
    """The part that begins at a frame, counted from 0: of the kind of the series."""
    suffix = _STORE if folder.stem.lower().endswith(_STORE) else _FILE
    return folder / f"{start + 1:08d}{suffix}"


def parts_in(folder: Path) -> list[Path]:
    """All parts, in their order."""
    return sorted(path for path in folder.glob("[0-9]*") if path.suffix in (_STORE, _FILE))


def remove(part: Path) -> None:
    """Remove a part at once: what is half removed is none any more."""
    away = part.rename(part.with_name(f".{part.name}"))
    if away.is_dir():
        shutil.rmtree(away, ignore_errors=True)
    else:
        away.unlink()


def first_frames(folder: Path, settings: str) -> list[Wavefunction]:
    """The first frame of each part.

    Raises
    ------
    FileError
        When a part was computed with other settings.
    """
    found = []
    for part in parts_in(folder):
        with closing(open_series(part)) as frames:
            if frames.settings != settings:
                raise FileError(
                    f"{folder.name}: holds frames that were computed with other settings ({frames.settings}), expected "
                    f"{settings}; use these, or remove that folder"
                )
            found += [frames.read(0, check=False)] if len(frames) else []
    return found


@contextmanager
def claimed_folder(target: Path) -> Iterator[Path]:
    """The folder of the parts of a series, for this process alone; removed when all is done, or there are none.

    Raises
    ------
    FileError
        When another process computes the series, or nobody may write there.
    """
    folder = folder_of_parts(target)
    lock = folder / f"{target.name}.lock"
    try:
        folder.mkdir(exist_ok=True)
        lock.touch()
    except OSError as error:
        raise FileError(f"{folder}: cannot be written ({error.strerror})") from error
    descriptor = claim(lock)
    try:
        yield folder
    except BaseException:
        if not parts_in(folder):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    else:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)

"""JSON of a binary file of ORCA, by the `orca_2json` of an ORCA that is installed here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import FileError
from ..imports import program
from ..temporary import own_folder

_SECONDS = 600.0
"""What it may take: that of ORCA 5 computes integrals too."""


def orca_2json() -> str:
    """Path of `orca_2json`, on the search path or beside `orca`; empty where there is none."""
    found = program("orca_2json")
    if not found and (orca := program("orca")):
        found = shutil.which("orca_2json", path=os.path.dirname(os.path.realpath(orca))) or ""
    return found


@contextmanager
def json_of(path: Path) -> Iterator[Path]:
    """JSON that `orca_2json` writes of a file, in a folder of its own for as long as the context lasts.

    Raises
    ------
    FileError
        When it writes none; says what it said.
    """
    with tempfile.TemporaryDirectory(dir=own_folder()) as folder:
        copy = Path(folder, path.name)
        shutil.copyfile(path, copy)
        said = ""
        for named in (copy.name, copy.stem):  # ORCA 6, and ORCA 5
            try:
                done = subprocess.run(
                    [orca_2json(), named, "-json"],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=_SECONDS,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise FileError(f"{path.name}: orca_2json cannot read it ({error})") from error
            written = next(iter(Path(folder).glob("*.json")), None)
            if written is not None:
                yield written
                return
            said = said or done.stdout.decode("utf-8", "replace").strip()
        last = said.rpartition("\n")[2][:200] or "it said nothing"
        raise FileError(f"{path.name}: orca_2json cannot read it ({last}); is it of the ORCA that wrote the file?")

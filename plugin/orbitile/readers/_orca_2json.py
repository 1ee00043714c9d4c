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

_SECONDS = 600.0
"""What it may take: it computes integrals unless it is told otherwise."""

_CONTENTS = '{"MOCoefficients": true, "Basisset": true, "1elPropertyIntegrals": [], "1elIntegrals": []}'


def program() -> str:
    """Path of `orca_2json`, on the search path or beside `orca`; empty where there is none."""
    found = shutil.which("orca_2json")
    if found is None and (orca := shutil.which("orca")) is not None:
        found = shutil.which("orca_2json", path=os.path.dirname(os.path.realpath(orca)))
    return found or ""


@contextmanager
def json_of(path: Path) -> Iterator[Path]:
    """JSON that `orca_2json` writes of a file, in a folder of its own for as long as the context lasts.

    Raises
    ------
    FileError
        When it writes none; says what it said.
    """
    with tempfile.TemporaryDirectory(prefix="orbitile-") as folder:
        copy = Path(folder, path.name)
        shutil.copyfile(path, copy)
        Path(folder, f"{copy.stem}.json.conf").write_text(_CONTENTS, encoding="utf-8")
        try:
            done = subprocess.run(
                [program(), copy.name, "-json"],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise FileError(f"{path.name}: orca_2json cannot read it ({error})") from error
        written = next(iter(Path(folder).glob("*.json")), None)
        if written is None:
            said = (done.stdout + done.stderr).decode("utf-8", "replace").split("\n")
            last = next((line.strip() for line in reversed(said) if line.strip()), "nothing was said")
            raise FileError(f"{path.name}: orca_2json cannot read it ({last[:200]}); is it of the ORCA that wrote it?")
        yield written

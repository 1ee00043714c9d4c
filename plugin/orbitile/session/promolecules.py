"""Objects of a viewer that have no wavefunction, shown as free atoms in their places."""

from __future__ import annotations

import atexit
import hashlib
import re
import shutil
from pathlib import Path
from tempfile import mkdtemp

from ..base.errors import OrbitileError
from ..base.temporary import own_folder
from ..files.writing import written_atomically
from ..model.geometry import Geometry
from ..readers.promolecule import write_promolecule
from .source import OneFile, files_of

_SUFFIX = ".promolecule"


def is_promolecule(source: str) -> bool:
    """Whether a source is that of free atoms, which follow the atoms of the viewer and not a file."""
    return bool(source) and files_of(source)[0].endswith(_SUFFIX)


class Promolecules:
    """Files of free atoms, one a geometry, as long as this process lives."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def source_of(self, molecule: str, geometry: Geometry) -> str:
        """The source that stands for atoms of a molecule at their places.

        Raises
        ------
        OrbitileError
            When there is no folder for its file.
        """
        digest = hashlib.sha256(geometry.atomic_numbers.tobytes() + geometry.positions.tobytes()).hexdigest()[:12]
        plain = re.sub(r"[^A-Za-z0-9_]", "_", molecule)[:40]
        try:
            if self._folder is None:
                self._folder = Path(mkdtemp(dir=own_folder()))
                atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
            path = self._folder / f"{plain}-{digest}{_SUFFIX}"
            if not path.exists():
                with written_atomically(path) as temporary:
                    write_promolecule(temporary, geometry)
        except OSError as error:
            raise OrbitileError(f"there is no folder to write atoms to ({error}); set TMPDIR to one") from error
        return str(OneFile(str(path)).noted())

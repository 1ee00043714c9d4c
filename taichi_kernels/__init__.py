"""Kernels of Orbitile in Taichi: they know arrays, not wavefunctions. Importing this package does not import Taichi."""

import os
import tempfile
import warnings
from pathlib import Path

# read when Taichi is imported, which the modules of this package do
os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "0")
os.environ.setdefault("TI_ENABLE_PYBUF", "0")  # no kernel prints, and notebooks need not hear that one could

# Python 3.12 and later complain about strings in Taichi's own sources when they are compiled for the first time
warnings.filterwarnings("ignore", category=SyntaxWarning, module=r".*[/\\]taichi[/\\]")


def _can_write(folder: Path) -> bool:
    """Whether files can be made in a folder, which may yet have to be made itself."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _ensure_cache() -> None:
    """Where there is no home to keep compiled kernels in, as in batch jobs and containers, use the temporary folder.

    Taichi ends the whole process otherwise.
    """
    wanted, home = os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    folder = Path(wanted) if wanted else Path(home) / ".cache" if home else None
    if os.name == "posix" and (folder is None or not _can_write(folder)):
        os.environ["XDG_CACHE_HOME"] = str(Path(tempfile.gettempdir()) / f"orbitile-{os.getuid()}")


_ensure_cache()

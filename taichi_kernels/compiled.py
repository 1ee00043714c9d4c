"""What is known of kernels that were compiled before: in notes, files in the user's cache folder. Inside a session.

A note is about these kernels as they are now, this compiler, and this device of this machine. Nothing follows from one
when what the compiler kept is gone.
"""

import hashlib
import platform
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from .cache_folder import folder_for, made
from .devices import probe
from .session import renew
from .target import Target


def are_kept(target: Target) -> bool:
    """Whether `note_kept` was called for the device, and every compiled kernel that there was then still is."""
    try:
        names = _note(target, "prepared").read_text(encoding="ascii").split()
    except (OSError, ValueError):  # there is none, or it is damaged
        return False
    return bool(names) and names[0] == _END and set(names[1:]) <= _kept()


def note_kept(target: Target) -> bool:
    """Start the compiler anew, whereupon it writes what it has compiled, and note that all kernels are there.

    False where a result is left on the device, so that it cannot be, and where no note can be written.
    """
    return renew() and _write(target, "prepared", [_END, *sorted(_kept())])


def note_use(target: Target) -> bool:
    """Whether these kernels have to be compiled, as far as is known, and that was not noted before; it is noted."""
    if _kept() and (_note(target, "prepared").exists() or _note(target, "used").exists()):
        return False
    _write(target, "used", [])
    return True


_END = "kept"
"""First word of a note, so that an empty one is none."""


def _kept() -> set[str]:
    """Names of the compiled kernels that the compiler has written."""
    from ._taichi import kept_in

    try:
        return {file.name for file in kept_in().iterdir() if file.suffix == ".tic"}
    except OSError:
        return set()


def _note(target: Target, what: str) -> Path:
    from ._taichi import identity

    known = "\n".join([_sources(), identity(), target.device, probe(target.device).detail, *platform.uname()[:2]])
    return folder_for("kernels") / f"{hashlib.sha256(known.encode()).hexdigest()[:32]}.{what}"


def _write(target: Target, what: str, words: list[str]) -> bool:
    with suppress(OSError):  # no room, or not ours: compiling again takes time and does no harm
        note = _note(target, what)
        made(note.parent)
        note.write_text("\n".join(words), encoding="ascii")
        return True
    return False


@lru_cache
def _sources() -> str:
    """Stands for the sources of all kernels."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()

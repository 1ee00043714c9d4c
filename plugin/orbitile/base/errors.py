"""The errors that Orbitile raises on purpose.

Every message says what was asked, what was found, and what to do about it, in one line, so that a command line or a
host can print it as it is. Anything that reaches a user and is not an `OrbitileError` is a defect.
"""

from unicodedata import category

_LONGEST = 1000
"""Characters of a message; what is beyond it was quoted from a damaged file."""


def printable(text: str, keep: str = "") -> str:
    r"""Text for a terminal: what it would obey, and line ends of Unicode, as Python escapes them (`\x1b`, `\u2028`).

    Names and titles in files may hold anything. Spaces of all widths stay, and the characters of `keep`.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in keep or category(one) == "Zs" else repr(one)[1:-1] for one in text
    )


class OrbitileError(Exception):
    """Base of all errors that Orbitile raises on purpose."""

    def __init__(self, message: object = "") -> None:
        text = printable(str(message))
        super().__init__(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 200]} ... {text[-150:]}")


class FileError(OrbitileError):
    """A file cannot be read or written: missing, truncated, of an unknown format, or inconsistent."""


class FileChanged(FileError):
    """A file no longer holds what it held when it was loaded."""


class ConventionError(FileError):
    """A wavefunction was read, but its orbitals are not normalised in any convention that we know."""


class FieldError(OrbitileError):
    """A field was asked for by a name that does not exist, or that this wavefunction does not have."""


class LatticeError(OrbitileError):
    """A lattice is malformed, or would not fit in memory."""


class DeviceError(OrbitileError):
    """A compute device or a graphics context was asked for by name and cannot be had here."""


class RenderError(OrbitileError):
    """A picture cannot be drawn with the arguments given."""


class Cancelled(OrbitileError):
    """The caller asked for the computation to stop."""


class IsovalueError(OrbitileError):
    """An isovalue at which a volume has no surface, or a share of its norm that cannot be enclosed."""


class NoSurface(IsovalueError):
    """An isovalue that a field reaches nowhere on its lattice."""

"""What the parsers need beside each other: the lines of a file, errors that name one, and units."""

from __future__ import annotations

import io
from collections.abc import Iterator

from ...model.units import angstrom as angstrom
from ...model.units import dalton

amu = dalton


class LineIterator:
    """Lines of a text as a parser takes them, which may put some back.

    Parameters
    ----------
    filename
        Name of the file, for messages.
    content
        Its bytes: UTF-8 with any ends of lines.

    Attributes
    ----------
    lineno : int
        Number of the line that was given last, from 1.
    """

    def __init__(self, filename: str, content: bytes) -> None:
        self.filename = filename
        self.lineno = 0
        if b"\r" in content:
            content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._content, self._stream = content, io.BytesIO(content)
        self._put_back: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.lineno += 1
        return self._put_back.pop() if self._put_back else next(self._stream).decode()

    def back(self, line: str) -> None:
        """Put a line back, to be the next one."""
        self._put_back.append(line)
        self.lineno -= 1

    def rest(self) -> tuple[bytes, int]:
        """The bytes of all lines, and where among them the next one begins."""
        return self._content, self._stream.tell() - sum(len(line.encode()) for line in self._put_back)

    def skip_to(self, place: int) -> None:
        """Go on with the line that begins at such a place of the bytes, behind the next one."""
        content, start = self.rest()
        self.lineno += content.count(b"\n", start, place)
        self._put_back.clear()
        self._stream.seek(place)


class _OfFile(Exception):
    """A message about a file, and where in it."""

    def __init__(self, message: str, file: LineIterator | str | None = None, lineno: int | None = None) -> None:
        super().__init__(message)
        self.filename = getattr(file, "filename", file)
        self.lineno = getattr(file, "lineno", lineno)


class LoadError(_OfFile):
    """A file does not say what it should."""


class DumpError(_OfFile):
    """Something cannot be written, which nobody asks for here."""


class PrepareDumpError(DumpError):
    """As above, found before anything is written."""


class LoadWarning(_OfFile, Warning):
    """A file was understood in another way than it is written."""


class PrepareDumpWarning(_OfFile, Warning):
    """Something was changed to be written, which nobody asks for here."""


class Cube:
    """Type of volumes in qc-iodata, of which these formats have none."""

"""Jmol at the other end of two pipes: its user's requests are read, and scripts that draw are written."""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import OrbitileError, printable
from ...base.temporary import own_folder
from ...session.commands import orb_delete, orb_field, orb_load
from ...session.declaration import Call, read_example
from ...session.session import Session
from ..server.requests import done
from ..server.viewer import ServedViewer

_MARK = "orbitile-request"
"""Begins the lines that are for Orbitile; a number and what is asked for follow, separated by colons."""

_TOLD = 3
"""Of the lines that Jmol printed last, how many an error tells."""

_FUNCTION = f'function orb(what) {{ orb_asked = 0 + orb_asked + 1; print "{_MARK}:" + orb_asked + ":" + what; }}'
"""What the user calls. The number tells a line that Jmol writes twice, to its log and as an echo, from a new one."""


def quoted(text: str) -> str:
    """A string in a script of Jmol, on one line."""
    return '"' + printable(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def asked_in(line: str) -> tuple[int, str] | None:
    """The number of a request and what it asks for; None for a line that is not for Orbitile."""
    _, mark, rest = line.partition(_MARK + ":")
    number, colon, what = rest.partition(":")
    return (int(number), what.strip()) if mark and colon and number.isdecimal() else None


def mesh_text(vertices: NDArray[Any], faces: NDArray[Any], colours: NDArray[Any]) -> str:
    """Triangles in colours as Jmol reads them, in its format pmesh: a negative number of corners announces a colour.

    Parameters
    ----------
    vertices : ndarray, shape (n_vertices, 3)
        In Angstrom.
    faces : ndarray of int, shape (n_faces, 3)
        Corners of triangles; a face ends with its first corner again.
    colours : ndarray, shape (n_vertices, 3)
        Red, green and blue, 0 to 1; a face has the mean of its corners.
    """
    levels = np.round(255 * colours[faces].mean(axis=1)).astype(int)
    inks = levels @ [0x10000, 0x100, 1]
    lines = [str(len(vertices)), *(f"{x:.5f} {y:.5f} {z:.5f}" for x, y, z in vertices), str(len(faces))]
    lines += [f"-4\n{a}\n{b}\n{c}\n{a}\n{ink}" for (a, b, c), ink in zip(faces, inks, strict=True)]
    return "\n".join(lines) + "\n"


class Driver:
    """Translates between the session of the server and Jmol.

    Parameters
    ----------
    script : text stream
        Jmol reads scripts from it, one a line.
    folder : Path
        For files that Jmol reads.
    """

    def __init__(self, script: IO[str], folder: Path) -> None:
        self._script = script
        self._folder = folder
        self._changed: dict[str, None] = {}
        self._n_meshes = 0
        self._last = 0
        self.has_ended = False
        self.printed = deque[str](maxlen=_TOLD)
        self._named = ""  # the surface of the field that was asked for by its name last
        self.session = Session(ServedViewer(self._follow, folder))

    def send(self, script: str) -> None:
        """Have Jmol execute a script of one line, unless it has ended; its output then ends too."""
        try:
            self._script.write(script + "\n")
            self._script.flush()
        except BrokenPipeError:
            self.has_ended = True

    def say(self, text: str) -> None:
        """Show a text in Jmol's console, line by line."""
        for line in text.splitlines():
            self.send(f"print {quoted(line)};")

    def do(self, what: str) -> None:
        """Do what the user asks for: a command of Orbitile, or the name of a field, which replaces the one before."""
        try:
            command = read_example(what)
            if command is None:
                self.show(what)
            else:
                self.call(command)
        except OrbitileError as error:
            self.say(str(error))

    def show(self, field: str) -> None:
        """Show a field in place of the one that was shown by its name before.

        Raises
        ------
        OrbitileError
            When it cannot be shown.
        """
        surface = self.call(Call(orb_field.name, (self.session.molecule(""), field)))
        if self._named not in ("", surface) and self._named in self.session.shelf:
            self._answer(Call(orb_delete.name, (self._named,)))
        self._named = surface

    def call(self, call: Call) -> str:
        """Execute a command of Orbitile, and draw what it has changed; returns the name of what it made, if any.

        Raises
        ------
        OrbitileError
            When it fails.
        """
        answer = self._answer(call)
        self.say(answer["text"])
        changed, self._changed = self._changed, {}
        for surface in changed:
            self._draw(surface)
        return str(answer["value"] or "")

    def _answer(self, call: Call) -> dict[str, Any]:
        unknown = dict.fromkeys(("objects", "hidden", "seen", "dragging"))  # Jmol does not tell
        words = {"command": call.command, "arguments": list(call.arguments), "named": dict(call.named)}
        answer = done(self.session, {"id": 0, "positions": {}, **unknown, **words})
        if "error" in answer:
            raise OrbitileError(answer["error"])
        return answer

    def _follow(self, event: dict[str, Any]) -> None:
        """What the session has a viewer do."""
        kind, name = event["event"], event.get("name", "")
        if kind == "molecule":
            self.send(f"load @{{{quoted(event['file'])}}};")
        elif kind in ("surface", "volume"):
            self._changed[name] = None
        elif kind == "remove":
            self._changed.pop(name, None)
            self.send(f"isosurface ID {quoted(name)} delete;")
        elif kind == "visible":
            self.send(f"isosurface ID {quoted(name)} {'on' if event['visible'] else 'off'};")
        elif kind == "frame":
            self.send(f"frame {event['frame'] + 1};")
        elif kind == "message":
            self.say(event["text"])

    def _draw(self, surface: str) -> None:
        told = self._answer(Call("triangles", (surface,)))["value"]
        binary = Path(told["file"])
        data = binary.read_bytes()
        binary.unlink()
        vertices, colours, faces = (_array(data, told["arrays"][name]) for name in ("vertices", "colours", "faces"))
        self._n_meshes += 1
        file = self._folder / f"{self._n_meshes}.pmesh"
        file.write_text(mesh_text(vertices, faces, colours[:, :3]), encoding="ascii")
        transparency = 1 - float(colours[:, 3].mean()) if len(colours) else 0.0
        look = f"translucent {transparency:.2f}" if transparency > 0 else "opaque"
        # Jmol refuses the name of a file in a script from standard input, but not an expression that gives it.
        self.send(f"isosurface ID {quoted(surface)} pmesh @{{{quoted(str(file))}}} {look};")

    def listen(self, lines: Iterable[str]) -> bool:
        """Do what the user asks for in lines that Jmol prints.

        Returns True where `orb("")` asks for nothing, False where the lines end.
        """
        for line in lines:
            asked = asked_in(line)
            if asked is None:
                if not line.lstrip().startswith("at "):  # where in Jmol an error came from
                    self.printed.append(line.strip())
                continue
            if asked[0] <= self._last:
                continue
            self._last = asked[0]
            if not asked[1]:
                return True
            self.do(asked[1])
        return False


def _array(data: bytes, told: dict[str, Any]) -> NDArray[Any]:
    n = int(np.prod(told["shape"]))
    kind = np.dtype(told["type"]).newbyteorder("<")
    return np.frombuffer(data, kind, n, told["offset"]).reshape(told["shape"])


def drive(command: Sequence[str], file: Path, field: str, scripts: Sequence[str] = ()) -> None:
    """Start Jmol, show a field of a file, and do what its user asks for, until Jmol ends.

    Parameters
    ----------
    command
        Starts Jmol; it has to read scripts from standard input.
    file
        Of the wavefunction.
    field
        To be shown first.
    scripts
        Jmol executes them then, each when what the one before asked for is done.

    Raises
    ------
    OrbitileError
        When Jmol cannot be started or fails, or the first field cannot be shown.
    """
    if not command:
        raise OrbitileError("--command: expected how Jmol is started, got nothing; omit it for jmol -I -o")
    try:
        jmol = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise OrbitileError(
            f"{command[0]}: Jmol cannot be started ({error.strerror}); install it (Debian's package jmol), or tell "
            "with --command how it is started"
        ) from None
    assert jmol.stdin is not None  # both were asked for
    assert jmol.stdout is not None
    with TemporaryDirectory(dir=own_folder()) as folder, jmol:
        driver = Driver(jmol.stdin, Path(folder))
        try:
            driver.send(_FUNCTION)
            driver.call(Call(orb_load.name, (str(file),)))
            driver.show(field)
            is_shown = not driver.has_ended
            for script in scripts:
                driver.send(f'{script}; orb("");')
                driver.listen(jmol.stdout)
            while driver.listen(jmol.stdout):
                pass  # until Jmol has ended
        except BaseException:
            jmol.terminate()
            raise
        finally:
            with suppress(BrokenPipeError):  # what it has not read is written again when this is closed
                jmol.stdin.close()
            driver.session.live.end()
        if jmol.wait() or not is_shown:
            last = " / ".join(driver.printed) or "it printed nothing"
            raise OrbitileError(f"Jmol has ended with status {jmol.returncode}: {last}")

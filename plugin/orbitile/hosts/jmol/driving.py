"""Jmol at the other end of two pipes: its user's requests are read, and scripts that draw are written."""

from __future__ import annotations

import queue
import re
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import OrbitileError, printable
from ...base.temporary import own_folder
from ...files.reading import shortage_explained
from ...session.commands import orb_delete, orb_field, orb_load
from ...session.declaration import Call, read_example
from ...session.session import Session
from ..server.requests import done, triangles_of
from ..server.viewer import ServedViewer, internal_error

_MARK = "orbitile-request"
"""Begins the lines that are for Orbitile; a number and what is asked for follow, separated by colons."""

_FRAME = "frame "
"""Begins what `orb_look` asks for: to follow to a frame, which Jmol calls file.model."""

_CANCEL = ("cancel", "orb_cancel")
"""What withdraws the computation under way."""

_LOOK = 0.2
"""Interval in seconds between two looks at the frame that Jmol shows; its callbacks need JavaScript or end scripts."""

_PATIENCE = 5.0
"""Time in seconds for which a computation is asked to end."""

_AGAIN = 0.05
"""Interval between two such requests in seconds: a computation may be about to begin."""

_TOLD = 3
"""Of the lines that Jmol printed last, how many an error tells."""

_FUNCTIONS = (
    f'function orb_tell(what) {{ orb_asked = 0 + orb_asked + 1; print "{_MARK}:" + orb_asked + ":" + what; }}',
    "function orb_look() { if (orb_seen != _modelNumber) { orb_seen = _modelNumber; "
    f'orb_tell("{_FRAME}" + _modelNumber); }} }}',
    "function orb(what) { orb_look(); orb_tell(what); }",
)
"""What the user calls, `orb`, and what tells the frame that the user has chosen, before that and now and then.

The number tells a line that Jmol writes twice, to its log and as an echo, from a new one.
"""


def quoted(text: str) -> str:
    """A string in a script of Jmol, on one line."""
    return '"' + printable(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def asked_in(line: str) -> tuple[int, str] | None:
    """The number of a request and what it asks for; None for a line that is not for Orbitile."""
    _, mark, rest = line.partition(_MARK + ":")
    number, colon, what = rest.partition(":")
    return (int(number), what.strip()) if mark and colon and number.isdecimal() else None


def drawing_scripts(name: str, event: dict[str, Any]) -> list[str]:
    """What an event `drawings` has drawn, as scripts of Jmol; each object has an ID that begins with a name."""
    scripts = []
    for balls in event["balls"]:
        labels = balls["labels"] or [""] * len(balls["places"])
        size = f"DIAMETER {2 * balls['radius']:.4f}"
        for place, label in zip(balls["places"], labels, strict=True):
            scripts.append(f"{size} {_point(place)} {quoted(label) if label else ''} {_colour(balls['colour'])}")
    for lines in event["lines"]:
        for line, radius in zip(lines["lines"], lines["radii"], strict=True):
            size, ink = f"WIDTH {2 * radius:.4f}", _colour(lines["colour"])
            stem = line[:-1] if lines["heads"] else line
            if lines["heads"]:
                scripts.append(f"ARROW {_point(line[-2])} {_point(line[-1])} {size} {ink}")
            if len(stem) > 1:
                scripts.append(f"LINE {' '.join(map(_point, stem))} {size} {ink}")
    return [f"draw ID {quoted(f'{name}_{n}')} {script};" for n, script in enumerate(scripts)]


def label_scripts(atoms: Sequence[dict[str, Any]]) -> list[str]:
    """Labels of atoms, each in a colour; the selection stays as the user has it."""
    labels = [
        f"select atomno={n}; label {quoted(atom['label'])}; {_colour(atom['colour']).replace('color', 'color labels')};"
        for n, atom in enumerate(atoms, 1)
    ]
    return ["save selection orbitile;", *(labels or ["select all; labels off;"]), "restore selection orbitile;"]


def _point(place: Sequence[float]) -> str:
    return "{" + " ".join(f"{value:.5f}" for value in place) + "}"


def _colour(ink: Sequence[float]) -> str:
    return f"color [{','.join(str(round(255 * part)) for part in ink)}]"


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
        self._n_files = 0
        self._drawn: dict[tuple[str, str], int] = {}
        self._labelled: tuple[str, str] | None = None
        self._sending = threading.Lock()
        self._cancelled = self._doing = 0
        self._looked = 0.0
        self._molecule = ""
        self._last = 0
        self.has_ended = False
        self.printed = deque[str](maxlen=_TOLD)
        self._named = ""  # the surface of the field that was asked for by its name last
        self.viewer = ServedViewer(self._follow, folder)
        self.session = Session(self.viewer)

    def send(self, script: str) -> None:
        """Have Jmol execute a script of one line, unless it has ended; its output then ends too. From any thread."""
        try:
            with self._sending:
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
            if what.startswith(_FRAME):
                self.follow_to(what[len(_FRAME) :])
                return
            command = read_example(what)
            if command is None:
                self.show(what)
            else:
                self.call(command)
        except OrbitileError as error:
            self.say(str(error))
        except Exception as error:  # whatever else goes wrong is told, and the next request is done
            self.say(internal_error(error))

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
        self._draw_changed()
        return str(answer["value"] or "")

    def follow_to(self, number: str) -> None:
        """Show the surfaces of the trajectories for the frame that Jmol shows.

        Parameters
        ----------
        number
            As Jmol calls it: of the file and the model in it, from 1, with a point between; several frames, which Jmol
            shows at once, are not followed.

        Raises
        ------
        OrbitileError
            When a surface cannot be had at this frame.
        """
        found = re.fullmatch(r"\d+\.(\d+)", number)
        if found is None:
            return
        frame, molecule = int(found[1]) - 1, self._molecule
        if molecule not in self.viewer.molecules() or self.viewer.frame(molecule) == frame:
            return
        if frame < self.session.n_frames(molecule):
            self.viewer.set_frame(molecule, frame)
            shelf = self.session.shelf
            self._changed |= dict.fromkeys(name for name in shelf.present() if shelf[name].molecule == molecule)
            self._draw_changed()

    def tick(self) -> None:
        """Go on with what takes longer than a command, and ask Jmol which frame it shows."""
        self.viewer.tick()
        try:
            self._draw_changed()
        except OrbitileError as error:
            self.say(str(error))
        except Exception as error:
            self.say(internal_error(error))
        now = time.monotonic()
        if now - self._looked >= _LOOK and self.viewer.period is not None:  # surfaces that go with frames need ticks
            self._looked = now
            self.send("orb_look();")

    def cancel(self, number: int) -> None:
        """Withdraw what was asked for by requests of smaller numbers, from any thread."""
        if number <= self._cancelled:  # an echo
            return
        self._cancelled = number
        end = time.monotonic() + _PATIENCE
        while 0 < self._doing < number and time.monotonic() < end:
            self.session.cancel()
            time.sleep(_AGAIN)

    def _draw_changed(self) -> None:
        changed, self._changed = self._changed, {}
        for surface in changed:
            self._draw(surface)
            self._changed.pop(surface, None)  # told of once more when it was asked for

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
            self._molecule = name
            self.send(f"load @{{{quoted(event['file'])}}};")
            if event["frame"]:
                self.send(f"frame {event['frame'] + 1};")
        elif kind in ("surface", "volume"):
            if event.get("frame") in (None, self.viewer.frame(event["molecule"])):
                self._changed[name] = None
        elif kind == "remove":
            self._changed.pop(name, None)
            self.send(f"isosurface ID {quoted(name)} delete;")
        elif kind == "visible":
            self.send(f"isosurface ID {quoted(name)} {'on' if event['visible'] else 'off'};")
        elif kind == "frame":
            self.send(f"frame {event['frame'] + 1};")
        elif kind == "drawings":
            self._put_drawings(event["molecule"], name, event)
        elif kind == "message":
            self.say(event["text"])

    def _put_drawings(self, molecule: str, name: str, event: dict[str, Any]) -> None:
        """Draw what an analysis has found, in place of what it has drawn before."""
        key = molecule, name
        known = f"{molecule}_{name}"
        scripts = [f"draw ID {quoted(f'{known}_{n}')} delete;" for n in range(self._drawn.pop(key, 0))]
        drawn = drawing_scripts(known, event)
        if drawn:
            self._drawn[key] = len(drawn)
        scripts += drawn
        if event["atoms"] or self._labelled == key:
            self._labelled = key if event["atoms"] else None
            scripts += label_scripts(event["atoms"])
        if scripts:  # from a file: Jmol reads no points in scripts from standard input
            self.send(f"script @{{{quoted(str(self._written(chr(10).join(scripts), 'spt')))}}};")

    def _written(self, text: str, suffix: str) -> Path:
        self._n_files += 1
        file = self._folder / f"{self._n_files}.{suffix}"
        file.write_text(text, encoding="utf-8")
        return file

    def _draw(self, surface: str) -> None:
        with shortage_explained():
            _, arrays = triangles_of(self.session, surface)
        vertices, colours, faces = (arrays[name] for name in ("vertices", "colours", "faces"))
        file = self._written(mesh_text(vertices, faces, colours[:, :3]), "pmesh")
        transparency = 1 - float(colours[:, 3].mean()) if len(colours) else 0.0
        look = f"translucent {transparency:.2f}" if transparency > 0 else "opaque"
        # Jmol refuses the name of a file in a script from standard input, but not an expression that gives it.
        self.send(f"isosurface ID {quoted(surface)} pmesh @{{{quoted(str(file))}}} {look};")

    def lines(self, printed: Iterable[str]) -> Iterator[str]:
        """What Jmol prints, read in a thread of its own: what takes longer goes on meanwhile, and can be cancelled."""
        waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()

        def read() -> None:
            for line in printed:
                asked = asked_in(line)
                if asked is not None and asked[1] in _CANCEL:
                    self.cancel(asked[0])
                else:
                    waiting.put(line)
            waiting.put(None)

        threading.Thread(target=read, daemon=True).start()
        return iter(partial(self._next, waiting), None)

    def _next(self, waiting: queue.SimpleQueue[str | None]) -> str | None:
        """The next line, once it comes; None where they have ended."""
        while True:
            period = self.viewer.period
            try:
                return waiting.get(timeout=_LOOK if period is None else min(period, _LOOK))
            except queue.Empty:
                self.tick()

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
            self._doing = asked[0]
            if asked[0] > self._cancelled:
                self.do(asked[1])
            else:
                self.say("cancelled")
            self._doing = 0
        return False


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
            for function in _FUNCTIONS:
                driver.send(function)
            lines = driver.lines(jmol.stdout)
            driver.call(Call(orb_load.name, (str(file),)))
            driver.show(field)
            is_shown = not driver.has_ended
            for script in scripts:
                driver.send(f'{script}; orb("");')
                driver.listen(lines)
            while driver.listen(lines):
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

"""Orbitile as a process of its own, for viewers without Python: `orbitile serve`; docs/server.md is the reference.

A line of JSON on standard input asks for a command; lines on standard output say what to show, and what became of it.
Between requests frames of trajectories are computed ahead, and sent as they are done. The process ends with its
standard input, and takes its folder along.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import signal
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..errors import FileChanged, OrbitileError
from ..exporters import plt
from ..exporters.xyz import xyz_of
from ..fields.orbital import orbital_name
from ..files.writing import written_atomically
from ..model.surface import Colouring, Surface
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from ..session.commands import COMMANDS, orb_cancel
from ..session.commands.loading import place
from ..session.declaration import Command, brief
from ..session.host import Colour, TrajectoryViewer
from ..session.orbitals import levels_of
from ..session.session import Session
from ..session.shown import Shown, object_name
from ..session.source import Source, changes, files_of, is_trajectory
from .colour_volume import colour_volume

_LONGEST = 1 << 20
"""Bytes of a request, at most."""
_PATIENCE = 5.0
"""Seconds that a computation may take to stop when there is nobody left to tell."""
_EVERY = 0.1
"""Seconds between two messages about progress."""

Tell = Callable[[dict[str, Any]], None]


class Drawing(NamedTuple):
    """How a field looks.

    Attributes
    ----------
    look : dict
        Parts of the message `surface`.
    shades : Volume or None
        Colours the surface.
    """

    look: dict[str, Any]
    shades: Volume | None


class ServedHost(TrajectoryViewer):
    """The viewer at the other end as a host; see `orbitile.session.host.Host`.

    Parameters
    ----------
    tell : callable
        Sends a message.
    folder : Path
        For the files that messages name.

    Attributes
    ----------
    there : set of str
        Names of the objects that the viewer has, as its last request said; to be changed by `set_there`.
    period : float or None
        Seconds between two calls of `tick`; None while there is nothing to call.
    """

    draws_volumes = True

    def __init__(self, tell: Tell, folder: Path) -> None:
        self.there: set[str] = set()
        self.period: float | None = None
        self._volumes: dict[tuple[str, int | None], weakref.ref[Volume]] = {}
        self._tell, self._folder = tell, folder
        self._sources: dict[str, str] = {}
        self._frames: dict[str, int] = {}
        self._going: dict[str, int] = {}
        self._again: list[Callable[[], None]] = []
        self._number = 0
        self._told = 0.0

    def set_there(self, names: set[str]) -> None:
        """Take note of the objects that the viewer has; of all others its volumes are gone too."""
        self.there = names
        self._volumes = {key: volume for key, volume in self._volumes.items() if key[0] in names}

    def set_frame(self, molecule: str, frame: int) -> None:
        """Take note of the frame that the viewer is at."""
        self._frames[molecule] = frame
        self._going.pop(molecule, None)

    def tick(self) -> None:
        """Call what is to be called again and again; what fails is told, and not called any more."""
        for function in list(self._again):
            try:
                function()
            except Exception as error:
                self._again.remove(function)
                self.say(f"defect of Orbitile: {type(error).__name__}: {brief(str(error))}")

    def legal_name(self, name: str) -> str:
        return name

    def add_molecule(self, name: str, wavefunction: Wavefunction, geometry: int) -> None:
        file = self._file(name, "xyz")
        file.write_text(xyz_of(wavefunction), encoding="utf-8")
        self._sources[name] = wavefunction.source
        self.set_frame(name, geometry)
        self.there.add(name)
        message = {"event": "molecule", "name": name, "file": str(file), "frame": geometry}
        ghosts = int(wavefunction.is_ghost.sum())
        self._tell({**message, "ghosts": ghosts} if ghosts else message)

    def molecules(self) -> dict[str, str]:
        return {name: source for name, source in self._sources.items() if name in self.there}

    def renamed(self) -> dict[str, str]:
        return {}  # what users call things at the other end is not told

    def geometries(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        raise OrbitileError("the viewer at the other end cannot hand over atoms; orbitile scf computes from a file")

    def adopt(self, name: str, source: str) -> None:
        self._sources[name] = source

    def frame(self, molecule: str) -> int | None:
        return self._frames.get(molecule) if molecule in self.there else None

    def go_to(self, molecule: str, frame: int) -> None:
        if self._going.get(molecule) != frame:  # it is there when the viewer says so
            self._going[molecule] = frame
            self._tell({"event": "frame", "molecule": molecule, "frame": frame})

    def every(self, milliseconds: int, function: Callable[[], None]) -> bool:
        if function not in self._again:
            self._again.append(function)
            self.period = min(milliseconds / 1000, self.period or math.inf)
        return True

    def has_window(self) -> bool:
        return False

    def wait(self, future: Future[Any]) -> None:
        wait([future])

    def objects(self) -> set[str]:
        return self.there

    def drawing(self, surface: Surface, colours: tuple[Colour, Colour]) -> Drawing:
        phases = [phase for phase in (1, -1) if np.any(surface.phases == phase)]
        shades = colour_volume(surface) if surface.colouring is not None and phases else None
        return Drawing({"isovalue": surface.isovalue, "phases": phases, "colours": colours}, shades)

    def size(self, surface: Surface, volume: Volume) -> int:
        return volume.values.nbytes * (1 if surface.colouring is None else 2)  # files; shades have fewer points

    def put_surface(
        self,
        name: str,
        molecule: str,
        drawing: Drawing,
        transparency: float,
        colouring: Colouring | None,
        frame: int | None = None,
    ) -> None:
        message = {"event": "surface", "name": name, "molecule": molecule, **drawing.look, "transparency": transparency}
        message["new"] = name not in self.there
        if colouring is not None:
            message["scale"] = {"low": colouring.low, "high": colouring.high}
            message["scale"] |= {"quantity": colouring.quantity, "unit": colouring.unit}
            message["scale"]["colour_map"] = colouring.colour_map
            self._volumes.pop((name, frame), None)  # shades stand beside the volume: both are sent
        if drawing.shades is not None:
            message["shades"] = str(self._written(drawing.shades.quantity, drawing.shades))
        if frame is not None:
            message["frame"] = frame
        self.there.add(name)
        self._tell(message)

    def set_transparency(self, name: str, transparency: float) -> None:
        self._tell({"event": "transparency", "name": name, "transparency": transparency})

    def put_volume(self, name: str, molecule: str, volume: Volume, frame: int | None = None) -> None:
        known = self._volumes.get((name, frame))
        file = None
        if known is None or known() is not volume:
            file = str(self._written(name, volume))
            self._volumes[name, frame] = weakref.ref(volume)
        message = {"event": "volume", "name": name, "molecule": molecule, "file": file}
        self._tell(message if frame is None else {**message, "frame": frame})

    def drop(self, name: str, frame: int) -> None:
        self._volumes.pop((name, frame), None)
        self._tell({"event": "drop", "name": name, "frame": frame})

    def remove(self, name: str) -> None:
        self.set_there(self.there - {name})
        self._tell({"event": "remove", "name": name})

    def colour(self, name: str) -> Colour:
        from PIL import ImageColor

        try:
            red, green, blue = ImageColor.getrgb(name)[:3]
        except ValueError:
            raise OrbitileError(f"colour: expected a name such as blue, or #rrggbb, got {brief(name)}") from None
        return red / 255, green / 255, blue / 255

    def progress(self, share: float) -> None:
        now = time.monotonic()
        if now - self._told > _EVERY:
            self._told = now
            self._tell({"event": "progress", "share": round(share, 3)})

    def say(self, text: str) -> None:
        self._tell({"event": "message", "text": text})

    def settings(self) -> dict[str, Any]:
        return {}

    def keep_settings(self, settings: dict[str, Any]) -> None:
        pass  # the viewer has a window of its own, and keeps what is set there

    def _written(self, name: str, volume: Volume) -> Path:
        file = self._file(name, "plt")
        with written_atomically(file) as temporary:
            plt.write(volume, temporary)
        return file

    def _file(self, name: str, suffix: str) -> Path:
        self._number += 1
        return self._folder / f"{self._number}-{object_name('', name)[:60]}.{suffix}"


def serve(input: BinaryIO, output: BinaryIO, ends: queue.SimpleQueue[None]) -> None:
    """Answer requests until the input ends.

    Parameters
    ----------
    input, output
        Binary streams.
    ends
        What is put here ends it too.
    """
    lock = threading.Lock()

    def tell(message: dict[str, Any]) -> None:
        try:
            with lock:
                output.write(json.dumps(message).encode() + b"\n")
                output.flush()
        except (OSError, ValueError):
            pass  # nobody listens any more: the input is about to end too

    temporary = TemporaryDirectory(prefix="orbitile-")
    with temporary as folder:
        host = ServedHost(tell, Path(folder))
        session = Session(host)
        tell({"event": "ready", "version": __version__, "folder": folder, "commands": [_told(c) for c in COMMANDS]})
        waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        ended = threading.Event()

        def listen() -> None:
            _listen(input, session, tell, waiting)
            ends.put(None)

        def leave() -> None:
            ends.get()
            ended.set()
            waiting.put(None)
            for _ in range(round(_PATIENCE / _EVERY)):  # again and again: a computation may be about to begin
                session.cancel()
                time.sleep(_EVERY)  # this thread ends with the process
            temporary.cleanup()
            os._exit(1)

        for function in (listen, leave):
            threading.Thread(target=function, daemon=True).start()
        while not ended.is_set():
            with contextlib.suppress(queue.Empty):  # nothing was asked for: time for a tick
                request = waiting.get(timeout=host.period)
                if request is None:
                    break
                if request["objects"] is not None:
                    host.set_there(set(request["objects"]))
                tell(_answer(session, request))
            host.tick()


def _listen(
    input: BinaryIO,
    session: Session,
    tell: Tell,
    waiting: queue.SimpleQueue[dict[str, Any] | None],
) -> None:
    """Hand requests on; what cannot be one, and what stops the one under way, is answered here and now."""
    while line := input.readline(_LONGEST):
        if not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = input.readline(_LONGEST)
            if line:
                tell({"id": None, "error": f"expected a line of JSON of less than {_LONGEST} bytes"})
            continue
        if not line.strip():
            continue
        try:
            request = _read(line)
        except OrbitileError as error:
            tell({"id": None, "error": str(error)})
            continue
        if request["command"] == orb_cancel.name:
            tell(_answer(session, request))
        else:
            waiting.put(request)


def _read(line: bytes) -> dict[str, Any]:
    """A request, with all its parts.

    Raises
    ------
    OrbitileError
        When it is not one.
    """
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise OrbitileError(f"expected a line of JSON, got {brief(line)} ({brief(str(error))})") from None
    if not isinstance(request, dict):
        raise OrbitileError(f"expected an object of JSON, got {brief(request)}")
    parts = {"id": None, "command": "", "arguments": [], "named": {}, "objects": None, **request}
    if unknown := set(parts) - {"id", "command", "arguments", "named", "objects"}:
        raise OrbitileError(f"expected id, command, arguments, named and objects, got {brief(sorted(unknown)[0])}")
    if isinstance(parts["id"], dict | list | float) or len(str(brief(parts["id"]))) > 60:
        raise OrbitileError(f"id: expected a number or a short text, got {brief(parts['id'])}")
    if not isinstance(parts["command"], str):
        raise OrbitileError(f"command: expected text, got {brief(parts['command'])}")
    if not isinstance(parts["arguments"], list):
        raise OrbitileError(f"arguments: expected a list, got {brief(parts['arguments'])}")
    if not isinstance(parts["named"], dict):
        raise OrbitileError(f"named: expected an object, got {brief(parts['named'])}")
    names = parts["objects"]
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise OrbitileError(f"objects: expected a list of names, got {brief(parts['objects'])}")
    return parts


def _answer(session: Session, request: dict[str, Any]) -> dict[str, Any]:
    try:
        if request["command"] in _OWN:
            function, most = _OWN[request["command"]]
            value = function(session, *_texts(request["arguments"], most))
            return {"id": request["id"], "value": value, "text": ""}
        answer = _command(request["command"]).run(session, request["arguments"], request["named"])
    except OrbitileError as error:
        return {"id": request["id"], "error": str(error)}
    except MemoryError:
        return {"id": request["id"], "error": "there is no memory left for this; choose a coarser quality"}
    except Exception as error:  # whatever else goes wrong is told, and the next request is served
        return {"id": request["id"], "error": f"defect of Orbitile: {type(error).__name__}: {brief(str(error))}"}
    return {"id": request["id"], "value": answer.value, "text": answer.text}


def _command(name: str) -> Command:
    found = next((command for command in COMMANDS if command.name == name), None)
    if found is None:
        known = ", ".join(command.name for command in COMMANDS)
        raise OrbitileError(f"command: expected one of {known}, got {brief(name)}")
    return found


def _told(command: Command) -> dict[str, Any]:
    arguments = [
        {"name": argument.name, "kind": argument.kind.name, "help": argument.help, "required": argument.required}
        for argument in command.arguments
    ]
    return {"name": command.name, "usage": command.usage, "help": command.help, "arguments": arguments}


def _orbitals(session: Session, name: str = "") -> list[list[Any]]:
    """Rows of the table of orbitals: field, number, spin, energy in electronvolt, occupation, symmetry, mark."""
    wavefunction = session.wavefunction(session.molecule(name))
    return [
        [
            orbital_name(wavefunction, level.index, level.spin),
            level.index + 1,
            level.spin if wavefunction.beta is not None else "",
            level.energy if math.isfinite(level.energy) else None,
            level.occupation,
            level.symmetry,
            level.mark,
        ]
        for levels in levels_of(wavefunction)
        for level in levels
    ]


def _state(session: Session) -> str:
    """What is shown, for `_restore`."""
    return json.dumps({"molecules": session.host.molecules(), "shown": session.shelf.saved()})


def _restore(session: Session, state: str = "") -> None:
    """Show again what `_state` told, computed anew, as far as its files hold what they held.

    Raises
    ------
    OrbitileError
        When it is not what `_state` gave; nothing is shown then.
    """
    try:
        told = json.loads(state)
        molecules = {str(name): _text_of_source(source) for name, source in told["molecules"].items()}
        shown = {str(name): Shown.from_message(message) for name, message in told["shown"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OrbitileError) as error:
        why = f": {error}" if isinstance(error, OrbitileError) else ""
        raise OrbitileError(f"restore: expected what `state` gave, got {brief(state)}{why}") from None
    host = session.host
    assert isinstance(host, ServedHost)  # `serve` made it
    host.set_there(host.there - set(molecules) - set(shown))
    for name, text in molecules.items():
        try:
            for problem in changes(text) if all(map(os.path.exists, files_of(text))) else ():
                raise FileChanged(f"{problem} since this was saved")
            place(session, name, Source.read(text) if is_trajectory(text) else Source(files_of(text)))
        except OrbitileError as error:
            host.say(f"{name} is not restored: {error}")
    for name, one in shown.items():
        if one.molecule not in host.there:
            continue  # the user has been told of it
        path = host.molecules()[one.molecule]  # a trajectory may have grown
        one = replace(one, request=replace(one.request, path=path))
        try:
            session.show(one, session.computing.sampled(one.request), name)
        except OrbitileError as error:
            host.say(f"{name} is not restored: {error}")
            continue
        if one.request.frame is not None:
            host.go_to(one.molecule, one.request.frame)


def _text_of_source(source: Any) -> str:
    """A source as text, which can be read.

    Raises
    ------
    OrbitileError
        When it is none.
    """
    if not isinstance(source, str) or not source:
        raise OrbitileError(f"source of a molecule: expected text, got {brief(source)}")
    files_of(source)
    return source


def _frame(session: Session, molecule: str = "", frame: str = "") -> None:
    """Take note of the frame of a molecule that the viewer is at, from 0.

    Raises
    ------
    OrbitileError
        When there is no such molecule, or it is no number.
    """
    host = session.host
    assert isinstance(host, ServedHost)  # `serve` made it
    if molecule not in host.molecules():
        raise OrbitileError(f"frame: expected a molecule that was loaded, got {brief(molecule)}")
    if not frame.isdecimal() or len(frame) > 9:
        raise OrbitileError(f"frame: expected a whole number from 0, got {brief(frame)}")
    host.set_frame(molecule, int(frame))


_OWN: dict[str, tuple[Callable[..., Any], int]] = {
    "orbitals": (_orbitals, 1),
    "state": (_state, 0),
    "restore": (_restore, 1),
    "frame": (_frame, 2),
}
"""Requests of the viewer itself, beside the commands of its user: of so many texts by position, at most."""


def _texts(arguments: list[Any], most: int) -> list[str]:
    if len(arguments) > most or not all(isinstance(argument, str) for argument in arguments):
        raise OrbitileError(f"expected {most} texts at most, got {brief(arguments)}")
    return arguments


def main() -> None:
    """Serve on standard input and output; what libraries print goes to standard error."""
    # A reader of our own: Python's ending would wait for the thread that still reads from sys.stdin. It has to end in
    # its own way, since Taichi keeps its compiled kernels for the next time only then.
    input, output = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    ends: queue.SimpleQueue[None] = queue.SimpleQueue()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # no exception, which could be lost in a finaliser or come while it cleans up
            signal.signal(getattr(signal, name), lambda number, frame: ends.put(None))
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C, for whoever tries it out in a terminal
        serve(input, output, ends)

"""What the viewer at the other end of the pipe may ask for: the commands, and seven requests of its own."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...base.arguments import NUMBER, alternatives, brief
from ...base.errors import FileChanged, OrbitileError
from ...fields import field_groups
from ...files.shortage import shortage_explained
from ...model.elements import SYMBOLS
from ...model.geometry import FARTHEST, check_atoms
from ...model.units import angstrom
from ...pictures.orbitals import ENERGY_UNITS, EXPLANATION, parts_of, takes_several_files
from ...pictures.words import plain_fields
from ...session.commands import COMMANDS
from ...session.commands.loading import name_of, place
from ...session.declaration import Command
from ...session.presets import PRESETS
from ...session.session import Session
from ...session.shown import Shown, numbered
from ...session.source import Source, changes, files_of, is_trajectory
from ...session.syntax import TCL
from ...session.window.localising import levels_at
from .table import energy_unit, table_of
from .viewer import ServedViewer
from .window import ServedWindow


class BadRequest(OrbitileError):
    """A line that is no request.

    Attributes
    ----------
    id : int, str or None
        What the answer is to have, as far as it can be read.
    """

    def __init__(self, message: str, line: bytes) -> None:
        super().__init__(message)
        self.id = _id_of(line)


def read_request(line: bytes) -> dict[str, Any]:
    """A request, with all its parts.

    Raises
    ------
    BadRequest
        When it is not one.
    """
    try:
        return _parts_of(line)
    except OrbitileError as error:
        raise BadRequest(str(error), line) from None


def _id_of(line: bytes) -> Any:
    """The id in a line that is no request; None where there is none, or it cannot be read.

    Where the line as a whole cannot be read, an id at its beginning can.
    """
    beginning = re.match(rb'\s*\{\s*("id"\s*:\s*(-?\d{1,60}|"[^"\\]{0,60}"))\s*[,}]', line)
    for text in (line, b"{%s}" % beginning[1] if beginning else b""):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        found = found.get("id") if isinstance(found, dict) else None
        return found if _is_id(found) else None
    return None


def _is_id(value: Any) -> bool:
    return not isinstance(value, dict | list | float) and len(brief(value)) <= 60


def _parts_of(line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise OrbitileError(f"expected a line of JSON, got {brief(line)} ({brief(str(error))})") from None
    if not isinstance(request, dict):
        raise OrbitileError(f"expected an object of JSON, got {brief(request)}")
    parts = {**_PARTS, **request}
    if unknown := set(parts) - set(_PARTS):
        raise OrbitileError(f"expected {alternatives(list(_PARTS))}, got {brief(sorted(unknown)[0])}")
    if not _is_id(parts["id"]):
        raise OrbitileError(f"id: expected a whole number or a short text, got {brief(parts['id'])}")
    if not isinstance(parts["command"], str):
        raise OrbitileError(f"command: expected text, got {brief(parts['command'])}")
    if not isinstance(parts["arguments"], list):
        raise OrbitileError(f"arguments: expected a list, got {brief(parts['arguments'])}")
    if not isinstance(parts["named"], dict):
        raise OrbitileError(f"named: expected an object, got {brief(parts['named'])}")
    for part in ("objects", "hidden"):
        names = parts[part]
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise OrbitileError(f"{part}: expected a list of names, got {brief(names)}")
    if parts["seen"] is not None and type(parts["seen"]) is not int:
        raise OrbitileError(f"seen: expected a whole number, got {brief(parts['seen'])}")
    if parts["dragging"] is not None and type(parts["dragging"]) is not bool:
        raise OrbitileError(f"dragging: expected true or false, got {brief(parts['dragging'])}")
    if not (isinstance(parts["positions"], dict) and all(map(_are_places, parts["positions"].values()))):
        raise OrbitileError(
            "positions: expected an object with a list of three numbers an atom for each molecule, got "
            f"{brief(parts['positions'])}"
        )
    return parts


_PARTS: dict[str, Any] = {"id": None, "command": "", "arguments": [], "named": {}}
_PARTS |= {"objects": None, "hidden": None, "seen": None, "positions": {}, "dragging": None}
"""Parts of a request, and what they are where they are left out."""


def _are_places(told: Any) -> bool:
    """Whether this is a list of three numbers an atom."""
    if not isinstance(told, list) or not all(isinstance(place, list) and len(place) == 3 for place in told):
        return False
    return all(type(number) in (int, float) and abs(number) < FARTHEST for place in told for number in place)


def take_places(session: Session, request: dict[str, Any]) -> None:
    """Take note of where a request says that atoms are, and whether they are dragged, from any thread.

    Raises
    ------
    OrbitileError
        When the viewer has no such molecule, or that has another number of atoms.
    """
    host = _served(session)
    if request["dragging"] is not None:
        host.dragging = request["dragging"]
    for molecule, places in request["positions"].items():
        host.places.take(molecule, places, request["seen"])


def done(session: Session, request: dict[str, Any]) -> dict[str, Any]:
    """Take note of what a request tells of the objects of the viewer, and do it; the message that answers it."""
    host = _served(session)
    if request["objects"] is not None:
        host.set_there(set(request["objects"]), request["seen"])
    if request["hidden"] is not None:
        host.set_hidden(set(request["hidden"]), request["seen"])
    if not request["command"]:
        return {"id": request["id"], "value": None, "text": ""}
    return answer(session, request)


def _served(session: Session) -> ServedViewer:
    assert isinstance(session.host, ServedViewer)  # `serve` made it
    return session.host


def answer(session: Session, request: dict[str, Any]) -> dict[str, Any]:
    """The message that answers a request, which has been done then."""
    try:
        if request["command"] in _OWN:
            function, most = _OWN[request["command"]]
            with shortage_explained():
                value = function(session, *_texts(request["arguments"], most))
            return {"id": request["id"], "value": value, "text": ""}
        answer = _command(request["command"]).run(session, request["arguments"], request["named"])
    except OrbitileError as error:
        return {"id": request["id"], "error": str(error)}
    except Exception as error:  # whatever else goes wrong is told, and the next request is served
        return {"id": request["id"], "error": f"defect of Orbitile: {type(error).__name__}: {brief(str(error))}"}
    return {"id": request["id"], "value": answer.value, "text": answer.text}


def _command(name: str) -> Command:
    found = next((command for command in COMMANDS if command.name == name), None)
    if found is None:
        known = ", ".join(command.name for command in COMMANDS)
        raise OrbitileError(f"command: expected one of {known}, got {brief(name)}")
    return found


def description_of(command: Command) -> dict[str, Any]:
    """What the first message says of a command."""
    arguments = [
        {
            "name": argument.name,
            "kind": argument.kind.name,
            "help": argument.help,
            "required": argument.required,
            "choices": plain_fields() if argument.completes == "fields" else argument.kind.choices,
        }
        for argument in command.arguments
    ]
    return {"name": command.name, "usage": command.usage(TCL), "help": command.help(TCL), "arguments": arguments}


def greeting(folder: str) -> dict[str, Any]:
    """The first message: what can be asked for."""
    return {
        "event": "ready",
        "version": __version__,
        "folder": folder,
        "commands": [description_of(command) for command in COMMANDS],
        "presets": [
            {"name": preset.name, "title": preset.title, "help": preset.sentence, "file": preset.needs_file}
            for preset in PRESETS
        ],
        "fields": [
            {"title": title, "fields": [_offered(name, sentence) for name, sentence in names]}
            for title, names in field_groups()
        ],
        "filter": EXPLANATION,
    }


def _offered(pattern: str, sentence: str) -> dict[str, Any]:
    several = takes_several_files(pattern, sentence)
    parts = [{**asdict(part), "several": several and part.kind == "file"} for part in parts_of(pattern)]
    return {"name": pattern, "help": sentence, "parts": parts}


def _orbitals(session: Session, name: str = "", unit: str = "", words: str = "") -> dict[str, Any]:
    """The table of the orbitals of a molecule that pass a filter, energies in electronvolt unless told otherwise.

    Of a trajectory it is that of the frame that the viewer is at.
    """
    molecule = session.molecule(name)
    levels = session.computing.of_wavefunctions(levels_at, session.source(molecule), "", session.frame(molecule))
    return table_of(session.wavefunction(molecule), levels, energy_unit(unit or next(iter(ENERGY_UNITS))), words)


def _window(session: Session, verb: str = "", *words: str) -> None:
    """Do in the window what its user does; the first time it is opened."""
    if session.panel is None:
        session.panel = ServedWindow(session, _served(session))
    assert isinstance(session.panel, ServedWindow)
    session.panel.do(verb, words)


def state(session: Session) -> str:
    """What is shown, for `restore`."""
    shown = session.shelf.saved()
    hidden = sorted(session.host.hidden({name: session.shelf[name].molecule for name in shown}))
    return json.dumps({"molecules": session.host.molecules(), "shown": shown, "hidden": hidden})


def restore(session: Session, text: str = "") -> None:
    """Show again what `state` told, computed anew, as far as its files hold what they held.

    Raises
    ------
    OrbitileError
        When it is not what `state` gave; nothing is shown then.
    """
    try:
        told = json.loads(text)
        molecules = {str(name): _text_of_source(source) for name, source in told["molecules"].items()}
        shown = {str(name): Shown.from_message(message) for name, message in told["shown"].items()}
        hidden = {str(name) for name in told["hidden"]}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OrbitileError) as error:
        why = f": {error}" if isinstance(error, OrbitileError) else ""
        raise OrbitileError(f"restore: expected what `state` gave, got {brief(text)}{why}") from None
    host = _served(session)
    host.set_there(host.there - set(molecules) - set(shown))
    for name, source in molecules.items():
        try:
            for problem in changes(source) if all(map(os.path.exists, files_of(source))) else ():
                raise FileChanged(f"{problem} since this was saved")
            place(session, name, Source.read(source) if is_trajectory(source) else Source(files_of(source)))
        except OrbitileError as error:
            host.say(f"{name} is not restored: {error}")
    for name, saved in shown.items():
        if saved.molecule not in host.there:
            continue  # the user has been told of it
        path = host.molecules()[saved.molecule]  # a trajectory may have grown
        saved = replace(saved, request=replace(saved.request, path=path))
        try:
            session.show(saved, session.computing.sampled(saved.request), name)
        except OrbitileError as error:
            host.say(f"{name} is not restored: {error}")
            continue
        if saved.request.frame is not None:
            host.go_to(saved.molecule, saved.request.frame)
        if name in hidden:
            host.set_visible(name, saved.molecule, False)


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
    host = _served(session)
    if molecule not in host.molecules():
        raise OrbitileError(f"frame: expected a molecule that was loaded, got {brief(molecule)}")
    if not frame.isdecimal() or len(frame) > 9:
        raise OrbitileError(f"frame: expected a whole number from 0, got {brief(frame)}")
    host.set_frame(molecule, int(frame))


def _atoms(session: Session, wanted: str = "", symbols: str = "", places: str = "") -> str:
    """Have the viewer show atoms that it has itself, as a molecule of their own; gives the name of that.

    Raises
    ------
    OrbitileError
        When these are no elements, no coordinates, or not the same number of both.
    """
    host = _served(session)
    unknown = sorted({symbol for symbol in symbols.split() if symbol not in SYMBOLS})
    if unknown or not symbols.split():
        raise OrbitileError(
            f"atoms: expected symbols of elements, got {brief(' '.join(unknown)) if unknown else 'none'}"
        )
    numbers = np.array([SYMBOLS.index(symbol) for symbol in symbols.split()])
    coordinates = np.array([NUMBER.read("atoms", place) for place in places.split()], np.float64)
    if len(coordinates) != 3 * len(numbers):
        raise OrbitileError(f"atoms: expected three coordinates for each of {len(numbers)}, got {len(coordinates)}")
    positions = coordinates.reshape(-1, 3) * angstrom
    check_atoms(numbers, positions)
    taken = {name.lower() for name in host.names()}
    name = next(name for name in numbered(name_of(Path(wanted or "molecule"))) if name.lower() not in taken)
    host.add_atoms(name, numbers, positions)
    return name


def _directions(session: Session, *numbers: str) -> None:
    """Take note of where the user of the viewer looks from, for pictures."""
    host = _served(session)
    host.set_directions([NUMBER.read("directions", number) for number in numbers])


_OWN: dict[str, tuple[Callable[..., Any], int]] = {
    "orbitals": (_orbitals, 3),
    "window": (_window, 1000),
    "state": (state, 0),
    "restore": (restore, 1),
    "frame": (_frame, 2),
    "directions": (_directions, 9),
    "atoms": (_atoms, 3),
}
"""Requests of the viewer itself, beside the commands of its user: of so many texts by position, at most."""


def _texts(arguments: list[Any], most: int) -> list[str]:
    if len(arguments) > most or not all(isinstance(argument, str) for argument in arguments):
        raise OrbitileError(f"expected {most} texts at most, got {brief(arguments)}")
    return arguments

"""What the viewer at the other end of the pipe may ask for: the commands, and `REQUESTS` of its own."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...base.arguments import NUMBER, alternatives, brief
from ...base.errors import FileChanged, OrbitileError
from ...fields import field_groups
from ...files.reading import shortage_explained
from ...model.elements import SYMBOLS
from ...model.geometry import FARTHEST, check_atoms
from ...model.units import angstrom
from ...pictures.look import STYLES
from ...pictures.orbitals import ENERGY_UNITS, EXPLANATION, parts_of, takes_several_files
from ...pictures.words import plain_fields
from ...scenes.scene import Mesh
from ...session.commands import COMMANDS
from ...session.commands.loading import name_of, place
from ...session.declaration import TCL, Command
from ...session.presets import PRESETS
from ...session.session import Session
from ...session.shown import Shown, numbered, surface_of
from ...session.source import Source, changes, files_of, is_trajectory
from ...session.window.localising import levels_at
from .protocol import PROTOCOL, Request, check_protocol, request_of
from .schema import messages_schema
from .viewer import ServedViewer, internal_error
from .window import VERBS, ServedWindow, energy_unit, table_of


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
    parts = {name: otherwise for name, (otherwise, *_) in _PARTS.items()} | request
    if unknown := set(parts) - set(_PARTS):
        raise OrbitileError(f"expected {alternatives(list(_PARTS))}, got {brief(sorted(unknown)[0])}")
    check_protocol(parts["protocol"])
    for name, (otherwise, fits, expected, _) in _PARTS.items():
        if parts[name] is not otherwise and not fits(parts[name]):
            raise OrbitileError(f"{name}: expected {expected}, got {brief(parts[name])}")
    return parts


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _are_positions(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_are_places, value.values()))


def _are_places(told: Any) -> bool:
    """Whether this is a list of three numbers an atom."""
    if not isinstance(told, list) or not all(isinstance(place, list) and len(place) == 3 for place in told):
        return False
    return all(type(number) in (int, float) and abs(number) < FARTHEST for place in told for number in place)


_NAMES = {"type": ["array", "null"], "items": {"type": "string"}}
_PARTS: dict[str, tuple[Any, Callable[[Any], bool], str, dict[str, Any]]] = {
    "id": (None, _is_id, "a whole number or a short text", {"type": ["integer", "string", "boolean", "null"]}),
    "command": ("", lambda value: isinstance(value, str), "text", {"type": "string"}),
    "arguments": ([], lambda value: isinstance(value, list), "a list", {"type": "array"}),
    "named": ({}, lambda value: isinstance(value, dict), "an object", {"type": "object"}),
    "objects": (None, _are_names, "a list of names", _NAMES),
    "hidden": (None, _are_names, "a list of names", _NAMES),
    "seen": (None, lambda value: type(value) is int, "a whole number", {"type": ["integer", "null"]}),
    "dragging": (None, lambda value: type(value) is bool, "true or false", {"type": ["boolean", "null"]}),
    "positions": (
        {},
        _are_positions,
        "an object with a list of three numbers an atom for each molecule",
        {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3},
            },
        },
    ),
    "protocol": (None, lambda value: value == PROTOCOL, f"{PROTOCOL}", {"enum": [PROTOCOL, None]}),
}
"""Parts of a request: what they are where they are left out, whether a value fits, and what fits, in words and as JSON
Schema.
"""


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
        own = REQUESTS.get(request["command"])
        if own is not None:
            with shortage_explained():
                value = own.do(session, *own.read(request["arguments"]))
            return {"id": request["id"], "value": value, "text": ""}
        answer = _command(request["command"]).run(session, request["arguments"], request["named"])
    except OrbitileError as error:
        return {"id": request["id"], "error": str(error)}
    except Exception as error:  # whatever else goes wrong is told, and the next request is served
        return {
            "id": request["id"],
            "error": internal_error(error),
        }
    return {"id": request["id"], "value": answer.value, "text": answer.text}


def _command(name: str) -> Command:
    found = next((command for command in COMMANDS if command.name == name), None)
    if found is None:
        known = ", ".join(command.name for command in COMMANDS)
        raise OrbitileError(f"command: expected one of {known}, got {brief(name)}")
    return found


_OFFERED = {"fields": plain_fields(), "styles": [*STYLES, *ServedViewer.volume_styles]}
"""Words to choose from, by what completes an argument, where these are not all that its kind reads."""


def description_of(command: Command) -> dict[str, Any]:
    """What the first message says of a command."""
    arguments = [
        {
            "name": argument.name,
            "kind": argument.kind.name,
            "help": argument.help,
            "required": argument.required,
            "choices": _OFFERED.get(argument.completes, argument.kind.choices),
        }
        for argument in command.arguments
    ]
    return {"name": command.name, "usage": command.usage(TCL), "help": command.help(TCL), "arguments": arguments}


def greeting(folder: str) -> dict[str, Any]:
    """The first message: what can be asked for."""
    return {
        "event": "ready",
        "protocol": PROTOCOL,
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
        "requests": [request.description() for request in REQUESTS.values()],
        "window": [request.description() for _, request in VERBS.values()],
    }


def _offered(pattern: str, sentence: str) -> dict[str, Any]:
    several = takes_several_files(pattern, sentence)
    parts = [{**asdict(part), "several": several and part.kind == "file"} for part in parts_of(pattern)]
    return {"name": pattern, "help": sentence, "parts": parts}


REQUESTS: dict[str, Request] = {}
"""Requests of the viewer itself, beside the commands of its user, by name."""


def _request(summary: str, answer: str = "none") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function as a request of its name, as `request_of` does."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__.strip("_")
        REQUESTS[name] = request_of(name, summary, function, answer=answer)
        return function

    return declare


@_request(
    f"Returns the table of orbitals that pass a filter, with energies in {alternatives(list(ENERGY_UNITS))}.",
    answer="`columns`, each with `what`, `title` and `help`; `rows`, each with `field`, its name, `kind` (frontier, "
    "occupied or virtual) and `cells`, all as text",
)
def _orbitals(session: Session, name: str = "", unit: str = "", words: str = "") -> dict[str, Any]:
    """The table of the orbitals of a molecule that pass a filter, energies in electronvolt unless told otherwise.

    Of a trajectory it is that of the frame that the viewer is at.
    """
    molecule = session.molecule(name)
    levels = session.computing.of_wavefunctions(levels_at, session.source(molecule), "", session.frame(molecule))
    return table_of(session.wavefunction(molecule), levels, energy_unit(unit or next(iter(ENERGY_UNITS))), words)


@_request("Does what the user does in [the window](#the-window).")
def _window(session: Session, verb: str = "", *words: str) -> None:
    """Do in the window what its user does; the first time it is opened."""
    if session.panel is None:
        session.panel = ServedWindow(session, _served(session))
    assert isinstance(session.panel, ServedWindow)
    session.panel.do(verb, words)


@_request(
    "Returns what is shown, for a saved session; it names the files of the wavefunctions.", answer="text for `restore`"
)
def state(session: Session) -> str:
    """What is shown, for `restore`."""
    shown = session.shelf.saved()
    hidden = sorted(session.host.hidden({name: session.shelf[name].molecule for name in shown}))
    return json.dumps({"molecules": session.host.molecules(), "shown": shown, "hidden": hidden})


@_request(
    "Shows again what `state` returned, recomputed. What cannot be shown, because a file is missing or has changed, "
    "is left out and reported in a `message`; text that `state` did not return is an error, and nothing is shown."
)
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
        raise OrbitileError(f"restore: expected what `state` returned, got {brief(text)}{why}") from None
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


@_request(
    "Tells the frame of a molecule that the viewer shows, counted from 0. It is to be sent whenever that changes, "
    "also after the message `frame`; frames are computed from this one on."
)
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


@_request(
    "Passes atoms that the viewer has itself, as element symbols and as coordinates in Angstrom, separated by "
    "blanks: the viewer is told to add them as a molecule, which `orb_live` can make live.",
    answer="name of the molecule",
)
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


@_request(
    "Sets the view for the next pictures and films: nine numbers, the directions to the right, up and towards the "
    "user in the axes of the atoms.",
)
def _directions(session: Session, *numbers: str) -> None:
    """Take note of where the user of the viewer looks from, for pictures."""
    host = _served(session)
    host.set_directions([NUMBER.read("directions", number) for number in numbers])


@_request(
    "Returns the triangles of a surface that is shown, or of the last one, for viewers that extract no isosurfaces.",
    answer="`file`, for the viewer to delete; its `arrays` `vertices`, `normals`, `colours`, `phases` and `faces`, see "
    "[triangles](#triangles)",
)
def _triangles(session: Session, surface: str = "") -> dict[str, Any]:
    """Write the triangles of a surface, lengths in Angstrom, and say where they are; errors as for `triangles_of`."""
    name, arrays = triangles_of(session, surface)
    file, told = _served(session).write_arrays(name, arrays)
    return {"surface": name, "molecule": session.shelf[name].molecule, "file": str(file), "arrays": told}


def triangles_of(session: Session, surface: str = "") -> tuple[str, dict[str, NDArray[Any]]]:
    """Triangles of a surface that is shown, or of the last one: its name, and the arrays of docs/server.md by name.

    Raises
    ------
    OrbitileError
        When there is no such surface, or it cannot be computed again.
    """
    name = session.surface(surface)
    shown = session.now(name)
    found = session.computing.sampled(shown.request)
    drawn = session.computing.aside(lambda: surface_of(shown, found))
    mesh = Mesh.of(drawn, *shown.look.colours, 1 - shown.look.transparency)
    return name, {
        "vertices": (mesh.vertices / angstrom).astype("<f4"),
        "normals": mesh.normals.astype("<f4"),
        "colours": mesh.colours.astype("<f4"),
        "phases": drawn.phases.astype("<i4"),
        "faces": mesh.faces.astype("<i4"),
    }


@_request("Returns the messages of both ends as JSON Schema.", answer="a schema, see [the schema](#the-schema)")
def schema(session: Session | None = None) -> dict[str, Any]:
    """All messages of both ends; the same in every session."""
    parts = {name: part for name, (*_, part) in _PARTS.items()}
    return messages_schema(parts, REQUESTS, {name: verb for name, (_, verb) in VERBS.items()})

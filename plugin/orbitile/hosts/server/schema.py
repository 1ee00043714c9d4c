"""The messages of the server as JSON Schema (draft 2020-12), for whoever writes a viewer in another language.

Requests are made from the declarations by which the server reads them: `COMMANDS`, `REQUESTS` and `VERBS`. Events and
the values of answers are stated here, closed to parts that are not named; the tests hold every message to them that
they get from a server.
"""

from __future__ import annotations

from typing import Any

from ...base.arguments import Argument, Kind
from ...pictures.look import STYLES, VOLUME_STYLES
from ...session.commands import COMMANDS
from ...session.declaration import Command
from .protocol import PROTOCOL, Request

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_FLAG: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_PHASES: Schema = {"type": "array", "items": {"enum": [1, -1]}}
_STYLE: Schema = {"enum": [*STYLES, *VOLUME_STYLES]}


def _list_of(items: Schema, least: int = 0, most: int | None = None) -> Schema:
    return {"type": "array", "items": items, "minItems": least, **({} if most is None else {"maxItems": most})}


def _object(optional: dict[str, Schema] | None = None, /, **parts: Schema) -> Schema:
    """An object with these parts and no others."""
    properties = parts | (optional or {})
    return {"type": "object", "properties": properties, "required": list(parts), "additionalProperties": False}


def _map_of(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_PLACE = _list_of(_NUMBER, 3, 3)
_COLOUR = _list_of(_SHARE, 3, 3)
_COLOURS = _list_of(_COLOUR, 2, 2)
_FILE: Schema = {"type": "string", "description": "Path of a file that the viewer deletes when it has read it."}
_VOLUME = _FILE | {
    "description": "A plt file, little-endian: int32 3, 2, nz, ny, nx; float32 zmin, zmax, ymin, ymax, xmin, xmax in "
    "Angstrom; nx * ny * nz float32 values, of which x varies fastest."
}
_SCALE = _object(low=_NUMBER, high=_NUMBER, quantity=_TEXT, unit=_TEXT, colour_map=_TEXT)
_LOOK = _object(colours=_COLOURS, transparency=_SHARE, style=_STYLE)
_COLUMN = _object(what=_TEXT, title=_TEXT, help=_TEXT)
_ROW = _object(field=_TEXT, kind={"enum": ["frontier", "occupied", "virtual"]}, cells=_list_of(_TEXT))
_TABLE = {"columns": _list_of(_COLUMN), "rows": _list_of(_ROW)}
_ARRAY = _object(type={"enum": ["float32", "int32"]}, shape=_list_of(_COUNT), offset=_COUNT) | {
    "description": "Little-endian numbers from the byte `offset` of the file on; the last index varies fastest."
}
_REQUEST = _object(name=_TEXT, words=_list_of(_TEXT), answer=_TEXT, help=_TEXT)
_ARGUMENT = _object(name=_TEXT, kind=_TEXT, help=_TEXT, required=_FLAG, choices=_list_of(_TEXT))
_PART = _object(kind={"enum": ["text", "number", "file", "choice"]}, text=_TEXT, options=_list_of(_TEXT), several=_FLAG)
_SCAN = _object(
    name=_TEXT,
    kind=_TEXT,
    unit=_TEXT,
    values=_list_of(_NUMBER),
    index=_COUNT,
    known=_list_of(_FLAG),
    energies=_list_of(_or_null(_NUMBER)),
    problems=_list_of(_TEXT),
)

VALUES: dict[str, Schema] = {
    "orbitals": _object(**_TABLE),
    "state": _TEXT,
    "atoms": _TEXT,
    "triangles": _object(
        surface=_TEXT,
        molecule=_TEXT,
        file=_FILE,
        arrays=_object(**dict.fromkeys(("vertices", "normals", "colours", "phases", "faces"), _ARRAY)),
    ),
    "schema": {"type": "object"},
}
"""Values of the answers to `REQUESTS` that have one."""

EVENTS: dict[str, Schema] = {
    "ready": _object(
        protocol={"const": PROTOCOL},
        version=_TEXT,
        folder=_TEXT,
        commands=_list_of(_object(name=_TEXT, usage=_TEXT, help=_TEXT, arguments=_list_of(_ARGUMENT))),
        presets=_list_of(_object(name=_TEXT, title=_TEXT, help=_TEXT, file=_FLAG)),
        fields=_list_of(_object(title=_TEXT, fields=_list_of(_object(name=_TEXT, help=_TEXT, parts=_list_of(_PART))))),
        filter=_TEXT,
        requests=_list_of(_REQUEST),
        window=_list_of(_REQUEST),
    ),
    "molecule": _object({"ghosts": _COUNT}, name=_TEXT, file=_FILE, frame=_COUNT),
    "surface": _object(
        {"scale": _SCALE, "shades": _VOLUME, "frame": _COUNT, "redrawn": _FLAG},
        name=_TEXT,
        molecule=_TEXT,
        isovalue=_NUMBER,
        phases=_PHASES,
        colours=_COLOURS,
        transparency=_SHARE,
        style=_STYLE,
        new=_FLAG,
    ),
    "volume": _object({"frame": _COUNT}, name=_TEXT, molecule=_TEXT, file=_or_null(_VOLUME)),
    "frame": _object(molecule=_TEXT, frame=_COUNT),
    "drop": _object(name=_TEXT, frame=_COUNT),
    "visible": _object(name=_TEXT, visible=_FLAG),
    "grid": _object(places=_map_of({"type": "integer", "minimum": 1})),
    "transparency": _object(name=_TEXT, transparency=_SHARE),
    "remove": _object(name=_TEXT),
    "drawings": _object(
        molecule=_TEXT,
        name=_TEXT,
        balls=_list_of(_object(places=_list_of(_PLACE), labels=_list_of(_TEXT), colour=_COLOUR, radius=_NUMBER)),
        lines=_list_of(_object(lines=_list_of(_list_of(_PLACE)), radii=_list_of(_NUMBER), heads=_FLAG, colour=_COLOUR)),
        atoms=_list_of(_object(label=_TEXT, colour=_COLOUR)),
    ),
    "move": _object(molecule=_TEXT, atoms=_list_of(_COUNT), positions=_list_of(_PLACE)),
    "live": {
        "anyOf": [
            _object(molecule={"const": ""}),
            _object(
                molecule=_TEXT,
                calculation=_TEXT,
                stage={"enum": ["starting", "converging", "converged", "failed"]},
                text=_TEXT,
                energy=_or_null(_NUMBER),
                relaxes=_FLAG,
                hardness=_SHARE,
                can_undo=_FLAG,
                scan=_or_null(_SCAN),
            ),
        ]
    },
    "progress": _object(share=_SHARE),
    "message": _object(text=_TEXT),
    "table": _object(
        molecule=_TEXT,
        unit=_TEXT,
        units=_list_of(_TEXT),
        filter=_TEXT,
        orbitals=_TEXT,
        summary=_TEXT,
        notes=_list_of(_TEXT),
        unavailable=_map_of(_TEXT),
        **_TABLE,
    ),
    "rows": _object(rows=_list_of(_ROW)),
    "analyses": _object(
        groups=_list_of(
            _object(
                title=_TEXT,
                analyses=_list_of(
                    _object(
                        name=_TEXT,
                        title=_TEXT,
                        help=_TEXT,
                        reason=_TEXT,
                        parameters=_list_of(
                            _object(name=_TEXT, kind=_TEXT, help=_TEXT, choices=_list_of(_TEXT), default=_TEXT)
                        ),
                    )
                ),
            )
        )
    ),
    "analysis": _object(
        name=_TEXT, molecule=_TEXT, running=_FLAG, problem=_TEXT, stale=_FLAG, text=_TEXT, has_surfaces=_FLAG
    ),
    "filtered": _object(rows=_list_of(_TEXT)),
    "molecules": _object(names=_list_of(_TEXT), chosen=_TEXT),
    "opened": _object(molecule=_TEXT, row=_TEXT),
    "shown": _object(
        surfaces=_list_of(
            _object(
                name=_TEXT,
                molecule=_TEXT,
                text=_TEXT,
                isovalue=_NUMBER,
                unit=_TEXT,
                look=_LOOK,
                scale=_or_null(_SCALE),
                visible=_FLAG,
                kept=_FLAG,
            )
        ),
        current=_TEXT,
        row=_TEXT,
    ),
    "choices": _object(
        isovalue=_or_null(_NUMBER),
        isovalue_range=_list_of(_NUMBER, 2, 2),
        unit=_TEXT,
        is_orbital=_FLAG,
        automatic=_FLAG,
        enclosed=_TEXT,
        quality=_TEXT,
        device=_TEXT,
        second=_TEXT,
        scale=_or_null(_SCALE),
        look=_LOOK,
        rate=_NUMBER,
    ),
    "field": _object(field=_TEXT),
    "playback": _object(frame=_COUNT, n_frames=_COUNT, playing=_FLAG, state=_TEXT),
    "busy": _object(busy=_FLAG),
    "said": _object(text=_TEXT, detail=_TEXT, error=_FLAG),
    "recipe": _object(commands=_list_of(_object(command=_TEXT, arguments=_list_of(_TEXT), named=_map_of(_TEXT)))),
}
"""Parts of the events, beside `event`, by their names."""


def messages_schema(parts: dict[str, Schema], requests: dict[str, Request], verbs: dict[str, Request]) -> Schema:
    """All messages: those of the server as a whole, those to it under `request` of `$defs`.

    Parameters
    ----------
    parts
        Of a request, by name.
    requests, verbs
        What a viewer asks for itself, and what a user does in its window, by name.
    """
    words = {one.name: _words(one) for one in requests.values()}
    words["window"] = {"anyOf": [_words(verb, {"const": name}) for name, verb in verbs.items()]}
    asked = {command.name: {"properties": _arguments_of(command)} for command in COMMANDS}
    asked |= {name: {"properties": {"arguments": arguments}} for name, arguments in words.items()}
    values = {command.name: _or_null(_TEXT) for command in COMMANDS}
    values |= {name: {"type": "null"} if one.answer == "none" else VALUES[name] for name, one in requests.items()}
    definitions = {
        "request": {
            "type": "object",
            "properties": parts | {"command": {"enum": ["", *asked]}},
            "additionalProperties": False,
            "allOf": [
                {"if": {"properties": {"command": {"const": name}}, "required": ["command"]}, "then": those}
                for name, those in asked.items()
            ],
        },
        "answer": {
            "oneOf": [
                _object(id=parts["id"], value={"anyOf": _different(values.values())}, text=_TEXT),
                _object(id=parts["id"], error=_TEXT),
            ]
        },
        "event": {
            "type": "object",
            "properties": {"event": {"enum": list(EVENTS)}},
            "required": ["event"],
            "allOf": [
                {"if": {"properties": {"event": {"const": name}}}, "then": _as_event(event)}
                for name, event in EVENTS.items()
            ],
        },
        "values": values,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Messages of the server of Orbitile, protocol {PROTOCOL}",
        "description": "A line of the server is an answer or an event, a line to it a request. `values` has the value "
        "of the answer to each request. Arguments may be text, and empty where they are to have their defaults.",
        "if": {"required": ["event"]},
        "then": {"$ref": "#/$defs/event"},
        "else": {"$ref": "#/$defs/answer"},
        "$defs": definitions,
    }


def _as_event(parts: Schema) -> Schema:
    if "anyOf" in parts:
        return {"anyOf": list(map(_as_event, parts["anyOf"]))}
    return parts | {"properties": {"event": _TEXT, **parts["properties"]}}


def _different(schemas: Any) -> list[Schema]:
    found: list[Schema] = []
    for schema in schemas:
        if schema not in found:
            found.append(schema)
    return found


def _arguments_of(command: Command) -> dict[str, Schema]:
    """By position and by name; that a required one is there in one of the two ways is for the server to say."""
    named = {argument.name: _argument(argument) for argument in command.arguments}
    return {
        "arguments": _sequence(list(named.values())),
        "named": {"type": "object", "properties": named, "additionalProperties": False},
    }


def _argument(argument: Argument) -> Schema:
    read = _of_kind(argument.kind)
    if "enum" in read and not argument.required:
        read = {"enum": ["", *read["enum"]]}
    return read | {"description": argument.help}


def _of_kind(kind: Kind) -> Schema:
    """What a kind reads: numbers may be text too, texts may be numbers, and several files are a list."""
    if kind.choices:
        return {"enum": list(kind.choices)}
    if kind.name == "0/1":
        return {"enum": [0, 1, True, False, "0", "1", ""]}
    if kind.name in ("float", "int"):
        return {"type": ["number", "string"]}
    return {"type": ["string", "number", "array"], "items": _TEXT}


def _words(request: Request, *first: Schema) -> Schema:
    """The list of the words of a request, after others that come first."""
    kinds = [_of_kind(kind) for kind in request.words.values()]
    more = kinds[-1] if request.repeats else False
    return _sequence([*first, *kinds], more) | {"minItems": len(first) + request.needed}


def _sequence(first: list[Schema], more: Schema | bool = False) -> Schema:
    """A list whose first items differ; the schema of schemas wants one of these at least."""
    return {"type": "array", **({"prefixItems": first} if first else {}), "items": more}

"""What a host shows: which field of which molecule, at which isovalue, in which colours; plain data, to be saved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from itertools import count
from typing import Any

from ..base.arguments import brief
from ..base.errors import OrbitileError
from ..model.lattice import QUALITIES
from ..model.surface import Surface
from ..pictures.look import STYLES, VOLUME_STYLES, Look, Scale
from ..pictures.request import IN_CONSOLES, Request, Sample, surface_within
from ..surfaces.colour_maps import MAPS
from .source import files_of, is_trajectory


@dataclass(frozen=True)
class Shown:
    """One field that is shown.

    Attributes
    ----------
    molecule : str
        Object of the host that it belongs to.
    request : Request
        What was computed.
    isovalue : float
        Of the surface, in the unit of the field.
    look : Look
    kept : bool
        Whether it stays when a window shows the next field of the molecule.
    quantity, unit : str
        Of the field, for people.
    scale : Scale or None
        What its colours mean, where a second field colours it.
    """

    molecule: str
    request: Request
    isovalue: float
    look: Look = field(default_factory=Look)
    kept: bool = False
    quantity: str = ""
    unit: str = ""
    scale: Scale | None = None

    def message(self) -> dict[str, Any]:
        """As plain types."""
        message = asdict(self)
        return {**message, "request": {name: message["request"][name] for name in _REQUEST}}

    @classmethod
    def from_message(cls, message: Any) -> Shown:
        """The inverse of `message`.

        Raises
        ------
        OrbitileError
            When it is not what `message` gave: damaged, or of a version that says more.
        """
        parts = _checked(cls, "a surface", message, _SHOWN)
        request = Request(**{**_checked(Request, "its request", parts["request"], _REQUEST), "box": None})
        if (request.frame is None) == is_trajectory(request.path):
            raise OrbitileError(
                f"frame: expected a number for a trajectory, and none otherwise, got {request.frame!r} for "
                f"{request.path[:80]}"
            )
        files_of(request.path)
        look = Look(**_checked(Look, "its look", parts.get("look", {}), _LOOK))
        scale = parts.get("scale")
        scale = None if scale is None else Scale(**_checked(Scale, "its scale", scale, _SCALE))
        return cls(**{**parts, "request": request, "look": look, "scale": scale})


def _tuples(part: Any) -> Any:
    """Lists as the tuples that they were before they became JSON."""
    return tuple(map(_tuples, part)) if isinstance(part, list | tuple) else part


def is_number(value: Any, least: float = -1e30, most: float = 1e30) -> bool:
    """Whether it is a number in a range."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_positive(value: Any) -> bool:
    return is_number(value, least=1e-30)


def are_rows(value: Any, least: float = -1e30, most: float = 1e30) -> bool:
    """Whether it is two rows of three numbers."""
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(isinstance(row, tuple) and len(row) == 3 for row in value)
        and all(is_number(number, least, most) for row in value for number in row)
    )


def _or_none(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


_SHOWN: dict[str, Callable[[Any], bool]] = {
    "molecule": _is_text,
    "request": lambda value: isinstance(value, Mapping),
    "isovalue": _is_positive,
    "look": lambda value: isinstance(value, Mapping),
    "kept": lambda value: isinstance(value, bool),
    "quantity": lambda value: isinstance(value, str),
    "unit": lambda value: isinstance(value, str),
    "scale": lambda value: value is None or isinstance(value, Mapping),
}
_LOOK: dict[str, Callable[[Any], bool]] = {
    "colours": lambda value: are_rows(value, 0.0, 1.0),
    "transparency": lambda value: is_number(value, 0.0, 1.0),
    "style": lambda value: value in (*STYLES, *VOLUME_STYLES),
}
_SCALE: dict[str, Callable[[Any], bool]] = {
    "low": is_number,
    "high": is_number,
    "quantity": lambda value: isinstance(value, str),
    "unit": lambda value: isinstance(value, str),
    "colour_map": lambda value: isinstance(value, str) and value in MAPS,
}
_REQUEST: dict[str, Callable[[Any], bool]] = {
    "path": _is_text,
    "field": _is_text,
    "quality": lambda value: isinstance(value, str) and value in QUALITIES,
    "isovalue": _or_none(_is_positive),
    "share": lambda value: is_number(value, 0.001, 0.9999),
    "device": _is_text,
    "precision": lambda value: value in ("single", "double"),
    "color_by": lambda value: isinstance(value, str),
    "color_range": _or_none(_is_positive),
    "most_faces": _or_none(_is_count),
    "frame": _or_none(_is_count),
    "references": lambda value: isinstance(value, tuple) and all(map(_is_text, value)),
    "room": _or_none(are_rows),
    "box": lambda value: True,  # a lattice that was used before need not be used again
}
"""What each part of a message has to be; most of those that are left out have their defaults."""
_REQUEST |= {option.name: option.accepts for option in IN_CONSOLES if option.name not in _REQUEST}


def _checked(noun: type, what: str, message: Any, checks: dict[str, Callable[[Any], bool]]) -> dict[str, Any]:
    """The parts of a message that a noun is made of, each as it has to be."""
    if not isinstance(message, Mapping):
        raise OrbitileError(f"{what}: expected its parts by name, got {brief(message)}")
    missing = {part.name for part in fields(noun) if part.default is part.default_factory is MISSING} - set(message)
    unknown = [name for name in message if name not in checks]
    if missing or unknown:
        problem = f"no {min(missing)}" if missing else f"{brief(unknown[0])}, which this version does not know"
        raise OrbitileError(f"{what}: expected {', '.join(checks)}, got {problem}")
    parts = {name: _tuples(part) for name, part in message.items()}
    for name, part in parts.items():
        if not checks[name](part):
            raise OrbitileError(f"{what}: {name} cannot be {brief(part)}")
    return parts


def object_name(molecule: str, field: str) -> str:
    """Name of the object that shows a field: letters, digits and underscores only; of files without their folders."""
    plain = re.sub(r"[^,:]*/", "", field).lower()
    plain = plain.replace("+", "_p").replace("-", "_m").replace("mo:", "mo").replace("..", "_to_")
    return re.sub(r"[^A-Za-z0-9_]+", "_", f"{molecule}_{plain}")


def numbered(name: str) -> Iterator[str]:
    """The name itself, and others for the case that it is taken: job, job_2, job_3 and so on."""
    yield name
    for n in count(2):
        yield f"{name}_{n}"


def surface_of(shown: Shown, found: Sample) -> Surface:
    """The surface that is to be drawn: that of the sample, unless the isovalue was changed since."""
    if shown.isovalue == found.isovalue:
        return found.surface
    return surface_within(found.volume, shown.isovalue, shown.request.most_faces)[0]

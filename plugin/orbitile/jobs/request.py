"""What is asked of every file of a batch."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from .. import __version__
from ..analysis.reports import analyses, analysis_named, values_of
from ..base.errors import FileError, OrbitileError
from ..exporters import exporter_for, holds_scenes, kind_of, suffixes
from ..fields import field_names, files_in, with_absolute_files
from ..fields._frontier import frontier_name
from .files import digest_of

DEFAULT_ITEMS: tuple[str, ...] = ("homo", "lumo")
DEFAULT_FORMATS: tuple[str, ...] = ("png", "json")

PLAIN = ("png", "json", "html")
"""Formats that are no exporters': a picture, all that is known in one file, a page that turns in a browser."""

_SHORT = {"mesh": "glb", "volume": "cube"}
"""Formats that go by what they hold, and the one that is written then."""

_QUALITIES, _PRECISIONS = ("coarse", "medium", "fine"), ("single", "double")

_PLUS = re.compile(r"\+(?=[a-z])", re.IGNORECASE)
"""Between a field and the one that colours it; that of lumo+1 has a number behind it."""

_RANGE = re.compile(r"(homo|lumo)([+-]\d{1,9})?\.\.(homo|lumo)([+-]\d{1,9})?(:alpha|:beta)?")
_NUMBERS = re.compile(r"mo:?\s*(\d{1,9})\s*(?:-|\.\.)\s*(\d{1,9})(:\w+)?")

_MOST_OF_RANGE = 1000
"""Orbitals of one range at most: larger ranges are taken for typing errors."""


@dataclass(frozen=True)
class Item:
    """One thing that is asked of every file.

    Attributes
    ----------
    name : str
        As the user wrote it; of a range of orbitals that of the one.
    field : str
        Whose surface it is; empty for an analysis.
    color_by : str
        Field that colours the surface; empty for none.
    analysis : str
        Empty for a field.
    parameters : tuple of (str, str)
        Those of the analysis that are given, as text.
    """

    name: str
    field: str = ""
    color_by: str = ""
    analysis: str = ""
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def column(self) -> str:
        """What the names of its columns begin with, before what cannot be in them is replaced."""
        return " ".join([self.analysis, *(value for _, value in self.parameters)]) if self.analysis else self.name

    @property
    def stem(self) -> str:
        """Its name as part of the name of a file."""
        short = re.sub(r"[^\w.+-]+", "-", self.name).strip("-.")[:60] or "item"
        plain = short == self.name and short == short.lower()
        return short if plain else f"{short}-{hashlib.sha256(self.name.encode()).hexdigest()[:6]}"


@dataclass(frozen=True)
class BatchRequest:
    """What is asked of every file, and how it is computed.

    Attributes
    ----------
    items : tuple of Item
    formats : tuple of str
        png, json, html, or the ending of a format for surfaces or volumes: glb, cube, ...
    isovalue : float or None
        Of all fields, in atomic units; None for that which is customary for each.
    quality, precision : str
        As for `orbitile render`.
    size : (int, int)
        Of pictures, in pixels.
    device : str or None
    references : tuple of str
        Digests of the files that fields refer to.
    accept_damaged : bool
        Files are read although their orbitals are not orthonormal.
    """

    items: tuple[Item, ...]
    formats: tuple[str, ...] = DEFAULT_FORMATS
    isovalue: float | None = None
    quality: str = "medium"
    size: tuple[int, int] = (1600, 1200)
    device: str | None = None
    precision: str = "single"
    references: tuple[str, ...] = ()
    accept_damaged: bool = False

    @cached_property
    def digest(self) -> str:
        """Hexadecimal digest of all this, and of the version of Orbitile."""
        return hashlib.sha256(json.dumps([__version__, asdict(self)]).encode()).hexdigest()


def request_of(items: Sequence[str] = (), to: Sequence[str] = DEFAULT_FORMATS, **how: Any) -> BatchRequest:
    """What is asked of every file, read from text.

    Parameters
    ----------
    items
        Fields; `FIELD+FIELD` for the surface of the first in the colours of the second; ranges of orbitals such as
        `homo-1..lumo`, an item for each; analyses such as `charges` or `charges:scheme=hirshfeld`.
    to
        Formats, see `BatchRequest`; mesh and volume stand for glb and cube.
    **how
        isovalue, quality, size, device, precision, accept_damaged: see `BatchRequest`.

    Raises
    ------
    OrbitileError
        When there is no such format, an analysis or a parameter of it is not known, or a file that a field refers to
        cannot be read. Whether there is a field of a name is found out with each file.
    """
    found = [item for text in items or DEFAULT_ITEMS for item in _items_of(text.strip())]
    unique = tuple({item.name: item for item in found}.values())
    formats = tuple(dict.fromkeys(_format_of(text) for text in to))
    files = {file for item in unique for name in (item.field, item.color_by) for file in files_in(name)}
    references = tuple(digest_of(file) for file in sorted(files))
    request = BatchRequest(unique, formats, references=references, **how)
    for name, known in (("quality", _QUALITIES), ("precision", _PRECISIONS)):
        if getattr(request, name) not in known:
            raise OrbitileError(f"{name}: expected {', '.join(known)}, got {getattr(request, name)!r}")
    if request.isovalue is not None and not 0 < request.isovalue < float("inf"):
        raise OrbitileError(f"isovalue: expected a positive number, got {request.isovalue:g}")
    return request


def _format_of(text: str) -> str:
    wanted = text.strip().lower().lstrip(".")
    wanted = _SHORT.get(wanted, wanted)
    if wanted in PLAIN:
        return wanted
    name = f"x.{wanted}"
    try:
        if kind_of(name) in ("mesh", "volume"):
            exporter_for(name, kind_of(name))  # `kind_of` takes what it does not know for a volume
            return wanted
    except FileError:
        pass
    known = ", ".join([*PLAIN, *_SHORT, suffixes("mesh").replace(".", ""), suffixes("volume").replace(".", "")])
    raise FileError(f"--to: expected some of {known}, got {text!r}")


def is_of_surfaces(ending: str) -> bool:
    """Whether a format, other than the plain ones, is of surfaces."""
    return holds_scenes(f"x.{ending}") or kind_of(f"x.{ending}") == "mesh"


def _items_of(text: str) -> list[Item]:
    if not text:
        raise OrbitileError("item: expected a field or an analysis, got nothing")
    head, _, rest = text.partition(":")
    analysis = head.lower().replace("-", "_")
    if analysis in analyses() and ("=" in rest or not rest):
        name, parameters = analysis_in(f"item {text!r}", text)
        if analysis_named(name).KIND == "trajectory":
            raise OrbitileError(f"item {text!r}: is an analysis of trajectories, but a batch takes each file by itself")
        return [Item(text, analysis=name, parameters=parameters)]
    found = _range_of(text.lower())
    if found:
        return [Item(name, name) for name in found]
    field, *colours = _PLUS.split(text) if not files_in(text) else [text]
    if len(colours) > 1:
        raise OrbitileError(f"item {text!r}: expected one field to colour the surface of another: FIELD+FIELD")
    return [Item(text, with_absolute_files(field.strip()), with_absolute_files("".join(colours).strip()))]


def analysis_in(what: str, text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Name and parameters of an analysis, as `currents` or `currents:axis=z,lines=10`; `what` it is, for errors.

    Raises
    ------
    OrbitileError
        When there is no such analysis, or a parameter cannot be read.
    """
    head, _, rest = text.partition(":")
    name = head.strip().lower().replace("-", "_")
    pieces = [piece.strip() for piece in re.split(r",\s*(?=\w+=)", rest) if piece.strip()]
    parameters = tuple((key.strip(), value.strip()) for key, _, value in (piece.partition("=") for piece in pieces))
    try:
        values_of(name, dict(parameters))  # refused before the work
    except OrbitileError as error:
        raise OrbitileError(f"{what}: {error}") from error
    return name, parameters


def _range_of(text: str) -> list[str]:
    """Names of the orbitals of a range; none of anything else."""
    if numbers := _NUMBERS.fullmatch(text):
        first, last = int(numbers[1]), int(numbers[2])
        names = [f"mo:{n}{numbers[3] or ''}" for n in range(first, min(last, first + _MOST_OF_RANGE) + 1)]
    elif ends := _RANGE.fullmatch(text):
        first, last = (
            int(ends[n + 1] or 0) + (ends[n] == "lumo") for n in (1, 3)
        )  # from the HOMO, which is 0, to the LUMO, 1
        last = min(last, first + _MOST_OF_RANGE)
        names = [f"{frontier_name(place).lower()}{ends[5] or ''}" for place in range(first, last + 1)]
    else:
        return []
    if not names or len(names) > _MOST_OF_RANGE:
        raise OrbitileError(f"item {text!r}: expected the lower orbital first, and at most {_MOST_OF_RANGE} orbitals")
    return names


def is_item(text: str) -> bool:
    """Whether a word is an item by its beginning, and not the name of a file that is not there."""
    if _range_of(text.strip().lower()):
        return True
    head = re.split(r"[:+,.-]", text.strip().lower().replace("_", "-"))[0]
    known = {pattern.partition(":")[0].lower().replace("_", "-").rstrip("+-0") for pattern, _ in field_names()}
    known |= {name.replace("_", "-") for name in analyses()}
    return head in known | {re.split(r"[:+-]", name)[0] for name in known}

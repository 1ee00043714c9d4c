"""Fields: what can be shown of a wavefunction, one module a family, found by name.

A module offers `NAMES` (pairs of a name as a user writes it, and a sentence that says what it shows) and
`resolve(wavefunction, name, references)`, which returns a `Field`, or None for a name that is not of its family.
References read the files that a name refers to. It may offer `GROUP`, the title under which menus list its names,
`PRIORITY`, by which groups and families are ordered, the highest first, `DRAWN_ON`, `COLOURED_BY` and
`default_colours`, see `as_drawn`, and `unavailable`, see the function of this name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Protocol

from ..base.errors import FieldError
from ..base.registry import modules_of
from ..model.wavefunction import Wavefunction
from ._field import DegenerateSet, Field, PointEvaluator, References, SlabEvaluator, marked

__all__ = ["DegenerateSet", "Field", "PointEvaluator", "References", "SlabEvaluator"]


def _no_colours(wavefunction: Wavefunction, name: str) -> str:
    """Of a family that is shown in two colours, for two signs."""
    return ""


def _all_available(wavefunction: Wavefunction) -> Mapping[str, str]:
    """Of a family that every wavefunction has."""
    return {}


class Family(Protocol):
    """What a module of a family of fields offers."""

    NAMES: tuple[tuple[str, str], ...]
    GROUP: str = "Other fields"
    DRAWN_ON: Mapping[str, str] = {}
    COLOURED_BY: Mapping[str, str] = {}
    unavailable: Callable[[Wavefunction], Mapping[str, str]] = _all_available
    default_colours: Callable[[Wavefunction, str], str] = _no_colours

    def resolve(self, wavefunction: Wavefunction, name: str, references: References) -> Field | None:
        """The field that a name stands for, or None for a name that is not of this family."""


def field_modules() -> Mapping[str, Family]:
    """All families of fields by the names of their modules."""
    return modules_of(__name__, Family)


def field_names() -> list[tuple[str, str]]:
    """Names of all fields as a user writes them, each with what it shows."""
    return [pair for module in field_modules().values() for pair in module.NAMES]


def field_groups() -> list[tuple[str, list[tuple[str, str]]]]:
    """The same in groups, each with its title: those first that are wanted most."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for module in field_modules().values():
        groups.setdefault(module.GROUP, []).extend(module.NAMES)
    return list(groups.items())


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """Names, as in `field_names`, that a wavefunction does not have, each with the reason: found quickly, for menus."""
    return {name: why for module in field_modules().values() for name, why in module.unavailable(wavefunction).items()}


def as_drawn(field: str, color_by: str = "", wavefunction: Wavefunction | None = None) -> tuple[str, str]:
    """The field whose surface is drawn when a field is asked for, and the one that colours it.

    That is the field itself, unless it is no field for isosurfaces: `nci` colours that of `rdg`, `ionisation` that of
    the density. Some are coloured by convention: `igm:1-6` by `nci:1-6`. What stands behind a colon stays.

    Parameters
    ----------
    field : str
        Name of the field.
    color_by : str
        Name of the field that is to colour the surface; empty for none.
    wavefunction
        What it is a field of, if that is known: complex orbitals are coloured by their phases.
    """
    wanted = field.strip().lower()
    family, colon, rest = wanted.partition(":")
    for module in field_modules().values():
        if family in module.DRAWN_ON:
            on = module.DRAWN_ON[family]
            return f"{on}{colon}{rest}" if on else rest, color_by or wanted
        if family in module.COLOURED_BY:
            return field, color_by or f"{module.COLOURED_BY[family]}{colon}{rest}"
    if wavefunction is not None and not color_by:
        defaults = (module.default_colours(wavefunction, field) for module in field_modules().values())
        return field, next(filter(None, defaults), "")
    return field, color_by


def files_in(name: str) -> tuple[str, ...]:
    """Files that the name of a field refers to, as in `difference:cation.molden`; none for most fields."""
    family, _, rest = name.partition(":")
    referring = {pattern.partition(":")[0] for pattern, _ in field_names() if "FILE" in pattern}
    if family.strip().lower() not in referring or not rest.strip():
        return ()
    files = [rest] if os.path.isfile(os.path.expanduser(rest.strip())) else rest.split(",")
    return tuple(file.strip() for file in files if file.strip())


def with_absolute_files(name: str) -> str:
    """The same field by a name that means the same in every folder."""
    files = files_in(name)
    if not files:
        return name
    return f"{name.partition(':')[0]}:{','.join(os.path.abspath(os.path.expanduser(file)) for file in files)}"


def resolve(wavefunction: Wavefunction, name: str, references: References) -> Field:
    """The field of a wavefunction that a name stands for.

    Parameters
    ----------
    wavefunction
        What it is a field of.
    name
        As a user writes it.
    references
        Reads files that the name refers to.

    Raises
    ------
    FieldError
        When there is no such field, or the wavefunction does not have it.
    """
    if not isinstance(name, str):
        raise FieldError(f"field: expected a name such as 'homo' or a Field, got {name!r}")
    wanted = name.strip()
    for module in field_modules().values():
        field = module.resolve(wavefunction, wanted, references)
        if field is not None:
            return marked(field) if wavefunction.damaged else field
    from difflib import get_close_matches

    known = [pattern for pattern, _ in field_names()]
    close = get_close_matches(wanted.lower(), known, 1, cutoff=0.4)
    hint = f" Nearest match: {close[0]}." if close else ""
    raise FieldError(f"field: there is no {name!r}. Known: {', '.join(known)}.{hint}")

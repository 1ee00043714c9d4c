"""Lists and ranges of orbitals: `homo,lumo`, `homo-2..lumo+2`, `mo:5-10`."""

from __future__ import annotations

import re

from ..base.errors import FieldError
from ..model.wavefunction import Wavefunction
from ._frontier import frontier_order
from .orbital import Orbital, is_orbital_name, numbered, orbital_of

_NUMBERS = re.compile(r"mo:?\s*(\d{1,18})\s*-\s*(\d{1,18})(:\w+)?")


def orbital_list(wavefunction: Wavefunction, text: str) -> list[Orbital] | None:
    """The orbitals that a list or a range stands for: `homo,lumo`, `homo-2..lumo+2`, `mo:1-10`, `mo:1-10:beta`.

    None for a text that is neither a list nor a range of orbitals.

    Raises
    ------
    FieldError
        When there is no such orbital, or a range runs downwards or from one spin to another.
    """
    items = [item.strip().lower() for item in text.split(",")]
    if len(items) == 1 and is_orbital_name(items[0]):
        return None
    found: dict[str, Orbital] = {}
    for item in items:
        orbitals = orbital_range(wavefunction, item)
        if orbitals is None:
            return None
        for orbital in orbitals:
            found.setdefault(orbital.name, orbital)
    return list(found.values())


def orbital_range(wavefunction: Wavefunction, text: str) -> list[Orbital] | None:
    """The orbitals of one range, from its lower end to its upper one; of one name that one; None for anything else.

    `A..B` runs by energy, in the order in which `homo` and `lumo` count, whatever the order of the file; `mo:5-10` by
    number in the file.

    Raises
    ------
    FieldError
        As for `orbital_list`.
    """
    by_number = _NUMBERS.fullmatch(text)
    if by_number is None:
        names = [name.strip() for name in text.split("..")]
    else:
        names = [f"mo:{number}{by_number[3] or ''}" for number in by_number.groups()[:2]]
    found = [orbital_of(wavefunction, name) for name in names]
    ends = [orbital for orbital in found if orbital is not None]
    if len(ends) < len(found) or len(ends) > 2:
        return None
    first, last = ends[0], ends[-1]
    if first.spin != last.spin:
        raise FieldError(f"field {text!r}: a range runs over orbitals of one spin")
    if by_number is None:
        occupied, unoccupied = frontier_order(wavefunction, first.spin, first.spin)
        order = occupied + unoccupied
    else:
        order = list(range(len(wavefunction.orbitals(first.spin))))
    start, stop = order.index(first.index), order.index(last.index)
    if start > stop:
        raise FieldError(f"field {text!r}: a range runs upwards; exchange its ends")
    named = {orbital.index: orbital for orbital in ends}
    return [named.get(index) or numbered(wavefunction, first.spin, index) for index in order[start : stop + 1]]

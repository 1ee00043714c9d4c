"""Values at the atoms of a molecule of PyMOL, as labels and colours; what atoms had before comes back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...base.errors import OrbitileError
from ...model.report import AtomValues
from ...surfaces.colour_maps import colours_along, rounded_up

_MAP = "signed"
_LABELS = 8
"""Bit of what an atom is shown as."""

_NEARER = 3.0
_READ = {"float_labels": 1, "label_outline_color": "back", "label_position": [0.0, 0.0, _NEARER]}
"""Settings by which labels are read before atoms and surfaces, 3 Angstrom nearer to the user, on any colour."""

_LETTER = 0.62
"""Width of a letter of a label, in units of its height."""
_STEPS, _MOST_SPREAD = 5, 400
"""Halves of its height by which a label is moved at most; labels up to which they are moved apart."""

Marks = tuple[int, str, float]
"""Number of the colour, label and partial charge of an atom."""


def limit_of(drawing: AtomValues) -> float:
    """Half of the range that the colours span, about zero."""
    return rounded_up(max((abs(value) for value in drawing.values if math.isfinite(value)), default=0.0))


def read_labels(cmd: Any, name: str) -> None:
    """Have the labels of an object seen before surfaces, on any ground."""
    for setting, value in _READ.items():
        cmd.set(setting, value, name)


class MarkedAtoms:
    """What the atoms of a molecule had before they were marked by values, and what they have since.

    Parameters
    ----------
    before, since : mapping of int to tuple
        By the numbers that PyMOL gives to atoms for good; see `_Numbers`.
    had_labels : bool
        Whether any atom had a label.
    """

    def __init__(self, before: Mapping[int, Marks], since: Mapping[int, Marks], had_labels: bool) -> None:
        self.before, self.since, self.had_labels = dict(before), dict(since), had_labels

    @classmethod
    def mark(cls, cmd: Any, molecule: str, drawing: AtomValues) -> MarkedAtoms:
        """Mark the atoms of a molecule.

        Raises
        ------
        OrbitileError
            When it has other atoms than there are values.
        """
        before: dict[int, Marks] = {}
        shown: list[bool] = []
        told_apart = _Numbers()

        def note(number: int, colour: int, label: str, charge: float, shown_as: int) -> None:
            before[told_apart.of(number)] = int(colour), str(label), float(charge)
            shown.append(bool(label and shown_as & _LABELS))

        cmd.iterate(f"%{molecule}", "note(ID, color, label, partial_charge, reps)", space={"note": note})
        if len(before) != len(drawing.values):
            raise OrbitileError(f"{molecule} has {len(before)} atoms by now, and {drawing.name} has values of others")
        limit, since = limit_of(drawing), {}
        shares = (np.clip(np.nan_to_num(np.array(drawing.values)) / limit, -1, 1) + 1) / 2
        is_charge = drawing.unit == "e"
        for (number, (colour, label, charge)), value, text, ink in zip(
            before.items(), drawing.values, drawing.labels, colours_along(_MAP, shares), strict=True
        ):
            if text:
                since[number] = _index(cmd, ink), text, float(value) if is_charge else charge
            else:
                since[number] = colour, label, charge
        marked = cls(before, since, any(shown))
        marked._change(cmd, molecule, before, since)
        cmd.show("labels", f"%{molecule}")
        read_labels(cmd, molecule)
        _spread_labels(cmd, molecule, drawing.labels)
        return marked

    def take_away(self, cmd: Any, molecule: str) -> None:
        """Give the atoms back what they had; what the user has changed since stays."""
        self._change(cmd, molecule, self.since, self.before)
        if not self.had_labels:
            cmd.hide("labels", f"%{molecule} and label ''")
        for setting in _READ:
            cmd.unset(setting, molecule)
        cmd.unset("label_position", f"%{molecule} and all")

    def _change(self, cmd: Any, molecule: str, old: Mapping[int, Marks], new: Mapping[int, Marks]) -> None:
        told_apart = _Numbers()

        def changed(number: int, *now: Any) -> Any:
            number = told_apart.of(number)
            if number not in old:
                return now
            return tuple(new[number][at] if _same(value, old[number][at]) else value for at, value in enumerate(now))

        cmd.alter(
            f"%{molecule}",
            "color, label, partial_charge = changed(ID, color, label, partial_charge)",
            space={"changed": changed},
        )
        cmd.recolor(f"%{molecule}")
        cmd.rebuild(f"%{molecule}", "labels")

    def saved(self) -> dict[str, Any]:
        """In plain types."""
        return {"before": self.before, "since": self.since, "had_labels": self.had_labels}


def _spread_labels(cmd: Any, molecule: str, labels: Sequence[str]) -> None:
    """Move labels up or down that would cover each other as the molecule is seen now, so that no sign is lost."""
    view = np.array(cmd.get_view())
    where = cmd.get_coords(f"%{molecule}", cmd.get_object_state(molecule))
    if where is None or len(where) != len(labels) or len(labels) > _MOST_SPREAD:
        return
    pixel = -2 * view[11] * np.tan(np.radians(abs(view[17])) / 2) / max(cmd.get_viewport()[1], 1)
    size = float(cmd.get("label_size"))
    size = -size if size < 0 else size * pixel  # a negative one is in Angstrom
    x, y, z = view[:9].reshape(3, 3).T @ (where - view[12:15]).T
    widths = np.array([_LETTER * size * len(label) for label in labels])
    placed: list[int] = []
    up = np.zeros(len(labels))
    for at in sorted(range(len(labels)), key=lambda at: -z[at]):  # the nearest stay where they are
        if not labels[at]:
            continue
        near = [other for other in placed if abs(x[at] - x[other]) < (widths[at] + widths[other]) / 2]
        for step in sorted(range(-_STEPS, _STEPS + 1), key=abs):
            up[at] = step * size / 2
            if all(abs(y[at] + up[at] - y[other] - up[other]) >= size for other in near):
                break
        else:
            up[at] = 0.0
        placed.append(at)
        if up[at]:
            cmd.set("label_position", [0.0, float(up[at]), _NEARER], f"%{molecule} and index {at + 1}")


class _Numbers:
    """Numbers of the atoms of an object, one after the other, told apart where PyMOL has given one to several.

    It does where an object was made of others.
    """

    def __init__(self) -> None:
        self._seen: Counter[int] = Counter()

    def of(self, number: int) -> int:
        """The number of the next atom."""
        again = self._seen[number]
        self._seen[number] += 1
        return int(number) + (again << 32)


def _same(value: Any, other: Any) -> bool:
    return abs(value - other) < 1e-5 if isinstance(value, float) else bool(value == other)


def _index(cmd: Any, ink: Any) -> int:
    red, green, blue = (round(255 * float(part)) for part in ink)
    return cmd.get_color_index(f"0x{red:02x}{green:02x}{blue:02x}")

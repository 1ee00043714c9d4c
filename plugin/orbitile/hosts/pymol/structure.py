"""Atoms that PyMOL shows with their residues, bonds and charges, as a `Structure`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.arguments import listed
from ...base.errors import OrbitileError
from ...model.elements import NUMBERS
from ...model.structure import Residue, Structure, known_charges, most_occupied
from ...model.units import angstrom

_AROMATIC = 4
"""PyMOL's order of a bond in an aromatic ring."""
_PIECE = 5_000
"""Atoms that are gone through at once, in some 15 ms: the window is drawn between, which may take longer than that."""
_TOLD = 3
"""Residues that a note names."""
_ATOM = "(index, elem, name, segi, chain, resi, resn, alt, q, formal_charge, partial_charge)"


class _Atom(NamedTuple):
    """What PyMOL knows of an atom beside its coordinates; `at` is its number in the object."""

    at: int
    element: str
    name: str
    segment: str
    chain: str
    number: str
    residue: str
    alternate: str
    occupancy: float
    formal_charge: int
    partial_charge: float

    @property
    def place(self) -> tuple[str, str, str]:
        """Of its residue in an object: alternate locations may be of residues with other names."""
        return self.segment, self.chain, self.number


_ALTERNATE = _Atom._fields.index("alternate")


def of_atoms(cmd: Any, name: str, what: str, pause: Callable[[], None]) -> list[Any]:
    """A property of all atoms of an object, in parts, between which a window can be drawn.

    Several are plain tuples: Python's search for garbage passes over these, while objects by the ten thousand would
    have it stop the window for a tenth of a second.
    """
    found: list[Any] = []
    for first in range(1, cmd.count_atoms(f"%{name}") + 1, _PIECE):
        if first > 1:
            pause()
        some = f"%{name} and index {first}-{first + _PIECE - 1}"
        cmd.iterate(some, f"add({what})", space={"add": found.append})
    return found


def structure_of(
    cmd: Any,
    selection: str,
    objects: Sequence[str],
    within: str = "all",
    pause: Callable[[], None] = lambda: None,
) -> tuple[Structure, NDArray[np.int64]]:
    """Atoms of objects in the states that are seen, and which of them a selection names.

    Parameters
    ----------
    cmd
        The `cmd` of a PyMOL.
    selection
        In its language; what it names is there also where it lies outside of `within`.
    objects
        Molecular objects.
    within
        A selection too: other atoms of the objects are left out.
    pause
        Called every few thousand atoms, so that a window is drawn meanwhile.

    Returns
    -------
    tuple
        The structure, and the numbers of the atoms of the selection, from 0 and rising. Of alternate locations those
        of the highest occupancy are there. Residues all of whose partial charges are zero have none; bonds of residues
        of which PyMOL knows no order have none.

    Raises
    ------
    OrbitileError
        When the atoms of an object are not all there in its state, or one that is selected is of no known element.
    """
    numbers: list[int] = []
    positions: list[NDArray[np.float64]] = []
    names: list[str] = []
    charges: list[tuple[int, float]] = []
    residues: dict[tuple[str, ...], int] = {}
    residue_of, chosen, bonds, notes = [], [], [], []
    left_out: set[str] = set()
    for name in objects:
        state = min(max(int(cmd.get_state()), 1), max(int(cmd.count_states(f"%{name}")), 1))
        pause()
        every = of_atoms(cmd, name, _ATOM, pause)
        pause()
        places = cmd.get_coords(f"%{name}", state)
        if places is None or len(places) != len(every):
            raise OrbitileError(f"{name}: expected all its atoms in state {state}; choose a state that has them all")
        if cmd.count_states(f"%{name}") > 1:
            notes.append(f"{name} is in its state {state}")
        pause()
        selected = {index for _, index in cmd.index(f"%{name} and ({selection})")}
        pause()
        wanted = None if within == "all" else selected | {i for _, i in cmd.index(f"%{name} and ({within})")}
        pause()
        several = [_Atom._make(values) for values in every if values[_ALTERNATE]]
        alternates = most_occupied((atom.place, atom.alternate, atom.occupancy) for atom in several)
        notes += _told_alternates(name, several, alternates)
        at: dict[int, int] = {}
        for number, values in enumerate(every):
            if number % _PIECE == 0:
                pause()
            atom = _Atom._make(values)
            if not (wanted is None or atom.at in wanted):
                continue
            if atom.alternate and atom.alternate != alternates[atom.place]:
                continue
            symbol = "H" if atom.element == "D" else atom.element.capitalize()
            if not (atomic_number := NUMBERS.get(symbol)):
                if atom.at in selected:
                    raise OrbitileError(
                        f"atom {atom.name} of {atom.residue} {atom.number} is of the element {atom.element!r}, which "
                        f"is none; alter its elem in PyMOL, or leave it out of the selection"
                    )
                left_out.add(atom.element)
                continue
            at[number] = len(names)
            if atom.at in selected:
                chosen.append(len(names))
            residue_of.append(residues.setdefault((name, *atom.place, atom.residue), len(residues)))
            numbers.append(atomic_number)
            names.append(atom.name)
            charges.append((atom.formal_charge, atom.partial_charge))
        positions.append(places[list(at)])
        pause()
        between = cmd.get_bonds(f"%{name}")
        for first in range(0, len(between), _PIECE):
            pause()
            bonds += [(at[i], at[j], order) for i, j, order in between[first : first + _PIECE] if i in at and j in at]
    if left_out:
        notes.append(f"atoms of no element ({', '.join(sorted(left_out))}) are left out")
    pause()
    of = np.array(residue_of, np.int64)
    pairs = np.array([bond[:2] for bond in bonds], np.int64).reshape(-1, 2)
    formal, partial = np.array(charges, np.float64).reshape(-1, 2).T
    pause()
    structure = Structure(
        np.array(numbers, np.int64),
        np.concatenate([np.zeros((0, 3)), *positions]) * angstrom,
        tuple(names),
        tuple(Residue(chain, number, name) for _, _, chain, number, name in residues),
        of,
        pairs,
        _orders(pairs, np.array([bond[2] for bond in bonds], np.float64), of),
        formal.astype(np.int64),
        known_charges(partial, of),
        tuple(notes),
    )
    pause()
    return structure, np.array(chosen, np.int64)


def _told_alternates(name: str, atoms: Sequence[_Atom], taken: dict[tuple[str, str, str], str]) -> list[str]:
    if not taken:
        return []
    names = {atom.place: atom.residue for atom in atoms if atom.place in taken}
    told = [f"{names[place]} {place[2]} ({alternate})" for place, alternate in taken.items()]
    return [f"of the alternate locations in {name} those of the highest occupancy are taken: {listed(told, _TOLD)}"]


def _orders(bonds: NDArray[np.int64], orders: NDArray[np.float64], residue_of: NDArray[np.int64]) -> Any:
    """Orders of bonds; 0 in residues of single bonds only, which are what PyMOL draws where it knows no better."""
    orders = np.where(orders == _AROMATIC, 1.5, orders)
    first, second = residue_of[bonds[:, 0]], residue_of[bonds[:, 1]]
    is_known = np.zeros(residue_of.max(initial=-1) + 1, bool)
    is_known[first[(first == second) & (orders > 1)]] = True
    return np.where((first == second) & ~is_known[first], 0.0, orders)

"""What PyMOL tells of the atoms of its molecules, and is told of them; lengths become bohr, and Angstrom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import OrbitileError
from ...model.elements import SYMBOLS
from ...model.units import angstrom
from ...session.host import TrajectoryViewer
from .bonds import rebond
from .molecules import delete

_PICKED = ("pk1", "pk2", "pk3", "pk4")
"""Selections of the atoms that were picked in editing mode."""

_CHOSEN = "sele"
"""PyMOL's own selection of what was clicked on."""
_PLACE = "_orbitile_place"
"""An object that is there for a moment, at a place that is brought to the middle."""


class PyMOLAtoms(TrajectoryViewer):
    """The part of a `Viewer` that is about atoms.

    Parameters
    ----------
    cmd
        Of the PyMOL.
    """

    def __init__(self, cmd: Any) -> None:
        super().__init__()
        self.cmd = cmd

    def geometries(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        if name not in self.cmd.get_names_of_type("object:molecule"):
            raise OrbitileError(f"no molecule is called {name!r}")
        symbols: list[str] = []
        self.cmd.iterate(name, "symbols.append(elem)", space={"symbols": symbols})
        unknown = sorted({symbol for symbol in symbols if symbol not in SYMBOLS})
        if unknown or not symbols:
            raise OrbitileError(f"{name}: expected atoms of known elements, got {', '.join(unknown) or 'no atoms'}")
        states = [self.cmd.get_coords(name, state + 1) for state in range(self.cmd.count_states(name))]
        if any(coordinates is None or len(coordinates) != len(symbols) for coordinates in states):
            raise OrbitileError(f"{name}: expected the same atoms in all states")
        return np.array([SYMBOLS.index(symbol) for symbol in symbols]), np.array(states, np.float64) * angstrom

    def formal_charge(self, molecule: str) -> int:
        charges: list[int] = []
        if molecule in self.objects():
            self.cmd.iterate(f"%{molecule}", "charges.append(formal_charge)", space={"charges": charges})
        return sum(charges)

    def positions(self, molecule: str) -> NDArray[np.float64] | None:
        found = self.cmd.get_coords(f"%{molecule}", self._state_of(molecule)) if molecule in self.objects() else None
        return None if found is None else np.asarray(found, np.float64) * angstrom

    def move(self, molecule: str, positions: NDArray[np.float64]) -> None:
        if molecule not in self.objects():
            raise OrbitileError(f"no molecule is called {molecule!r}")
        self.cmd.load_coords((positions / angstrom).tolist(), f"%{molecule}", self._state_of(molecule))

    def as_held(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        return (positions / angstrom).astype(np.float32).astype(np.float64) * angstrom

    def picked(self, molecule: str, names: Sequence[str] = ()) -> tuple[int, ...]:
        there = self.names()
        every = self.cmd.index(f"%{molecule}")
        found = []
        for name in names or [name for name in _PICKED if name in there]:
            atoms = self.cmd.index(f"%{molecule} and %{name}") if name in there else []
            if len(atoms) != 1:
                raise OrbitileError(f"{name}: expected a selection of one atom of {molecule}, got {len(atoms)}")
            found.append(every.index(atoms[0]))
        return tuple(found)

    def rebond(self, molecule: str) -> None:
        numbers, _ = self.geometries(molecule)
        positions = self.positions(molecule)
        if positions is not None:
            rebond(self.cmd, molecule, numbers, positions)

    def atoms(self, molecule: str, selection: str) -> tuple[int, ...]:
        from pymol import CmdException

        chosen: list[int] = []
        try:
            self.cmd.iterate(f"%{molecule} and ({selection})", "add(index)", space={"add": chosen.append})
        except CmdException as error:
            raise OrbitileError(f"PyMOL does not know the selection {selection[:80]!r}: {error}") from error
        if not chosen:
            raise OrbitileError(f"{selection[:80]!r} selects no atom of {molecule}")
        return self._counted(molecule, chosen)

    def selected(self, molecule: str) -> tuple[int, ...]:
        if _CHOSEN not in self.names():
            return ()
        chosen: list[int] = []
        self.cmd.iterate(f"%{molecule} and %{_CHOSEN}", "add(index)", space={"add": chosen.append})
        return self._counted(molecule, chosen)

    def select(self, molecule: str, atoms: Sequence[int]) -> None:
        every = [index for _, index in self.cmd.index(f"%{molecule}")]
        numbers = "+".join(str(every[atom]) for atom in atoms if atom < len(every))
        self.cmd.select(_CHOSEN, f"%{molecule} and index {numbers}" if numbers else "none", enable=1)

    def centre(self, place: Sequence[float]) -> None:
        self.cmd.pseudoatom(_PLACE, pos=[float(part) / angstrom for part in place])
        self.cmd.center(_PLACE, animate=0.4)
        delete(self.cmd, _PLACE)

    def _counted(self, molecule: str, indices: Sequence[int]) -> tuple[int, ...]:
        """PyMOL's numbers of atoms as places in the order in which it gives coordinates, from 0 and rising."""
        at = {index: number for number, (_, index) in enumerate(self.cmd.index(f"%{molecule}"))}
        return tuple(sorted(at[index] for index in indices))

    def _state_of(self, molecule: str) -> int:
        """The state that is seen of a molecule."""
        n = int(self.cmd.count_states(f"%{molecule}"))
        return min(max(int(self.cmd.get_state()), 1), max(n, 1))

"""A viewer whose atoms a test moves, and that keeps what it is told to show."""

from __future__ import annotations

import time
from concurrent.futures import wait

import numpy as np

from orbitile.base.errors import OrbitileError
from orbitile.model.elements import SYMBOLS
from orbitile.model.units import angstrom
from orbitile.scf.calculation import Calculation
from orbitile.session.host import Viewer
from orbitile.session.live.order import Level
from orbitile.session.session import Session

PATIENCE = 60.0
"""Seconds after which a test gives up waiting."""


class MovingViewer(Viewer):
    """One molecule without orbitals at first, moved by `place`; its loop is turned by the test.

    Attributes
    ----------
    surfaces : dict of str to Surface
        What is seen, by name.
    transparencies : dict of str to float
    volumes : dict of str to Volume
    told : list of str
    """

    def __init__(self, **molecules: str) -> None:
        super().__init__()
        self.atoms = {name: atoms_of(text) for name, text in molecules.items()}
        self.surfaces, self.colourings, self.transparencies, self.volumes = {}, {}, {}, {}
        self.told: list[str] = []
        self.dragging = False
        self.n_redrawn = 0
        self._new_names: dict[str, str] = {}

    # ---- what a test does

    def place(self, positions, name: str = "") -> None:
        """Put the atoms somewhere, in bohr."""
        name = name or next(iter(self.atoms))
        self.atoms[name] = self.atoms[name][0], np.array(positions, dtype=float)

    def rename(self, old: str, new: str) -> None:
        """What a user does to a molecule."""
        self.atoms[new] = self.atoms.pop(old)
        if old in self._sources:
            self._sources[new] = self._sources.pop(old)
        self._new_names[old] = new

    def delete(self, name: str) -> None:
        """What a user does to anything."""
        for kind in (self.atoms, self.surfaces, self.volumes):
            kind.pop(name, None)

    # ---- what a viewer does

    def geometries(self, name):
        if name not in self.atoms:
            raise OrbitileError(f"no object is called {name!r}")
        numbers, positions = self.atoms[name]
        return numbers, positions[None]

    def positions(self, molecule):
        return self.atoms[molecule][1] if molecule in self.atoms else None

    def move(self, molecule, positions):
        self.place(positions, molecule)

    def is_dragging(self):
        return self.dragging

    def renamed(self):
        found, self._new_names = self._new_names, {}
        return found

    def add_molecule(self, name, atoms, geometry):
        self.atoms[name] = atoms.atomic_numbers, atoms.positions
        self.adopt(name, atoms.source)

    def objects(self):
        return {*self.atoms, *self.surfaces}

    def put_surface(self, name, molecule, drawing, look, colouring):
        self.surfaces[name], self.colourings[name] = drawing, colouring
        self.transparencies[name] = look.transparency

    def redraw_surface(self, name, molecule, drawing, look, colouring):
        assert name in self.surfaces, "it is not there to be drawn anew"
        self.n_redrawn += 1
        self.put_surface(name, molecule, drawing, look, colouring)

    def put_volume(self, name, molecule, volume):
        self.volumes[name] = volume

    def set_transparency(self, name, transparency):
        self.transparencies[name] = transparency

    def remove(self, name):
        self.surfaces.pop(name, None)
        self.volumes.pop(name, None)

    def say(self, text):
        self.told.append(text)

    def wait(self, future):
        wait([future])


def atoms_of(text: str):
    """Atomic numbers and positions in bohr of "O 0 0 0; H 0 0 0.96", in Angstrom."""
    rows = [row.split() for row in text.split(";")]
    numbers = np.array([SYMBOLS.index(row[0]) for row in rows])
    return numbers, np.array([[float(x) for x in row[1:]] for row in rows]) * angstrom


PBE = Calculation("pbe", "sto-3g")


def live_session(text: str, calculation: Calculation = PBE, engine: str = "auto") -> Session:
    """A session with one live molecule, "m"."""
    session = Session(MovingViewer(m=text))
    session.live.begin("m", Level(calculation, engine, "cpu"))
    return session


def tick_until(session: Session, condition, seconds: float = PATIENCE) -> None:
    """Turn the loop of the viewer until something is so."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"waited in vain: {session.live.now and session.live.now.status}"
        session.live.now.tick()
        time.sleep(0.005)

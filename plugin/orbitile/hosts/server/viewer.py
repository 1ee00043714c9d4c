"""The viewer at the other end of the pipe: what it is to show is told in messages, docs/server.md, and in files."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...analysis.presentation import with_balls
from ...base.arguments import brief
from ...base.errors import OrbitileError
from ...exporters import plt
from ...exporters.xyz import xyz_text
from ...files.writing import written_atomically
from ...model.geometry import Molecule, check_atoms
from ...model.report import AtomValues, Drawing, Paths, Points
from ...model.surface import Colouring, Surface
from ...model.units import angstrom
from ...model.volume import Volume
from ...pictures.look import Look
from ...session.declaration import TCL
from ...session.host import VolumeDrawing, VolumeViewer
from ...session.shown import object_name
from ...surfaces.colour_maps import colours_along, rounded_up

_ROUNDING = 2e-5
"""Rounding error of coordinates in bohr, as viewers have them in single precision."""


@dataclass(frozen=True, eq=False)
class _Atoms:
    """Atoms of a molecule, positions in bohr, and by which event each was told of last."""

    numbers: NDArray[np.int64]
    geometries: NDArray[np.float64]
    events: NDArray[np.int64]

    @property
    def positions(self) -> NDArray[np.float64] | None:
        return self.geometries[0] if len(self.geometries) == 1 else None


class Places:
    """Atoms of the molecules of a viewer, and where they are. It may be asked and told from any thread."""

    def __init__(self) -> None:
        self._molecules: dict[str, _Atoms] = {}
        self._lock = threading.Lock()

    def add(self, molecule: str, numbers: NDArray[np.int64], geometries: NDArray[np.float64], event: int) -> None:
        """Take note of a molecule that the viewer was told of by an event of this number.

        Parameters
        ----------
        molecule
            Its name.
        numbers : ndarray of int, shape (n_atoms,)
            Atomic numbers.
        geometries : ndarray, shape (n_geometries, n_atoms, 3)
            In bohr.
        event
            Number of the event.
        """
        with self._lock:
            self._molecules[molecule] = _Atoms(numbers, geometries, np.full(len(numbers), event))

    def keep(self, there: Set[str]) -> None:
        """Forget molecules that are not there any more."""
        with self._lock:
            self._molecules = {name: atoms for name, atoms in self._molecules.items() if name in there}

    def geometries(self, molecule: str) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Atomic numbers and all geometries; None of a molecule that nothing is known of."""
        atoms = self._molecules.get(molecule)
        return None if atoms is None else (atoms.numbers, atoms.geometries)

    def positions(self, molecule: str) -> NDArray[np.float64] | None:
        """Where the atoms are; None of a molecule of several geometries, or that nothing is known of."""
        atoms = self._molecules.get(molecule)
        return None if atoms is None else atoms.positions

    def move(self, molecule: str, positions: NDArray[np.float64], moved: NDArray[np.int64], event: int) -> None:
        """Take note that an event tells the viewer to put some atoms somewhere else; positions of all, in bohr."""
        with self._lock:
            atoms = self._molecules[molecule]
            events = atoms.events.copy()
            events[moved] = event
            self._molecules[molecule] = replace(atoms, geometries=_with(atoms, positions, moved), events=events)

    def take(self, molecule: str, told: Sequence[Sequence[float]], seen: int | None) -> None:
        """Take note of where the viewer has the atoms of a molecule of one geometry.

        What it tells of atoms that it has left alone is not taken: they are as they were, apart from rounding.

        Parameters
        ----------
        molecule
            Its name.
        told
            In Angstrom, three numbers an atom.
        seen
            How many events it had read then, all of them if None: before it has read where to put an atom, it tells
            where that was.

        Raises
        ------
        OrbitileError
            When it has no such molecule, of one geometry, or there are other numbers of atoms.
        """
        with self._lock:
            atoms = self._molecules.get(molecule)
            if atoms is None or atoms.positions is None:
                raise OrbitileError(
                    f"positions: expected the name of a molecule with one geometry, got {brief(molecule)}"
                )
            if len(told) != len(atoms.numbers):
                n = len(atoms.numbers)
                raise OrbitileError(f"positions of {molecule}: expected {n} atoms, got {len(told)}")
            positions = np.array(told, np.float64) * angstrom
            check_atoms(atoms.numbers, positions)
            moved = moved_atoms(atoms.positions, positions, _ROUNDING)
            if seen is not None:
                moved = moved[atoms.events[moved] <= seen]
            self._molecules[molecule] = replace(atoms, geometries=_with(atoms, positions, moved))


def _with(atoms: _Atoms, positions: NDArray[np.float64], moved: NDArray[np.int64]) -> NDArray[np.float64]:
    """The only geometry, with some of the atoms where they are in `positions`."""
    geometries = atoms.geometries.copy()
    geometries[0, moved] = positions[moved]
    return geometries


def moved_atoms(before: NDArray[np.float64], after: NDArray[np.float64], by: float) -> NDArray[np.int64]:
    """Atoms, from 0, of which a coordinate differs by more than this; positions in bohr, shape (n_atoms, 3)."""
    return np.flatnonzero(np.abs(after - before).max(axis=1) > by)


_DIGITS = 5
"""Decimals of coordinates in Angstrom."""
_EVERY = 0.1
"""Shortest interval between two messages about progress, in seconds."""

_MOVED = 1e-9
"""Smallest displacement of an atom that is told, in bohr."""


def internal_error(error: Exception) -> str:
    """What the user is told of an error that nobody has foreseen."""
    return f"internal error (please report): {type(error).__name__}: {brief(str(error))}"


NO_LIVE: dict[str, Any] = {"event": "live", "molecule": ""}
"""What is told where no molecule is live."""

Tell = Callable[[dict[str, Any]], None]
"""Sends a message."""


class ServedViewer(VolumeViewer):
    """The viewer at the other end as a host; see `orbitile.session.host.Host`.

    Parameters
    ----------
    tell : callable
        Sends a message.
    folder : Path
        For the files that messages name.

    Attributes
    ----------
    there : set of str
        Names of the objects that the viewer has, as its last request said; to be changed by `set_there`.
    places : Places
        Where its atoms are.
    dragging : bool
        Whether its user drags atoms, as its last request said.
    """

    syntax = TCL

    def __init__(self, tell: Tell, folder: Path) -> None:
        self.there: set[str] = set()
        self.places = Places()
        self.dragging = False
        self._hidden: set[str] = set()
        self._aside: dict[str, list[str]] = {}
        self._transparencies: dict[str, float] = {}
        self._last_visible = 0
        self._volumes: dict[tuple[str, int | None], weakref.ref[Volume]] = {}
        self._latest: dict[str, dict[str, Any]] = {"live": NO_LIVE}
        self._send, self._folder = tell, folder
        self._sending = threading.Lock()
        self._sent = 0
        self._changes: dict[str, tuple[int, bool]] = {}
        self._frames: dict[str, int] = {}
        self._directions: NDArray[np.float64] | None = None
        self._going: dict[str, int] = {}
        self._again: dict[Callable[[], None], tuple[float, float]] = {}
        self._number = 0
        self._told = 0.0

    def tell(self, message: dict[str, Any]) -> int:
        """Send an event, from any thread; gives its number, counted from 1."""
        with self._sending:
            self._send(message)
            self._sent += 1
            return self._sent

    def tell_change(self, message: dict[str, Any]) -> None:
        """Send an event of which there is one kind of news, unless it is as it was told last."""
        if self._latest.get(message["event"]) != message:
            self._latest[message["event"]] = message
            self.tell(message)

    def set_there(self, names: set[str], seen: int | None = None) -> None:
        """Take note of the objects that the viewer had; of all others its volumes are gone too.

        Parameters
        ----------
        names
            Objects that it had.
        seen
            How many events it had read then, all of them if None: what later ones add or remove is not known to it.
        """
        seen = self._sent if seen is None else seen
        self._changes = {name: change for name, change in self._changes.items() if change[0] > seen}
        added = {name for name, (_, is_there) in self._changes.items() if is_there}
        self.there = (names | added) - (set(self._changes) - added)
        self._volumes = {key: volume for key, volume in self._volumes.items() if key[0] in self.there}
        self._hidden &= self.there
        self.places.keep(self.there)

    def _has_changed(self, name: str, number: int, is_there: bool) -> None:
        """An event adds an object or removes it; `number` is that of the event."""
        (self.there.add if is_there else self.there.discard)(name)
        self._changes[name] = number, is_there

    def set_hidden(self, names: set[str], seen: int | None = None) -> None:
        """Take note of the objects that cannot be seen; `seen` is as for `set_there`."""
        if seen is not None and seen < self._last_visible:  # it was told to hide or show one since
            return
        self._hidden = names & self.there
        for molecule in set(self._aside) - names:  # the user shows it again
            self.bring_back(molecule)

    def set_directions(self, numbers: Sequence[float]) -> None:
        """Take note of what points to the right, up, and towards the user; rounded as the viewer tells it.

        Raises
        ------
        OrbitileError
            When these are no three directions at right angles.
        """
        if len(numbers) != 9 or not np.isfinite(numbers).all():
            raise OrbitileError(f"directions: expected nine numbers, got {brief(numbers)}")
        given = np.reshape(np.array(numbers, np.float64), (3, 3))
        left, sizes, right = np.linalg.svd(given)
        if np.abs(sizes - 1).max() > 1e-2 or np.linalg.det(given) < 0:
            raise OrbitileError(f"directions: expected a rotation, got {brief(numbers)}")
        self._directions = left @ right

    def directions(self) -> NDArray[np.float64] | None:
        return self._directions

    @property
    def period(self) -> float | None:
        """Seconds until `tick` has something to call; None while there is nothing."""
        if not self._again:
            return None
        return max(min(due for _, due in self._again.values()) - time.monotonic(), 0.0)

    def set_frame(self, molecule: str, frame: int) -> None:
        """Take note of the frame that the viewer is at; whoever looks at frames does so at the next tick."""
        self._frames[molecule] = frame
        self._again = {function: (seconds, 0.0) for function, (seconds, _) in self._again.items()}
        self._going.pop(molecule, None)

    def tick(self) -> None:
        """Call what is due of all that is to be called again and again; what fails is told, and not called any more."""
        now = time.monotonic()
        for function, (seconds, due) in list(self._again.items()):
            if due > now:
                continue
            self._again[function] = seconds, now + seconds
            try:
                function()
            except Exception as error:
                del self._again[function]
                self.say(internal_error(error))

    def add_molecule(self, name: str, atoms: Molecule, geometry: int) -> None:
        self.adopt(name, atoms.source)
        self.set_frame(name, geometry)
        ghosts = int(atoms.is_ghost.sum())
        more = {"ghosts": ghosts} if ghosts else {}
        self._tell_molecule(name, atoms.atomic_numbers, atoms.geometries, atoms.title, frame=geometry, **more)

    def add_atoms(self, name: str, numbers: NDArray[np.int64], positions: NDArray[np.float64]) -> None:
        """Have the viewer show atoms, of which there is no wavefunction yet.

        Parameters
        ----------
        name
            Of the molecule, which no other object has.
        numbers : ndarray of int, shape (n_atoms,)
            Atomic numbers.
        positions : ndarray, shape (n_atoms, 3)
            In bohr.
        """
        self.set_frame(name, 0)
        self._tell_molecule(name, numbers, positions[np.newaxis], name, frame=0)

    def _tell_molecule(
        self, name: str, numbers: NDArray[np.int64], geometries: NDArray[np.float64], title: str, **more: int
    ) -> None:
        file = self._file(name, "xyz")
        with written_atomically(file) as temporary:
            temporary.write_text(xyz_text(numbers, geometries, title), encoding="utf-8")
        number = self.tell({"event": "molecule", "name": name, "file": str(file), **more})
        self.places.add(name, numbers, geometries, number)
        self._has_changed(name, number, is_there=True)

    def geometries(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        found = self.places.geometries(name) if name in self.there else None
        if found is None:
            raise OrbitileError(f"no molecule is called {name!r}")
        return found

    def positions(self, molecule: str) -> NDArray[np.float64] | None:
        return self.places.positions(molecule) if molecule in self.there else None

    def move(self, molecule: str, positions: NDArray[np.float64]) -> None:
        known = self.positions(molecule)
        if known is None or known.shape != positions.shape:
            raise OrbitileError(f"no molecule with one geometry and {len(positions)} atoms is called {molecule!r}")
        atoms = moved_atoms(known, positions, _MOVED)
        places = np.round(positions[atoms] / angstrom, 8).tolist()
        message = {"event": "move", "molecule": molecule, "atoms": atoms.tolist(), "positions": places}
        self.places.move(molecule, positions, atoms, self.tell(message))

    def is_dragging(self) -> bool:
        return self.dragging

    def frame(self, molecule: str) -> int | None:
        return self._frames.get(molecule) if molecule in self.there else None

    def go_to(self, molecule: str, frame: int) -> None:
        if self._going.get(molecule) != frame:  # it is there when the viewer says so
            self._going[molecule] = frame
            self.tell({"event": "frame", "molecule": molecule, "frame": frame})

    def every(self, milliseconds: int, function: Callable[[], None]) -> bool:
        if function not in self._again:
            seconds = milliseconds / 1000
            self._again[function] = seconds, time.monotonic() + seconds
        return True

    def objects(self) -> set[str]:
        return self.there

    def hidden(self, surfaces: Mapping[str, str]) -> set[str]:
        return self._hidden & set(surfaces)

    def set_visible(self, name: str, molecule: str, visible: bool) -> None:
        if visible and self._aside.pop(molecule, None) is not None:
            self._tell_visible(molecule, True)
        self._tell_visible(name, visible)

    def _tell_visible(self, name: str, visible: bool) -> None:
        (self._hidden.discard if visible else self._hidden.add)(name)
        self._last_visible = self.tell({"event": "visible", "name": name, "visible": visible})

    def set_aside(self, molecule: str, surfaces: Sequence[str]) -> None:
        if molecule not in self._aside:
            self._aside[molecule] = [name for name in surfaces if name not in self._hidden]
            for name in (molecule, *self._aside[molecule]):
                self._tell_visible(name, False)

    def bring_back(self, molecule: str) -> None:
        for name in (molecule, *self._aside.pop(molecule)) if molecule in self._aside else ():
            if name in self.there:
                self._tell_visible(name, True)

    def set_grid(self, places: Mapping[str, int]) -> None:
        self.tell({"event": "grid", "places": dict(places)})

    def size(self, surface: Surface, volume: Volume) -> int:
        return volume.values.nbytes * (1 if surface.colouring is None else 2)  # files; shades have fewer points

    def put_surface(
        self,
        name: str,
        molecule: str,
        drawing: VolumeDrawing,
        look: Look,
        colouring: Colouring | None,
        frame: int | None = None,
    ) -> None:
        self._transparencies[name] = look.transparency
        self._tell_surface(name, molecule, drawing, look, colouring, {} if frame is None else {"frame": frame})

    def redraw_surface(
        self, name: str, molecule: str, drawing: VolumeDrawing, look: Look, colouring: Colouring | None
    ) -> None:
        look = replace(look, transparency=self._transparencies.get(name, look.transparency))
        self._tell_surface(name, molecule, drawing, look, colouring, {"redrawn": True})

    def _tell_surface(
        self,
        name: str,
        molecule: str,
        drawing: VolumeDrawing,
        look: Look,
        colouring: Colouring | None,
        more: dict[str, Any],
    ) -> None:
        if molecule in self._aside and name not in self._aside[molecule]:
            self.bring_back(molecule)
        message: dict[str, Any] = {"event": "surface", "name": name, "molecule": molecule}
        message |= {"isovalue": drawing.isovalue, "phases": drawing.phases, "colours": look.colours}
        message |= {"transparency": look.transparency, "style": look.style}
        message["new"] = name not in self.there
        if colouring is not None:
            message["scale"] = {"low": colouring.low, "high": colouring.high}
            message["scale"] |= {"quantity": colouring.quantity, "unit": colouring.unit}
            message["scale"]["colour_map"] = colouring.colour_map
            self._volumes.pop((name, more.get("frame")), None)  # shades stand beside the volume: both are sent
        if drawing.shades is not None:
            message["shades"] = str(self._written(drawing.shades.quantity, drawing.shades))
        number = self.tell(message | more)
        if message["new"]:
            self._has_changed(name, number, is_there=True)

    def set_transparency(self, name: str, transparency: float) -> None:
        if self._transparencies.get(name) != transparency:
            self._transparencies[name] = transparency
            self.tell({"event": "transparency", "name": name, "transparency": transparency})

    def put_volume(self, name: str, molecule: str, volume: Volume, frame: int | None = None) -> None:
        known = self._volumes.get((name, frame))
        file = None
        if known is None or known() is not volume:
            file = str(self._written(name, volume))
            self._volumes[name, frame] = weakref.ref(volume)
        message = {"event": "volume", "name": name, "molecule": molecule, "file": file}
        number = self.tell(message if frame is None else {**message, "frame": frame})
        if name in self._changes:  # it is there with its volume, and not before
            self._has_changed(name, number, is_there=True)

    def drop(self, name: str, frame: int) -> None:
        self._volumes.pop((name, frame), None)
        self.tell({"event": "drop", "name": name, "frame": frame})

    def remove(self, name: str) -> None:
        self._has_changed(name, self.tell({"event": "remove", "name": name}), is_there=False)
        self._volumes = {key: volume for key, volume in self._volumes.items() if key[0] != name}

    def put_drawings(self, molecule: str, name: str, drawings: Sequence[Drawing]) -> None:
        self.tell({"event": "drawings", "molecule": molecule, "name": name, **drawings_message(drawings)})

    def structures(self) -> list[str]:
        return [name for name in sorted(self.there) if self.places.geometries(name) is not None]

    def progress(self, share: float) -> None:
        now = time.monotonic()
        if now - self._told > _EVERY:
            self._told = now
            self.tell({"event": "progress", "share": round(share, 3)})

    def say(self, text: str) -> None:
        self.tell({"event": "message", "text": text})

    def _written(self, name: str, volume: Volume) -> Path:
        file = self._file(name, "plt")
        with written_atomically(file) as temporary:
            plt.write(volume, temporary)
        return file

    def write_arrays(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> tuple[Path, dict[str, dict[str, Any]]]:
        """Write arrays one after the other, for a viewer that reads them by what the second part says of each.

        Parameters
        ----------
        name
            Of what they belong to.
        arrays
            By their names, numbers of four bytes with the lowest byte first.

        Returns
        -------
        file : Path
        descriptions : dict
            Of each array the `type` of its numbers, its `shape`, and the `offset` of its first byte.
        """
        file, offset, descriptions = self._file(name, "bin"), 0, {}
        for key, array in arrays.items():
            descriptions[key] = {"type": array.dtype.name, "shape": list(array.shape), "offset": offset}
            offset += array.nbytes
        with written_atomically(file) as temporary, temporary.open("wb") as stream:
            for array in arrays.values():
                stream.write(np.ascontiguousarray(array).data)
        return file, descriptions

    def _file(self, name: str, suffix: str) -> Path:
        self._number += 1
        return self._folder / f"{self._number}-{object_name('', name)[:60]}.{suffix}"


def drawings_message(drawings: Sequence[Drawing]) -> dict[str, Any]:
    """What is to be drawn, in Angstrom: balls, lines, and a label and a colour for each atom."""
    balls = [one for one in with_balls(drawings) if isinstance(one, Points)]
    lines = [one for one in drawings if isinstance(one, Paths)]
    values = next((one for one in drawings if isinstance(one, AtomValues)), None)
    return {
        "balls": [
            {
                "places": _in_angstrom(one.positions),
                "labels": list(one.labels),
                "colour": one.colour,
                "radius": round(one.radius / angstrom, _DIGITS),
            }
            for one in balls
        ],
        "lines": [
            {
                "lines": [_in_angstrom(line) for line, _ in one.drawn()],
                "radii": [round(radius / angstrom, _DIGITS) for _, radius in one.drawn()],
                "heads": one.heads,
                "colour": one.colour,
            }
            for one in lines
        ],
        "atoms": [] if values is None else _atom_labels(values),
    }


def _in_angstrom(places: Any) -> list[list[float]]:
    return np.round(np.asarray(places) / angstrom, _DIGITS).tolist()


def _atom_labels(drawing: AtomValues) -> list[dict[str, Any]]:
    """A label and a colour for each atom; an empty label for atoms without a value."""
    values = np.array(drawing.values, np.float64)
    limit = rounded_up(float(np.nanmax(np.abs(values), initial=0.0)))
    inks = np.round(colours_along("signed", (np.clip(np.nan_to_num(values) / limit, -1, 1) + 1) / 2), 3).tolist()
    return [{"label": label, "colour": ink} for label, ink in zip(drawing.labels, inks, strict=True)]

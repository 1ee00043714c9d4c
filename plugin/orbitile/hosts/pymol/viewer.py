"""What PyMOL is made to show: molecules, maps, surfaces. Here, and only here, lengths become Angstrom."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymol import commanding, editing

from ...errors import OrbitileError
from ...exporters.xyz import xyz_of
from ...model.elements import GHOST, SYMBOLS
from ...model.surface import Colouring, Surface
from ...model.units import angstrom
from ...model.volume import Volume
from ...model.wavefunction import Wavefunction
from ...session.host import Colour, TrajectoryViewer
from ...session.look import Look
from ...session.shown import numbered
from ...session.source import files_of, is_trajectory
from ...surfaces.colour_maps import MAPS
from .drawing import drawing_of
from .maps import nothing_at, put_map

_MARK = " orbitile:"
"""In the title of an object that was loaded from a wavefunction: before it stands the name of its file, which PyMOL
shows beside that of the object, behind it the key of its source, a dot, and a mark of this object alone. A title stays
with an object when it is renamed, and in a saved session; it has room for 255 characters."""

_SETTINGS = "orbitile"
"""Name under which PyMOL keeps what the user has set."""

_BYTES_A_FACE = 250
"""Three corners with normals, and their copy for the GPU."""


class PyMOLViewer(TrajectoryViewer):
    """One PyMOL as a host; see `orbitile.session.host.Host`.

    Parameters
    ----------
    cmd
        Of the PyMOL.

    Attributes
    ----------
    sources : dict of str to str
        Where molecules come from, by the keys in their titles; saved with a session.
    """

    def __init__(self, cmd: Any) -> None:
        super().__init__()
        self.cmd = cmd
        self.sources: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._timers: dict[Callable[[], None], Any] = {}

    def legal_name(self, name: str) -> str:
        legal: str = self.cmd.get_legal_name(name)
        return legal

    def parts(self, name: str) -> set[str]:
        return {name, f"{name}_map", f"{name}_scale"}

    def add_molecule(self, name: str, wavefunction: Wavefunction, geometry: int) -> None:
        cmd = self.cmd
        self._delete(name)  # PyMOL would merge the atoms, and keep the states
        if cmd.get_state() > max(cmd.count_frames(), 1):  # it stands at a state that the former object had
            cmd.frame(1)
            cmd.set("state", 1)
        cmd.load_raw(xyz_of(wavefunction), "xyz", name, 1, zoom=0)
        if len(wavefunction.geometries) > 1:
            if is_trajectory(wavefunction.source):  # its surfaces have states too, so the slider moves all of them
                cmd.frame(geometry + 1)
            else:
                cmd.set("state", geometry + 1)
                cmd.set("state", geometry + 1, name)
            cmd.rebond(name, geometry + 1)
        title = self._marked(wavefunction.source)
        for state in {1, geometry + 1}:
            cmd.set_title(name, state, title)
        self._seen = self._marks()
        cmd.show_as("sticks spheres", name)
        for setting, value in (("stick_radius", 0.12), ("sphere_scale", 0.22)):
            cmd.set(setting, value, name)
        if wavefunction.is_ghost.any():
            ghosts = f"%{name} and elem {GHOST}"
            cmd.unbond(ghosts, f"%{name}")
            cmd.color("grey80", ghosts)
            for setting, value in (("sphere_scale", 0.1), ("sphere_transparency", 0.4)):
                cmd.set(setting, value, ghosts)

    def molecules(self) -> dict[str, str]:
        keys = {name: mark.partition(".")[0] for name, mark in self._marks().items()}
        return {name: self.sources[key] for name, key in keys.items() if key in self.sources}

    def renamed(self) -> dict[str, str]:
        before, self._seen = self._seen, self._marks()
        new = {mark: name for name, mark in reversed(self._seen.items()) if before.get(name) != mark}
        gone = {name: mark for name, mark in before.items() if self._seen.get(name) != mark}
        for name, mark in gone.items():
            self._move_group(name, new.get(mark))
        return {name: new[mark] for name, mark in gone.items() if mark in new}

    def _move_group(self, molecule: str, other: str | None) -> None:
        """The group of a molecule goes with it: renamed, or dissolved."""
        group = self.legal_name(f"{molecule}_orb")
        if group not in self.cmd.get_names_of_type("object:group") or molecule in self.objects():
            return
        if other is None:
            self.cmd.group(group, action="empty")
            self._delete(group)
        elif (wanted := self.legal_name(f"{other}_orb")) not in self.objects():
            editing.set_name(group, wanted, _self=self.cmd)

    def _marks(self) -> dict[str, str]:
        """What the titles of molecules say behind `_MARK`."""
        titles = {name: self._title(name, 1) for name in self.cmd.get_names_of_type("object:molecule")}
        return {name: title.partition(_MARK)[2] for name, title in titles.items() if _MARK in title}

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

    def adopt(self, name: str, source: str) -> None:
        self.cmd.set_title(name, 1, self._marked(source))
        self._seen = self._marks()

    def frame(self, molecule: str) -> int | None:
        if molecule not in self.objects():
            return None
        return int(self.cmd.get_state()) - 1

    def go_to(self, molecule: str, frame: int) -> None:
        self.cmd.frame(frame + 1)
        window = main_window()
        if window is not None:  # PyMOL itself looks every 20 ms whether there is anything to be drawn
            from pymol.Qt import QtCore

            QtCore.QMetaObject.invokeMethod(window.pymolwidget, "update", QtCore.Qt.QueuedConnection)

    def every(self, milliseconds: int, function: Callable[[], None]) -> bool:
        if function not in self._timers:
            timer = _timer(milliseconds, function)
            if timer is None:
                return False
            self._timers[function] = timer
        return True

    def has_window(self) -> bool:
        return main_window() is not None

    def wait(self, future: Future[Any]) -> None:
        window = main_window()
        if window is not None:
            from pymol.Qt import QtCore

            if QtCore.QThread.currentThread() == window.thread():
                loop = QtCore.QEventLoop()
                quit = (loop, "quit", QtCore.Qt.QueuedConnection)
                future.add_done_callback(lambda done: QtCore.QMetaObject.invokeMethod(*quit))
                self.cmd.do("/None", 0, 0)  # while a command is busy PyMOL draws without a pause; it no longer is
                loop.exec_()
                if future.cancel() or future.done():  # cancelled: PyMOL quits
                    return
        wait([future])

    def objects(self) -> set[str]:
        return set(self.cmd.get_names("objects"))

    def drawing(self, surface: Surface, look: Look) -> list[float]:
        return drawing_of(surface, look)

    def size(self, surface: Surface, volume: Volume) -> int:
        return volume.values.nbytes + _BYTES_A_FACE * len(surface.faces)

    def put_surface(
        self,
        name: str,
        molecule: str,
        drawing: list[float],
        look: Look,
        colouring: Colouring | None,
        frame: int | None = None,
    ) -> None:
        if frame is not None and name in self.objects():  # one more state of it; the rest is as it is
            self.cmd.load_cgo(drawing, name, frame + 1, zoom=0)
            if (
                abs(float(self.cmd.get("cgo_transparency", name)) - look.transparency) > 1e-4
            ):  # it draws all states anew
                self.set_transparency(name, look.transparency)
            return
        self._delete(name)
        if frame is not None:  # room for all: PyMOL copies the states that are there when it makes more
            self.cmd.load_cgo([], name, self._n_states(molecule, frame), zoom=0)
        self.cmd.load_cgo(drawing, name, self._state_of_orbitals(molecule) if frame is None else frame + 1, zoom=0)
        self.set_transparency(name, look.transparency)
        self._group(molecule, name)
        self._put_scale(f"{name}_scale", molecule, colouring)

    def hidden(self) -> set[str]:
        return self.objects() - set(self.cmd.get_names("objects", enabled_only=1))

    def set_visible(self, name: str, visible: bool) -> None:
        scale = f"{name}_scale"
        for part in (name, scale) if scale in self.objects() else (name,):
            (self.cmd.enable if visible else self.cmd.disable)(part)

    def set_grid(self, places: Mapping[str, int]) -> None:
        self.cmd.set("grid_mode", 1 if places else 0)
        for name in self.objects() if places else ():
            self.cmd.set("grid_slot", places.get(name, -2), name)  # -2: in all of them

    def set_transparency(self, name: str, transparency: float) -> None:
        self.cmd.set("cgo_transparency", transparency, name)

    def put_volume(self, name: str, molecule: str, volume: Volume, frame: int | None = None) -> None:
        there = frame is not None and f"{name}_map" in self.objects()
        if frame is not None and not there:  # room for all, as for the surface
            put_map(self.cmd, f"{name}_map", nothing_at(volume.lattice.origin), self._n_states(molecule, frame))
        put_map(self.cmd, f"{name}_map", volume, None if frame is None else frame + 1)
        if not there:
            self._group(molecule, f"{name} {name}_map")

    def drop(self, name: str, frame: int) -> None:
        there = self.objects()
        if name in there:
            self.cmd.load_cgo([], name, frame + 1, zoom=0)
        if f"{name}_map" in there:  # a state cannot be taken away, but it can be made small
            corner = np.array(self.cmd.get_extent(f"{name}_map")[0]) * angstrom
            put_map(self.cmd, f"{name}_map", nothing_at(corner), frame + 1)

    def remove(self, name: str) -> None:
        for part in self.parts(name) & self.objects():
            self._delete(part)

    def rename_parts(self, old: str, new: str, molecule: str, colouring: Colouring | None) -> None:
        """Have the volume of a surface and the explanation of its colours follow the new name of the surface."""
        there = self.objects()
        if f"{old}_map" in there and f"{new}_map" not in there:
            editing.set_name(f"{old}_map", f"{new}_map", _self=self.cmd)
        self._delete(f"{old}_scale")  # made anew: PyMOL crashes when a ramp is renamed twice
        self._put_scale(f"{new}_scale", molecule, colouring)

    def _put_scale(self, name: str, molecule: str, colouring: Colouring | None) -> None:
        self._delete(name)
        if colouring is not None:  # a ramp, which PyMOL can colour by too
            colours = [list(colour) for colour in MAPS[colouring.colour_map]]
            values = np.linspace(colouring.low, colouring.high, len(colours)).tolist()
            self.cmd.ramp_new(name, "none", values, colours)
            self._group(molecule, name)

    def colour(self, name: str) -> Colour:
        index = self.cmd.get_color_index(name)
        if index < 0 and not name.startswith("0x"):
            raise OrbitileError(f"colour: PyMOL knows none called {name!r}")
        red, green, blue = self.cmd.get_color_tuple(index)
        return red, green, blue

    def say(self, text: str) -> None:
        print(f" Orbitile: {text}")

    def settings(self) -> dict[str, Any]:
        from pymol.plugins import pref_get

        kept = pref_get(_SETTINGS, {})
        return dict(kept) if isinstance(kept, dict) else {}

    def keep_settings(self, settings: dict[str, Any]) -> None:
        from pymol.plugins import pref_set

        pref_set(_SETTINGS, dict(settings))

    def _marked(self, source: str) -> str:
        """Title of an object from a source, which is noted; sources of objects that are gone are forgotten."""
        known = {mark.partition(".")[0] for mark in self._marks().values()}
        key = hashlib.sha256(source.encode(errors="surrogateescape")).hexdigest()[:16]
        self.sources = {**{other: text for other, text in self.sources.items() if other in known}, key: source}
        return f"{files_of(source)[0].rpartition('/')[2][:100]}{_MARK}{key}.{secrets.token_hex(4)}"

    def _title(self, name: str, state: int) -> str:
        if self.cmd.get_coordset(name, state, copy=0) is None:  # PyMOL would complain that there is no such state
            return ""
        return str(self.cmd.get_title(name, state) or "")

    def _delete(self, name: str) -> None:
        """Delete an object that is ours; PyMOL's command takes patterns, and tells us of what the user deletes."""
        if name in self.objects():
            commanding.delete(name, _self=self.cmd)

    def _state_of_orbitals(self, molecule: str) -> int:
        """State whose geometry the orbitals of a molecule belong to: the last one that is marked."""
        if molecule not in self.objects():  # it was deleted or renamed, its surfaces were not
            return 1
        states = range(self.cmd.count_states(molecule), 0, -1)
        return next((state for state in states if _MARK in self._title(molecule, state)), 1)

    def _n_states(self, molecule: str, frame: int) -> int:
        """States of a molecule, at least as many as that of a frame."""
        return max(int(self.cmd.count_states(molecule)) if molecule in self.objects() else 0, frame + 1)

    def _group(self, molecule: str, names: str) -> None:
        groups, there = self.cmd.get_names_of_type("object:group"), {name.lower() for name in self.objects()}
        for candidate in map(self.legal_name, numbered(f"{molecule}_orb")):
            if candidate in groups or candidate.lower() not in there:
                self.cmd.group(candidate, names)
                return


def main_window() -> Any:
    """PyMOL's own window, or None where there is none that Qt has made."""
    try:
        from pymol import gui

        return gui.get_qtwindow()
    except Exception:  # there is no window, or the Qt it was made with is gone
        return None


def _timer(milliseconds: int, function: Callable[[], None]) -> Any:
    """A running timer of PyMOL's window, or None where there is no window."""
    window = main_window()
    if window is None:
        return None
    from pymol.Qt import QtCore

    timer = QtCore.QTimer()
    timer.moveToThread(window.thread())
    timer.timeout.connect(function)
    timer.setInterval(milliseconds)
    QtCore.QMetaObject.invokeMethod(timer, "start", QtCore.Qt.QueuedConnection)
    return timer

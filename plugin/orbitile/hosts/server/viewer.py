"""The viewer at the other end of the pipe: what it is to show is told in messages, docs/server.md, and in files."""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...exporters import plt
from ...exporters.xyz import xyz_of
from ...files.writing import written_atomically
from ...model.geometry import Molecule
from ...model.surface import Colouring, Surface
from ...model.volume import Volume
from ...session.declaration import brief
from ...session.look import Look
from ...session.shown import object_name
from ...session.volume_viewer import VolumeDrawing, VolumeViewer

_EVERY = 0.1
"""Seconds between two messages about progress."""

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
    period : float or None
        Seconds between two calls of `tick`; None while there is nothing to call.
    """

    def __init__(self, tell: Tell, folder: Path) -> None:
        super().__init__()
        self.there: set[str] = set()
        self.period: float | None = None
        self._volumes: dict[tuple[str, int | None], weakref.ref[Volume]] = {}
        self._tell, self._folder = tell, folder
        self._frames: dict[str, int] = {}
        self._going: dict[str, int] = {}
        self._again: list[Callable[[], None]] = []
        self._number = 0
        self._told = 0.0

    def set_there(self, names: set[str]) -> None:
        """Take note of the objects that the viewer has; of all others its volumes are gone too."""
        self.there = names
        self._volumes = {key: volume for key, volume in self._volumes.items() if key[0] in names}

    def set_frame(self, molecule: str, frame: int) -> None:
        """Take note of the frame that the viewer is at."""
        self._frames[molecule] = frame
        self._going.pop(molecule, None)

    def tick(self) -> None:
        """Call what is to be called again and again; what fails is told, and not called any more."""
        for function in list(self._again):
            try:
                function()
            except Exception as error:
                self._again.remove(function)
                self.say(f"defect of Orbitile: {type(error).__name__}: {brief(str(error))}")

    def add_molecule(self, name: str, atoms: Molecule, geometry: int) -> None:
        file = self._file(name, "xyz")
        file.write_text(xyz_of(atoms), encoding="utf-8")
        self.adopt(name, atoms.source)
        self.set_frame(name, geometry)
        self.there.add(name)
        message = {"event": "molecule", "name": name, "file": str(file), "frame": geometry}
        ghosts = int(atoms.is_ghost.sum())
        self._tell({**message, "ghosts": ghosts} if ghosts else message)

    def frame(self, molecule: str) -> int | None:
        return self._frames.get(molecule) if molecule in self.there else None

    def go_to(self, molecule: str, frame: int) -> None:
        if self._going.get(molecule) != frame:  # it is there when the viewer says so
            self._going[molecule] = frame
            self._tell({"event": "frame", "molecule": molecule, "frame": frame})

    def every(self, milliseconds: int, function: Callable[[], None]) -> bool:
        if function not in self._again:
            self._again.append(function)
            self.period = min(milliseconds / 1000, self.period or math.inf)
        return True

    def objects(self) -> set[str]:
        return self.there

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
        message: dict[str, Any] = {"event": "surface", "name": name, "molecule": molecule}
        message |= {"isovalue": drawing.isovalue, "phases": drawing.phases, "colours": look.colours}
        message |= {"transparency": look.transparency, "style": look.style}
        message["new"] = name not in self.there
        if colouring is not None:
            message["scale"] = {"low": colouring.low, "high": colouring.high}
            message["scale"] |= {"quantity": colouring.quantity, "unit": colouring.unit}
            message["scale"]["colour_map"] = colouring.colour_map
            self._volumes.pop((name, frame), None)  # shades stand beside the volume: both are sent
        if drawing.shades is not None:
            message["shades"] = str(self._written(drawing.shades.quantity, drawing.shades))
        if frame is not None:
            message["frame"] = frame
        self.there.add(name)
        self._tell(message)

    def set_transparency(self, name: str, transparency: float) -> None:
        self._tell({"event": "transparency", "name": name, "transparency": transparency})

    def put_volume(self, name: str, molecule: str, volume: Volume, frame: int | None = None) -> None:
        known = self._volumes.get((name, frame))
        file = None
        if known is None or known() is not volume:
            file = str(self._written(name, volume))
            self._volumes[name, frame] = weakref.ref(volume)
        message = {"event": "volume", "name": name, "molecule": molecule, "file": file}
        self._tell(message if frame is None else {**message, "frame": frame})

    def drop(self, name: str, frame: int) -> None:
        self._volumes.pop((name, frame), None)
        self._tell({"event": "drop", "name": name, "frame": frame})

    def remove(self, name: str) -> None:
        self.set_there(self.there - {name})
        self._tell({"event": "remove", "name": name})

    def progress(self, share: float) -> None:
        now = time.monotonic()
        if now - self._told > _EVERY:
            self._told = now
            self._tell({"event": "progress", "share": round(share, 3)})

    def say(self, text: str) -> None:
        self._tell({"event": "message", "text": text})

    def _written(self, name: str, volume: Volume) -> Path:
        file = self._file(name, "plt")
        with written_atomically(file) as temporary:
            plt.write(volume, temporary)
        return file

    def _file(self, name: str, suffix: str) -> Path:
        self._number += 1
        return self._folder / f"{self._number}-{object_name('', name)[:60]}.{suffix}"

"""What VMD is made to show through its Python module: molecules, volumes, isosurfaces. Here lengths become Angstrom.

A field is a molecule of VMD of its own, so that it can be hidden, deleted and rendered like one. It holds the volume,
and where a second field colours its surface, the volume of the colours.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import OrbitileError
from ...base.temporary import own_folder
from ...exporters.xyz import xyz_of
from ...files.encodings import plain
from ...model.elements import GHOST
from ...model.geometry import Molecule
from ...model.surface import Colouring, Surface
from ...model.units import angstrom
from ...model.volume import Volume
from ...pictures.look import Look
from ...session.host import Colour, VolumeDrawing, VolumeViewer

_VIEW = "center_matrix rotate_matrix scale_matrix global_matrix"

_SCALES = {"signed": "RWB", "sequential": "WBlk", "negative": "BlkW", "interaction": "BGR"}
"""What comes closest to `orbitile.surfaces.colour_maps.MAPS` among the colour scales of VMD."""

_DRAWN = {"surface": 0, "two-sided": 0, "mesh": 1, "dots": 2}
"""How VMD numbers the styles of an isosurface."""


class VMDViewer(VolumeViewer):
    """The VMD of this process as a host; see `orbitile.session.host.Host`.

    Parameters
    ----------
    vmd
        Its Python module.
    """

    def __init__(self, vmd: Any) -> None:
        self._vmd = vmd
        self._numbers: dict[str, int] = {}
        self._elements: dict[str, NDArray[np.int64]] = {}
        self._aside: dict[str, list[str]] = {}
        self._looks: dict[str, tuple[VolumeDrawing, Look, Colouring | None]] = {}
        self._volumes: dict[str, weakref.ref[Volume]] = {}

    def add_molecule(self, name: str, atoms: Molecule, geometry: int) -> None:
        molecule, molrep = self._vmd.molecule, self._vmd.molrep
        self.remove(name)
        with TemporaryDirectory(dir=own_folder()) as folder:
            file = Path(folder) / "molecule.xyz"
            file.write_text(xyz_of(atoms), encoding="utf-8")
            number = molecule.load("xyz", str(file))
        molecule.rename(number, name)
        molecule.set_frame(number, geometry)
        molrep.modrep(number, 0, style="CPK 1.0 0.3 20.0 20.0")
        if atoms.is_ghost.any():  # small clear balls without bonds
            molrep.modrep(number, 0, selection=f"not name {GHOST}")
            molrep.addrep(number)
            molrep.modrep(
                number,
                1,
                style="CPK 0.5 0.0 20.0 20.0",
                color="ColorID 6",
                selection=f"name {GHOST}",
                material="Transparent",
            )
        self._numbers[name], self._elements[name] = number, atoms.atomic_numbers
        self.adopt(name, atoms.source)

    def frame(self, molecule: str) -> int | None:
        return int(self._vmd.molecule.get_frame(self._numbers[molecule])) if molecule in self.objects() else None

    def go_to(self, molecule: str, frame: int) -> None:
        self._vmd.molecule.set_frame(self._numbers[molecule], frame)

    def geometries(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        if self.positions(name) is None:
            raise OrbitileError(f"no molecule that Orbitile has loaded is called {name!r}")
        number = self._numbers[name]
        frames = [self._places(number, frame) for frame in range(self._vmd.molecule.numframes(number))]
        return self._elements[name], np.array(frames, np.float64) * angstrom

    def positions(self, molecule: str) -> NDArray[np.float64] | None:
        frame = self.frame(molecule)
        if frame is None or molecule not in self._elements:
            return None
        return np.array(self._places(self._numbers[molecule], frame), np.float64) * angstrom

    def move(self, molecule: str, positions: NDArray[np.float64]) -> None:
        frame = self.frame(molecule)
        if frame is None or molecule not in self._elements:
            raise OrbitileError(f"no molecule that Orbitile has loaded is called {molecule!r}")
        self._places(self._numbers[molecule], frame)[:] = positions / angstrom

    def as_held(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        return (positions / angstrom).astype(np.float32).astype(np.float64) * angstrom

    def _places(self, number: int, frame: int) -> Any:
        """Coordinates of a frame in Angstrom, where VMD has them."""
        return self._vmd.vmdnumpy.timestep(number, frame)

    def objects(self) -> set[str]:
        return {name for name, number in self._numbers.items() if self._vmd.molecule.exists(number)}

    def hidden(self, surfaces: Mapping[str, str]) -> set[str]:
        return {name for name in surfaces if not self._vmd.molecule.get_visible(self._numbers[name])}

    def set_visible(self, name: str, molecule: str, visible: bool) -> None:
        self._vmd.molecule.set_visible(self._numbers[name], visible)
        if visible:
            self._vmd.molecule.set_visible(self._numbers[molecule], True)

    def set_aside(self, molecule: str, surfaces: Sequence[str]) -> None:
        self._aside[molecule] = [name for name in surfaces if name not in self.hidden(dict.fromkeys(surfaces, ""))]
        for name in (molecule, *self._aside[molecule]):
            self._vmd.molecule.set_visible(self._numbers[name], False)

    def bring_back(self, molecule: str) -> None:
        there = self.objects()
        for name in (molecule, *self._aside.pop(molecule)) if molecule in self._aside else ():
            if name in there:
                self._vmd.molecule.set_visible(self._numbers[name], True)

    def size(self, surface: Surface, volume: Volume) -> int:
        return volume.values.nbytes

    def put_surface(
        self,
        name: str,
        molecule: str,
        drawing: VolumeDrawing,
        look: Look,
        colouring: Colouring | None,
        frame: int | None = None,
    ) -> None:
        if frame not in (None, self.frame(molecule)):
            return  # the volume that is put last is the only one, and nobody tells when frames change
        if name not in self._aside.get(molecule, ()):
            self.bring_back(molecule)
        if drawing.shades is not None or name not in self.objects():
            self.remove(name)  # shades stand beside the volume: both are put
            with self._same_view(molecule) as numbers:
                numbers.append(self._vmd.molecule.new(name))
            self._numbers[name] = numbers[0]
        self._looks[name] = (drawing, look, colouring)
        if name in self._volumes:
            self._represent(name)

    def set_transparency(self, name: str, transparency: float) -> None:
        drawing, look, colouring = self._looks[name]
        self._looks[name] = (drawing, replace(look, transparency=transparency), colouring)
        self._represent(name)

    def put_volume(self, name: str, molecule: str, volume: Volume, frame: int | None = None) -> None:
        known = self._volumes.get(name)
        if frame not in (None, self.frame(molecule)) or (known is not None and known() is volume):
            return
        number, shades = self._numbers[name], self._looks[name][0].shades
        with self._same_view(molecule) as numbers:
            numbers.append(number)
            if known is not None:
                self._vmd.molecule.delete_volumetric(number, 0)
            self._add(number, volume)
            if shades is not None:
                self._add(number, shades)
        self._volumes[name] = weakref.ref(volume)
        self._represent(name)

    def drop(self, name: str, frame: int) -> None:
        pass  # volumes of VMD belong to a molecule, not to a frame: the latest is the only one

    def remove(self, name: str) -> None:
        if name in self.objects():
            self._vmd.molecule.delete(self._numbers[name])
        for known in (self._numbers, self._elements, self._sources, self._looks, self._volumes):
            known.pop(name, None)

    def colour(self, name: str) -> Colour:
        known = self._vmd.color.get_colors()
        if name.startswith(("#", "0x")):
            return super().colour(name)
        if name not in known:
            raise OrbitileError(f"colour: VMD knows {', '.join(known)}, got {name!r}")
        red, green, blue = known[name]
        return red, green, blue

    def say(self, text: str) -> None:
        print(f"Orbitile) {text}")

    @contextmanager
    def _same_view(self, parent: str) -> Iterator[list[int]]:
        """VMD turns everything to its first view for new data, and makes it the top molecule: both are undone.

        Molecules that the block puts into the list are seen from where `parent` is seen.
        """
        molecule, evaltcl = self._vmd.molecule, self._vmd.evaltcl
        views = {number: evaltcl(f"molinfo {number} get {{{_VIEW}}}") for number in molecule.listall()}
        top = molecule.get_top()
        new: list[int] = []
        yield new
        for number in new:
            view = views.get(self._numbers.get(parent, -1))
            if view is not None:
                views[number] = view
        for number, view in views.items():
            evaltcl(f"molinfo {number} set {{{_VIEW}}} {{{view}}}")
        if top in views and top != molecule.get_top():
            molecule.set_top(top)

    def _add(self, number: int, volume: Volume) -> None:
        """Add a volume. VMD wants a list of Python's floats, x fastest, and the edges of the box in full."""
        lattice = volume.lattice
        edges = lattice.axes * (np.array(lattice.shape)[:, None] - 1) / angstrom
        x, y, z = (tuple(edge) for edge in edges.tolist())
        self._vmd.molecule.add_volumetric(
            number,
            plain(volume.quantity),
            lattice.shape,
            volume.values.ravel(order="F").astype(np.float64).tolist(),
            origin=tuple((lattice.origin / angstrom).tolist()),
            xaxis=x,
            yaxis=y,
            zaxis=z,
        )

    def _represent(self, name: str) -> None:
        molrep, number = self._vmd.molrep, self._numbers[name]
        drawing, look, colouring = self._looks[name]
        while molrep.num(number) > len(drawing.phases):
            molrep.delrep(number, molrep.num(number) - 1)
        while molrep.num(number) < len(drawing.phases):
            molrep.addrep(number)
        material = self._material(look.transparency, matte=colouring is not None)
        for index, phase in enumerate(drawing.phases):
            style = f"Isosurface {phase * drawing.isovalue:.8g} 0 0 {_DRAWN[look.style]} 1 1"
            colour = f"ColorID {self._nearest(look.colours[phase < 0])}" if drawing.shades is None else "Volume 1"
            molrep.modrep(number, index, style=style, color=colour, selection="all", material=material)
            if drawing.shades is not None and colouring is not None:
                self._vmd.color.set_scale(method=_SCALES.get(colouring.colour_map, "RWB"))
                molrep.set_scaleminmax(number, index, colouring.low, colouring.high)

    def _material(self, transparency: float, *, matte: bool) -> str:
        """A material of this transparency, made at the first use; opacity is the other way round.

        A matte one does not gleam: its colours stand for values, and highlights would be read as zero.
        """
        material, name = self._vmd.material, f"Orbitile{'Matte' * matte}{round(100 * transparency):03d}"
        if name not in material.listall():
            material.add(name, copy="Opaque")
            material.change(name, opacity=1.0 - transparency)
            if matte:
                material.change(name, specular=0.0)
        return name

    def _nearest(self, colour: Colour) -> int:
        """The one of VMD's colours that looks closest: none of them is changed.

        Differences count as eyes see them, about: those of green most, those of red the more the redder both are.
        """
        known = np.array(list(self._vmd.color.get_colors().values()))
        redness = (known[:, 0] + colour[0]) / 2
        weights = np.stack([2 + redness, np.full(len(known), 4.0), 3 - redness], axis=1)
        return int(np.argmin(np.sum(weights * (known - colour) ** 2, axis=1)))

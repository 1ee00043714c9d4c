"""What Orbitile asks of the program that it works in; a host does this much, and nothing else of it is used.

Six methods make a `Viewer`, for pictures that stand still; a `TrajectoryViewer` has frames as well. All else is
optional, in groups by what it is for, and each method of a group has a default that does nothing or refuses: a host
overrides the groups that it has.

| group | what a host that has it can do |
|---|---|
| `Atoms` | tell where atoms are and move them: live molecules, scans, analyses of what has no wavefunction |
| `Selections` | tell which atoms its user means, and select some |
| `Structures` | tell residues, bonds and charges of atoms: regions that are computed in their surroundings |
| `Visibility` | hide surfaces and molecules for a while |
| `Panes` | show surfaces side by side, with titles |
| `Views` | tell from where its user looks: pictures as they are seen, ray tracing |
| `Drawings` | draw what analyses find |
| `Loop` | call functions while its window is alive |
| `Settings` | keep what the user sets from one run to the next |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import Future, wait
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OrbitileError
from ..model.geometry import Molecule
from ..model.report import Drawing
from ..model.structure import Residue, Structure
from ..model.surface import Colouring, Surface
from ..model.volume import Volume
from ..pictures.look import Look
from ..pictures.writing import Pixels
from ..surfaces.colour_volume import colour_volume
from .declaration import PYTHON
from .viewpoint import Viewpoint

Colour = tuple[float, float, float]
"""Red, green and blue from 0 to 1."""


class Atoms:
    """Where atoms are in the program, and how they are moved."""

    def geometries(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Atomic numbers and positions, shape (n_frames, n_atoms, 3) in bohr, of an object that came from anywhere.

        Raises
        ------
        OrbitileError
            When there is no such molecule, or it cannot be given.
        """
        raise OrbitileError(
            "this viewer cannot hand over atoms: save them as xyz, and orbitile scf computes orbitals from the file"
        )

    def partial_charges(self, molecule: str) -> NDArray[np.float64] | None:
        """Partial charges of the atoms of an object in e; None where they have none, or the program does not say."""
        return None

    def positions(self, molecule: str) -> NDArray[np.float64] | None:
        """Where the atoms of a molecule are now, shape (n_atoms, 3) in bohr; None where the program does not say.

        It is asked some thirty times a second while a molecule is live.
        """
        return None

    def move(self, molecule: str, positions: NDArray[np.float64]) -> None:
        """Put the atoms of a molecule somewhere else; positions as from `positions`.

        Raises
        ------
        OrbitileError
            When the program cannot do that, or there is no such molecule.
        """
        raise OrbitileError("this viewer cannot move atoms")

    def kept_atoms(self, molecule: str) -> Any:
        """What `restore_atoms` brings back: atoms, bonds and how they are drawn; None where the program cannot."""
        return None

    def restore_atoms(self, molecule: str, kept: Any) -> None:
        """Put atoms that were kept in the place of those that a molecule has, as the same object."""

    def as_held(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """What `positions` will give, to the bit, when atoms are put there, of one geometry or several.

        A viewer may hold fewer digits.
        """
        return positions

    def formal_charge(self, molecule: str) -> int:
        """Charge of a molecule that has no wavefunction, as its own file told the program; by default none."""
        return 0

    def rebond(self, molecule: str) -> None:
        """Draw the bonds of a molecule by where its atoms are now; by default they stay as they are drawn."""

    def is_dragging(self) -> bool:
        """Whether the user holds a button of the mouse in the picture."""
        return False


class Selections:
    """Which atoms the user means."""

    def picked(self, molecule: str, names: Sequence[str] = ()) -> tuple[int, ...]:
        """Atoms of a molecule, from 0, that the user has picked, in order; or those that the program knows by names.

        Raises
        ------
        OrbitileError
            When a name does not stand for one atom of the molecule.
        """
        if names:
            raise OrbitileError(f"this viewer knows no atom called {names[0]!r}: give numbers, such as 1-2-3-4")
        return ()

    def atoms(self, molecule: str, selection: str) -> tuple[int, ...]:
        """Atoms of a molecule, from 0, that the program knows by a selection in its own language.

        Of selections joined by "or" come those of the first first, where the program can tell.

        Raises
        ------
        OrbitileError
            When there are none, or the program has no such language.
        """
        raise OrbitileError(
            f"this viewer knows no selections: give numbers of atoms such as 1-6,9, got {selection[:80]!r}"
        )

    def selected(self, molecule: str) -> tuple[int, ...]:
        """Atoms of a molecule, from 0, that the user has selected or picked, those picked in the order of picking.

        There are none where the program does not say.
        """
        return ()

    def select(self, molecule: str, atoms: Sequence[int]) -> None:
        """Have atoms of a molecule, from 0, be those that are selected; by default nothing happens."""


class Structures:
    """Atoms with what a protein's file tells of them."""

    def structure(self, selection: str, surroundings: str = "") -> tuple[Structure, NDArray[np.int64]]:
        """Atoms that are seen with residues, bonds and charges, and which of them a selection names.

        Parameters
        ----------
        selection
            In the language of the program.
        surroundings
            What else is to be there, in the same; empty for all that is shown and has no wavefunction.

        Raises
        ------
        OrbitileError
            When the selection is none or names no atoms, or the program does not tell what atoms are.
        """
        raise OrbitileError(
            "this viewer does not tell residues and charges of atoms: save them as PDB or PQR, and orbitile region "
            "computes a region from the file"
        )

    def regions(self) -> dict[str, str]:
        """Selections that somebody may want the electrons of, by what they are called in a menu; by default none.

        What the user has selected comes first, then ligands.
        """
        return {}

    def add_hydrogens(self, selection: str) -> None:
        """Add hydrogen atoms where they are missing in a selection; by default nothing happens."""

    def show_residue(self, residue: Residue) -> bool:
        """Bring a residue into view, and select it; says whether there is one that the program knows."""
        return False


class Visibility:
    """What is hidden for a while."""

    def set_aside(self, molecule: str, surfaces: Sequence[str]) -> None:
        """Hide a molecule with its surfaces, so that they do not cover another.

        They come back when the user shows the molecule, or another surface of it is put. By default nothing happens.
        """

    def bring_back(self, molecule: str) -> None:
        """Show a molecule that was set aside."""

    def hidden(self, surfaces: Mapping[str, str]) -> set[str]:
        """Those of surfaces that are there and not seen, since the user has hidden them or the group they are in.

        They are given with their molecules.
        """
        return set()

    def set_visible(self, name: str, molecule: str, visible: bool) -> None:
        """Have a surface of a molecule seen, or not for a while.

        Raises
        ------
        OrbitileError
            When the program cannot do that.
        """
        raise OrbitileError("this viewer cannot hide surfaces: orb_delete deletes one")


class Panes:
    """Surfaces side by side."""

    def set_grid(self, places: Mapping[str, int]) -> None:
        """Show surfaces side by side, each with its molecule, at places counted from 1; of none, end that.

        By default they stay where they are, in one another.
        """

    def entitle(self, titles: Mapping[str, tuple[str, str]]) -> None:
        """Write at surfaces that stand side by side what they are, in place of what was written before.

        Each is given with its molecule and its title. By default nothing happens.
        """


class Views:
    """From where the user looks, and pictures that the program makes itself."""

    def look_at(self, names: Sequence[str], how: str) -> None:
        """Bring molecules and surfaces into view: zoom keeps the direction, orient looks along the axes of molecules.

        By default the program does that by itself, or nothing happens.
        """

    def centre(self, place: Sequence[float]) -> None:
        """Bring a place, in bohr, to the middle of the picture; by default nothing happens."""

    def viewpoint(self, n_frames: int = 0) -> Viewpoint | None:
        """From where the user looks at which atoms; None where the program does not say.

        With a number of frames, also where the atoms are at each of them.
        """
        return None

    def directions(self) -> NDArray[np.float64] | None:
        """What points to the right, up, and towards the user, shape (3, 3); None where the program does not say.

        For pictures of what is shown in a program that has no `viewpoint`.
        """
        return None

    def ray_tracing(self, surfaces: Set[str]) -> tuple[Callable[..., Pixels], Any]:
        """A function of a module that traces what is shown, in a worker process, and the scene, its first argument.

        The others are those of `orbitile.session.picture.DrawPane`.

        Parameters
        ----------
        surfaces : set of str
            What the scene is to do without: a pane has its surfaces.

        Raises
        ------
        OrbitileError
            When the program has no ray tracer.
        """
        raise OrbitileError("by: this viewer has no ray tracer; the renderer of Orbitile draws pictures everywhere")


class Drawings:
    """What analyses draw at molecules."""

    def put_drawings(self, molecule: str, name: str, drawings: Sequence[Drawing]) -> None:
        """Show what an analysis of this name has found at a molecule: points, paths, values at atoms.

        They take the place of what it had found before, and go with the molecule; of none, those before are taken away.
        Colours and labels that atoms had before are theirs again then. By default nothing is shown.
        """


class Loop:
    """The loop of the program, in which its window is alive, and how far the work is."""

    def every(self, milliseconds: int, function: Callable[[], None]) -> bool:
        """Call a function again and again, from the thread that runs the commands; once is enough for each function.

        False where there is no loop that would do it: in a script.
        """
        return False

    def has_window(self) -> bool:
        """Whether there is a window, so that nothing may keep its thread busy for long."""
        return False

    def wait(self, future: Future[Any]) -> None:
        """Wait until a future is done; where this is the thread of a window, that stays alive meanwhile.

        So the user may do anything before this returns. A future that can still be cancelled is, when the program
        quits.
        """
        wait([future])

    def progress(self, share: float) -> None:
        """Share of the work that is done, from 0 to 1; called from any thread."""


class Settings:
    """What is kept from one run to the next."""

    def settings(self) -> dict[str, Any]:
        """What `keep_settings` was given last, if need be by an earlier run; empty at first."""
        return {}

    def keep_settings(self, settings: dict[str, Any]) -> None:
        """Keep what the user has set, in plain types, from one run to the next."""


class Viewer(Atoms, Selections, Structures, Visibility, Panes, Views, Drawings, Loop, Settings, ABC):
    """A program that shows molecules, volumes and surfaces under names.

    A field that is shown has one name, which its surface and its volume share; how the program calls its own objects
    for them is its own affair. Lengths arrive in bohr. All methods but `drawing` and `progress` are called from the
    thread that runs the commands.

    Attributes
    ----------
    draws_volumes : bool
        Whether it draws surfaces from the volumes, so that each is to be put with its own.
    volume_styles : tuple of str
        Those of `orbitile.pictures.look.VOLUME_STYLES` that it can draw.
    syntax : Syntax
        How its users type commands; by default in Python.
    """

    draws_volumes = False
    volume_styles: tuple[str, ...] = ()
    syntax = PYTHON

    @abstractmethod
    def add_molecule(self, name: str, atoms: Molecule, geometry: int) -> None:
        """Show the atoms at one of the geometries, and `adopt` their source.

        Where the program has states or frames, there is one for each geometry. The given one is shown, and surfaces
        that name no frame belong to it.
        """

    @abstractmethod
    def objects(self) -> set[str]:
        """Names of all that is there: molecules and fields alike, less what the user has deleted."""

    @abstractmethod
    def put_surface(self, name: str, molecule: str, drawing: Any, look: Look, colouring: Colouring | None) -> None:
        """Add or replace the surface of a field of a molecule, from what `drawing` gave for the same look.

        Where there is a colouring, the program explains its colours.
        """

    @abstractmethod
    def set_transparency(self, name: str, transparency: float) -> None:
        """Change the transparency of a surface, 0 opaque to 1, without the rest of it."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Take away surface and volume of a field, if they are there."""

    @abstractmethod
    def say(self, text: str) -> None:
        """Tell the user something, in one line."""

    # ---- what has a default: molecules and names

    @cached_property
    def _sources(self) -> dict[str, str]:
        """Where the wavefunctions of molecules are, for `adopt` and `molecules`."""
        return {}

    def adopt(self, name: str, source: str) -> None:
        """Remember of a molecule where its wavefunctions are; by default as long as this process lives."""
        self._sources[name] = source

    def molecules(self) -> dict[str, str]:
        """Molecules that have a wavefunction, in the order of loading, with the source that was to be remembered."""
        there = self.objects()
        return {name: source for name, source in self._sources.items() if name in there}

    def structures(self) -> list[str]:
        """Molecules that are there, those without a wavefunction too; by default those that have one."""
        return list(self.molecules())

    def renamed(self) -> dict[str, str]:
        """Molecules that the user has given other names since this was asked last: new names by those they had."""
        return {}

    def names(self) -> set[str]:
        """Names that something new is not to have; by default those of all that is there."""
        return self.objects()

    def legal_name(self, name: str) -> str:
        """The name that the program would give an object that is to be called `name`."""
        return name

    def parts(self, name: str) -> set[str]:
        """Names of the objects of the program that a field may have."""
        return {name}

    # ---- surfaces and volumes

    def drawing(self, surface: Surface, look: Look) -> Any:
        """What the program draws a surface from, for `put_surface`; the program is not touched.

        It takes longest of all, and may be called from another thread. By default the surface itself.
        """
        return surface

    def redraw_surface(self, name: str, molecule: str, drawing: Any, look: Look, colouring: Colouring | None) -> None:
        """Draw a surface that is there anew, in the same look; as often as some ten times a second."""
        self.put_surface(name, molecule, drawing, look, colouring)

    def put_volume(self, name: str, molecule: str, volume: Volume) -> None:
        """Add or replace the volume of a field, for the program's own tools; by default it has none."""

    def colour(self, name: str) -> Colour:
        """A colour by its name, or #rrggbb, or 0xrrggbb as PyMOL writes it.

        Raises
        ------
        OrbitileError
            When there is none of this name.
        """
        from PIL import ImageColor

        try:
            red, green, blue = ImageColor.getrgb(name.replace("0x", "#", 1))[:3]
        except ValueError:
            raise OrbitileError(f"colour: expected a name such as blue, or #rrggbb, got {name[:80]!r}") from None
        return red / 255, green / 255, blue / 255


class TrajectoryViewer(Viewer):
    """A viewer that has frames: surfaces and volumes can be put for one of them, beside those of the others."""

    @abstractmethod
    def frame(self, molecule: str) -> int | None:
        """Frame that is shown of a molecule, from 0; None where there is no such molecule."""

    @abstractmethod
    def go_to(self, molecule: str, frame: int) -> None:
        """Show another frame of a molecule."""

    @abstractmethod
    def put_surface(
        self,
        name: str,
        molecule: str,
        drawing: Any,
        look: Look,
        colouring: Colouring | None,
        frame: int | None = None,
    ) -> None:
        """As for a `Viewer`; of one frame, where one is given."""

    @abstractmethod
    def put_volume(self, name: str, molecule: str, volume: Volume, frame: int | None = None) -> None:
        """As for a `Viewer`; of one frame, where one is given."""

    @abstractmethod
    def drop(self, name: str, frame: int) -> None:
        """Take away surface and volume of one frame."""

    def turn_to(self, name: str, molecule: str, frame: int) -> None:
        """Take note that another frame of a surface is seen, which has been put: what is drawn of one alone follows."""

    @abstractmethod
    def size(self, surface: Surface, volume: Volume) -> int:
        """Bytes that the program takes for one frame of a field, about."""


def trajectory_viewer(viewer: Viewer) -> TrajectoryViewer:
    """The same viewer, for what needs frames.

    Raises
    ------
    OrbitileError
        When it has none.
    """
    if not isinstance(viewer, TrajectoryViewer):
        raise OrbitileError("this viewer has no frames: trajectories cannot be shown, only files of one geometry")
    return viewer


class VolumeDrawing(NamedTuple):
    """What a surface is drawn from, beside the volume of its field.

    Attributes
    ----------
    isovalue : float
    phases : list of int
        Of 1 and -1, those that the surface has.
    shades : Volume or None
        Colours the surface, in place of the two.
    """

    isovalue: float
    phases: list[int]
    shades: Volume | None


class VolumeViewer(TrajectoryViewer):
    """A viewer that draws surfaces from the volumes that it is given with them."""

    draws_volumes = True

    def drawing(self, surface: Surface, look: Look) -> VolumeDrawing:
        """What a surface is drawn from, beside the volume of its field; see `Viewer.drawing`."""
        phases = [phase for phase in (1, -1) if np.any(surface.phases == phase)]
        shades = colour_volume(surface) if surface.colouring is not None and phases else None
        return VolumeDrawing(surface.isovalue, phases, shades)

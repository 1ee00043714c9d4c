"""What is shown in one viewer. Only the shelf knows it, and nothing but the shelf changes it.

Commands, films and the window all put surfaces here and take them away here; the shelf has the viewer do it, and tells
its observers what else happens to a surface: it is removed, or it or its molecule gets another name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..base.arguments import brief
from ..base.errors import OrbitileError
from ..model.surface import Colouring
from ..model.volume import Volume
from ..pictures.look import scale_of
from .host import Viewer, trajectory_viewer
from .shown import Shown, numbered, object_name
from .source import changes


class Observer(Protocol):
    """Who is told of what happens to surfaces."""

    def surface_removed(self, name: str) -> None:
        """It is no longer shown."""

    def surface_renamed(self, old: str, new: str) -> None:
        """The user has given it another name."""

    def molecule_renamed(self, old: str, new: str) -> None:
        """The user has given a molecule another name, which its surfaces follow."""


class Shelf:
    """What is shown, by name of the surface, the one shown last at the end.

    Parameters
    ----------
    viewer : Viewer
        Shows it.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._shown: dict[str, Shown] = {}
        self._places: dict[str, int] = {}
        self._grid: tuple[str, ...] = ()
        self._renamed: dict[str, str] = {}
        self._observers: list[Observer] = []

    def observe(self, observer: Observer) -> None:
        """Tell somebody what happens to surfaces from now on."""
        self._observers.append(observer)

    def leave(self, observer: Observer) -> None:
        """Tell somebody nothing any more."""
        self._observers.remove(observer)

    # ---- what there is

    def __contains__(self, name: object) -> bool:
        return name in self._shown

    def __getitem__(self, name: str) -> Shown:
        return self._shown[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shown)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._shown)

    def __len__(self) -> int:
        return len(self._shown)

    def present(self) -> list[str]:
        """Surfaces that are shown and have not been deleted by the user."""
        names = self._viewer.objects()
        return [name for name in self._shown if name in names]

    def last_of(self, molecule: str) -> str:
        """The surface of a molecule that was shown last; empty for none."""
        return next((name for name in reversed(self.present()) if self._shown[name].molecule == molecule), "")

    def place(self, name: str) -> int:
        """Where a surface stands in a list of what is shown: a number that stays the same while it is there."""
        return self._places[name]

    @property
    def grid(self) -> tuple[str, ...]:
        """Surfaces that stand side by side; empty where none do."""
        return self._grid

    def molecule_now(self, molecule: str) -> str:
        """What a molecule is called, which may have been renamed."""
        return molecule if molecule in self._viewer.objects() else self._renamed.get(molecule, molecule)

    def name_of(self, molecule: str, field: str) -> str:
        """Name for the surface of a field: its own, if there is one, otherwise one that nothing else has."""
        taken = {name.lower() for name in self._viewer.names()}
        for candidate in numbered(object_name(molecule, field)):
            name = self._viewer.legal_name(candidate)
            known = self._shown.get(name)
            if known is not None and (known.molecule, known.request.field) == (molecule, field):
                return name
            if not {part.lower() for part in self._viewer.parts(name)} & taken:
                return name
        raise AssertionError  # there are numbers enough

    # ---- showing

    def put(self, name: str, shown: Shown, drawing: Any, colouring: Colouring | None) -> None:
        """Add or replace a surface, which then is the one shown last; of a trajectory that of one frame.

        Parameters
        ----------
        name
            Of the surface.
        shown
            What it shows.
        drawing
            What `Viewer.drawing` made of it.
        colouring
            Its colours by a second field, if it has such.
        """
        self._put(name, shown, drawing, colouring)
        self._shown.pop(name, None)
        self._shown[name] = replace(shown, scale=scale_of(colouring))
        self._places.setdefault(name, max(self._places.values(), default=0) + 1)

    def redraw(self, name: str, shown: Shown, drawing: Any, colouring: Colouring | None) -> None:
        """Draw a surface that is there anew, in the same look: where it is moves, or what it shows changes a little."""
        self._viewer.redraw_surface(name, shown.molecule, drawing, shown.look, colouring)
        self._shown[name] = replace(shown, scale=scale_of(colouring))

    def note(self, name: str, shown: Shown) -> None:
        """Take note of what a surface is to show that stays as it is drawn."""
        self._shown[name] = shown

    def put_frame(self, name: str, shown: Shown, drawing: Any, colouring: Colouring | None) -> None:
        """Add or replace the surface of one frame, beside the one that is seen, which stays what is shown."""
        self._put(name, self._as_seen(name, shown), drawing, colouring)

    def _put(self, name: str, shown: Shown, drawing: Any, colouring: Colouring | None) -> None:
        what, frame = (name, shown.molecule, drawing, shown.look, colouring), shown.request.frame
        if frame is None:
            self._viewer.put_surface(*what)
        else:
            trajectory_viewer(self._viewer).put_surface(*what, frame)

    def put_volume(self, name: str, shown: Shown, volume: Volume) -> None:
        """Add or replace the volume of a surface, of a trajectory that of one frame."""
        if shown.request.frame is None:
            self._viewer.put_volume(name, shown.molecule, volume)
        else:
            trajectory_viewer(self._viewer).put_volume(name, shown.molecule, volume, shown.request.frame)

    def turn_to(self, name: str, shown: Shown) -> None:
        """Another frame of a surface is seen: what acts on the surface acts on this one."""
        if name in self._shown:
            self._shown[name] = self._as_seen(name, shown)
            if shown.request.frame is not None:
                trajectory_viewer(self._viewer).turn_to(name, shown.molecule, shown.request.frame)

    def _as_seen(self, name: str, shown: Shown) -> Shown:
        """Another frame of a surface with what was set for all of them since the film began."""
        seen = self._shown[name]
        look = replace(shown.look, transparency=seen.look.transparency)
        return replace(shown, look=look, kept=seen.kept, scale=seen.scale)

    def set_transparency(self, name: str, transparency: float) -> None:
        """Change the transparency of a surface, of all its frames."""
        shown = self._shown[name]
        self._shown[name] = replace(shown, look=replace(shown.look, transparency=transparency))
        self._viewer.set_transparency(name, transparency)

    def choose(self, name: str) -> None:
        """Have what acts on the surface shown last act on this one."""
        self._shown[name] = self._shown.pop(name)

    def replace(self, name: str, other: str) -> None:
        """Take a surface away, and have another one stand in its place of the list."""
        if name in self._shown:
            self._places[other] = self._places[name]
            self.remove(name)

    def arrange(self, names: Sequence[str]) -> None:
        """Show surfaces side by side until one of them is removed; of none, end that."""
        if self._grid or names:
            self._grid = tuple(names)
            self._viewer.set_grid({name: place for place, name in enumerate(self._grid, 1)})
            self._viewer.entitle(
                {name: (self._shown[name].molecule, self._shown[name].quantity) for name in self._grid}
            )

    def keep(self, name: str, kept: bool) -> None:
        """Have a surface stay when a window shows the next field, or no longer."""
        self._shown[name] = replace(self._shown[name], kept=kept)

    def set_visible(self, name: str, visible: bool) -> None:
        """Have a surface seen, or not for a while; errors as of `Viewer.set_visible`."""
        self._viewer.set_visible(name, self._shown[name].molecule, visible)

    def drop_frame(self, name: str, frame: int) -> None:
        """Take one frame of a surface away."""
        trajectory_viewer(self._viewer).drop(name, frame)

    def clear(self, name: str) -> None:
        """Take away what the viewer has of a surface, all frames, since something else is put there."""
        if name in self._viewer.objects():
            self._viewer.remove(name)

    def remove(self, name: str) -> None:
        """Take a surface and its volume away."""
        self._viewer.remove(name)
        self._forget(name)

    def _forget(self, name: str) -> None:
        self._shown.pop(name, None)
        self._places.pop(name, None)
        if name in self._grid:
            self.arrange(())
        for observer in self._observers:
            observer.surface_removed(name)

    # ---- what the user does in the viewer

    def follow(self) -> None:
        """Take note of what the user has renamed or deleted: surfaces go with their molecule."""
        for old, new in self._viewer.renamed().items():
            self._renamed[old] = new
            self._renamed.pop(new, None)
            for name, shown in self._shown.items():
                if shown.molecule == old:
                    self._shown[name] = replace(shown, molecule=new)
            for observer in self._observers:
                observer.molecule_renamed(old, new)
        if not self._shown:
            return
        there = self._viewer.objects()
        for name, shown in list(self._shown.items()):
            if name not in there or shown.molecule not in there:
                self.remove(name)

    def look(self) -> None:
        """The same after a single change, at little cost where that was of nothing that is shown."""
        expected = {*self._shown, *(shown.molecule for shown in self._shown.values())}
        if expected and not expected <= self._viewer.objects():
            self.follow()

    def rename(self, old: str, new: str) -> bool:
        """Take note of an object that the user has renamed; says whether it is a surface, whose volume is to follow."""
        there = self._viewer.objects()
        is_surface = old in self._shown and old not in there and new in there and new not in self._shown
        if is_surface:
            self._shown = {new if name == old else name: shown for name, shown in self._shown.items()}
            self._places[new] = self._places.pop(old)
            self._grid = tuple(new if name == old else name for name in self._grid)
            self.keep(new, True)
            for observer in self._observers:
                observer.surface_renamed(old, new)
        self.look()
        return is_surface

    # ---- saved sessions of the host

    def saved(self) -> dict[str, Any]:
        """What is shown, in plain types, for a host that saves its own session."""
        self.follow()
        return {name: self._shown[name].message() for name in self.present()}

    def restore(self, saved: Any) -> None:
        """Take up what `saved` gave; it may be merged into what is there.

        The user is told of what is damaged or of another version, and of files that are gone or have changed: those
        surfaces stay as they were saved.
        """
        restored = {}
        saved = saved if isinstance(saved, Mapping) else {}
        for name, message in saved.items():
            try:
                restored[name] = Shown.from_message(message)
            except OrbitileError as error:
                self._viewer.say(f"{brief(name)} is shown as saved, and cannot be changed: {error}")
        there = self._viewer.objects()
        for name in [name for name, shown in self._shown.items() if name in saved or shown.molecule not in there]:
            self._forget(name)  # it was replaced by what was saved, of which nothing is to be taken away
        restored = {name: shown for name, shown in restored.items() if {name, shown.molecule} <= there}
        self._shown.update(restored)  # a host may have saved a surface without its molecule
        for name in restored:
            self._places[name] = max(self._places.values(), default=0) + 1
        self.follow()
        sources = {shown.request.path for shown in restored.values()}
        for problem in sorted({problem for source in sources for problem in changes(source)}):
            self._viewer.say(f"{problem}: its surfaces are shown as saved, and cannot be changed")

"""The molecules of a PyMOL that came from wavefunctions: their objects, the titles that mark them, and their groups."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from pymol import commanding, editing

from ...exporters.xyz import xyz_of
from ...model.elements import GHOST
from ...model.geometry import Molecule
from ...renderer import default_camera
from ...session.shown import numbered
from ...session.source import files_of, is_trajectory

_MARK = " orbitile:"
"""In the title of an object that was loaded from a wavefunction: before it stands the name of its file, which PyMOL
shows beside that of the object, behind it the key of its source, a dot, and a mark of this object alone. A title stays
with an object when it is renamed, and in a saved session; it has room for 255 characters."""

_CARBON = "grey60"
"""Colour of carbon: PyMOL would give each molecule another one, and the colours of orbitals would mix with it."""

_END_ON = 0.4
"""Largest visible share of the length, or of the width, at which a molecule is turned into view."""
_FLAT = 0.05
"""Thickness of a flat molecule, in units of its width."""

_MARGIN = 2.5
"""Margin in Angstrom around the atoms in view, which most surfaces need."""


SAVED = ("orbitile_sources", "orbitile_aside")
"""Parts of a saved session: where molecules come from, and what is set aside with them."""


class Molecules:
    """The molecules of one PyMOL that came from wavefunctions.

    Parameters
    ----------
    cmd
        The `cmd` of a PyMOL.

    Attributes
    ----------
    sources : dict of str to str
        Where molecules come from, by the keys in their titles.
    """

    def __init__(self, cmd: Any) -> None:
        self.cmd = cmd
        self.sources: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._aside: dict[str, set[str]] = {}
        self._members: dict[str, set[str]] = {}
        self._seen_molecules: set[str] = set()

    def add(self, name: str, atoms: Molecule, geometry: int) -> None:
        """Show atoms, a state for each geometry."""
        cmd = self.cmd
        self.bring_back({name})
        delete(cmd, name)  # PyMOL would merge the atoms, and keep the states
        if cmd.get_state() > max(cmd.count_frames(), 1):  # it stands at a state that the former object had
            cmd.frame(1)
            cmd.set("state", 1)
        cmd.load_raw(xyz_of(atoms), "xyz", name, 1, zoom=0)
        if len(atoms.geometries) > 1:
            if is_trajectory(atoms.source):  # its surfaces have states too, so the slider moves all of them
                cmd.frame(geometry + 1)
            else:
                cmd.set("state", geometry + 1)
                cmd.set("state", geometry + 1, name)
            cmd.rebond(name, geometry + 1)
        title = self._title_with_mark(atoms.source)
        for state in {1, geometry + 1}:
            cmd.set_title(name, state, title)
        self._seen = self._marks()
        cmd.show_as("sticks spheres", name)
        for setting, value in (("stick_radius", 0.12), ("sphere_scale", 0.22)):
            cmd.set(setting, value, name)
        cmd.color(_CARBON, f"%{name} and elem C")
        if atoms.is_ghost.all():  # it stands for the atoms that a file does not name
            cmd.hide("everything", name)
        elif atoms.is_ghost.any():
            ghosts = f"%{name} and elem {GHOST}"
            cmd.unbond(ghosts, f"%{name}")
            cmd.color("grey80", ghosts)
            for setting, value in (("sphere_scale", 0.1), ("sphere_transparency", 0.4)):
                cmd.set(setting, value, ghosts)
        self._draw_surfaces_last()

    def _draw_surfaces_last(self) -> None:
        """Have atoms drawn before surfaces, through which they are not seen otherwise.

        PyMOL draws objects in the order in which they were made, or enabled.
        """
        for name in set(self.cmd.get_names_of_type("object:cgo")) & self._enabled():
            self.cmd.disable(name)
            self.cmd.enable(name)

    def adopt(self, name: str, source: str) -> None:
        """Remember where the wavefunctions of a molecule are that came from elsewhere."""
        self.cmd.set_title(name, 1, self._title_with_mark(source))
        self._seen = self._marks()

    def known(self) -> dict[str, str]:
        """Molecules by name, with their sources."""
        keys = {name: mark.partition(".")[0] for name, mark in self._marks().items()}
        return {name: self.sources[key] for name, key in keys.items() if key in self.sources}

    def renamed(self) -> dict[str, str]:
        """Molecules that have been renamed since this was asked last, whose groups follow: new names by old ones."""
        before, self._seen = self._seen, self._marks()
        new = {mark: name for name, mark in reversed(self._seen.items()) if before.get(name) != mark}
        gone = {name: mark for name, mark in before.items() if self._seen.get(name) != mark}
        for name, mark in gone.items():
            self._move_group(name, new.get(mark))
        names = {name: new[mark] for name, mark in gone.items() if mark in new}
        for name in gone.keys() & self._aside.keys():
            others = self._aside.pop(name) - {name}
            if name in names:
                self._aside[names[name]] = {names[name], *others}
        return names

    def state_of_orbitals(self, molecule: str) -> int:
        """State whose geometry the orbitals of a molecule belong to: the last one that is marked."""
        if molecule not in self.cmd.get_names("objects"):  # it was deleted or renamed, its surfaces were not
            return 1
        states = range(self.cmd.count_states(molecule), 0, -1)
        return next((state for state in states if _MARK in self._title(molecule, state)), 1)

    # ---- saved sessions

    def saved(self) -> dict[str, Any]:
        """What is kept with a session, in plain types: parts by name."""
        aside = {name: sorted(seen) for name, seen in self._aside.items()}
        return dict(zip(SAVED, (dict(self.sources), aside), strict=True))

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take up the parts of a session, as far as they are not damaged; it may be merged into what is there."""
        sources, aside = map(saved.get, SAVED)
        for key, text in sources.items() if isinstance(sources, dict) else ():
            if isinstance(key, str) and isinstance(text, str):
                self.sources[key] = text
        for name, seen in aside.items() if isinstance(aside, dict) else ():
            if isinstance(name, str) and isinstance(seen, list):
                self._aside[name] = {part for part in seen if isinstance(part, str)}

    # ---- what is seen

    def look_at(self, names: Sequence[str], how: str) -> None:
        """Bring objects into view, as `Viewer.look_at` says; not where the user has told PyMOL not to."""
        if not names or how == "nothing" or not self.cmd.get_setting_boolean("auto_zoom"):
            return
        molecules = set(self.cmd.get_names_of_type("object:molecule"))
        if how == "orient":
            self.cmd.orient(" ".join(name for name in names if name in molecules))
        elif molecules & self._enabled() <= set(names):  # nothing else is there whose view would change
            self._turn_from_end(molecules & set(names))
        self.cmd.zoom(" ".join(names), _MARGIN)

    def _turn_from_end(self, names: Set[str]) -> None:
        """Look at molecules as a picture of them does, where they are seen end-on or, being flat, edge-on."""
        found = [self.cmd.get_coords(f"%{name}", self.cmd.get_object_state(name)) for name in names]
        places = np.concatenate([np.zeros((0, 3)), *(each for each in found if each is not None)])
        if len(places) < 2:
            return
        view = self.cmd.get_view()
        centred = places - places.mean(axis=0)
        whole = np.linalg.svd(centred, compute_uv=False)
        seen = np.linalg.svd(centred @ np.array(view[:9]).reshape(3, 3)[:, :2], compute_uv=False)
        is_flat = len(places) > 2 and whole[2] < _FLAT * whole[1]
        if seen[0] < _END_ON * whole[0] or (is_flat and seen[1] < _END_ON * whole[1]):
            self.cmd.set_view([*default_camera(places).rotation.T.ravel().tolist(), *view[9:]])

    def set_aside(self, molecule: str, others: Set[str]) -> None:
        """Hide a molecule and other objects, as far as they are seen, until it is brought back or the user shows it."""
        seen = {molecule, *others} & self._enabled()
        if seen:
            self._aside[molecule] = seen
        for name in seen:
            self.cmd.disable(name)

    def bring_back(self, molecules: Set[str]) -> None:
        """Show what was set aside with molecules."""
        there = self.cmd.get_names("objects") if molecules & self._aside.keys() else ()
        for molecule in molecules & self._aside.keys():
            seen = self._aside.pop(molecule).intersection(there)
            for name in sorted(seen, key=lambda name: name != molecule):  # atoms behind surfaces are drawn first
                self.cmd.enable(name)

    def follow_user(self) -> None:
        """Show what was set aside with a molecule that the user shows again, and draw its atoms before surfaces."""
        enabled = self._enabled()
        if self._aside:
            self.bring_back(enabled)
        seen = enabled.intersection(self.cmd.get_names_of_type("object:molecule"))
        if seen - self._seen_molecules:
            self._draw_surfaces_last()
        self._seen_molecules = seen

    def _enabled(self) -> set[str]:
        return set(self.cmd.get_names("objects", enabled_only=1))

    # ---- groups

    def group(self, molecule: str, names: str) -> None:
        """Put objects into the group of a molecule, which is seen then."""
        groups, there = self.cmd.get_names_of_type("object:group"), set(map(str.lower, self.cmd.get_names("objects")))
        for candidate in map(self.cmd.get_legal_name, numbered(f"{molecule}_orb")):
            if candidate in groups or candidate.lower() not in there:
                self.cmd.group(candidate, names)
                self._members.setdefault(candidate, set()).update(names.split())
                break
        self.bring_back({molecule})

    def drop_empty_groups(self) -> None:
        """Dissolve groups of which all that was put into them is gone."""
        there = set(self.cmd.get_names("objects"))
        for group in [group for group, members in self._members.items() if not members & there]:
            del self._members[group]
            if group in self.cmd.get_names_of_type("object:group"):
                self._dissolve(group)

    def _dissolve(self, group: str) -> None:
        self.cmd.group(group, action="empty")  # what the user has put into it stays
        delete(self.cmd, group)

    def group_name(self, molecule: str) -> str:
        """What the group of a molecule is called, unless that name was taken."""
        return self.cmd.get_legal_name(f"{molecule}_orb")

    def _move_group(self, molecule: str, other: str | None) -> None:
        """The group of a molecule goes with it: renamed, or dissolved."""
        group, there = self.group_name(molecule), self.cmd.get_names("objects")
        if group not in self.cmd.get_names_of_type("object:group") or molecule in there:
            return
        if other is None:
            self._members.pop(group, None)
            self._dissolve(group)
        elif (wanted := self.group_name(other)) not in there:
            editing.set_name(group, wanted, _self=self.cmd)
            self._members[wanted] = self._members.pop(group, set())

    # ---- titles

    def _marks(self) -> dict[str, str]:
        """What the titles of molecules say behind `_MARK`; copies lose it, being no object of ours."""
        titles = {name: self._title(name, 1) for name in self.cmd.get_names_of_type("object:molecule")}
        marks = {name: title.partition(_MARK)[2] for name, title in titles.items() if _MARK in title}
        if len(set(marks.values())) == len(marks):
            return marks
        own = {mark: name for name, mark in reversed(marks.items())} | {
            mark: name for name, mark in self._seen.items() if marks.get(name) == mark
        }
        for name in marks.keys() - own.values():
            for state in range(1, self.cmd.count_states(name) + 1):
                title = self._title(name, state)
                if _MARK in title:
                    self.cmd.set_title(name, state, title.partition(_MARK)[0])
        return {name: mark for name, mark in marks.items() if own[mark] == name}

    def _title_with_mark(self, source: str) -> str:
        """Title of an object from a source, which is noted; sources of objects that are gone are forgotten."""
        known = {mark.partition(".")[0] for mark in self._marks().values()}
        key = hashlib.sha256(source.encode(errors="surrogateescape")).hexdigest()[:16]
        self.sources = {**{other: text for other, text in self.sources.items() if other in known}, key: source}
        return f"{files_of(source)[0].rpartition('/')[2][:100]}{_MARK}{key}.{secrets.token_hex(4)}"

    def _title(self, name: str, state: int) -> str:
        if self.cmd.get_coordset(name, state, copy=0) is None:  # PyMOL would complain that there is no such state
            return ""
        return str(self.cmd.get_title(name, state) or "")


def delete(cmd: Any, name: str) -> None:
    """Delete an object that is ours; PyMOL's command takes patterns, and tells us of what the user deletes."""
    if name in cmd.get_names("objects"):
        commanding.delete(name, _self=cmd)

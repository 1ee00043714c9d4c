"""How to have again what PyMOL shows, with the view and the places side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...session.declaration import PYMOL
from ...session.recipe import calls
from ...session.session import Session


def pymol_lines(session: Session, cmd: Any, names: Sequence[str]) -> list[str]:
    """Lines for PyMOL's prompt or a .pml file that show surfaces again, from where they are seen now.

    Parameters
    ----------
    session : Session
    cmd
        Of the PyMOL.
    names : sequence of str
        Surfaces.

    Raises
    ------
    OrbitileError
        When there is no such surface.
    """
    shelf = session.shelf
    asked = calls(session, names)
    lines = [PYMOL.line(call) for call in asked]
    frames = [session.frame(shelf[name].molecule) for name in names]
    moved = [f"frame {frame + 1}" for frame in frames if frame][:1]
    loads = [line for line, call in zip(lines, asked, strict=True) if call.command == "orb_load"]
    grid = [f"set grid_slot, {place}, {name}" for place, name in enumerate(shelf.grid, 1) if name in names]
    grid = ["set grid_mode, 1", "set grid_slot, -2, *", *grid] if grid else []  # -2: in all places
    view = ", ".join(f"{number:.6g}" for number in cmd.get_view())
    return [*loads, *moved, *lines[len(loads) :], *grid, f"set_view ({view})"]

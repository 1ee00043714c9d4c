"""Orbitile in PyMOL: importing this package adds its commands.

    import orbitile.hosts.pymol

in a script, in `~/.pymolrc.py` or at PyMOL's prompt. `help orb_load` is where to begin.
"""

from __future__ import annotations

from typing import Any

from .commands import register
from .commands import state_of as _state_of

register()


def open_panel(cmd: Any = None) -> Any:
    """Open the window of Orbitile, or bring it to the front; needs a PyMOL with a Qt window.

    Raises
    ------
    OrbitileError
        Where there is none.
    """
    from pymol import cmd as global_cmd

    from ...errors import OrbitileError

    cmd = cmd or global_cmd
    try:
        from .panel import Panel, main_window
    except ImportError as error:
        raise OrbitileError(f"the window needs Qt in PyMOL's Python ({error}): pip install PyQt5") from error
    window = main_window()
    if window is None:
        raise OrbitileError("the window needs PyMOL's own window; without one, use the commands: help orb_mo")
    state = _state_of(cmd)
    if state.panel is None:
        state.panel = Panel(state, window)
    state.panel.show()
    state.panel.raise_()
    return state.panel

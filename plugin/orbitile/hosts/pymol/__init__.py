"""Orbitile in PyMOL. In a process of PyMOL, importing this package adds the commands.

    import orbitile.hosts.pymol

in a script, in `~/.pymolrc.py` or at PyMOL's prompt. `help orb_load` is where to begin.
"""

from __future__ import annotations

import sys
from typing import Any

from .plugin import add_menu, register_commands

TITLE = "PyMOL"

__all__ = ["TITLE", "add_menu", "open_panel", "register_commands"]

if "pymol" in sys.modules:
    register_commands()


def open_panel(cmd: Any = None) -> Any:
    """Open the window of Orbitile, or bring it to the front; needs a PyMOL with a Qt window.

    Raises
    ------
    OrbitileError
        Where there is none.
    """
    from .commands import open_panel

    return open_panel(cmd)

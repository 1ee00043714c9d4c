"""How Orbitile starts as a plugin of PyMOL, also in a Python that lacks what it needs.

Nothing but the standard library and PyMOL is imported before it is known that the rest can be.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

_NEEDED = {
    "numpy": "numpy",
    "scipy": "scipy",
    "iodata": "qc-iodata",
    "cclib": "cclib",
    "skimage": "scikit-image",
    "mrcfile": "mrcfile",
    "trimesh": "trimesh",
}
_COMPUTING = {"taichi": "taichi==1.7.4"}
_COMMANDS = ("orb_load", "orb_info", "orb_mo", "orb_field", "orb_panel")
_menu_added = False


def missing() -> str:
    """What is missing and how to get it, for people; empty where all is there.

    Taichi may be in another Python, which `ORBITILE_PYTHON` names.
    """
    needed = _NEEDED if os.environ.get("ORBITILE_PYTHON") else {**_NEEDED, **_COMPUTING}
    absent = [package for module, package in needed.items() if find_spec(module) is None]
    if not absent:
        return ""
    from ...workers.processes import interpreter

    text = f"Orbitile needs {', '.join(absent)} in PyMOL's Python. To install: {interpreter()} -m pip install "
    text += " ".join(f"'{package}'" if "=" in package else package for package in absent)
    if absent == list(_COMPUTING.values()):
        text += " (or, where that Python has no Taichi: orbitile install pymol --python OTHER_PYTHON)"
    return text


def register_commands() -> None:
    """Add the commands; where something is missing, commands that say so."""
    absent = missing()
    if not absent:
        from . import commands  # noqa: F401 - importing them adds them

        return
    from pymol import CmdException, cmd

    def unavailable(*arguments: Any, _self: Any = cmd, **keywords: Any) -> None:
        """Say what Orbitile lacks here."""
        raise CmdException(missing() or "Orbitile can be used now: start PyMOL again")

    for name in _COMMANDS:
        cmd.extend(name, unavailable)


def add_menu() -> None:
    """Add Plugin > Orbitile to the menu of PyMOL's window, and have that open the files that Orbitile reads; once."""
    global _menu_added
    from pymol.plugins import addmenuitemqt

    if not _menu_added:
        addmenuitemqt("Orbitile", _open)
        _menu_added = True
        if not missing():
            from .commands import open_panel
            from .loading import take_what_is_opened
            from .viewer import main_window

            window = main_window()
            if window is not None:
                take_what_is_opened(window, lambda path: open_panel().open(path))


def _open() -> None:
    from pymol.Qt import QtWidgets

    text = missing()
    if not text:
        from ...errors import OrbitileError

        try:
            from .commands import open_panel

            open_panel()
        except OrbitileError as error:
            text = str(error)
    if text:
        QtWidgets.QMessageBox.information(None, "Orbitile", text)

"""How Orbitile starts as a plugin of PyMOL, also in a Python that lacks what it needs.

Nothing but the standard library and PyMOL is imported before it is known that the rest can be.
"""

from __future__ import annotations

from typing import Any

from .._requirements import COMPILER, absent

_COMMANDS = ("orb_load", "orb_info", "orb_mo", "orb_field", "orb_help", "orb_panel")
_OFFERED = "orbitile_offered"
"""Preference of PyMOL that says that installing was offered once; from then on the menu offers it."""
_menu_added = False


def command() -> list[str]:
    """What installs what is missing: an interpreter and its arguments."""
    from ...workers.child_process import interpreter

    return [interpreter(), "-m", "pip", "install", *absent()]


def missing() -> str:
    """What is missing and how to get it, for people; empty where all is there.

    Taichi may be in another Python, which `ORBITILE_PYTHON` names.
    """
    packages = absent()
    if not packages:
        return ""
    python, *arguments = command()
    text = f"Orbitile needs {', '.join(packages)} in PyMOL's Python. To install: {python} "
    text += " ".join(f"'{word}'" if set(word) & set("<>=") else word for word in arguments)
    if packages == list(COMPILER.values()):
        text += " (or, where that Python has no Taichi: orbitile install pymol --python OTHER_PYTHON)"
    return text


def register_commands() -> None:
    """Add the commands; where something is missing, commands that say so."""
    if not absent():
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
        else:
            _offer_once()


def _offer_once() -> None:
    """Ask whether what is missing is to be installed, when PyMOL has come to rest; never again by itself."""
    from pymol import plugins
    from pymol.Qt import QtCore

    if not plugins.pref_get(_OFFERED):
        plugins.pref_set(_OFFERED, True)
        plugins.pref_save()
        QtCore.QTimer.singleShot(0, _open)


def _open() -> None:
    from pymol.Qt import QtWidgets

    if missing():
        from .completing import Completing

        Completing(command(), _open).show()
        return
    from ...base.errors import OrbitileError

    register_commands()
    try:
        from .commands import open_panel

        open_panel()
    except OrbitileError as error:
        QtWidgets.QMessageBox.information(None, "Orbitile", str(error))

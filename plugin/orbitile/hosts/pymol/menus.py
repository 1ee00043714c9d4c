"""Menus of the window: what can be done with a surface, and with all that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pymol.Qt import QtWidgets

from ...pictures.look import STYLES
from ...pictures.words import of_error
from ...session import commands
from ...session.recipe import render_line
from ...session.seen import visible
from .file_filters import surfaces_to_export, volumes_to_export
from .help import COMMANDS, open_manual
from .recipe import pymol_lines
from .saving import SaveFilm, SavePicture, ask_target, run
from .widgets import take_keys

if TYPE_CHECKING:
    from .panel import Panel


def fill_surface_menu(menu: Any, panel: Panel, name: str) -> None:
    """What can be done with a surface, into an empty menu."""
    browser, shown = panel.browser, panel.session.shelf[name]
    is_visible = name in visible(panel.session)
    menu.addAction("Hide" if is_visible else "Show", lambda: browser.showing.set_visible(name, not is_visible))
    kept = menu.addAction("Keep", lambda: browser.showing.keep(name, not shown.kept))
    kept.setCheckable(True)
    kept.setChecked(shown.kept)
    styles = menu.addMenu("Style")
    for style in STYLES:
        action = styles.addAction(style.capitalize(), partial(_restyle, panel, name, style))
        action.setCheckable(True)
        action.setChecked(style == shown.look.style)
    menu.addAction("Colours…", lambda: panel.shown_list.colours_asked.emit(name))
    menu.addSeparator()
    menu.addAction("Save volume…", partial(ask_export, panel, name, volumes_to_export()))
    menu.addAction("Save surface…", partial(ask_export, panel, name, surfaces_to_export()))
    menu.addAction("Save picture…", partial(SavePicture.ask, panel))
    menu.addSeparator()
    _add_copying(menu, panel, [name])
    menu.addSeparator()
    menu.addAction("Delete", lambda: browser.showing.delete(name))


def fill_more_menu(menu: Any, panel: Panel) -> None:
    """What can be done with all that is shown, in place of what the menu held."""
    menu.clear()
    menu.addAction("Save picture…", partial(SavePicture.ask, panel))
    menu.addAction("Save film…", partial(SaveFilm.ask, panel))
    menu.addSeparator()
    _add_copying(menu, panel, visible(panel.session))
    menu.addSeparator()
    menu.addAction("Manual\tF1", lambda: open_manual(panel))  # the key is that of the window
    menu.addAction("List of commands", lambda: open_manual(panel, COMMANDS))


def _add_copying(menu: Any, panel: Panel, names: Sequence[str]) -> None:
    cmd = panel.session.host.cmd  # type: ignore[attr-defined]  # it is a PyMOLViewer
    menu.addAction("Copy commands", lambda: _copy(panel, "\n".join(pymol_lines(panel.session, cmd, names)))).setEnabled(
        bool(names)
    )
    menu.addAction("Copy orbitile render line", partial(_copy_render_line, panel, names)).setEnabled(bool(names))


def _copy_render_line(panel: Panel, names: Sequence[str]) -> None:
    try:
        _copy(panel, render_line(panel.session, names))
    except Exception as error:
        panel.say(of_error(error), error=True)


def _copy(panel: Panel, text: str) -> None:
    QtWidgets.QApplication.clipboard().setText(text)
    first, *others = text.splitlines()
    panel.say(f"Copied: {first}" + (f", and {len(others)} more lines" if others else ""), detail=text)


def _restyle(panel: Panel, name: str, style: str) -> None:
    panel.browser.molecules.choose_surface(name)
    panel.browser.showing.change_look(style=style)


def ask_export(panel: Panel, name: str, pattern: str) -> None:
    """Ask where a surface or its volume is to be written, and write it; the suffix of the file decides how."""
    path = ask_target(panel, "Save", name, pattern)
    take_keys(panel)
    if path is not None:
        run(panel, commands.orb_export, [str(path), name])

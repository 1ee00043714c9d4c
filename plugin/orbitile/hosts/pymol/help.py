"""Help: the manual in a window of its own, opened at the place that belongs to what the user looks at."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pymol.Qt import QtCore, QtGui, QtWidgets

from ...base.errors import FileError

Qt = QtCore.Qt

WINDOW, COMMANDS, SAVING, TRAJECTORIES = "the-window", "the-commands", "pictures-and-films", "trajectories"
LIVE, ANALYSES, REGIONS = "live-molecules", "analyses", "electrons-of-a-ligand-in-its-protein"
PATHS = "the-path-between-two-structures"
OPENING, ORBITALS, FIELDS, SHOWN = "opening-a-file", "orbitals", "fields-one-click-each", "what-is-shown"
"""Headings of docs/pymol.md, as links name them."""

_PLACE = "orbitile_manual"
"""Property of a widget: the heading that explains it."""
_FOLDERS = (Path(__file__).parents[2] / "data" / "manual", Path(__file__).parents[4] / "docs")
"""Where the manual lies: in a package that was installed, and in a checkout."""

_WIDEST = 700
"""Largest width of a picture in the manual, in pixels."""


def manual() -> Path:
    """The manual of Orbitile in PyMOL.

    Raises
    ------
    FileError
        When it has not been installed.
    """
    for folder in _FOLDERS:
        if (folder / "pymol.md").exists():
            return folder / "pymol.md"
    raise FileError(f"the manual is not installed: {_FOLDERS[0]} is missing; install Orbitile again")


def link_of(heading: str) -> str:
    """A heading as links name it: small letters, and hyphens for spaces."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.strip().lower()))


def explain(widget: Any, heading: str) -> None:
    """Say which heading of the manual explains a widget, and all that is inside it."""
    widget.setProperty(_PLACE, heading)


def place_of(widget: Any) -> str:
    """The heading that explains a widget; of none that of the window."""
    while widget is not None:
        place = widget.property(_PLACE)
        if place:
            return str(place)
        widget = widget.parentWidget()
    return WINDOW


def add_help(window: Any) -> None:
    """Have F1 in a window open the manual, at the place that belongs to the widget that has the focus."""
    shortcut = QtWidgets.QShortcut(QtGui.QKeySequence.HelpContents, window)
    shortcut.setContext(Qt.WidgetWithChildrenShortcut)
    shortcut.activated.connect(lambda: open_manual(window, place_of(QtWidgets.QApplication.focusWidget())))


def help_button(window: Any, heading: str = WINDOW) -> Any:
    """A button that opens the manual."""
    button = QtWidgets.QToolButton()
    button.setText("?")
    button.setToolTip("Open the manual (F1)")
    button.clicked.connect(lambda: open_manual(window, heading))
    return button


def buttons_with_help(dialog: Any, window: Any, heading: str, go: str) -> Any:
    """Buttons at the end of a dialog: one that accepts it and says so, Cancel, and Help at a heading of the manual.

    Returns
    -------
    tuple of widgets
        All of them, and the one that accepts.
    """
    kinds = QtWidgets.QDialogButtonBox
    buttons = kinds(kinds.Ok | kinds.Cancel | kinds.Help, accepted=dialog.accept, rejected=dialog.reject)
    buttons.helpRequested.connect(lambda: open_manual(window, heading))
    buttons.button(kinds.Ok).setText(go)
    return buttons, buttons.button(kinds.Ok)


def open_manual(window: Any, heading: str = WINDOW) -> Any:
    """Open the manual at a heading, in the window that shows it already if there is one.

    Raises
    ------
    FileError
        When it has not been installed.
    """
    shown: Manual | None = next((child for child in window.children() if isinstance(child, Manual)), None)
    if shown is None:
        shown = Manual(manual(), window)
    shown.show()
    shown.raise_()
    shown.go_to(heading)
    return shown


class Manual(QtWidgets.QDialog):  # type: ignore[misc]  # Qt has no types here
    """A window that shows a manual.

    Parameters
    ----------
    file : Path
        Markdown, with its pictures beside it.
    parent
        Window that it belongs to.
    """

    def __init__(self, file: Path, parent: Any) -> None:
        super().__init__(parent, Qt.Window)
        self.setWindowTitle("Orbitile: manual")
        self.resize(780, 760)
        self.text = _Text()
        self.text.setOpenLinks(False)
        self.text.setSearchPaths([str(file.parent)])
        self.text.anchorClicked.connect(self._follow)
        self.text.document().setMarkdown(_plain(file.read_text(encoding="utf-8")))
        self.text.document().setDocumentMargin(12)
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.text)

    def headings(self) -> dict[str, Any]:
        """Blocks of the text that are headings, as links name them."""
        block, found = self.text.document().begin(), {}
        while block.isValid():
            if block.blockFormat().headingLevel():
                found[link_of(block.text())] = block
            block = block.next()
        return found

    def go_to(self, heading: str) -> None:
        """Show a heading at the top; one that there is not leaves the text where it is."""
        block = self.headings().get(heading)
        if block is not None:
            self.text.setTextCursor(QtGui.QTextCursor(block))
            top = self.text.document().documentLayout().blockBoundingRect(block).top()
            self.text.verticalScrollBar().setValue(int(top))

    def _follow(self, link: Any) -> None:
        if link.hasFragment() and not link.path():
            self.go_to(link.fragment())
        elif link.scheme() in ("http", "https"):
            QtGui.QDesktopServices.openUrl(link)


class _Text(QtWidgets.QTextBrowser):  # type: ignore[misc]  # Qt has no types here
    """Text whose pictures fit into the window."""

    def loadResource(self, kind: int, name: Any) -> Any:
        found = super().loadResource(kind, name)
        if kind == QtGui.QTextDocument.ImageResource:
            picture = QtGui.QImage.fromData(found) if isinstance(found, QtCore.QByteArray) else QtGui.QImage(found)
            if picture.width() > _WIDEST:
                return picture.scaledToWidth(_WIDEST, Qt.SmoothTransformation)
        return found


def _plain(text: str) -> str:
    """Markdown whose pictures are Markdown too: what follows HTML in a document, Qt takes for HTML."""
    return re.sub(r'<img src="([^"]*)"[^>]*alt="([^"]*)"[^>]*>', r"![\2](\1)", text)

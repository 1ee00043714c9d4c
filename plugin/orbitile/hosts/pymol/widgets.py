"""What several widgets of the window share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pymol.Qt import QtCore, QtGui, QtWidgets

from .tints import faded

_GONE = 100
"""Milliseconds after which a window manager has taken a dialog away, and given the keys to PyMOL's main window."""


_UNBROKEN = 24
"""Letters without a space after which a line may be broken."""
_TITLE, _BESIDE = 260, 80
"""Pixels of the titles in a menu, about, and of what stands beside its texts."""


class ChosenByUser:
    """For views of items, before their class: no item becomes the current one because the view gets the focus.

    Qt would take the first.
    """

    _arriving = False

    def focusInEvent(self, event: Any) -> None:
        self._arriving = True
        super().focusInEvent(event)  # type: ignore[misc]  # of the view
        self._arriving = False

    def moveCursor(self, action: Any, modifiers: Any) -> Any:
        return QtCore.QModelIndex() if self._arriving else super().moveCursor(action, modifiers)  # type: ignore[misc]  # of it


def row(*widgets: Any, spacing: int = 6) -> Any:
    """Widgets side by side; None stretches."""
    layout = QtWidgets.QHBoxLayout()
    layout.setSpacing(spacing)
    for widget in widgets:
        if widget is None:
            layout.addStretch(1)
        else:
            layout.addWidget(widget)
    return layout


def offer(box: Any, reasons: Mapping[str, str]) -> None:
    """Have entries of a box be grey, those whose data are among reasons, with the reason as tooltip."""
    for at in range(box.count()):
        reason = reasons.get(box.itemData(at), "")
        box.model().item(at).setEnabled(not reason)
        box.setItemData(at, f"Not for this molecule: {reason}" if reason else None, QtCore.Qt.ToolTipRole)


def breakable(text: str) -> str:
    """Text whose long words, such as paths, can be broken into lines: a label breaks between words only."""
    return re.sub(rf"(?<=\\S{{{_UNBROKEN}}})(?=\\S)", "\u200b", text)


def add_entry(menu: Any, text: str, sentence: str) -> Any:
    """An entry of a menu with a sentence about it in a column of its own.

    The sentence is whole wherever the screen is wide enough, and always in the tooltip.
    """
    metrics = menu.fontMetrics()
    room = QtWidgets.QApplication.primaryScreen().availableGeometry().width() - _BESIDE
    room -= max(metrics.horizontalAdvance(text), _TITLE)
    action = menu.addAction(f"{text}\t{metrics.elidedText(sentence, QtCore.Qt.ElideRight, room)}")
    action.setToolTip(sentence)
    return action


def ask_by(dialog: Any) -> None:
    """Open a dialog; when it is done, the keys go to the window of its parent again."""
    parent = dialog.parentWidget()
    dialog.finished.connect(lambda result: take_keys(parent))
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()


def take_keys(widget: Any) -> None:
    """Have the keys go to the window of a widget, when a dialog is gone: it gives them to PyMOL's own window."""
    QtCore.QTimer.singleShot(_GONE, widget.window().activateWindow)


def write_on(view: Any, text: str) -> None:
    """Write a sentence in the middle of an empty view, from its `paintEvent`."""
    painter = QtGui.QPainter(view.viewport())
    painter.setPen(faded(view.palette()))
    flags = int(QtCore.Qt.AlignCenter | QtCore.Qt.TextWordWrap)
    painter.drawText(view.viewport().rect().adjusted(8, 4, -8, -4), flags, text)
    painter.end()

"""What several widgets of the window share: rows, texts, colours on light and dark grounds, dropped files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pymol.Qt import QtCore, QtGui, QtWidgets

_GONE = 100
"""Time in milliseconds in which a window manager closes a dialog and gives the keys to PyMOL's main window."""
_UNBROKEN = 24
"""Number of letters without a space after which a line may be broken."""
_TITLE, _BESIDE = 260, 80
"""Width in pixels, about, of the titles in a menu, and of what stands beside its texts."""

_MARKS = {"HOMO": ("#1f5fa8", "#7fb8f5"), "LUMO": ("#b4540a", "#f2a65e")}
"""Colours on a light ground, and on a dark one."""
_STAGES = {
    "converging": ("#b4540a", "#f2a65e"),
    "converged": ("#1a7f37", "#5dd27a"),
    "failed": ("#b2182b", "#ff7b72"),
}
"""The same for stages of a live molecule."""


class ListView(QtWidgets.QTableView):  # type: ignore[misc]  # Qt has no types here
    """A table without a grid, of which one row or cell is chosen, and none because the view gets the focus.

    Qt would take the first.
    """

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent, showGrid=False, wordWrap=False, tabKeyNavigation=False)
        self._arriving = False
        self.setSelectionMode(self.SingleSelection)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)

    def focusInEvent(self, event: Any) -> None:
        self._arriving = True
        super().focusInEvent(event)
        self._arriving = False

    def moveCursor(self, action: Any, modifiers: Any) -> Any:
        return QtCore.QModelIndex() if self._arriving else super().moveCursor(action, modifiers)


def row(*widgets: Any, spacing: int = 6, stretch: int | None = None) -> Any:
    """Widgets side by side; None stretches, and so does the widget of a number."""
    layout = QtWidgets.QHBoxLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(spacing)
    for widget in widgets:
        if widget is None:
            layout.addStretch(1)
        else:
            layout.addWidget(widget)
    if stretch is not None:
        layout.setStretch(stretch, 1)
    return layout


def row_widget(*widgets: Any, stretch: int | None = None) -> Any:
    """A widget that has others side by side."""
    widget = QtWidgets.QWidget()
    widget.setLayout(row(*widgets, stretch=stretch))
    return widget


def narrow_box(tip: str) -> Any:
    """A box to choose from that takes the room there is, however long its texts."""
    policy = QtWidgets.QSizePolicy(QtWidgets.QSizePolicy.Ignored, QtWidgets.QSizePolicy.Fixed)
    return QtWidgets.QComboBox(toolTip=tip, sizePolicy=policy)


def shortened_label() -> Any:
    """A line of text that takes the room there is; the whole of it is in its tooltip."""
    policy = QtWidgets.QSizePolicy(QtWidgets.QSizePolicy.Ignored, QtWidgets.QSizePolicy.Fixed)
    return QtWidgets.QLabel(sizePolicy=policy)


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


def stage_colour(stage: str, palette: Any) -> Any:
    """Colour of a stage of a live molecule."""
    return QtGui.QColor(_STAGES[stage][is_dark(palette)]) if stage in _STAGES else faded(palette)


def mark_colour(mark: str, palette: Any) -> Any:
    """Colour of HOMO or LUMO on the ground of lists."""
    return QtGui.QColor(_MARKS[mark][is_dark(palette)])


def is_dark(palette: Any) -> bool:
    """Whether lists have a dark ground."""
    lightness: int = palette.color(QtGui.QPalette.Base).lightness()
    return lightness < 128


def faded(palette: Any) -> Any:
    """Half-way between text and ground: for what matters less."""
    text, ground = palette.color(QtGui.QPalette.Text), palette.color(QtGui.QPalette.Base)
    return QtGui.QColor(*((9 * a + 7 * b) // 16 for a, b in zip(text.getRgb()[:3], ground.getRgb()[:3], strict=True)))


class Dropping(QtCore.QObject):  # type: ignore[misc]  # Qt has no types here
    """Has a window, with all that is in it, take files that are dropped onto it.

    Parameters
    ----------
    window
        The widget; it keeps this object.
    take
        Called with the paths of the files, in a moment: whoever drops them waits for the end of the event.
    """

    def __init__(self, window: Any, take: Callable[[list[str]], None]) -> None:
        super().__init__(window)
        self._take = take
        window.setAcceptDrops(True)
        for widget in [window, *window.findChildren(QtWidgets.QWidget)]:
            if widget.acceptDrops():  # a field for text, which takes text as before
                widget.installEventFilter(self)

    def eventFilter(self, widget: Any, event: Any) -> bool:
        """Take files, and leave everything else to the widget."""
        kinds = QtCore.QEvent
        if event.type() not in (kinds.DragEnter, kinds.DragMove, kinds.Drop):
            return False
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if not paths:
            return False
        event.acceptProposedAction()
        if event.type() == kinds.Drop:
            QtCore.QTimer.singleShot(0, lambda: self._take(paths))
        return True

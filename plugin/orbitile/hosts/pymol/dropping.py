"""Files that are dropped onto a window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pymol.Qt import QtCore, QtWidgets

_Event = QtCore.QEvent


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
        if event.type() not in (_Event.DragEnter, _Event.DragMove, _Event.Drop):
            return False
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if not paths:
            return False
        event.acceptProposedAction()
        if event.type() == _Event.Drop:
            QtCore.QTimer.singleShot(0, lambda: self._take(paths))
        return True

"""The menu beside "Open...": recent files, and what becomes of the view when a file is opened."""

from __future__ import annotations

from collections.abc import Sequence

from pymol.Qt import QtCore, QtWidgets

_VIEWS = {"zoom": "Zoom to it", "orient": "Zoom, and look along its axes", "nothing": "Leave the view"}


class OpeningMenu(QtWidgets.QMenu):  # type: ignore[misc]  # Qt has no types here
    """Recent files and views.

    Signals
    -------
    file_chosen(str), view_chosen(str)
        The path of a file; one of the views of `orb_load`.
    """

    file_chosen = QtCore.Signal(str)
    view_chosen = QtCore.Signal(str)

    def fill(self, recent: Sequence[str], view: str) -> None:
        """Offer files, and mark the view that was chosen."""
        self.clear()
        for path in recent:
            self.addAction(path, lambda path=path: self.file_chosen.emit(path))
        if not recent:
            self.addAction("No recent files").setEnabled(False)
        self.addSection("When a file is opened")
        for name, text in _VIEWS.items():
            action = self.addAction(text, lambda name=name: self.view_chosen.emit(name))
            action.setCheckable(True)
            action.setChecked(name == view)

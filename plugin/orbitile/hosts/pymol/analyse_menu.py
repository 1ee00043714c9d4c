"""The menu of analyses, in groups; it is made of what the modules of `analysis.reports` state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pymol.Qt import QtCore, QtWidgets

from ...session.window.analysing import OfferedAnalysis
from .widgets import add_entry


class AnalyseButton(QtWidgets.QToolButton):  # type: ignore[misc]  # Qt has no types here
    """A button that drops down the analyses of the molecule; fill its menu when that is about to show.

    Attributes
    ----------
    chosen : signal of str
        Name of an analysis.
    """

    chosen = QtCore.Signal(str)

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self.setText("Analyse")
        self.setToolTip("Charges, bonds, localised orbitals, surfaces as numbers … of the molecule")
        self.setPopupMode(self.InstantPopup)
        menu = QtWidgets.QMenu(self)
        menu.setToolTipsVisible(True)
        self.setMenu(menu)

    def fill(self, groups: Sequence[tuple[str, Sequence[OfferedAnalysis]]]) -> None:
        """Offer analyses in groups; those that the molecule does not have are greyed, with the reason."""
        menu = self.menu()
        menu.clear()
        for title, those in groups:
            menu.addSection(title)
            for offered in those:
                sentence = f"{offered.module.HELP[0].upper()}{offered.module.HELP[1:]}"
                told = f"not here: {offered.reason}" if offered.reason else sentence
                action = add_entry(menu, offered.module.TITLE, told)
                action.setEnabled(not offered.reason)
                action.setToolTip(f"Not for this molecule: {offered.reason}" if offered.reason else sentence)
                action.triggered.connect(lambda checked=False, name=offered.name: self.chosen.emit(name))

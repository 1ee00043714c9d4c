"""Dialogs of the window by which what is shown is saved: how, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pymol.Qt import QtWidgets

from ...session import commands
from ...session.declaration import Command
from ...session.seen import visible
from ...session.session import Session
from .file_filters import FILMS, PICTURES, suffix_of
from .help import SAVING, explain, open_manual

_BACKGROUNDS = {"as in PyMOL": "", "white": "white", "black": "black", "transparent": "transparent"}
_PRINT = 300 / 2.54
"""Pixels a centimetre in print."""

Call = tuple[Command, list[Any]]
"""A command and its arguments."""


def ask_target(parent: Any, title: str, start: str, pattern: str) -> Path | None:
    """Ask for a file to save; one without a suffix gets that of the kind that was chosen."""
    dialog = QtWidgets.QFileDialog(parent, title, "", pattern)
    dialog.setAcceptMode(QtWidgets.QFileDialog.AcceptSave)
    dialog.selectFile(start)
    dialog.setDefaultSuffix(suffix_of(dialog.selectedNameFilter()))
    dialog.filterSelected.connect(lambda chosen: dialog.setDefaultSuffix(suffix_of(chosen)))
    accepted = dialog.exec_() == QtWidgets.QDialog.Accepted
    chosen = Path(dialog.selectedFiles()[0]) if accepted else None
    dialog.deleteLater()
    return chosen


class _Save(QtWidgets.QDialog):  # type: ignore[misc]  # Qt has no types here
    """What a picture and a film have in common: a size, a background, a legend.

    Parameters
    ----------
    session
        Whose viewer shows what is saved.
    parent
        Window that the dialog belongs to.
    """

    title, pattern = "", ""

    def __init__(self, session: Session, parent: Any) -> None:
        super().__init__(parent, windowTitle=self.title)
        explain(self, SAVING)
        self.session = session
        seen = session.host.viewpoint()
        self.view = (1200, 900) if seen is None else seen.size
        self.width_box, self.height_box = (
            QtWidgets.QSpinBox(minimum=1, maximum=32768, value=pixels) for pixels in self.view
        )
        self.width_box.editingFinished.connect(lambda: self._set_width(self.width_box.value()))
        self.height_box.editingFinished.connect(
            lambda: self._set_width(round(self.height_box.value() * self.view[0] / self.view[1]))
        )
        self.size_box = QtWidgets.QComboBox()
        self.size_box.addItems(list(self.sizes()))
        self.size_box.activated.connect(lambda: self._set_width(self.sizes()[self.size_box.currentText()]))
        numbers = QtWidgets.QHBoxLayout()
        for widget in (self.width_box, QtWidgets.QLabel("×"), self.height_box, QtWidgets.QLabel("pixels")):
            numbers.addWidget(widget)
        self.background_box = QtWidgets.QComboBox()
        self.background_box.addItems(list(_BACKGROUNDS))
        self.legend_box = QtWidgets.QCheckBox("Names, isovalues and colour scales", checked=True)
        self.form = QtWidgets.QFormLayout()
        self.form.addRow("Size", self.size_box)
        self.form.addRow("", numbers)
        self.form.addRow("Background", self.background_box)
        self.form.addRow("Legend", self.legend_box)
        self.add_more()
        kinds = QtWidgets.QDialogButtonBox
        buttons = kinds(kinds.Save | kinds.Cancel | kinds.Help, accepted=self.accept, rejected=self.reject)
        buttons.helpRequested.connect(lambda: open_manual(parent, SAVING))
        outer = QtWidgets.QVBoxLayout(self)
        outer.addLayout(self.form)
        outer.addWidget(buttons)
        self._set_width(next(iter(self.sizes().values())))

    def sizes(self) -> dict[str, int]:
        """Widths to choose from, by what they are called."""
        return {"As in the window": self.view[0], "Twice as large": 2 * self.view[0]}

    def add_more(self) -> None:
        """Add what only this kind has."""

    def call(self, path: Path) -> Call:
        """The command that saves it, and its arguments."""
        raise NotImplementedError

    @property
    def usual(self) -> list[Any]:
        """Width and height, as a command takes them."""
        return [self.width_box.value(), self.height_box.value()]

    @property
    def look(self) -> list[Any]:
        """Background and whether there is a legend, as a command takes them."""
        return [_BACKGROUNDS[self.background_box.currentText()], int(self.legend_box.isChecked())]

    def _set_width(self, width: int) -> None:
        self.width_box.setValue(width)
        self.height_box.setValue(max(1, round(width * self.view[1] / self.view[0])))


class SavePicture(_Save):
    """How a picture is saved."""

    title, pattern = "Save picture", PICTURES

    def sizes(self) -> dict[str, int]:
        return {
            **super().sizes(),
            "Print, one column (8.5 cm at 300 dpi)": round(8.5 * _PRINT),
            "Print, two columns (17.5 cm at 300 dpi)": round(17.5 * _PRINT),
        }

    def add_more(self) -> None:
        self.by_box = QtWidgets.QComboBox(
            toolTip="Orbitile draws balls, sticks and surfaces; PyMOL's ray tracer also cartoons, labels and shadows"
        )
        self.by_box.addItem("Orbitile", "orbitile")
        self.by_box.addItem("PyMOL's ray tracer", "ray")
        self.form.addRow("Drawn by", self.by_box)

    def call(self, path: Path) -> Call:
        return commands.orb_picture, [str(path), *self.usual, self.by_box.currentData(), *self.look]


class SaveFilm(_Save):
    """How a film is saved."""

    title, pattern = "Save film", FILMS

    def add_more(self) -> None:
        shelf = self.session.shelf
        swings = self.session.motion.moves
        self.moves = not swings and any(shelf[name].request.frame is not None for name in visible(self.session))
        self.background_box.removeItem(self.background_box.findText("transparent"))
        spin = QtWidgets.QDoubleSpinBox
        self.rate_box = spin(
            minimum=0.1, maximum=60, value=10 if self.moves else 20 if swings else 25, suffix=" pictures a second"
        )
        self.turn_box = spin(
            minimum=-3600,
            maximum=3600,
            value=0 if self.moves or swings else 360,
            suffix="°",
            toolTip="Total rotation about a vertical line",
        )
        self.form.addRow("Rate", self.rate_box)
        self.form.addRow("Turn", self.turn_box)
        if not self.moves:
            self.seconds_box = spin(minimum=0.1, maximum=600, value=3 if swings else 6, suffix=" s")
            self.form.addRow("Length", self.seconds_box)

    def call(self, path: Path) -> Call:
        rate = self.rate_box.value()
        pictures = "" if self.moves else max(1, round(rate * self.seconds_box.value()))
        return commands.orb_film, [str(path), *self.usual, rate, self.turn_box.value(), pictures, *self.look]

"""Dialogs of the window by which what is shown is saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pymol.Qt import QtWidgets

from ...pictures.words import of_error
from ...session import commands
from ...session.declaration import Command
from ...session.seen import visible
from .file_filters import FILMS, PICTURES, suffix_of
from .help import SAVING, explain, open_manual
from .widgets import take_keys

if TYPE_CHECKING:
    from .panel import Panel

_BACKGROUNDS = {"as in PyMOL": "", "white": "white", "black": "black", "transparent": "transparent"}
_PRINT = 300 / 2.54
"""Pixels a centimetre in print."""


def run(panel: Panel, command: Command, arguments: Sequence[Any]) -> None:
    """Run a command; the status line says what came of it, or PyMOL where the window was closed meanwhile."""
    try:
        text, failed = command.run(panel.session, arguments).text, False
    except Exception as error:
        text, failed = of_error(error), True
    panel.say(text, error=failed)
    if text and not panel.isVisible():
        panel.session.host.say(text)


def ask_target(panel: Panel, title: str, start: str, pattern: str) -> Path | None:
    """Ask for a file to save; one without a suffix gets that of the kind that was chosen."""
    dialog = QtWidgets.QFileDialog(panel, title, "", pattern)
    dialog.setAcceptMode(QtWidgets.QFileDialog.AcceptSave)
    dialog.selectFile(start)
    dialog.setDefaultSuffix(suffix_of(dialog.selectedNameFilter()))
    dialog.filterSelected.connect(lambda chosen: dialog.setDefaultSuffix(suffix_of(chosen)))
    accepted = dialog.exec_() == QtWidgets.QDialog.Accepted
    chosen = Path(dialog.selectedFiles()[0]) if accepted else None
    dialog.deleteLater()
    return chosen


class _Save(QtWidgets.QDialog):  # type: ignore[misc]  # Qt has no types here
    """What a picture and a film have in common: a size, a background, a legend, a file."""

    title, pattern = "", ""

    def __init__(self, panel: Panel) -> None:
        super().__init__(panel)
        self.setWindowTitle(self.title)
        explain(self, SAVING)
        self.panel = panel
        seen = panel.session.host.viewpoint()
        self.view = (1200, 900) if seen is None else seen.size
        self.form = QtWidgets.QFormLayout()
        self.width_box, self.height_box = _pixels(self.view[0]), _pixels(self.view[1])
        self.size_box = QtWidgets.QComboBox()
        self.size_box.addItems(list(self.sizes()))
        self.size_box.activated.connect(lambda: self._set_width(self.sizes()[self.size_box.currentText()]))
        self.width_box.editingFinished.connect(lambda: self._set_width(self.width_box.value()))
        self.height_box.editingFinished.connect(
            lambda: self._set_width(round(self.height_box.value() * self.view[0] / self.view[1]))
        )
        numbers = QtWidgets.QHBoxLayout()
        for widget in (self.width_box, QtWidgets.QLabel("×"), self.height_box, QtWidgets.QLabel("pixels")):
            numbers.addWidget(widget)
        self.form.addRow("Size", self.size_box)
        self.form.addRow("", numbers)
        self.background_box = QtWidgets.QComboBox()
        self.background_box.addItems(list(_BACKGROUNDS))
        self.form.addRow("Background", self.background_box)
        self.legend_box = QtWidgets.QCheckBox("Names, isovalues and scales of colours")
        self.legend_box.setChecked(True)
        self.form.addRow("Legend", self.legend_box)
        self.add_more()
        buttons = QtWidgets.QDialogButtonBox(
            QtWidgets.QDialogButtonBox.Save | QtWidgets.QDialogButtonBox.Cancel | QtWidgets.QDialogButtonBox.Help
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        buttons.helpRequested.connect(lambda: open_manual(panel, SAVING))
        outer = QtWidgets.QVBoxLayout(self)
        outer.addLayout(self.form)
        outer.addWidget(buttons)
        self._set_width(next(iter(self.sizes().values())))

    @classmethod
    def ask(cls, panel: Panel) -> None:
        """Ask how, then where, and save."""
        dialog = cls(panel)
        if dialog.exec_() == QtWidgets.QDialog.Accepted:
            showing = panel.browser.showing
            start = f"{showing.current() or showing.molecule or 'orbitile'}.{suffix_of(cls.pattern)}"
            path = ask_target(panel, cls.title, start, cls.pattern)
            if path is not None:
                dialog.save(path)
        dialog.deleteLater()
        take_keys(panel)

    def sizes(self) -> dict[str, int]:
        """Widths to choose from, by what they are called."""
        return {"As in the window": self.view[0], "Twice as large": 2 * self.view[0]}

    def add_more(self) -> None:
        """Add what only this kind has."""

    def save(self, path: Path) -> None:
        """Save it."""
        raise NotImplementedError

    @property
    def usual(self) -> list[Any]:
        """Width and height, as a command takes them."""
        return [self.width_box.value(), self.height_box.value()]

    @property
    def background(self) -> str:
        """The background, as a command takes it."""
        return _BACKGROUNDS[self.background_box.currentText()]

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
        self.by_box = QtWidgets.QComboBox()
        self.by_box.addItem("Orbitile", "orbitile")
        self.by_box.addItem("PyMOL's ray tracer", "ray")
        self.by_box.setToolTip("Orbitile draws balls, sticks and surfaces; PyMOL also cartoons and labels, and shadows")
        self.form.addRow("Drawn by", self.by_box)

    def save(self, path: Path) -> None:
        look = [self.background, int(self.legend_box.isChecked())]
        self.panel.say(f"Drawing {path.name} …")
        run(self.panel, commands.orb_picture, [str(path), *self.usual, self.by_box.currentData(), *look])


class SaveFilm(_Save):
    """How a film is saved."""

    title, pattern = "Save film", FILMS

    def add_more(self) -> None:
        self.moves = any(
            self.panel.session.shelf[name].request.frame is not None for name in visible(self.panel.session)
        )
        self.background_box.removeItem(self.background_box.findText("transparent"))
        self.rate_box = QtWidgets.QDoubleSpinBox()
        self.rate_box.setRange(0.1, 60)
        self.rate_box.setValue(10 if self.moves else 25)
        self.rate_box.setSuffix(" pictures a second")
        self.turn_box = QtWidgets.QDoubleSpinBox()
        self.turn_box.setRange(-3600, 3600)
        self.turn_box.setValue(0 if self.moves else 360)
        self.turn_box.setSuffix("°")
        self.turn_box.setToolTip("By which all turns about a vertical line in the course of the film")
        self.form.addRow("Rate", self.rate_box)
        self.form.addRow("Turn", self.turn_box)
        if not self.moves:
            self.seconds_box = QtWidgets.QDoubleSpinBox()
            self.seconds_box.setRange(0.1, 600)
            self.seconds_box.setValue(6)
            self.seconds_box.setSuffix(" s")
            self.form.addRow("Length", self.seconds_box)

    def save(self, path: Path) -> None:
        rate = self.rate_box.value()
        pictures = "" if self.moves else max(1, round(rate * self.seconds_box.value()))
        arguments = [str(path), *self.usual, rate, self.turn_box.value(), pictures, self.background]
        run(self.panel, commands.orb_film, [*arguments, int(self.legend_box.isChecked())])


def _pixels(value: int) -> Any:
    box = QtWidgets.QSpinBox()
    box.setRange(1, 32768)
    box.setValue(value)
    return box

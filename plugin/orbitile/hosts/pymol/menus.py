"""Menus of the window: fields and analyses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pymol.Qt import QtCore, QtWidgets

from ...fields import field_groups, unavailable
from ...model.wavefunction import Wavefunction
from ...pictures.orbitals import Part, asked_for, completed, largest, number_titles, takes_several_files
from ...session.presets import PRESETS, Preset, why_not
from ...session.window.analysing import OfferedAnalysis
from .file_filters import files_of_field, wavefunctions_to_open
from .widgets import add_entry, ask_by, row_widget


class FieldMenu(QtWidgets.QToolButton):  # type: ignore[misc]  # Qt has no types here
    """A button that drops down what can be shown of a molecule.

    What is open in the name of a field is asked for: a number, a file, one of several.

    Attributes
    ----------
    field_chosen : signal of str
        Name of a field, complete.
    preset_chosen : signal of str, str
        Name of a preset, and the file to compare with, empty where it needs none.
    """

    field_chosen = QtCore.Signal(str)
    preset_chosen = QtCore.Signal(str, str)

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent, text="Show a field", popupMode=QtWidgets.QToolButton.InstantPopup)
        self.setToolTip("Show a field of the molecule: often used views first, then all fields in groups")
        self._wavefunction: Wavefunction | None = None
        self._presets: dict[str, Any] = {}
        self._fields: dict[str, Any] = {}
        menu = QtWidgets.QMenu(self)
        menu.setToolTipsVisible(True)
        for preset in PRESETS:
            self._presets[preset.name] = self._add(menu, preset.title, preset.sentence, partial(self._preset, preset))
        menu.addSeparator()
        for title, fields in field_groups():
            group = menu.addMenu(title)
            group.setToolTipsVisible(True)
            for name, sentence in fields:
                text = name if not asked_for(name) else f"{name} …"
                self._fields[name] = self._add(group, text, sentence, partial(self._field, name, sentence))
        self.setMenu(menu)
        self.show_molecule(None)

    def show_molecule(self, wavefunction: Wavefunction | None) -> None:
        """Offer what a molecule has; the rest is greyed, with the reason."""
        self._wavefunction = wavefunction
        self.setEnabled(wavefunction is not None)
        if wavefunction is None:
            return
        missing = unavailable(wavefunction)
        for name, action in self._fields.items():
            self._enable(action, missing.get(name, ""))
        for preset in PRESETS:
            self._enable(self._presets[preset.name], why_not(preset, wavefunction))

    def _add(self, menu: Any, text: str, sentence: str, chosen: Any) -> Any:
        """An entry; what stands behind the tab is set in a column of its own, the whole of it in the tooltip."""
        action = add_entry(menu, text, sentence)
        action.triggered.connect(lambda checked=False: chosen())
        action.setData(sentence)
        return action

    def _enable(self, action: Any, reason: str) -> None:
        action.setEnabled(not reason)
        action.setToolTip(f"Not for this molecule: {reason}" if reason else action.data())

    # ---- what was chosen

    def _preset(self, preset: Preset) -> None:
        if not preset.needs_file:
            self.preset_chosen.emit(preset.name, "")
            return
        files = _ask_files(self, preset.sentence, wavefunctions_to_open(), several=True)
        if files:
            self.preset_chosen.emit(preset.name, files)

    def _field(self, name: str, sentence: str) -> None:
        asked = asked_for(name)
        if not asked:
            self.field_chosen.emit(name)
        elif [part.kind for part in asked] == ["file"]:
            several = takes_several_files(name, sentence)
            files = _ask_files(self, sentence, files_of_field(name), several)
            if files:
                self.field_chosen.emit(completed(name, [files]))
        elif self._wavefunction is not None:
            dialog = FieldDialog(name, sentence, largest(name, self._wavefunction), self)
            dialog.accepted.connect(lambda: self.field_chosen.emit(dialog.field()))
            ask_by(dialog)


class FieldDialog(QtWidgets.QDialog):  # type: ignore[misc]  # Qt has no types here
    """Asks for what is open in the name of a field.

    Parameters
    ----------
    pattern, sentence
        See `orbitile.fields.field_names`.
    most
        Largest number that makes sense.
    """

    def __init__(self, pattern: str, sentence: str, most: int, parent: Any = None) -> None:
        super().__init__(parent, windowTitle=pattern)
        self._pattern, self._most = pattern, most
        self._answers: list[Callable[[], str]] = []
        self._preview = QtWidgets.QLabel()
        kinds = QtWidgets.QDialogButtonBox
        buttons = kinds(kinds.Ok | kinds.Cancel, accepted=self.accept, rejected=self.reject)
        self.ok_button = buttons.button(kinds.Ok)
        form = QtWidgets.QFormLayout(self)
        form.addRow(QtWidgets.QLabel(sentence, wordWrap=True))
        asked = asked_for(pattern)
        self.inputs = [self._add_input(part) for part in asked]
        for title, widget in zip(_titles(pattern, asked), self.inputs, strict=True):
            form.addRow(title, widget)
        form.addRow("Field", self._preview)
        form.addRow(buttons)
        self._show_field()

    def field(self) -> str:
        """Name of the field as it was answered."""
        return completed(self._pattern, [answer() for answer in self._answers])

    def _add_input(self, part: Part) -> Any:
        """A widget for a part of the name that is open; what it is answered is known from then on."""
        if part.kind == "number":
            box = QtWidgets.QSpinBox(minimum=1, maximum=max(self._most, 1))
            box.valueChanged.connect(lambda value: self._show_field())
            self._answers.append(lambda: str(box.value()))
            return box
        if part.kind == "choice":
            choice = QtWidgets.QComboBox()
            for option in part.options:
                choice.addItem(option.removeprefix(":"), option)
            choice.currentIndexChanged.connect(lambda at: self._show_field())
            self._answers.append(lambda: str(choice.currentData()))
            return choice
        edit = QtWidgets.QLineEdit()
        edit.textChanged.connect(lambda text: self._show_field())
        self._answers.append(lambda: str(edit.text().strip()))
        return row_widget(edit, QtWidgets.QPushButton("Choose…", clicked=lambda: self._ask_file(edit)))

    def _ask_file(self, edit: Any) -> None:
        file = _ask_files(self, "File to compare with", wavefunctions_to_open(), several=False)
        if file:
            edit.setText(file)

    def _show_field(self) -> None:
        """Show what the field will be called, once all is answered."""
        complete = all(answer() for answer in self._answers)
        self._preview.setText(self.field() if complete else "")
        self.ok_button.setEnabled(complete)

    def showEvent(self, event: Any) -> None:
        super().showEvent(event)
        for number in self.findChildren(QtWidgets.QSpinBox):
            number.selectAll()  # what is typed replaces it


def _titles(pattern: str, asked: list[Part]) -> list[str]:
    """What stands before each of the answers."""
    files = [part.kind for part in asked].count("file")
    titles = {
        "number": iter(number_titles(pattern)),
        "file": iter([f"File {n + 1}" for n in range(files)] if files > 1 else ["File"]),
        "choice": iter(["Which"]),
    }
    return [next(titles[part.kind]) for part in asked]


def _ask_files(parent: Any, title: str, offered: str, several: bool) -> str:
    """Files that the user chooses of those that a filter offers, with commas between; empty where he chose none."""
    if several:
        files, _ = QtWidgets.QFileDialog.getOpenFileNames(parent, title, "", offered)
    else:
        file, _ = QtWidgets.QFileDialog.getOpenFileName(parent, title, "", offered)
        files = [file]
    return ",".join(files)


class AnalyseButton(QtWidgets.QToolButton):  # type: ignore[misc]  # Qt has no types here
    """A button that drops down the analyses of the molecule; fill its menu when that is about to show.

    Attributes
    ----------
    chosen : signal of str
        Name of an analysis.
    """

    chosen = QtCore.Signal(str)

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent, text="Analyse", popupMode=QtWidgets.QToolButton.InstantPopup)
        self.setToolTip("Analyse the molecule: charges, bonds, localised orbitals, properties of surfaces …")
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

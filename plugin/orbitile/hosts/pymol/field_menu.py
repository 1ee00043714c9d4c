"""The menu of what can be shown: presets, and all fields in their groups, each with its sentence."""

from __future__ import annotations

from functools import partial
from typing import Any

from pymol.Qt import QtCore, QtWidgets

from ...fields import field_groups, unavailable
from ...model.wavefunction import Wavefunction
from ...pictures.orbitals import Part, asked_for, completed, largest, number_titles, takes_several_files
from ...session.presets import PRESETS, Preset, why_not
from .file_filters import files_of_field, wavefunctions_to_open
from .widgets import add_entry, ask_by, row


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
        super().__init__(parent)
        self.setText("Show a field")
        self.setToolTip("What can be shown of the molecule: often used views first, then all fields in groups")
        self.setPopupMode(self.InstantPopup)
        self._wavefunction: Wavefunction | None = None
        self._presets: dict[str, Any] = {}
        self._fields: dict[str, Any] = {}
        self._tips: dict[Any, str] = {}
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
        self._tips[action] = sentence
        return action

    def _enable(self, action: Any, reason: str) -> None:
        action.setEnabled(not reason)
        action.setToolTip(f"Not for this molecule: {reason}" if reason else self._tips[action])

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
        super().__init__(parent)
        self.setWindowTitle(pattern)
        self._pattern, self._most = pattern, most
        self._preview = QtWidgets.QLabel()
        buttons = QtWidgets.QDialogButtonBox(QtWidgets.QDialogButtonBox.Ok | QtWidgets.QDialogButtonBox.Cancel)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self.ok_button = buttons.button(QtWidgets.QDialogButtonBox.Ok)
        explanation = QtWidgets.QLabel(sentence)
        explanation.setWordWrap(True)
        form = QtWidgets.QFormLayout(self)
        form.addRow(explanation)
        asked = asked_for(pattern)
        self.inputs = [self._input(part) for part in asked]
        for title, widget in zip(_titles(pattern, asked), self.inputs, strict=True):
            form.addRow(title, widget)
        form.addRow("Field", self._preview)
        form.addRow(buttons)
        self._told()

    def field(self) -> str:
        """Name of the field as it was answered."""
        return completed(self._pattern, [widget.answer() for widget in self.inputs])

    def _input(self, part: Part) -> Any:
        if part.kind == "number":
            return _Number(self._most, self._told)
        return _File(self._told) if part.kind == "file" else _Choice(part.options, self._told)

    def _told(self) -> None:
        """Show what the field will be called, once all is answered."""
        complete = all(widget.answer() for widget in self.inputs)
        self._preview.setText(self.field() if complete else "")
        self.ok_button.setEnabled(complete)


class _Number(QtWidgets.QSpinBox):  # type: ignore[misc]  # Qt has no types here
    def __init__(self, most: int, changed: Any) -> None:
        super().__init__()
        self.setRange(1, max(most, 1))
        self.valueChanged.connect(lambda value: changed())

    def showEvent(self, event: Any) -> None:
        super().showEvent(event)
        self.selectAll()  # what is typed replaces it

    def answer(self) -> str:
        return str(self.value())


class _Choice(QtWidgets.QComboBox):  # type: ignore[misc]  # Qt has no types here
    def __init__(self, options: tuple[str, ...], changed: Any) -> None:
        super().__init__()
        for option in options:
            self.addItem(option.removeprefix(":"), option)
        self.currentIndexChanged.connect(lambda at: changed())

    def answer(self) -> str:
        return str(self.currentData())


class _File(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    def __init__(self, changed: Any) -> None:
        super().__init__()
        self._changed = changed
        self.edit = QtWidgets.QLineEdit()
        self.edit.textChanged.connect(lambda text: changed())
        button = QtWidgets.QPushButton("Choose…")
        button.clicked.connect(self._ask)
        layout = row(self.edit, button)
        layout.setContentsMargins(0, 0, 0, 0)
        self.setLayout(layout)

    def answer(self) -> str:
        return str(self.edit.text().strip())

    def _ask(self) -> None:
        file = _ask_files(self, "File to compare with", wavefunctions_to_open(), several=False)
        if file:
            self.edit.setText(file)


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

"""A form for the parameters of an analysis, made of what its module states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pymol.Qt import QtCore, QtWidgets

from ...base.arguments import ATOMS, FLAG, FRAGMENTS, Argument, atom_list
from ...fields import field_names
from .widgets import row

Qt = QtCore.Qt


class ParameterForm(QtWidgets.QWidget):  # type: ignore[misc]  # Qt has no types here
    """Widgets for parameters.

    Parameters
    ----------
    parameters : sequence of Argument
    selected : callable
        Gives the atoms, from 0, that the user has selected in the molecule.

    Attributes
    ----------
    changed : signal
        The user has changed a parameter.
    entered : signal
        Return was pressed.
    """

    changed = QtCore.Signal()
    entered = QtCore.Signal()

    def __init__(
        self, parameters: Sequence[Argument], selected: Callable[[], Sequence[int]], parent: Any = None
    ) -> None:
        super().__init__(parent)
        self._selected = selected
        self.inputs: dict[str, Any] = {}
        self._grid = QtWidgets.QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(4)
        at = 0  # of the halves of rows, that of the next parameter
        for parameter in parameters:
            at = self._add(parameter, at)
        for column in (1, 3):
            self._grid.setColumnStretch(column, 1)

    def _add(self, parameter: Argument, at: int) -> int:
        """Put a parameter into half a row, one of atoms into a whole one; gives the half that is free then."""
        widget, shown = self._input(parameter)
        label = QtWidgets.QLabel(_sentence(parameter.name.replace("_", " ")))
        for one in {widget, shown, label}:
            one.setToolTip(_sentence(parameter.help))
        is_wide = shown is not widget
        at += at % 2 if is_wide else 0
        self._grid.addWidget(label, at // 2, 2 * (at % 2))
        self._grid.addWidget(shown, at // 2, 2 * (at % 2) + 1, 1, 3 if is_wide else 1)
        self.inputs[parameter.name] = widget
        return at + (2 if is_wide else 1)

    def given(self) -> dict[str, str]:
        """What is filled in, by name; what is left empty is left out."""
        texts = {name: _text(widget) for name, widget in self.inputs.items()}
        return {name: text for name, text in texts.items() if text}

    def fill(self, given: dict[str, str]) -> None:
        """Fill in what was given before."""
        for name, text in given.items():
            widget = self.inputs.get(name)
            if isinstance(widget, QtWidgets.QComboBox):
                widget.setCurrentText(text)
            elif isinstance(widget, QtWidgets.QCheckBox):
                widget.setChecked(text == "1")
            elif widget is not None:
                widget.setText(text)

    def missing(self, parameters: Sequence[Argument]) -> str:
        """The first parameter that has to be given and is not; empty for none."""
        given = self.given()
        return next((one.name for one in parameters if one.required and one.name not in given), "")

    def _input(self, parameter: Argument) -> tuple[Any, Any]:
        """The widget that holds a parameter, and the one that it stands in."""
        kind = parameter.kind
        if kind.choices:
            box = QtWidgets.QComboBox()
            box.addItems(list(kind.choices))
            box.setCurrentText(str(parameter.default))
            box.currentIndexChanged.connect(lambda at: self.changed.emit())
            return box, box
        if kind is FLAG:
            check = QtWidgets.QCheckBox()
            check.setChecked(bool(parameter.default))
            check.toggled.connect(lambda on: self.changed.emit())
            return check, check
        edit = QtWidgets.QLineEdit()
        edit.setPlaceholderText(_placeholder(parameter))
        edit.setClearButtonEnabled(True)
        edit.textChanged.connect(lambda text: self.changed.emit())
        edit.returnPressed.connect(self.entered)
        if parameter.completes == "fields":
            completer = QtWidgets.QCompleter([name for name, _ in field_names()], edit)
            completer.setCaseSensitivity(Qt.CaseInsensitive)
            edit.setCompleter(completer)
        if kind not in (ATOMS, FRAGMENTS):
            return edit, edit
        button = QtWidgets.QPushButton("From selection" if kind is ATOMS else "Add selection")
        button.setToolTip("The atoms that are selected in PyMOL")
        button.clicked.connect(lambda: self._take_selection(edit, several=kind is FRAGMENTS))
        both = QtWidgets.QWidget()
        layout = row(edit, button)
        layout.setContentsMargins(0, 0, 0, 0)
        both.setLayout(layout)
        return edit, both

    def _take_selection(self, edit: Any, several: bool) -> None:
        atoms = atom_list(self._selected())
        if not atoms:
            QtWidgets.QToolTip.showText(edit.mapToGlobal(edit.rect().bottomLeft()), _NOTHING_SELECTED, edit)
            return
        before = edit.text().strip().rstrip(";")
        edit.setText(f"{before}; {atoms}" if several and before else atoms)


_NOTHING_SELECTED = "No atom of this molecule is selected: click on atoms in PyMOL, then here."


def _text(widget: Any) -> str:
    if isinstance(widget, QtWidgets.QComboBox):
        return str(widget.currentText())
    if isinstance(widget, QtWidgets.QCheckBox):
        return "1" if widget.isChecked() else "0"
    return str(widget.text()).strip()


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _placeholder(parameter: Argument) -> str:
    otherwise = parameter.otherwise or ("" if parameter.default in ("", None) else str(parameter.default))
    if parameter.kind is ATOMS:
        return f"{otherwise or 'atoms'}: 1-6,9 or a selection, as elem C"
    if parameter.kind is FRAGMENTS:
        return f"{otherwise or 'fragments'}: 1-6; 7-12 or selections, as ring = resi 1; rest = resi 2"
    return otherwise

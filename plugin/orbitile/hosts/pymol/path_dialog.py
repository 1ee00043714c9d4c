"""The dialog that asks between which two structures a path is to be found, and how."""

from __future__ import annotations

from typing import Any

from pymol.Qt import QtWidgets

from ...integrals.method_names import semiempirical
from .help import PATHS, buttons_with_help, explain
from .live_bar import AS_IN_FILE, BASES, METHODS, SOLVENTS
from .widgets import ask_by, row


def states_of(viewer: Any) -> list[str]:
    """Objects of one state that PyMOL has, and the first and the last state of others, by names that commands take."""
    numbers = {name: int(viewer.cmd.count_states(f"%{name}")) for name in viewer.structures()}
    return [text for name, n in numbers.items() for text in ((name,) if n == 1 else (f"{name}/1", f"{name}/{n}")) if n]


class PathDialog(QtWidgets.QDialog):  # type: ignore[misc]  # Qt has no types here
    """Asks for two structures, the method, and the electrons.

    Parameters
    ----------
    states : list of str
        As `states_of` gives them; two at least.
    parent
        Window that the dialog belongs to.
    """

    def __init__(self, states: list[str], parent: Any = None) -> None:
        super().__init__(parent, windowTitle="Path between two structures")
        explain(self, PATHS)
        self.first_box, self.last_box = _words(states, states[-2]), _words(states, states[-1])
        for box in (self.first_box, self.last_box):
            box.setToolTip("An object, or OBJECT/3 for its third state; both have the same atoms in the same order")
        self.method_box, self.basis_box = _words([AS_IN_FILE, *METHODS]), _words([AS_IN_FILE, *BASES])
        self.solvent_box = _words([AS_IN_FILE, *SOLVENTS])
        self.method_box.currentTextChanged.connect(lambda name: self.basis_box.setDisabled(bool(semiempirical(name))))
        self.method_box.setCurrentText("gfn2")
        # one below what there can be stands for nothing
        self.charge_box = QtWidgets.QSpinBox(minimum=-21, maximum=20, value=-21, specialValueText=AS_IN_FILE)
        self.unpaired_box = QtWidgets.QSpinBox(minimum=-1, maximum=20, value=-1, specialValueText=AS_IN_FILE)
        buttons, self.ok_button = buttons_with_help(self, parent, PATHS, "Find path")
        form = QtWidgets.QFormLayout(self)
        form.addRow("From", self.first_box)
        form.addRow("To", self.last_box)
        form.addRow("Method", row(self.method_box, self.basis_box, None))
        form.addRow("Solvent", self.solvent_box)
        form.addRow("Charge", row(self.charge_box, QtWidgets.QLabel("unpaired electrons"), self.unpaired_box, None))
        form.addRow(buttons)

    def arguments(self) -> list[Any]:
        """Of the command that finds it; "" for what is as in the file."""
        basis, method, solvent = (
            "" if box.currentText() == AS_IN_FILE or not box.isEnabled() else box.currentText().strip()
            for box in (self.basis_box, self.method_box, self.solvent_box)
        )
        electrons = (
            "" if box.value() == box.minimum() else box.value() for box in (self.charge_box, self.unpaired_box)
        )
        structures = (box.currentText().strip() for box in (self.first_box, self.last_box))
        return [*structures, basis, method, *electrons, "", solvent]


def _words(words: list[str] | tuple[str, ...], first: str = "") -> Any:
    box = QtWidgets.QComboBox(editable=True)
    box.addItems(words)
    box.setCurrentText(first or words[0])
    return box


def ask_path(viewer: Any, parent: Any, find: Any) -> None:
    """Ask for a path, and hand on the arguments of the command for it."""
    dialog = PathDialog(states_of(viewer), parent)
    dialog.accepted.connect(lambda: find(dialog.arguments()))
    ask_by(dialog)

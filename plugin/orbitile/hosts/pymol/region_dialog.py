"""The dialog that asks how the electrons of a region are to be computed, and the button that lists what may be."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from pymol.Qt import QtCore, QtWidgets

from ...integrals.method_names import semiempirical
from ...pictures.words import of_error
from ...scf.region import complete_choice
from ...session.region import PDB2PQR, RegionOrder, source_of_charges
from ...session.session import Session
from ...session.shown import numbered
from .help import REGIONS, buttons_with_help, explain
from .widgets import ask_by, row

_AUTOMATIC = "automatic"
_METHODS = (_AUTOMATIC, "gfn2", "pbe", "pbe-d3bj", "b3lyp", "b3lyp-d3bj", "hf")
_BASES = ("6-31g*", "def2-svp", "sto-3g", "def2-tzvp")
_OF_OBJECTS, _VACUUM, _FILE = "partial charges of the objects", "none: vacuum", "a PQR or mol2 file…"
_BY_PDB2PQR = "PDB2PQR (AMBER)"


class ComputeButton(QtWidgets.QToolButton):  # type: ignore[misc]  # Qt has no types here
    """A button that drops down what electrons may be computed of, and paths.

    Attributes
    ----------
    chosen : signal of str, str
        What it is called, and the selection.
    path_chosen : signal
        The path between two structures is wanted.
    """

    chosen = QtCore.Signal(str, str)
    path_chosen = QtCore.Signal()

    def __init__(self, regions: Any, has_two: Any, parent: Any = None) -> None:
        super().__init__(parent, text="Compute", popupMode=QtWidgets.QToolButton.InstantPopup)
        self.setToolTip("Compute the electrons of selected atoms or of a ligand, or the path between two structures")
        menu = QtWidgets.QMenu(self)
        menu.aboutToShow.connect(lambda: self._fill(regions(), has_two()))
        self.setMenu(menu)

    def _fill(self, regions: dict[str, str], has_two: bool) -> None:
        menu = self.menu()
        menu.clear()
        for title, selection in regions.items():
            menu.addAction(f"Electrons of {title}…", partial(self.chosen.emit, title, selection))
        if not regions:
            menu.addAction("Load a structure into PyMOL, and select atoms").setEnabled(False)
        menu.addSeparator()
        menu.addAction("Path between two structures…", self.path_chosen.emit).setEnabled(has_two)


class RegionDialog(QtWidgets.QDialog):  # type: ignore[misc]  # Qt has no types here
    """Asks for charge, method and surroundings, and says what follows from the atoms.

    Parameters
    ----------
    session : Session
    title, selection : str
        What is to be computed.
    parent
        Window that the dialog belongs to.
    """

    def __init__(self, session: Session, title: str, selection: str, parent: Any = None) -> None:
        super().__init__(parent, windowTitle=f"Electrons of {title}")
        explain(self, REGIONS)
        self._session, self._selection, self._why_vacuum = session, selection, ""
        self._guessed: dict[Any, int] = {}
        taken = {name.lower() for name in session.host.names()}
        self.name_edit = QtWidgets.QLineEdit(next(name for name in numbered("region") if name not in taken))
        self.charge_box = QtWidgets.QSpinBox(minimum=-20, maximum=20)
        self.unpaired_box = QtWidgets.QSpinBox(maximum=20)
        self._electrons = self.charge_box, self.unpaired_box
        self.method_box, self.basis_box = (QtWidgets.QComboBox(editable=True) for _ in range(2))
        self.method_box.addItems(_METHODS)
        self.basis_box.addItems(_BASES)
        self.method_box.setToolTip("GFN2-xTB where an engine has it in the field of charges, otherwise PBE/6-31G*")
        self.method_box.currentTextChanged.connect(lambda name: self._enable_basis(name))
        self.complete_box = QtWidgets.QCheckBox("Add atoms until only single bonds between carbons are cut")
        self.complete_box.toggled.connect(lambda on: self._look(None, None))
        self.charges_box = QtWidgets.QComboBox()
        self.charges_box.activated.connect(lambda at: self._ask_file())
        self.found = QtWidgets.QLabel(wordWrap=True)
        self.problem = QtWidgets.QLabel(wordWrap=True)
        self.problem.setStyleSheet("color: #b2182b")
        self.hydrogens_button = QtWidgets.QPushButton("Add hydrogens", clicked=lambda: self._add_hydrogens())
        buttons, self.ok_button = buttons_with_help(self, parent, REGIONS, "Compute")
        form = QtWidgets.QFormLayout(self)
        form.addRow(self.found)
        form.addRow(self.problem)
        form.addRow(self.hydrogens_button)
        form.addRow(self.complete_box)
        form.addRow("Name", self.name_edit)
        form.addRow("Charge", row(self.charge_box, QtWidgets.QLabel("unpaired electrons"), self.unpaired_box, None))
        form.addRow("Method", row(self.method_box, self.basis_box, None))
        form.addRow("Charges around", self.charges_box)
        form.addRow(buttons)
        self._enable_basis(_AUTOMATIC)
        self._look(None, None)
        for box in self._electrons:
            box.valueChanged.connect(lambda value: self._look(self.charge_box.value(), self.unpaired_box.value()))

    def arguments(self) -> list[Any]:
        """Of the command that computes it: what was not changed follows from the hydrogens that PDB2PQR will place."""
        method, basis = self.method_box.currentText().strip(), self.basis_box.currentText().strip()
        charges = self.charges_box.currentData()
        is_automatic = method == _AUTOMATIC
        return [
            self.name_edit.text().strip(),
            self._selection,
            *("" if box.value() == self._guessed.get(box) else box.value() for box in self._electrons),
            "" if is_automatic else method,
            "" if is_automatic or semiempirical(method) else basis,
            0 if charges is None else 1,
            charges or "",
            "",
            "",
            int(self.complete_box.isChecked()),
        ]

    def _look(self, charge: int | None, unpaired: int | None) -> None:
        """Say what the region is, or what is missing."""
        problem, notes = "", tuple[str, ...]()
        try:
            structure, chosen = self._session.host.structure(self._selection)
            if charge is None:
                self._guessed = {}
                self._offer_charges(structure, chosen)
            if self.complete_box.isChecked():
                chosen = complete_choice(structure, chosen)
            n_hydrogens = int(np.sum(structure.atomic_numbers[chosen] == 1))
            self.found.setText(f"{len(chosen)} atoms, {n_hydrogens} of them hydrogen")
            region = self._session.computing.aside(RegionOrder(structure, chosen, charge, unpaired).region)
            notes = region.notes
            if charge is None:
                self._guessed = dict(zip(self._electrons, (region.charge, region.unpaired), strict=True))
                for box, value in self._guessed.items():
                    with QtCore.QSignalBlocker(box):
                        box.setValue(value)
        except Exception as error:
            problem = of_error(error)
        else:
            links = f", and {len(region.links)} hydrogens where bonds are cut" if region.links else ""
            self.found.setText("\n".join(filter(None, [f"{self.found.text()}{links}", *notes, self._why_vacuum])))
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        self.hydrogens_button.setVisible("h_add" in problem or "attach H" in problem)
        self.ok_button.setEnabled(not problem)
        self.adjustSize()

    def _offer_charges(self, structure: Any, chosen: Any) -> None:
        box = self.charges_box
        box.clear()
        try:
            usual = source_of_charges(structure, chosen)
        except Exception as error:  # there is nothing that gives any
            usual, self._why_vacuum = None, of_error(error)
        if usual == "":
            box.addItem(_OF_OBJECTS, "")
        if usual is not None:
            box.addItem(_BY_PDB2PQR, PDB2PQR)
        box.addItem(_FILE, _FILE)
        box.addItem(_VACUUM, None)
        box.setCurrentIndex(0 if usual is not None else box.count() - 1)

    def _ask_file(self) -> None:
        if self.charges_box.currentData() != _FILE:
            return
        file, _ = QtWidgets.QFileDialog.getOpenFileName(self, "Charges", "", "Charges (*.pqr *.mol2);;All files (*)")
        at = 0
        if file:
            self.charges_box.insertItem(at, file, file)
        self.charges_box.setCurrentIndex(at)

    def _add_hydrogens(self) -> None:
        self._session.host.add_hydrogens(self._selection)
        self._look(None, None)

    def _enable_basis(self, method: str) -> None:
        self.basis_box.setDisabled(method == _AUTOMATIC or bool(semiempirical(method)))


def ask_region(session: Session, title: str, selection: str, parent: Any, compute: Any) -> None:
    """Ask how a region is to be computed, and hand on the arguments of the command for it."""
    dialog = RegionDialog(session, title, selection, parent)
    dialog.accepted.connect(lambda: compute(dialog.arguments()))
    ask_by(dialog)

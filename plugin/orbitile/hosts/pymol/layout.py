"""The window Plugin > Orbitile as it looks: its widgets, and where they stand."""

from __future__ import annotations

from typing import Any

from pymol.Qt import QtCore, QtWidgets

from ...exporters import suffixes
from ...fields import field_names
from ...model.lattice import QUALITIES
from ...pictures.look import STYLES
from ...pictures.orbitals import EXPLANATION
from ...pictures.words import device_names, plain_fields, quality_spacings, share_in_words
from ...session.window.choices import TWO_COLOURS, Choices
from ...session.window.localising import LISTED_ORBITALS
from ...surfaces.colour_maps import PAIRS
from .analyse_menu import AnalyseButton
from .colour_pairs import PairButton
from .colour_scale import ColourScale
from .field_menu import FieldMenu
from .frame_bar import FrameBar
from .help import ANALYSES, FIELDS, LIVE, OPENING, ORBITALS, SHOWN, TRAJECTORIES, explain, help_button
from .level_diagram import LevelDiagram
from .live_bar import LiveBar
from .opening_menu import OpeningMenu
from .orbital_table import OrbitalTable
from .shown_list import ShownList
from .tool_window import ToolWindow
from .widgets import row

Qt = QtCore.Qt

STEPS = 1000
"""Of the slider of the isovalue."""


class PanelLayout(ToolWindow):
    """The window without what it does.

    Parameters
    ----------
    window
        Main window that it belongs to.
    choices
        What its controls stand at.
    live_level
        What was kept of `LiveBar`.
    """

    def __init__(self, window: Any, choices: Choices, live_level: Any = None) -> None:
        super().__init__("Orbitile", window)
        self.setObjectName("orbitile")
        inside = QtWidgets.QWidget(self)
        outer = QtWidgets.QVBoxLayout(inside)
        outer.setSpacing(6)
        outer.setContentsMargins(8, 8, 8, 6)
        self._add_molecules(outer)
        self._add_orbitals(outer)
        for energies in (self.table, self.diagram):
            energies.set_unit(choices.unit)
        self.frame_bar = FrameBar(choices.rate)
        self.frame_bar.hide()
        outer.addWidget(self.frame_bar)
        self.live_bar = LiveBar(live_level)
        outer.addWidget(self.live_bar)
        self._add_fields(outer)
        form = QtWidgets.QGridLayout()
        form.setHorizontalSpacing(8)
        form.setVerticalSpacing(5)
        form.setColumnStretch(1, 1)
        outer.addLayout(form)
        self._add_isovalue(form)
        self._add_look(form, choices)
        self._add_computing(form, choices)
        self._add_status(outer)
        self.setWidget(inside)
        for widget, heading in (
            (self.open_button, OPENING),
            (self.splitter, ORBITALS),
            (self.field_menu, FIELDS),
            (self.field_edit, FIELDS),
            (self.shown_list, SHOWN),
            (self.analyse_button, ANALYSES),
            (self.frame_bar, TRAJECTORIES),
            (self.live_bar, LIVE),
        ):
            explain(widget, heading)

    def _add_molecules(self, outer: Any) -> None:
        self.open_button = QtWidgets.QToolButton()
        self.open_button.setText("Open…")
        self.open_button.setPopupMode(QtWidgets.QToolButton.MenuButtonPopup)
        self.open_button.setToolTip("Open the output of a quantum-chemistry program; the arrow lists recent files")
        self.opening_menu = OpeningMenu(self)
        self.open_button.setMenu(self.opening_menu)
        self.molecule_box = QtWidgets.QComboBox()
        self.molecule_box.setToolTip("Molecule whose orbitals are listed")
        self.molecule_box.setSizePolicy(QtWidgets.QSizePolicy.Ignored, QtWidgets.QSizePolicy.Fixed)
        self.more_button = QtWidgets.QToolButton()
        self.more_button.setText("More")
        self.more_button.setPopupMode(QtWidgets.QToolButton.InstantPopup)
        self.more_button.setToolTip("Save a picture or a film, copy commands, help")
        self.more_menu = QtWidgets.QMenu(self)
        self.more_button.setMenu(self.more_menu)
        self.analyse_button = AnalyseButton()
        molecules = row(self.open_button, self.molecule_box, self.analyse_button, self.more_button, help_button(self))
        molecules.setStretch(1, 1)
        outer.addLayout(molecules)
        self.summary = _shortened()
        self.notes = _shortened()
        self.notes.hide()
        outer.addWidget(self.summary)
        outer.addWidget(self.notes)

    def _add_orbitals(self, outer: Any) -> None:
        self.filter_edit = QtWidgets.QLineEdit()
        self.filter_edit.setPlaceholderText("Filter: homo-3..lumo+3, 7-9, occ, a1g, -20..-5")
        self.filter_edit.setToolTip(EXPLANATION)
        self.filter_edit.setClearButtonEnabled(True)
        self.table = OrbitalTable()
        self.diagram = LevelDiagram()
        left = QtWidgets.QWidget()
        column = QtWidgets.QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.orbitals_box = QtWidgets.QComboBox()
        for scheme, title in LISTED_ORBITALS.items():
            self.orbitals_box.addItem(title, scheme)
        self.orbitals_box.setToolTip("Orbitals as the file has them, or localised: bonds, lone pairs and cores")
        self.orbitals_box.setSizeAdjustPolicy(QtWidgets.QComboBox.AdjustToMinimumContentsLengthWithIcon)
        self.orbitals_box.setMinimumContentsLength(8)
        above = row(self.orbitals_box, self.filter_edit, spacing=4)
        above.setStretch(1, 1)
        column.addLayout(above)
        column.addWidget(self.table)
        self.splitter = QtWidgets.QSplitter(Qt.Horizontal)
        self.splitter.addWidget(left)
        self.splitter.addWidget(self.diagram)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setChildrenCollapsible(False)
        outer.addWidget(self.splitter, 1)

    def _add_fields(self, outer: Any) -> None:
        self.field_menu = FieldMenu()
        self.field_edit = QtWidgets.QLineEdit()
        self.field_edit.setPlaceholderText("or its name: homo, lumo+1, mo:17, density …")
        completer = QtWidgets.QCompleter([name for name, _ in field_names()], self)
        completer.setCaseSensitivity(Qt.CaseInsensitive)
        self.field_edit.setCompleter(completer)
        self.field_edit.setToolTip("Name of a field; Return shows it")
        self.show_button = QtWidgets.QPushButton("Show")
        outer.addLayout(row(self.field_menu, self.field_edit, self.show_button))
        self.shown_list = ShownList()
        outer.addWidget(self.shown_list)

    def _add_isovalue(self, form: Any) -> None:
        self.iso_slider = QtWidgets.QSlider(Qt.Horizontal)
        self.iso_slider.setRange(0, STEPS)
        self.iso_slider.setMinimumWidth(60)
        self.iso_slider.setToolTip("Isovalue, on a logarithmic scale")
        self.iso_edit = QtWidgets.QLineEdit()
        self.iso_edit.setFixedWidth(self.fontMetrics().horizontalAdvance("0.000000") + 18)
        self.iso_edit.setToolTip("Isovalue in atomic units")
        self.iso_unit = QtWidgets.QLabel()
        self.auto_box = QtWidgets.QCheckBox(share_in_words())
        self.auto_box.setToolTip(
            f"For each orbital the isovalue whose surface encloses {share_in_words()} of its density"
        )
        self.auto_box.setChecked(True)
        form.addWidget(QtWidgets.QLabel("Isovalue"), 0, 0)
        form.addLayout(row(self.iso_slider, self.iso_edit, self.iso_unit, self.auto_box), 0, 1)

    def _add_look(self, form: Any, choices: Choices) -> None:
        self.pair_button = PairButton(PAIRS)
        self.pair_button.show_pair(choices.look.colours)
        self.second_box = QtWidgets.QComboBox()
        self.second_box.addItem(TWO_COLOURS)
        self.second_box.addItems(plain_fields())
        self.second_box.setToolTip("Colour the surface by a second field: esp on density at 0.001, above all")
        self.colour_scale = ColourScale()
        form.addWidget(QtWidgets.QLabel("Colours"), 1, 0)
        form.addLayout(row(self.pair_button, QtWidgets.QLabel("or by"), self.second_box, None), 1, 1)
        form.addWidget(self.colour_scale, 2, 1)
        self.style_box = QtWidgets.QComboBox()
        self.style_box.addItems(STYLES)
        self.style_box.setCurrentText(choices.look.style)
        self.style_box.setToolTip("Triangles, lit from outside or from both sides; their edges; their corners")
        self.transparency_slider = QtWidgets.QSlider(Qt.Horizontal)
        self.transparency_slider.setRange(0, 100)
        self.transparency_slider.setMinimumWidth(60)
        self.transparency_slider.setValue(round(100 * choices.look.transparency))
        self.transparency_slider.setToolTip("Transparency of the surface")
        form.addWidget(QtWidgets.QLabel("Drawn as"), 3, 0)
        form.addLayout(row(self.style_box, QtWidgets.QLabel("transparent"), self.transparency_slider), 3, 1)

    def _add_computing(self, form: Any, choices: Choices) -> None:
        self.quality_box = QtWidgets.QComboBox()
        self.quality_box.addItems(list(QUALITIES))
        self.quality_box.setCurrentText(choices.quality)
        self.quality_box.setToolTip(f"Spacing of the lattice: {quality_spacings()} Å")
        self.device_box = QtWidgets.QComboBox()
        self.device_box.addItems(device_names())
        self.device_box.setToolTip("What computes")
        self.export_button = QtWidgets.QPushButton("Export…")
        self.export_button.setToolTip(f"Write the volume ({suffixes('volume')}) or the surface ({suffixes('mesh')})")
        self.picture_button = QtWidgets.QPushButton("Picture…")
        self.picture_button.setToolTip("Save what is seen as a picture")
        form.addWidget(QtWidgets.QLabel("Quality"), 4, 0)
        form.addLayout(
            row(
                self.quality_box,
                QtWidgets.QLabel("on"),
                self.device_box,
                None,
                self.picture_button,
                self.export_button,
            ),
            4,
            1,
        )

    def _add_status(self, outer: Any) -> None:
        self.status = QtWidgets.QLabel()
        self.status.setWordWrap(True)
        self.status.setTextInteractionFlags(Qt.TextSelectableByMouse)
        self.status.setMinimumHeight(self.fontMetrics().height() * 2 + 2)
        policy = QtWidgets.QSizePolicy(QtWidgets.QSizePolicy.Ignored, QtWidgets.QSizePolicy.Minimum)
        policy.setHeightForWidth(True)  # a long sentence takes of the table what it needs
        self.status.setSizePolicy(policy)
        self.status.setAlignment(Qt.AlignLeft | Qt.AlignVCenter)
        self.progress = QtWidgets.QProgressBar()
        self.progress.setRange(0, 100)
        self.progress.setFixedWidth(90)
        self.cancel_button = QtWidgets.QPushButton("Cancel")
        for widget in (self.progress, self.cancel_button):
            widget.hide()
        bottom = row(self.status, self.progress, self.cancel_button)
        bottom.setStretch(0, 1)
        outer.addLayout(bottom)


def _shortened() -> Any:
    """A line of text that takes the room there is; the whole of it is in its tooltip."""
    label = QtWidgets.QLabel()
    label.setSizePolicy(QtWidgets.QSizePolicy.Ignored, QtWidgets.QSizePolicy.Fixed)
    return label

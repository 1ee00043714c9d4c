"""The widgets of PyMOL's window, one by one, with real events of mouse and keys, on a screen that nobody sees."""

import os
from pathlib import Path

import numpy as np
import pytest

from orbitile.analysis.reports import analyses
from orbitile.fields import field_groups
from orbitile.model.report import Curve, Plot, Report
from orbitile.pictures.look import Look, Scale
from orbitile.pictures.orbitals import Level, asked_for, largest, levels_of
from orbitile.session.presets import PRESETS
from orbitile.session.seen import Listed
from tests.hosts.widgets import levels, told_by

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
QtTest = pytest.importorskip("PyQt5.QtTest", reason="PyQt5 (extra pymol) is not installed").QTest

from pymol.Qt import QtCore, QtGui, QtWidgets  # noqa: E402  only where it is installed

from orbitile.hosts.pymol.colours import ColourScale, PairButton  # noqa: E402
from orbitile.hosts.pymol.commands import state_of  # noqa: E402
from orbitile.hosts.pymol.menus import AnalyseButton, FieldDialog, FieldMenu  # noqa: E402
from orbitile.hosts.pymol.orbitals import LevelDiagram, OrbitalTable  # noqa: E402
from orbitile.hosts.pymol.panel import Panel  # noqa: E402
from orbitile.hosts.pymol.shown_list import ShownList  # noqa: E402
from orbitile.hosts.pymol.widgets import breakable  # noqa: E402
from orbitile.session.window.analysing import OfferedAnalysis  # noqa: E402

Qt = QtCore.Qt

pytestmark = pytest.mark.usefixtures("application")


def click(view, row, column, button=Qt.LeftButton):
    cell = view.model().index(row, column)
    view.scrollTo(cell)
    QtTest.mouseClick(view.viewport(), button, Qt.NoModifier, view.visualRect(cell).center())


@pytest.fixture
def table(seen):
    table = seen(OrbitalTable())
    table.fill([levels()])
    return table


def test_focus_chooses_no_orbital(table):
    chosen = told_by(table.chosen)
    table.setFocus()
    QtTest.qWait(10)
    assert table.hasFocus()
    assert chosen == []
    assert not table.currentIndex().isValid()


def test_clicks_and_keys_choose_orbitals(table):
    chosen = told_by(table.chosen)
    click(table, 19, 1)
    for key in (Qt.Key_Down, Qt.Key_Up, Qt.Key_Home, Qt.Key_End, Qt.Key_PageUp):
        QtTest.keyClick(table, key)
    assert [level.index for level in chosen[:5]] == [19, 20, 19, 0, 39]
    assert 20 < chosen[5].index < 39
    QtTest.keyClicks(table, "h1")
    assert len(chosen) == 6


def test_the_first_key_begins_at_the_homo(table):
    chosen = told_by(table.chosen)
    table.setFocus()
    QtTest.keyClick(table, Qt.Key_Down)
    assert [level.mark for level in chosen] == ["HOMO"]


def test_a_click_on_what_is_chosen_asks_for_it_again(table):
    chosen = told_by(table.chosen)
    click(table, 19, 1)
    click(table, 19, 2)
    QtTest.keyClick(table, Qt.Key_Return)
    assert [level.index for level in chosen] == [19, 19, 19]


def test_a_filter_neither_chooses_nor_forgets(table):
    chosen = told_by(table.chosen)
    click(table, 19, 1)
    table.set_filter("virt")
    assert table.proxy.rowCount() == 20
    assert not table.currentIndex().isValid()
    table.set_filter("homo-3..lumo+3")
    assert table.currentIndex().row() == 3
    assert [level.index for level in table.neighbours()] == [20, 18]
    table.set_filter("nonsense")
    table.grab()
    table.set_filter("")
    assert table.currentIndex().row() == 19
    assert len(chosen) == 1
    QtTest.keyClick(table, Qt.Key_Down)
    assert chosen[-1].index == 20


def test_nothing_is_marked_while_no_orbital_is_shown(table):
    table.choose("alpha", 2)
    told = told_by(table.chosen)
    table.forget()
    assert table.orbitals.chosen is None
    assert not table.currentIndex().isValid()
    assert told == []
    assert table.choose("alpha", 2) is table.orbitals.chosen  # the same again is marked again
    assert table.currentIndex().isValid()


def test_code_chooses_without_a_signal(table):
    chosen = told_by(table.chosen)
    assert table.choose("alpha", 20).mark == "LUMO"
    assert table.currentIndex().row() == 20
    assert table.choose("alpha", 40) is None
    assert chosen == []


def test_the_header_of_energies_changes_their_unit(table):
    units = told_by(table.unit_changed)
    header = table.horizontalHeader()
    for _ in range(2):
        at = header.sectionViewportPosition(1) + header.sectionSize(1) // 2
        QtTest.mouseClick(header.viewport(), Qt.LeftButton, Qt.NoModifier, QtCore.QPoint(at, 8))
    assert units == ["hartree", "eV"]


@pytest.fixture
def panel(cmd, monkeypatch):
    """The window, of a user who had energies in hartree the last time; nothing goes on in it."""
    session = state_of(cmd)
    monkeypatch.setattr(session.host, "settings", lambda: {"unit": "hartree"})
    window = QtWidgets.QMainWindow()
    panel = Panel(session, window)
    for timer in (panel._timer, panel._follow_timer):
        timer.stop()
    yield panel
    window.close()


def test_the_window_begins_with_the_unit_of_the_last_time(panel):
    assert panel.table.orbitals.unit.name == "hartree"


def test_every_text_fits_its_column(seen):
    table = seen(OrbitalTable())
    table.fill([levels(), levels(occupied=18, spin="beta")])
    bold = table.font()
    bold.setBold(True)
    for unit in ("eV", "hartree"):
        table.set_unit(unit)
        for column in range(table.proxy.columnCount()):
            for row in range(table.proxy.rowCount()):
                needed = table.fontMetrics().horizontalAdvance(table.proxy.index(row, column).data())
                assert needed < table.columnWidth(column)
    visible = table.viewport().width()
    mark_of_beta = max(at for at, column in enumerate(table.orbitals.columns) if column.what == "mark")
    assert table.columnViewportPosition(mark_of_beta) + table.columnWidth(mark_of_beta) < visible


def test_left_and_right_go_from_spin_to_spin(seen):
    table = seen(OrbitalTable())
    table.fill([levels(), levels(occupied=18, spin="beta")])
    chosen = told_by(table.chosen)
    click(table, 19, 1)
    for key in (Qt.Key_Right, Qt.Key_Down, Qt.Key_Left):
        QtTest.keyClick(table, key)
    assert [(level.spin, level.index) for level in chosen] == [("alpha", 19), ("beta", 19), ("beta", 20), ("alpha", 20)]


def test_lines_of_the_diagram_are_picked_and_zoomed(seen):
    diagram = seen(LevelDiagram())
    diagram.fill([levels()])
    picked = told_by(diagram.picked)
    QtTest.mouseClick(diagram, Qt.LeftButton, Qt.NoModifier, diagram.position_of("alpha", 19))
    assert [level.mark for level in picked] == ["HOMO"]
    before = diagram.position_of("alpha", 19)
    diagram.choose("alpha", 0)
    assert diagram.position_of("alpha", 0) is not None
    assert diagram.position_of("alpha", 19) is None
    QtTest.mouseDClick(diagram, Qt.LeftButton, Qt.NoModifier, QtCore.QPoint(5, 5))
    assert diagram.position_of("alpha", 19) == before


@pytest.mark.parametrize(
    "energies", [[], [np.nan, np.nan], [-0.5], [-0.5, -0.5], [-2e4, 3e3]], ids=["none", "unknown", "one", "two", "far"]
)
def test_odd_molecules_are_drawn(seen, energies):
    odd = [Level("alpha", i, energy, 2.0 - i, "", i) for i, energy in enumerate(energies)]
    table, diagram = seen(OrbitalTable()), seen(LevelDiagram())
    for widget in (table, diagram):
        widget.fill([odd])
        widget.set_unit("hartree")
        widget.choose("alpha", 0)
        assert not widget.grab().isNull()


def test_degenerate_levels_stand_side_by_side(seen, benzene):
    diagram = seen(LevelDiagram())
    diagram.fill(levels_of(benzene))
    first, second = (diagram.position_of("alpha", index) for index in (19, 20))
    assert abs(first.y() - second.y()) <= 1
    assert abs(first.x() - second.x()) > 50


ESP = Scale(-0.05, 0.05, "electrostatic potential", "hartree/e", "signed")
ROWS = [
    Listed("b_homo", "b", "HOMO (orbital 21)", 0.036, "bohr^-3/2", Look(), None, True, True),
    Listed("b_lumo", "b", "LUMO (orbital 22)", 0.035, "bohr^-3/2", Look(), None, False, False),
    Listed("b_density", "b", "density", 0.001, "e bohr^-3", Look(), ESP, True, False),
]
EYE, PIN, NAME, COLOURS, DELETE = 0, 1, 2, 4, 6


@pytest.fixture
def shown(seen):
    shown = seen(ShownList())
    shown.fill(ROWS, "b_homo")
    return shown


def test_eyes_pins_colours_and_crosses_are_clicked(shown):
    told = [
        told_by(signal)
        for signal in (shown.visibility_changed, shown.kept_changed, shown.colours_asked, shown.deleted, shown.chosen)
    ]
    for column in (EYE, PIN, COLOURS, DELETE):
        click(shown, 1, column)
    assert told == [[("b_lumo", True)], [("b_lumo", True)], ["b_lumo"], ["b_lumo"], []]


def test_rows_are_chosen_and_keys_act_on_them(shown):
    chosen, eyes, deleted = told_by(shown.chosen), told_by(shown.visibility_changed), told_by(shown.deleted)
    click(shown, 1, NAME)
    QtTest.keyClick(shown, Qt.Key_Down)
    QtTest.keyClick(shown, Qt.Key_Space)
    QtTest.keyClick(shown, Qt.Key_Delete)
    assert chosen == ["b_lumo", "b_density"]
    assert eyes == [("b_density", False)]
    assert deleted == ["b_density"]


def test_filling_again_keeps_the_row_and_tells_nothing(shown):
    chosen = told_by(shown.chosen)
    changes, resets = told_by(shown.surfaces.dataChanged), []
    shown.surfaces.modelReset.connect(lambda: resets.append(1))
    for _ in range(10):
        shown.fill(list(ROWS), "b_homo")
    assert (changes, resets) == ([], [])
    shown.fill(ROWS[1:], "b_density")
    assert shown.currentIndex().row() == 1
    shown.fill([], "")
    shown.setFocus()
    shown.grab()
    assert chosen == []


def test_a_press_that_ends_elsewhere_does_nothing(shown):
    deleted = told_by(shown.deleted)
    first, second = (shown.visualRect(shown.surfaces.index(row, DELETE)).center() for row in (0, 1))
    QtTest.mousePress(shown.viewport(), Qt.LeftButton, Qt.NoModifier, first)
    QtTest.mouseRelease(shown.viewport(), Qt.LeftButton, Qt.NoModifier, second)
    assert deleted == []


def test_a_menu_is_asked_for_by_mouse_and_by_keys(shown):
    asked = told_by(shown.menu_asked)
    cell = shown.visualRect(shown.surfaces.index(1, NAME)).center()
    for reason in (QtGui.QContextMenuEvent.Mouse, QtGui.QContextMenuEvent.Keyboard):
        event = QtGui.QContextMenuEvent(reason, cell, shown.viewport().mapToGlobal(cell))
        QtWidgets.QApplication.sendEvent(shown.viewport(), event)
    assert [name for name, _ in asked] == ["b_lumo", "b_homo"]
    assert asked[0][1] == shown.viewport().mapToGlobal(cell)


def test_every_cell_of_the_list_has_a_tooltip(shown):
    for row in range(len(ROWS)):
        for column in range(7):
            assert shown.surfaces.index(row, column).data(Qt.ToolTipRole)


def entries(menu):
    return [action for action in menu.actions() if not action.isSeparator() and action.menu() is None]


def test_the_menu_offers_all_that_there_is(benzene):
    menu = FieldMenu()
    assert not menu.isEnabled()
    menu.show_molecule(benzene)
    assert len(entries(menu.menu())) == len(PRESETS)
    groups = [action.menu() for action in menu.menu().actions() if action.menu() is not None]
    assert [len(entries(group)) for group in groups] == [len(fields) for _, fields in field_groups()]
    told = told_by(menu.preset_chosen), told_by(menu.field_chosen)
    entries(menu.menu())[0].trigger()
    density = next(a for group in groups for a in entries(group) if a.text().startswith("density\t"))
    density.trigger()
    assert told == ([("frontier", "")], ["density"])


def test_sentences_of_menus_are_whole_as_far_as_the_screen_goes(benzene, monkeypatch):
    class Wide:
        def availableGeometry(self):
            return QtCore.QRect(0, 0, 1500, 900)

    monkeypatch.setattr(QtWidgets.QApplication, "primaryScreen", Wide)
    menu = FieldMenu()
    menu.show_molecule(benzene)
    analyse = AnalyseButton()
    analyse.fill([("Tests", [OfferedAnalysis(name, module, "") for name, module in analyses().items()])])
    sentences = [action.text().partition("\t")[2] for of in (menu, analyse) for action in entries(of.menu())]
    assert len(sentences) >= 20
    assert not [sentence for sentence in sentences if sentence.endswith("…")]


def test_the_status_is_read_whole(panel):
    layout = panel
    layout.show()
    layout.window().resize(560, 900)
    words = "no such file (nor a folder " + "/very_long_names/of_folders" * 12 + "/x.molden)"
    layout.status.setText(breakable(words))
    QtTest.qWait(50)
    needed = layout.status.heightForWidth(layout.status.width())
    assert needed > 3 * layout.fontMetrics().height()
    assert layout.status.height() >= needed
    assert breakable("a word, and another") == "a word, and another"


def test_plots_of_analyses_are_saved_as_they_are_zoomed(panel, tmp_path):
    curve = Curve("", np.linspace(0, 1000, 11), np.linspace(0, 1, 11))
    window = panel.analysis_window()
    window.view.show_report(Report("levels", "Levels", (), (Plot("dos", "States", "energy / eV", "states", (curve,)),)))
    plot = window.view.currentWidget()
    plot._show(plot._axes().zoomed((500.0, 0.5), 1e-3, across=True, up=False))
    window.save(tmp_path / "dos.svg")
    assert window.status.text() == f"Wrote {tmp_path / 'dos.svg'}"
    written = (tmp_path / "dos.svg").read_text()
    assert "energy / eV" in written
    assert ">500.2<" in written
    window.save(tmp_path / "dos.txt")
    assert not (tmp_path / "dos.txt").exists()


def test_what_a_molecule_lacks_is_grey_and_says_why(benzene):
    menu = FieldMenu()
    menu.show_molecule(benzene)
    spin = next(action for action in entries(menu.menu()) if action.text().startswith("Spin density"))
    assert not spin.isEnabled()
    assert "paired" in spin.toolTip()


def test_a_dialog_asks_for_what_is_open():
    dialog = FieldDialog("mo:N:alpha", "An orbital", 30)
    dialog.open()
    QtTest.qWait(10)
    number, spin = dialog.inputs
    assert number.maximum() == 30
    QtTest.keyClicks(number, "17")  # in place of what stood there
    QtTest.keyClick(spin, Qt.Key_Down)
    QtTest.keyClick(spin, Qt.Key_Return)
    assert dialog.result() == dialog.Accepted
    assert dialog.field() == "mo:17:beta"


def test_every_entry_that_is_open_has_a_dialog(benzene):
    for pattern, sentence in (pair for _, fields in field_groups() for pair in fields):
        if asked_for(pattern):
            dialog = FieldDialog(pattern, sentence, largest(pattern, benzene))
            titles = [label.text() for label in dialog.findChildren(QtWidgets.QLabel)]
            assert len(titles) == len(set(titles)) == len(dialog.inputs) + 3  # sentence, field and its preview


@pytest.mark.parametrize(
    ("entry", "files", "field"),
    [
        ("difference:FILE", ["/a.fchk", "/b.fchk"], "difference:/a.fchk,/b.fchk"),
        ("fukui+:FILE", ["/a.fchk"], "fukui+:/a.fchk"),
        ("esp:FILE", ["/a.pqr"], "esp:/a.pqr"),
    ],
)
def test_a_field_of_a_file_asks_for_it(benzene, monkeypatch, entry, files, field):
    offered = []

    def choose(result):
        return lambda parent, title, folder, filter: (offered.append(filter) or result, filter)

    monkeypatch.setattr(QtWidgets.QFileDialog, "getOpenFileNames", choose(files))
    monkeypatch.setattr(QtWidgets.QFileDialog, "getOpenFileName", choose(files[0]))
    menu = FieldMenu()
    menu.show_molecule(benzene)
    told = told_by(menu.field_chosen)
    groups = [action.menu() for action in menu.menu().actions() if action.menu() is not None]
    next(a for group in groups for a in entries(group) if a.text().startswith(entry)).trigger()
    assert told == [field]
    assert f"*{Path(files[0]).suffix}" in offered[0]


def test_a_dialog_waits_for_its_files(seen):
    dialog = seen(FieldDialog("dual:FILE,FILE", "Two files", 0))
    assert not dialog.ok_button.isEnabled()
    for file in dialog.inputs:
        QtTest.keyClicks(file.findChild(QtWidgets.QLineEdit), "a.fchk")
    assert dialog.ok_button.isEnabled()
    assert dialog.field() == "dual:a.fchk,a.fchk"


def test_the_range_of_colours_is_typed(seen):
    scale = seen(ColourScale())
    scale.show_scale("signed", -0.05, 0.05, "hartree/e")
    ranges = told_by(scale.range_changed)
    QtTest.mouseDClick(scale.ramp, Qt.LeftButton)
    assert scale.range_edit.hasFocus()
    QtTest.keyClicks(scale.range_edit, "0.03\r")
    QtTest.keyClicks(scale.range_edit, "nonsense\r")
    assert scale.range_edit.text() == "0.03"
    scale.range_edit.clear()
    QtTest.keyClick(scale.range_edit, Qt.Key_Return)
    assert ranges == [0.03, None]
    scale.range_edit.clearFocus()
    scale.show_scale("signed", -0.02, 0.02, "hartree/e", limit=0.02)  # by a command
    assert scale.range_edit.text() == "0.02"
    assert len(ranges) == 2


BLUE, RED, GREEN = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)


def test_pairs_of_colours_are_chosen_by_name():
    button = PairButton({"blue and red": (BLUE, RED), "green and red": (GREEN, RED)})
    told = told_by(button.chosen)
    actions = {action.text(): action for action in button.menu().actions()}
    actions["green and red"].trigger()
    actions["Exchange the two"].trigger()
    assert told == [(GREEN, RED), (RED, GREEN)]
    assert not any(action.isChecked() for action in actions.values())
    button.show_pair((BLUE, RED))
    assert actions["blue and red"].isChecked()


def test_one_of_two_colours_is_chosen_freely():
    button = PairButton({"blue and red": (BLUE, RED)})
    told = told_by(button.chosen)
    button.menu().actions()[-1].trigger()
    (dialog,) = (w for w in QtWidgets.QApplication.topLevelWidgets() if isinstance(w, QtWidgets.QColorDialog))
    dialog.setCurrentColor(QtGui.QColor("#00ff00"))
    dialog.accept()
    assert told == [(BLUE, GREEN)]

"""The widgets of the window of analyses, one by one, with real events of mouse and keys."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from orbitile.base.arguments import ATOMS, COUNT, FLAG, FRAGMENTS, Argument, one_of
from orbitile.model.report import Closure, Column, Curve, Plot, Report, Table
from tests.hosts.widgets import told_by

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
QtTest = pytest.importorskip("PyQt5.QtTest", reason="PyQt5 (extra pymol) is not installed").QTest

from pymol.Qt import QtCore, QtGui, QtWidgets  # noqa: E402  only where it is installed

from orbitile.hosts.pymol.analysis_window import ParameterForm  # noqa: E402
from orbitile.hosts.pymol.menus import AnalyseButton  # noqa: E402
from orbitile.hosts.pymol.report_view import ReportPlot, ReportTable, ReportView, ticks, whole  # noqa: E402

Qt = QtCore.Qt

pytestmark = pytest.mark.usefixtures("application")

TABLE = Table(
    "atoms",
    "Atoms",
    (Column("atom", (1, 2, 3)), Column("charge", (0.5, float("nan"), -0.25), "e bohr^-3", about="what it is")),
    (Closure("sum", 0.25, 0.25, "e", 1e-6), Closure("other <sum>", 1.0, 2.0, "", 0.1)),
    atoms=((0,), (1,), (2,)),
)
PLOT = Plot(
    "levels",
    "Levels",
    "energy / eV",
    "states",
    (
        Curve("sum", np.linspace(-10, 10, 50), np.linspace(0, 4, 50), "filled"),
        Curve("levels", np.array([-5.0, 5.0]), np.array([2.0, 2.0]), "sticks", fields=("mo:1", "mo:2")),
    ),
    ((0.0, "gap"),),
)


def test_a_form_is_made_of_what_is_stated(seen):
    parameters = (
        Argument("scheme", one_of("a", "b"), "which", "b", "b"),
        Argument("steps", COUNT, "how many", 3, "3"),
        Argument("twice", FLAG, "twice", True, "1"),
        Argument("atoms", ATOMS, "which atoms", required=True),
        Argument("fragments", FRAGMENTS, "which fragments", (), "none"),
    )
    selected = []
    form = seen(ParameterForm(parameters, lambda: selected))
    assert form.given() == {"scheme": "b", "twice": "1"}
    assert form.missing(parameters) == "atoms"
    assert form.inputs["steps"].placeholderText() == "3"
    changed, entered = told_by(form.changed), told_by(form.entered)
    QtTest.keyClicks(form.inputs["steps"], "7\r")
    assert len(changed) == 1
    assert len(entered) == 1
    buttons = [form.inputs[name].parentWidget().findChild(QtWidgets.QPushButton) for name in ("atoms", "fragments")]
    QtTest.mouseClick(buttons[0], Qt.LeftButton)
    assert form.missing(parameters) == "atoms"  # nothing is selected
    selected += [0, 1, 2, 7]
    for button in (*buttons, buttons[1]):
        QtTest.mouseClick(button, Qt.LeftButton)
    QtTest.mouseClick(form.inputs["twice"], Qt.LeftButton, Qt.NoModifier, QtCore.QPoint(8, 8))
    given = {"scheme": "b", "steps": "7", "twice": "0", "atoms": "1-3,8", "fragments": "1-3,8; 1-3,8"}
    assert form.given() == given
    other = seen(ParameterForm(parameters, lambda: ()))
    other.fill(given)
    assert other.given() == given


def test_a_table_is_sorted_and_its_rows_are_chosen(seen):
    table = seen(ReportTable(TABLE))
    chosen = told_by(table.chosen)
    view = table.view
    view.sortByColumn(1, Qt.AscendingOrder)
    assert [view.model().index(row, 0).data() for row in range(3)] == ["2", "3", "1"]  # what is no number comes first
    assert view.model().headerData(1, Qt.Horizontal) == "charge\ne bohr⁻³"
    QtTest.mouseClick(view.viewport(), Qt.LeftButton, Qt.NoModifier, view.visualRect(view.model().index(1, 0)).center())
    QtTest.keyClick(view, Qt.Key_Down)
    QtTest.mouseClick(view.viewport(), Qt.LeftButton, Qt.NoModifier, view.visualRect(view.model().index(2, 0)).center())
    assert [(what.name, row) for what, row in chosen] == [("atoms", 2), ("atoms", 0), ("atoms", 0)]
    assert table.text().splitlines()[:2] == ["atom\tcharge / e bohr^-3", "2\t-"]
    text = table.closures.text()
    assert "other &lt;sum&gt;" in text
    assert text.count("color") == 1  # the one that does not hold


def test_a_click_picks_the_level_and_the_wheel_zooms(seen):
    plot = seen(ReportPlot(PLOT))
    plot.resize(500, 300)
    picked = told_by(plot.picked)
    place = plot.place_of(1, 1)
    assert plot.nearest(place + QtCore.QPoint(2, 30)) == (1, 1)  # a stick is long
    QtTest.mouseClick(plot, Qt.LeftButton, Qt.NoModifier, place + QtCore.QPoint(0, 30))
    assert picked == ["mo:2"]
    QtTest.mouseClick(plot, Qt.LeftButton, Qt.NoModifier, QtCore.QPoint(100, 250))
    assert picked == ["mo:2"]
    before = plot._axes()
    turned = QtGui.QWheelEvent(
        QtCore.QPointF(place), QtCore.QPointF(place), QtCore.QPoint(), QtCore.QPoint(0, 120), Qt.NoButton,
        Qt.NoModifier, Qt.NoScrollPhase, False,
    )  # fmt: skip
    plot.wheelEvent(turned)
    after = plot._axes()
    assert after.x[1] - after.x[0] == pytest.approx(0.8 * (before.x[1] - before.x[0]))
    assert after.y == before.y
    assert plot.seen().x_range == after.x
    assert (plot.place_of(1, 1) - place).manhattanLength() <= 1  # what is pointed at stays
    QtTest.mouseDClick(plot, Qt.LeftButton)
    assert plot._axes() == before
    assert plot.seen() is PLOT


def test_many_points_are_seen(seen):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 50_000))
    plot = seen(ReportPlot(Plot("cloud", "Cloud", "x", "y", (Curve("", x, y, "points", values=x),))))
    image = plot.grab().toImage()
    colours = {image.pixelColor(column, image.height() // 2).name() for column in range(100, image.width() - 20)}
    assert len(colours) > 20


def test_round_marks_of_axes():
    assert ticks((-0.31, 0.49), 4) == (pytest.approx([-0.2, 0.0, 0.2, 0.4]), ["-0.2", "0.0", "0.2", "0.4"])
    assert ticks((0.0, 1.0), 4)[1] == ["0.00", "0.25", "0.50", "0.75", "1.00"]
    assert ticks((1e6, 3e6), 2)[1] == ["1e+06", "2e+06", "3e+06"]
    assert whole(Plot("p", "", "", "", ())) == ((0.0, 1.0), (0.0, 1.0))
    flat = whole(Plot("p", "", "", "", (Curve("", np.array([2.0, 2.0]), np.array([np.nan, 3.0])),)))
    assert flat[0][0] < 2 < flat[0][1]
    assert flat[1][0] < 3 < flat[1][1]


def test_a_report_of_the_same_kind_takes_the_place_of_another(seen):
    view = seen(ReportView())
    view.show_report(Report("a", "A", (TABLE,), (PLOT,), remarks=("one", "two")))
    assert [view.tabText(at) for at in range(view.count())] == ["Levels", "Atoms", "Remarks (2)"]
    view.setCurrentIndex(1)
    table = view.widget(1)
    view.show_report(Report("a", "A", (TABLE,), (PLOT,), remarks=("three",)))
    assert view.currentIndex() == 1
    assert view.widget(1) is table
    assert view.widget(2).toPlainText() == "three"
    view.show_report(Report("b", "B", (TABLE,)))
    assert view.count() == 1
    view.copy(QtWidgets.QApplication.clipboard())
    assert QtWidgets.QApplication.clipboard().text().startswith("atom\tcharge")
    view.show_report(None)
    assert view.count() == 0


def test_the_menu_greys_what_is_not_there(seen, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(Path(__file__).with_name("plugins")), *sys.path])
    from orbitile.analysis.reports import analysis_groups
    from orbitile.session.window.analysing import OfferedAnalysis

    groups = [
        (title, [OfferedAnalysis(name, module, "it is odd" if name == "charges" else "") for name, module in those])
        for title, those in analysis_groups()
    ]
    button = seen(AnalyseButton())
    button.fill(groups)
    actions = {action.text().partition("\t")[0]: action for action in button.menu().actions()}
    assert not actions["Charges of atoms"].isEnabled()
    assert actions["Charges of atoms"].toolTip() == "Not for this molecule: it is odd"
    chosen = told_by(button.chosen)
    actions["Everything at once"].trigger()
    assert chosen == ["everything"]

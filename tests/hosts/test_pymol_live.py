"""What PyMOL and its window do for a live molecule, without computing one."""

import os
from dataclasses import replace

import numpy as np
import pytest

from orbitile import OrbitileError
from orbitile.model.surface import Colouring
from orbitile.model.units import angstrom, electronvolt
from orbitile.pictures.look import Look
from orbitile.session.commands import orb_path_between
from orbitile.session.live.live import LiveStatus
from orbitile.session.live.scan import ScanStatus
from tests.hosts.widgets import levels, told_by

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
QtTest = pytest.importorskip("PyQt5.QtTest", reason="PyQt5 (extra pymol) is not installed").QTest

from pymol.Qt import QtCore, QtGui, QtWidgets  # noqa: E402  only where it is installed

from orbitile.hosts.pymol.commands import state_of  # noqa: E402  only where PyMOL is installed
from orbitile.hosts.pymol.live_bar import EnergyPlot, LiveBar  # noqa: E402
from orbitile.hosts.pymol.orbitals import LevelDiagram, OrbitalTable  # noqa: E402
from orbitile.hosts.pymol.path_dialog import states_of  # noqa: E402  only where PyMOL is installed
from orbitile.hosts.pymol.viewer import PyMOLViewer  # noqa: E402

Qt = QtCore.Qt
STATUS = LiveStatus("hcn", "pbe/sto-3g", "converged", "-92.09 hartree", ((0.0, -92.09), (1.0, -92.05)))


# ---- atoms


def seen_by_iterate(cmd, name):
    atoms = []
    cmd.iterate_state(-1, name, "atoms.append((x, y, z))", space={"atoms": atoms})
    return np.array(atoms) * angstrom


@pytest.mark.parametrize("change", ["pass", "cmd.remove('ala and elem H'); cmd.h_add('ala')", "cmd.sort('ala')"])
def test_positions_are_in_the_order_of_the_elements(cmd, change):
    viewer = PyMOLViewer(cmd)
    cmd.fragment("ala")
    cmd.alter("ala and elem H", "resn = 'AAA'")
    exec(change, {"cmd": cmd})
    numbers, geometries = viewer.geometries("ala")
    positions = viewer.positions("ala")
    np.testing.assert_allclose(positions, seen_by_iterate(cmd, "ala"), atol=1e-5)
    np.testing.assert_array_equal(positions, geometries[0])
    viewer.move("ala", positions + 0.25)
    np.testing.assert_allclose(seen_by_iterate(cmd, "ala"), positions + 0.25, atol=1e-5)
    assert len(numbers) == len(positions)


def test_atoms_that_were_changed_come_back_as_they_were_drawn(cmd):
    viewer = PyMOLViewer(cmd)
    cmd.fragment("methanol")
    cmd.show_as("spheres", "methanol")
    cmd.color("red", "methanol and elem H")
    drawn = "drawn.append((name, elem, color, reps, x, y, z))"
    before, after = [], []
    cmd.iterate_state(1, "methanol", drawn, space={"drawn": before})
    viewer.adopt("methanol", "source")
    bonds, kept = cmd.get_bonds("methanol"), viewer.kept_atoms("methanol")
    cmd.remove("methanol and index 6")
    cmd.alter("methanol and index 1", "elem = 'Si'")
    cmd.h_add("methanol")
    viewer.restore_atoms("methanol", kept)
    cmd.iterate_state(1, "methanol", drawn, space={"drawn": after})
    assert after == before
    assert viewer.molecules() == {"methanol": "source"}
    assert cmd.get_bonds("methanol") == bonds
    assert cmd.get_names() == ["methanol"]


def test_where_atoms_are_going_to_be_is_known_to_the_bit(cmd):
    viewer = PyMOLViewer(cmd)
    cmd.fragment("ala")
    positions = viewer.positions("ala") + np.random.default_rng(4).normal(size=(10, 3))
    held = viewer.as_held(positions)
    viewer.move("ala", held)
    np.testing.assert_array_equal(viewer.positions("ala"), held)
    np.testing.assert_array_equal(viewer.as_held(held), held)


def test_atoms_that_are_picked_are_known_in_their_order(cmd):
    viewer = PyMOLViewer(cmd)
    cmd.fragment("methanol")
    cmd.fragment("methane")
    assert viewer.picked("methanol") == ()
    cmd.edit("methanol and index 6", "methanol and index 2", "methanol and index 1", "methanol and index 3")
    assert viewer.picked("methanol") == (5, 1, 0, 2)
    cmd.select("oxygen", "elem O")
    cmd.select("hydrogens", "elem H")
    assert viewer.picked("methanol", ["oxygen", "pk1"]) == (1, 5)
    for molecule, names in (("methanol", ["hydrogens"]), ("methanol", ["nothing"]), ("methane", [])):
        with pytest.raises(OrbitileError, match="expected a selection of one atom of methan"):
            viewer.picked(molecule, names)


def test_positions_are_those_of_the_state_that_is_seen(cmd):
    viewer = PyMOLViewer(cmd)
    cmd.fragment("ethylene")
    cmd.create("ethylene", "ethylene", 1, 2)
    cmd.translate([1, 0, 0], "ethylene", state=2, camera=0)
    first = viewer.positions("ethylene")
    cmd.frame(2)
    np.testing.assert_allclose(viewer.positions("ethylene") - first, [[angstrom, 0, 0]] * 6, atol=1e-5)


@pytest.mark.parametrize(
    ("first", "last", "reason"),
    [
        ("film", "other", "film: expected one state, got 2; film/1 is the first of them"),
        ("film/1", "film/3", "film: expected a state from 1 to 2, got '3'"),
        ("film/1", "film/x", "got 'x'"),
        ("film/2", "film/2", "expected two structures, got one twice"),
        ("film/1", "nothing", "no molecule is called 'nothing'"),
    ],
)
def test_a_path_is_between_two_states_that_are_there(cmd, first, last, reason):
    cmd.fragment("methane", "other")
    for state in (1, 2):
        cmd.create("film", "other", 1, state)
    assert states_of(PyMOLViewer(cmd)) == ["other", "film/1", "film/2"]
    with pytest.raises(OrbitileError, match=reason):
        orb_path_between.run(state_of(cmd), [first, last, "", "gfn2"])
    assert state_of(cmd).calculation is None


def test_what_cannot_be_found_has_no_positions(cmd):
    viewer = PyMOLViewer(cmd)
    assert viewer.positions("nothing") is None
    cmd.fragment("methane", "one")
    cmd.set_name("one", "other")
    cmd.disable("other")
    assert viewer.positions("one") is None
    assert viewer.positions("other").shape == (5, 3)
    assert not viewer.is_dragging()


def test_bonds_follow_atoms_that_went_over(cmd):
    viewer = PyMOLViewer(cmd)
    cmd.load_raw("3\n\nC 0 0 0\nN 1.15 0 0\nH -1.07 0 0\n", "xyz", "hcn")
    cmd.valence(3, "hcn and index 1", "hcn and index 2")
    bonds = cmd.get_bonds("hcn")
    viewer.rebond("hcn")
    assert cmd.get_bonds("hcn") == bonds  # nothing has moved: what the user has drawn stays
    positions = viewer.positions("hcn")
    positions[2] = [-1.47 * angstrom, 0, 0]
    viewer.move("hcn", positions)
    viewer.rebond("hcn")
    assert cmd.get_bonds("hcn") == bonds  # stretched, not torn
    positions[2] = [2.15 * angstrom, 0, 0]
    viewer.move("hcn", positions)
    viewer.rebond("hcn")
    assert [bond[:2] for bond in cmd.get_bonds("hcn")] == [(0, 1), (1, 2)]
    assert cmd.get_bonds("hcn")[0] == bonds[0]


def test_the_scale_follows_the_colours_of_what_is_redrawn(cmd, monkeypatch):
    viewer, look, ramps = PyMOLViewer(cmd), Look(), []
    cmd.fragment("methane")
    first = Colouring(np.array([-0.1, 0.0, 0.1], np.float32), -0.1, 0.1)
    monkeypatch.setattr(cmd, "ramp_new", lambda name, map_name, values, colours: ramps.append((name, values[-1])))
    viewer.put_surface("potential", "methane", [], look, first)
    for colouring in (first, replace(first, low=-0.3, high=0.3), None):
        viewer.redraw_surface("potential", "methane", [], look, colouring)
    assert ramps == [("potential_scale", 0.1), ("potential_scale", 0.3)]  # of the same range it is the same


# ---- orbitals in place


def test_the_table_changes_in_place(seen):
    table = seen(OrbitalTable())
    table.resize(300, 120)
    table.fill([levels()])
    table.set_filter("occ")
    table.setColumnHidden(3, True)
    table.choose("alpha", 12)
    table.verticalScrollBar().setValue(9)
    chosen, resets = told_by(table.chosen), []
    table.proxy.modelReset.connect(lambda: resets.append(1))
    later = levels(shift=0.25)
    table.follow([later], later[13])
    assert table.proxy.rowCount() == 20
    assert table.isColumnHidden(3)
    assert table.verticalScrollBar().value() == 9
    assert table.proxy.mapToSource(table.currentIndex()).row() == 13
    assert table.proxy.index(13, 1).data() == f"{later[13].energy / electronvolt:.3f}"
    assert table.orbitals.chosen is later[13]
    assert (chosen, resets) == ([], [])
    table.follow([later], None)
    assert not table.currentIndex().isValid()


def test_levels_move_to_their_new_energies(seen):
    diagram = seen(LevelDiagram())
    diagram.resize(200, 300)
    diagram.fill([levels()])
    before = diagram.position_of("alpha", 19).y()
    diagram.follow([levels(shift=0.5)], None)
    heights = set()
    for _ in range(30):
        QtTest.qWait(10)
        heights.add(diagram.position_of("alpha", 19).y())
    assert len(heights) > 2  # on the way
    at = diagram.position_of("alpha", 19)
    assert at.y() == min(heights) < before
    picked = told_by(diagram.picked)
    QtTest.mouseClick(diagram, Qt.LeftButton, Qt.NoModifier, at)
    assert picked == [levels(shift=0.5)[19]]


def test_the_gap_stays_in_view(seen):
    diagram = seen(LevelDiagram())
    diagram.fill([levels()])
    diagram.follow([levels(shift=30.0)], None)
    diagram.findChild(QtCore.QVariantAnimation).setCurrentTime(10_000)
    assert diagram.position_of("alpha", 19) is not None
    assert diagram.position_of("alpha", 20) is not None


def test_another_number_of_levels_is_another_molecule(seen):
    diagram = seen(LevelDiagram())
    diagram.fill([levels()])
    diagram.follow([levels(n=10, occupied=5)], None)
    assert diagram.position_of("alpha", 4) is not None
    assert diagram.position_of("alpha", 19) is None


# ---- the plot of energies


def test_an_energy_that_is_pointed_at_is_told(seen):
    plot = seen(EnergyPlot())
    plot.show_energies([(0.0, -1.0), (70.0, -1.1), (80.0, -1.09), (90.0, -1.1)])
    middle = QtCore.QPoint(plot.width() - 8, 20)
    event = QtGui.QHelpEvent(QtCore.QEvent.ToolTip, middle, plot.mapToGlobal(middle))
    QtWidgets.QApplication.sendEvent(plot, event)
    assert QtWidgets.QToolTip.text() == "0.00 kcal/mol above the lowest, -1.1000000 hartree, after 90.0 s"
    QtWidgets.QToolTip.hideText()
    picture = plot.grab().toImage()
    ink = {picture.pixel(x, y) for x in range(picture.width()) for y in range(picture.height())}
    assert len(ink) > 3
    plot.show_energies([])
    assert len(plot.grab().toImage().convertToFormat(QtGui.QImage.Format_Indexed8).colorTable()) == 1


# ---- the bar


@pytest.fixture
def bar(seen):
    return seen(LiveBar({"basis": "6-31g*"}))


def test_a_molecule_is_made_live_as_it_is_set(bar):
    begun, ended = told_by(bar.begun), told_by(bar.ended)
    bar.charge_box.setValue(-1)
    assert min(box.width() for box in (bar.method_box, bar.solvent_box, bar.smearing_box)) > 50
    QtTest.mouseClick(bar.button, Qt.LeftButton, Qt.NoModifier, QtCore.QPoint(5, 5))
    assert begun == [("", "6-31g*", "pbe", -1, 0, "vacuum", "0 K")]
    bar.offer(["hcn", "water"])
    bar.menu.actions()[1].trigger()
    assert begun[1] == ("water", "6-31g*", "pbe", -1, 0, "vacuum", "0 K")
    bar.show_status(STATUS)
    QtTest.mouseClick(bar.button, Qt.LeftButton, Qt.NoModifier, QtCore.QPoint(5, 5))
    bar.offer(["hcn", "water"])
    assert [action.isChecked() for action in bar.menu.actions()] == [True, False]
    bar.menu.actions()[0].trigger()
    assert len(ended) == 2


def test_a_refusal_is_read_while_settings_are_seen(bar):
    bar.refuse("9 electrons: 0 cannot be unpaired")
    assert bar.text.isVisible()
    assert "9 electrons" in bar.text.text()
    assert bar.settings.isVisible()
    assert not bar.button.isChecked()
    bar.show_status(STATUS)
    assert not bar.settings.isVisible()
    assert "9 electrons" not in bar.text.text()
    assert bar.button.isChecked()


def test_stages_are_told_apart(bar):
    told = set()
    for stage in ("starting", "converging", "converged", "failed"):
        bar.show_status(replace(STATUS, stage=stage, text="<b>text</b>"))
        assert "&lt;b&gt;" in bar.text.text()
        told.add(bar.text.text().replace(stage, "").partition("</b>")[0].partition("color")[2])
    assert len(told) == 4  # by their colours alone
    bar.show_status(None)
    assert not bar.text.isVisible()
    assert bar.settings.isVisible()


def test_what_is_told_of_relaxing_is_not_asked_for(bar):
    relaxed = told_by(bar.relaxed)
    bar.show_status(replace(STATUS, relaxes=True, hardness=0.2, can_undo=True))
    assert relaxed == []
    assert bar.relax_box.isChecked()
    assert bar.undo_button.isEnabled()
    bar.hardness_slider.setValue(70)
    bar.relax_box.click()
    assert relaxed == [0.7, None]


@pytest.mark.parametrize("kept", [None, 3, {"basis": 5, "method": None}])
def test_what_was_kept_may_be_damaged(seen, kept):
    bar = seen(LiveBar(kept))
    assert (bar.method_box.currentText(), bar.basis_box.currentText()) == ("pbe", "sto-3g")


def test_a_scan_is_gone_through_by_its_slider(bar):
    scanned = told_by(bar.scanned)
    bar.show_status(STATUS)
    assert not bar.scanning.isVisible()
    scan = ScanStatus(
        "dihedral 1-2-3-4",
        "dihedral",
        "degrees",
        (0.0, 15.0, 30.0),
        1,
        (True, True, False),
        (-1.0, -1.0, None),
        ("", "", "no SCF"),
    )
    bar.show_status(replace(STATUS, scan=scan))
    assert scanned == []
    assert bar.scan_button.isChecked()
    assert bar.scan_text.text() == "dihedral 1-2-3-4: 15 °"
    assert (bar.scan_slider.maximum(), bar.scan_slider.value()) == (2, 1)
    bar.scan_slider.setValue(2)
    assert scanned == [2]


def test_of_a_molecule_from_a_file_all_is_as_it_is_there(bar):
    begun = told_by(bar.begun)
    bar.show_electrons((1, 2))
    assert (bar.charge_box.value(), bar.unpaired_box.value()) == (1, 2)
    bar.button.click()
    assert begun == [("", "", "", None, None, "", "")]
    bar.method_box.setCurrentText("hf")
    bar.unpaired_box.setValue(0)
    bar.smearing_box.setCurrentText("1000 K")
    bar.button.click()
    bar.button.click()
    assert begun[1] == ("", "", "hf", 1, 0, "", "1000 K")
    bar.show_electrons(None)  # a molecule without orbitals, by what was set before
    assert (bar.method_box.currentText(), bar.basis_box.currentText()) == ("pbe", "6-31g*")
    bar.menu.clear()
    bar.offer(["hcn"])
    bar.menu.actions()[0].trigger()
    assert begun[-1] == ("hcn", "6-31g*", "pbe", None, None, "vacuum", "0 K")


def test_why_nothing_is_live_is_said_until_another_molecule_is_there(bar):
    bar.refuse("PyMOL has no molecule")
    assert bar.text.text() == "PyMOL has no molecule"  # nothing has failed
    bar.show_electrons((0, 0))
    assert not bar.text.isVisible()
    bar.show_status(STATUS)
    bar.refuse("pick two, three or four atoms first")
    assert "failed" not in bar.text.text()
    bar._patience.timeout.emit()
    assert "converged" in bar.text.text()

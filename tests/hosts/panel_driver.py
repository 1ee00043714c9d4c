"""Runs inside PyMOL's window: drives the panel with mouse and keys, and writes what happened to a file.

python -m pymol -q panel_driver.py, with the environment variables REPORT, FILE and, for a picture, PICTURE.
"""

import os
import signal
import time

from pymol import cmd, gui
from pymol.Qt import QtCore, QtWidgets
from PyQt5.QtTest import QTest

from tests.hosts.in_pymol import report, run, wait

Qt = QtCore.Qt


def menu_action(name):
    menu = gui.get_qtwindow().menudict.get("PluginQt")
    return [] if menu is None else [action for action in menu.actions() if action.text() == name]


def names():
    return cmd.get_names("objects")


def click(panel, row, column=1):
    cell = panel.table.proxy.index(row, column)
    panel.table.scrollTo(cell)
    QTest.mouseClick(panel.table.viewport(), Qt.LeftButton, Qt.NoModifier, panel.table.visualRect(cell).center())


def drive():
    wait(lambda: menu_action("Orbitile"), 10)
    report["menu entries"] = len(menu_action("Orbitile"))
    menu_action("Orbitile")[0].trigger()
    from orbitile.base import caches
    from orbitile.hosts.pymol.commands import state_of

    state = state_of(cmd)
    panel = state.panel
    panel.open("/no/such.molden")
    wait(lambda: "no such file" in panel.status.text())
    report["missing file"] = panel.status.text()

    panel.open(os.environ["FILE"])
    wait(lambda: panel.table.orbitals.rowCount() > 3)
    click(panel, 20)
    wait(lambda: "benzene_mo21" in names())
    wait(lambda: panel.cancel_button.isHidden())
    QTest.keyClick(panel.table, Qt.Key_Down)
    wait(lambda: "benzene_mo22" in names())
    report["walked to"] = sorted(name for name in names() if "mo2" in name)
    wait(lambda: len(state.computing.samples) >= 3)  # a neighbour is computed ahead
    if os.environ.get("PICTURE"):
        QtWidgets.QApplication.primaryScreen().grabWindow(0).save(os.environ["PICTURE"])

    for _ in range(6):  # faster than anything is computed: only the last one is shown
        QTest.keyClick(panel.table, Qt.Key_Up)
    wait(lambda: "benzene_mo16" in names())
    report["after fast walk"] = sorted(name for name in names() if "_mo" in name)

    QTest.mouseClick(panel.diagram, Qt.LeftButton, Qt.NoModifier, panel.diagram.position_of("alpha", 23))
    wait(lambda: "benzene_mo24" in names())
    report["diagram"] = panel.field_edit.text()

    cmd.do("orb_iso 0.02")
    wait(lambda: panel.iso_edit.text() == "0.02", 5)
    before = state.shelf["benzene_mo24"].isovalue
    QTest.keyClick(panel.iso_slider, Qt.Key_PageUp)
    wait(lambda: state.shelf["benzene_mo24"].isovalue > before)
    panel.filter_edit.setFocus()
    QTest.keyClicks(panel.filter_edit, "homo")
    report["filtered rows"] = panel.table.proxy.rowCount()
    panel.filter_edit.clear()

    panel.field_edit.clear()
    QTest.keyClicks(panel.field_edit, "hommo")
    QTest.mouseClick(panel.show_button, Qt.LeftButton)
    report["wrong field"] = panel.status.text()
    panel.browser.writing.export(os.environ["REPORT"] + ".cube")
    report["exported"] = os.path.getsize(os.environ["REPORT"] + ".cube")

    panel.quality_box.setCurrentText("fine")
    caches._accounts["samples"].n_bytes = 1
    click(panel, 9)
    begin = time.monotonic()
    QTest.mouseClick(panel.cancel_button, Qt.LeftButton)
    wait(lambda: panel.cancel_button.isHidden())
    report["cancel seconds"] = time.monotonic() - begin
    report["cancelled"] = panel.status.text()
    before = names()
    QTest.qWait(200)
    report["cancel changed nothing"] = before == names()

    wait(lambda: state.computing.worker.process_id is not None)
    first = state.computing.worker.process_id
    panel.quality_box.setCurrentText("coarse")
    os.kill(first, signal.SIGSTOP)  # it stands still, and is replaced
    click(panel, 11)
    wait(lambda: "benzene_mo12" in names())
    second = state.computing.worker.process_id
    report["stopped"] = second not in (None, first)
    os.kill(second, signal.SIGKILL)  # with nothing to do
    click(panel, 12)
    wait(lambda: "benzene_mo13" in names())
    report["replaced"] = state.computing.worker.process_id not in (None, first, second)

    panel.field_edit.clear()
    QTest.keyClicks(panel.field_edit, "density")
    panel.iso_edit.clear()
    QTest.keyClicks(panel.iso_edit, "0.002\r")
    wait(lambda: not panel.auto_box.isChecked())
    QTest.mouseClick(panel.show_button, Qt.LeftButton)
    wait(lambda: "benzene_density" in names())
    panel.second_box.setFocus()
    while panel.second_box.currentText() != "esp":
        QTest.keyClick(panel.second_box, Qt.Key_Down)
    wait(lambda: "benzene_density_scale" in names())
    before = state.shelf["benzene_density"].isovalue
    QTest.keyClick(panel.iso_slider, Qt.Key_PageUp)
    wait(lambda: state.shelf["benzene_density"].isovalue > before and panel.browser.at_rest())
    report["coloured after the slider"] = [
        state.shelf["benzene_density"].request.color_by,
        panel.second_box.currentText(),
    ]
    if os.environ.get("PICTURE"):
        QtWidgets.QApplication.primaryScreen().grabWindow(0).save(os.environ["PICTURE"] + "-esp.png")
    cmd.do("orb_field benzene, density, 0.002, coarse")
    wait(lambda: panel.second_box.currentText() == "two colours", 5)
    wait(lambda: panel.browser.at_rest())
    report["scale left"] = [name for name in names() if name.endswith("_scale")]

    count = len(names())
    for row in range(5, 13):
        click(panel, row)
        wait(lambda row=row: f"benzene_mo{row + 1}" in names())
    report["objects leaked"] = len(names()) - count
    cmd.delete("benzene")
    wait(lambda: panel.table.orbitals.rowCount() == 0)
    panel.close()
    from pymol.plugins import pref_get

    report["recent"] = pref_get("orbitile")["recent"]


run(drive)

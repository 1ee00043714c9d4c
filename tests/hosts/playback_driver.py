"""Runs inside PyMOL's window: plays a trajectory from the panel by mouse and keys, and writes what happened to a file.

python -m pymol -q playback_driver.py, with the environment variables REPORT, SERIES, FILE and, for a picture, PICTURE.
"""

import os

from pymol import cmd
from pymol.Qt import QtCore, QtGui, QtWidgets
from PyQt5.QtTest import QTest

from tests.hosts.in_pymol import report, run, wait

Qt = QtCore.Qt


def press(widget):
    QTest.mouseClick(widget, Qt.LeftButton)


def drag(widget, point):
    """Move the mouse with the button down, which `QTest.mouseMove` does not."""
    move = QtCore.QEvent.MouseMove
    event = QtGui.QMouseEvent(move, QtCore.QPointF(point), Qt.NoButton, Qt.LeftButton, Qt.NoModifier)
    QtWidgets.QApplication.sendEvent(widget, event)


def drive():
    from orbitile.hosts.pymol import open_panel
    from orbitile.hosts.pymol.commands import state_of

    session = state_of(cmd)
    player = session.player
    panel = open_panel(cmd)
    bar = panel.frame_bar

    def picture(name):
        if os.environ.get("PICTURE"):
            QTest.qWait(300)
            QtWidgets.QApplication.primaryScreen().grabWindow(0).save(f"{os.environ['PICTURE']}-{name}.png")

    def told():
        return bar.text.text().removeprefix("frame ").split(" of ")

    def at():
        return cmd.get_state() - 1

    def place(frame):
        handle = bar.slider._handle()  # its width in pixels, as the mouse finds it
        across = (bar.slider.width() - handle) * frame / (n - 1) + handle / 2
        return QtCore.QPoint(round(across), bar.slider.height() // 2)

    panel.quality_box.setCurrentText("coarse")
    panel.open(os.environ["FILE"])
    wait(lambda: panel.browser.showing.molecule == "benzene")
    QTest.qWait(50)
    report["single frame"] = bar.isVisible()
    panel.open(os.environ["SERIES"])
    wait(lambda: bar.isVisible())
    n = cmd.count_states(panel.browser.showing.molecule)
    film = panel.browser.showing.molecule
    report["opened"] = told() == ["1", str(n)]
    press(bar.play_button)
    report["without an orbital"] = [panel.status.text(), player.rate]

    panel.select("alpha", 4)
    base = f"{film}_mo5"
    wait(lambda: base in cmd.get_names("objects"))
    wait(lambda: player.drawn(base) == list(range(n)))
    wait(player.at_rest)
    QTest.qWait(50)
    report["state"] = bar.state.text()
    press(bar.forward_button)
    press(bar.forward_button)
    wait(lambda: told()[0] == "3")
    press(bar.back_button)
    wait(lambda: told()[0] == "2")
    report["stepped"] = [at(), bar.slider.value()]
    wait(lambda: "confidence" in bar.state.text())
    report["followed"] = bar.state.text()
    picture("still")

    # PyMOL's own controls move the slider
    cmd.frame(n)
    wait(lambda: bar.slider.value() == n - 1)
    press(bar.forward_button)
    wait(lambda: bar.slider.value() == 0)
    report["after the last"] = at()
    cmd.mset(f"1 -{n}")
    cmd.mplay()
    wait(lambda: bar.slider.value() > 2)
    cmd.mstop()
    cmd.mset("")
    wait(lambda: bar.slider.value() == at())

    # play, pause, and another rate
    bar.rate_box.setFocus()
    bar.rate_box.selectAll()
    QTest.keyClicks(bar.rate_box, "40\r")
    press(bar.play_button)
    wait(lambda: player.rate == 40)
    seen = {at()}
    wait(lambda: seen.add(at()) or len(seen) == n)
    cmd.do("orb_play 30")
    wait(lambda: bar.rate_box.value() == 30, 5)
    press(bar.play_button)
    QTest.qWait(50)
    still = at()
    QTest.qWait(300)
    report["paused"] = [player.rate, at() == still]

    # scrubbing while it plays: it stays where it is held, and goes on from there
    press(bar.play_button)
    wait(lambda: at() != still)
    QTest.mousePress(bar.slider, Qt.LeftButton, Qt.NoModifier, place(1))
    for frame in range(1, n - 1):
        drag(bar.slider, place(frame))
        QTest.qWait(20)
    wait(lambda: at() == n - 2)
    QTest.qWait(500)
    report["held"] = [at(), bar.slider.value(), player.rate]
    QTest.mouseRelease(bar.slider, Qt.LeftButton, Qt.NoModifier, place(n - 2))
    wait(lambda: at() != n - 2)
    report["went on"] = at()

    # isovalue, orbital, quality and colours while it plays
    panel.iso_edit.setFocus()
    panel.iso_edit.selectAll()
    QTest.keyClicks(panel.iso_edit, "0.08")
    QTest.qWait(1200)  # twice the time after which the panel follows what was changed elsewhere
    report["typed"] = panel.iso_edit.text()
    QTest.keyClick(panel.iso_edit, Qt.Key_Return)
    wait(lambda: session.shelf[base].isovalue == 0.08)
    wait(lambda: player.drawn(base) == list(range(n)))
    QTest.keyClick(panel.iso_slider, Qt.Key_PageUp)
    wait(lambda: session.shelf[base].isovalue > 0.08 and panel.browser.at_rest())
    isovalue = panel.browser.showing.choices.isovalue
    wait(lambda: player.drawn(base) == list(range(n)))
    report["isovalue"] = session.shelf[base].isovalue == isovalue
    panel.table.setFocus()
    QTest.keyClick(panel.table, Qt.Key_Down)
    other = f"{film}_mo6"
    wait(lambda: other in cmd.get_names("objects") and base not in cmd.get_names("objects"))
    wait(lambda: player.drawn(other) == list(range(n)))
    panel.quality_box.setFocus()
    QTest.keyClick(panel.quality_box, Qt.Key_Down)
    wait(lambda: session.shelf[other].request.quality == "medium" and player.drawn(other) == list(range(n)))
    panel.browser.showing.change_look(colours=((0.0, 0.6, 0.0), (1.0, 0.8, 0.0)))
    wait(lambda: session.shelf[other].look.colours[0] == (0.0, 0.6, 0.0) and player.drawn(other) == list(range(n)))
    before = at()
    wait(lambda: at() != before)
    report["plays on"] = player.rate
    picture("playing")
    press(bar.play_button)
    wait(player.at_rest)
    report["map"] = cmd.get_volume_field(f"{other}_map", at() + 1, 1).size > 8

    # a session that was saved has the surfaces, and plays on
    path = os.environ["REPORT"] + ".pse"
    cmd.save(path)
    state = at() + 1
    cmd.reinitialize()
    wait(lambda: not bar.isVisible())
    cmd.load(path)
    wait(lambda: bar.isVisible() and panel.browser.showing.current() == other)
    report["saved"] = [len(cmd.get_session(other)["names"][0][5][2]) == n, cmd.count_states(f"{other}_map") >= state]
    before = at()
    press(bar.play_button)
    wait(lambda: at() != before)
    press(bar.play_button)

    panel.open(os.environ["FILE"])
    wait(lambda: panel.browser.showing.molecule.startswith("benzene"))
    wait(lambda: not bar.isVisible())
    panel.molecule_box.setCurrentText(film)
    panel.molecule_box.activated.emit(panel.molecule_box.currentIndex())
    wait(lambda: bar.isVisible())


run(drive)

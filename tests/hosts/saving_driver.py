"""Runs inside PyMOL's window: saves pictures and films by the dialogs, and opens the manual.

python -m pymol -q saving_driver.py, with the environment variables REPORT, FILE and FOLDER.
"""

import os
import time
from pathlib import Path

from pymol import cmd
from pymol.Qt import QtCore, QtGui, QtWidgets
from PyQt5.QtTest import QTest

from tests.hosts.in_pymol import report, run, wait

Qt = QtCore.Qt
FOLDER = Path(os.environ["FOLDER"])


class Pulse:
    """The longest time for which the window stood still, and the whole time, in seconds."""

    def __init__(self):
        self.longest, self._begin = 0.0, time.perf_counter()
        self._last = self._begin
        self._timer = QtCore.QTimer()
        self._timer.timeout.connect(self._beat)
        self._timer.start(2)

    def _beat(self):
        now = time.perf_counter()
        self.longest, self._last = max(self.longest, now - self._last), now

    def stop(self):
        self._timer.stop()
        return self.longest, time.perf_counter() - self._begin


def actions(menu):
    return {action.text(): action for action in menu.actions()}


def unconnected(window):
    """Buttons of a window, as they are called, that do nothing when they are clicked."""
    buttons = [button for button in window.findChildren(QtWidgets.QAbstractButton) if button.text()]
    heard = (
        lambda button: button.receivers(button.clicked),
        lambda button: button.receivers(button.toggled),
        lambda button: isinstance(button, QtWidgets.QToolButton) and button.menu() is not None,
    )
    return [button.text() for button in buttons if not any(hears(button) for hears in heard)]


def right_click(panel):
    """The menu that a click with the right button on the only surface opens."""
    row = panel.shown_list.surfaces.index(0, 2)
    where = panel.shown_list.visualRect(row).center()
    asked = QtGui.QContextMenuEvent(
        QtGui.QContextMenuEvent.Mouse, where, panel.shown_list.viewport().mapToGlobal(where)
    )
    QtWidgets.QApplication.sendEvent(panel.shown_list.viewport(), asked)
    menus = [menu for menu in panel.findChildren(QtWidgets.QMenu) if menu.isVisible()]
    menus[-1].close()
    return menus[-1]


def choose(panel, *names):
    """Choose from that menu, or a menu in it."""
    menu = right_click(panel)
    for name in names[:-1]:
        menu = actions(menu)[name].menu()
    actions(menu)[names[-1]].trigger()


def drive():
    from orbitile.hosts.pymol.commands import open_panel, state_of
    from orbitile.hosts.pymol.help import Manual, open_manual
    from orbitile.hosts.pymol.saving import SaveFilm, SavePicture

    panel = open_panel(cmd)
    session = state_of(cmd)
    panel.open(os.environ["FILE"])
    wait(lambda: panel.browser.showing.current())
    panel.browser.showing.ask_for_named("homo")
    wait(lambda: panel.browser.showing.current() == "benzene_homo" and panel.browser.at_rest())
    QTest.qWait(500)

    report["unconnected"] = unconnected(panel) + unconnected(panel.analysis_window())
    more = panel.more_menu
    more.aboutToShow.emit()
    report["more"] = [text for text in actions(more) if text]
    actions(more)["Copy commands"].trigger()
    report["copied"] = QtWidgets.QApplication.clipboard().text().splitlines()
    actions(more)["Copy orbitile render line"].trigger()
    report["render line"] = QtWidgets.QApplication.clipboard().text()

    report["surface menu"] = [text for text in actions(right_click(panel)) if text]
    choose(panel, "Hide")
    report["hidden"] = "benzene_homo" in session.host.hidden({"benzene_homo": "benzene"})
    choose(panel, "Show")
    choose(panel, "Style", "Mesh")
    wait(panel.browser.at_rest)
    report["style"] = session.shelf["benzene_homo"].look.style
    panel.browser.showing.change_look(style="surface")
    wait(panel.browser.at_rest)

    for by in ("orbitile", "ray"):
        dialog = SavePicture(session, panel)
        dialog.size_box.setCurrentText("Twice as large")
        dialog.size_box.activated.emit(1)
        dialog.by_box.setCurrentIndex(dialog.by_box.findData(by))
        report["size"] = dialog.usual
        report["view"] = list(cmd.get_viewport())
        pulse = Pulse()
        panel.run(*dialog.call(FOLDER / f"{by}.png"))
        report[f"{by} stood still"] = pulse.stop()
        report[f"{by} says"] = panel.status.text()

    asked = []

    def answer():
        """Accept the dialog that is open, the file dialog with a name without a suffix."""
        dialog = QtWidgets.QApplication.activeModalWidget()
        asked.append(type(dialog).__name__)
        if isinstance(dialog, QtWidgets.QFileDialog):
            dialog.findChild(QtWidgets.QLineEdit).setText(str(FOLDER / "asked"))
        else:
            dialog.width_box.setValue(200)
            dialog.width_box.editingFinished.emit()
        QtCore.QTimer.singleShot(300, answer) if len(asked) < 2 else None
        dialog.accept()

    QtCore.QTimer.singleShot(300, answer)
    panel.ask_and_save(SavePicture)
    report["asked"] = asked

    film = SaveFilm(session, panel)
    film.width_box.setValue(320)
    film.height_box.setValue(240)
    film.seconds_box.setValue(0.4)
    pulse = Pulse()
    panel.run(*film.call(FOLDER / "turn"))
    report["film begun"] = session.saving.film is not None
    wait(lambda: panel.progress.isVisible() and panel.progress.value() > 0)
    wait(lambda: session.saving.film is None)
    report["film stood still"] = pulse.stop()
    wait(lambda: not panel.progress.isVisible(), 5)

    film.seconds_box.setValue(60)
    panel.run(*film.call(FOLDER / "long.gif"))
    wait(lambda: session.saving.film.share > 0.001)
    began = time.monotonic()
    QTest.mouseClick(panel.cancel_button, Qt.LeftButton)
    wait(lambda: session.saving.film is None)
    report["stopped after"] = time.monotonic() - began
    report["left"] = sorted(path.name for path in FOLDER.iterdir())

    panel.activateWindow()
    panel.shown_list.setFocus()
    QTest.qWait(100)
    QTest.keyClick(panel.shown_list, Qt.Key_F1)
    wait(lambda: panel.findChildren(Manual), 5)
    shown = panel.findChildren(Manual)[0]
    report["manual at"] = shown.text.textCursor().block().text()
    open_manual(panel, "trajectories")
    report["manual then at"] = shown.text.textCursor().block().text()
    report["headings"] = list(shown.headings())
    report["manuals"] = len(panel.findChildren(Manual))


run(drive)

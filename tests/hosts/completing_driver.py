"""In PyMOL's window: what is missing is offered, refused, not reached, and installed, by clicks."""

import importlib.util
import json
import os
from pathlib import Path

from PyQt5 import QtCore, QtWidgets
from PyQt5.QtTest import QTest

WHERE = Path(os.environ["WHERE"])
os.environ["PYTHONPATH"] = os.environ["STAND_IN"]  # of the processes that are started here: a pip of the test
real = importlib.util.find_spec


def lacking(name, *more):
    """Taichi and scikit-image are not there, until pip has put them there."""
    if name in ("taichi", "quadrants", "skimage"):
        there = WHERE / "site" / f"installed_{name}"
        return real("json") if there.exists() else None
    return real(name, *more)


importlib.util.find_spec = lacking
report = {}


def calls():
    log = WHERE / "calls"
    return log.read_text().splitlines() if log.exists() else []


def dialog():
    for _ in range(300):
        for widget in QtWidgets.QApplication.topLevelWidgets():
            if type(widget).__name__ == "Completing" and widget.isVisible():
                return widget
        QTest.qWait(20)
    raise AssertionError("no dialog")


def click(button):
    QTest.mouseClick(button, QtCore.Qt.LeftButton)


def until(condition):
    for _ in range(500):
        if condition():
            return
        QTest.qWait(20)
    raise AssertionError("it did not come")


def drive():
    from pymol import plugins

    from orbitile.hosts import pymol as host

    host.register_commands()
    host.add_menu()
    box = dialog()  # by itself, the first time
    report["text"] = box.question.text()
    report["default"] = box.close_button.isDefault()
    QTest.keyClick(box, QtCore.Qt.Key_Return)
    until(lambda: not box.isVisible())
    report["calls after no"] = calls()
    report["remembered"] = plugins.pref_get("orbitile_offered")

    from orbitile.hosts.pymol import plugin

    answers = []
    for mode in ("offline", "refused", "slow"):
        os.environ["MODE"] = mode
        plugin._open()  # what the menu's entry does
        box = dialog()
        click(box.install_button)
        if mode == "slow":
            until(lambda output=box.output: "collecting" in output.toPlainText())
            report["while it runs"] = box.close_button.text()
        else:
            until(box.answer.isVisible)
            answers.append(box.answer.text())
        click(box.close_button)
        assert not box.isVisible()
    report["answers"] = answers
    QTest.qWait(200)
    report["ended"] = not (WHERE / "site" / "installed_taichi").exists()

    os.environ["MODE"] = "works"
    opened = []
    plugin._open()
    box = dialog()
    box._then = lambda: opened.append(plugin.missing())
    click(box.install_button)
    until(lambda: not box.isVisible())
    report["then"] = opened
    report["calls"] = calls()


def run():
    try:
        drive()
        report["done"] = True
    except Exception as error:
        report["error"] = repr(error)
    Path(os.environ["REPORT"]).write_text(json.dumps(report))
    os._exit(0)


QtCore.QTimer.singleShot(1000, run)

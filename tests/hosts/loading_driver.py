"""Runs inside PyMOL's window: files that are opened as PyMOL opens files, and dropped.

python -m pymol -q job.fchk loading_driver.py, with the environment variables REPORT and FOLDER, which has the job.
"""

import os
from pathlib import Path

from pymol import cmd, gui
from pymol.Qt import QtCore, QtGui, QtWidgets

from tests.hosts.in_pymol import report, run, session, wait

FOLDER = Path(os.environ["FOLDER"])


def loaded():
    return [] if session() is None else list(session().host.molecules())


def drop(widget, *names):
    """Drag files of the folder from elsewhere to the middle of a widget, and let them go."""
    data = QtCore.QMimeData()
    data.setUrls([QtCore.QUrl.fromLocalFile(str(FOLDER / name)) for name in names])
    middle, buttons = widget.rect().center(), (QtCore.Qt.LeftButton, QtCore.Qt.NoModifier)
    entering = QtGui.QDragEnterEvent(middle, QtCore.Qt.CopyAction, data, *buttons)
    falling = QtGui.QDropEvent(QtCore.QPointF(middle), QtCore.Qt.CopyAction, data, *buttons)
    for event in (entering, falling):
        QtWidgets.QApplication.sendEvent(widget, event)
    return entering.isAccepted() and falling.isAccepted()


def drive():
    wait(lambda: loaded() == ["job"])
    window = gui.get_qtwindow()
    window.load_dialog(str(FOLDER / "water.molden"))
    report["opened by the dialog"] = loaded()
    report["recent"] = [Path(name).name for name in window.recent_filenames[:1]]
    report["dropped onto the viewport"] = drop(window.pymolwidget, "one.mkl", "two.mkl")
    report["after that"] = loaded()

    turns = []
    timer = QtCore.QTimer()
    timer.timeout.connect(lambda: turns.append(len(loaded())))
    timer.start(1)
    cmd.load(str(FOLDER / "large.fchk"))
    timer.stop()
    report["turns while it is read"] = turns.count(4)
    report["read"] = loaded()[-1]

    from orbitile.hosts.pymol import open_panel

    panel = open_panel()
    wait(lambda: panel.browser.wavefunction is not None)
    for onto, name in ((panel.widget(), "three.mkl"), (panel.field_edit, "four.mkl")):
        report[f"dropped {name}"] = drop(onto, name)
        wait(lambda name=name: Path(name).stem in loaded() and panel.browser.molecule == Path(name).stem)
    drop(panel, "five.mkl", "broken.molden", "six.mkl")
    wait(lambda: {"five", "six"} <= set(loaded()))
    report["panel"] = panel.browser.molecule
    report["typed"] = panel.field_edit.text()


run(drive)

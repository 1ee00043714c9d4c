"""Runs inside PyMOL's window: files that are opened as PyMOL opens files, and dropped.

python -m pymol -q job.fchk early.mkl loading_driver.py, with the environment variables REPORT and FOLDER, which has the
two.
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
    wait(lambda: loaded() == ["job", "early"] and session().panel is not None)
    wait(lambda: "early_mo1" in cmd.get_names() and session().panel.browser.at_rest())
    report["on the command line"] = sorted(cmd.get_names("objects", enabled_only=1))
    window = gui.get_qtwindow()
    window.load_dialog(str(FOLDER / "water.molden"))
    panel = session().panel
    wait(lambda: "water_mo5" in cmd.get_names() and panel.browser.at_rest())
    report["opened by the dialog"] = loaded()
    report["recent"] = [Path(name).name for name in window.recent_filenames[:1]]
    report["seen"] = sorted(cmd.get_names("objects", enabled_only=1))
    report["dropped onto the viewport"] = drop(window.pymolwidget, "one.mkl", "density.cube")
    wait(lambda: loaded()[3:] == ["one", "density"] and panel.browser.at_rest())
    wait(lambda: panel.browser.showing.molecule == "density")
    report["together"] = sorted(set(loaded()) & set(cmd.get_names("objects", enabled_only=1)))
    panel.browser.showing.slide_to(0.04)
    wait(lambda: panel.browser.at_rest() and abs(session().shelf["density_values"].isovalue - 0.04) < 1e-6)
    report["said"] = panel.status.text()
    cmd.load(str(FOLDER / "density.cube"), "mapped")
    report["by PyMOL"] = cmd.get_type("mapped")
    wait(lambda: panel.browser.showing.molecule == "mapped_volume" and panel.browser.at_rest())
    report["and by us"] = sorted(name for name in cmd.get_names("objects", enabled_only=1) if "mapped_v" in name)

    turns = []
    timer = QtCore.QTimer()
    timer.timeout.connect(lambda: turns.append(len(loaded())))
    timer.start(1)
    cmd.load(str(FOLDER / "large.fchk"))
    timer.stop()
    report["turns while it is read"] = len(turns)
    report["read"] = loaded()[-1]

    wait(
        lambda: (
            panel.browser.showing.molecule == "large" and not panel.session.host.loaded_last and panel.browser.at_rest()
        )
    )

    for onto, name in ((panel.widget(), "three.mkl"), (panel.field_edit, "four.mkl")):
        report[f"dropped {name}"] = drop(onto, name)
        wait(lambda name=name: Path(name).stem in loaded() and panel.browser.showing.molecule == Path(name).stem)
    menu = panel.opening_menu
    menu.aboutToShow.emit()
    texts = {action.text(): action for action in menu.actions()}
    report["menu"] = [Path(text).name for text in list(texts)[:2]], [text for text, a in texts.items() if a.isChecked()]
    texts["Leave the view"].trigger()
    view = cmd.get_view()
    drop(panel, "five.mkl", "broken.molden", "six.mkl")
    wait(lambda: {"five", "six"} <= set(loaded()) and panel.browser.at_rest())
    report["beside each other"] = sorted(set(loaded()) & set(cmd.get_names("objects", enabled_only=1)))
    report["view stays"] = view == cmd.get_view()
    for onto, name in ((panel, "run7"), (window.pymolwidget, "run8.zip")):
        report[f"dropped {name}"] = drop(onto, name)
        wait(lambda name=name: name.partition(".")[0] in loaded() and panel.browser.at_rest())
    report["panel"] = panel.browser.showing.molecule
    report["field"] = panel.field_edit.text()


run(drive)

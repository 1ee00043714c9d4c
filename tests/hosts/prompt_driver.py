"""Runs inside PyMOL's window: types at its prompt, and writes what happened to a file.

python -m pymol -q prompt_driver.py, with the environment variables REPORT, FILE and FOLDER, where scripts are written.
"""

import os
from pathlib import Path

from pymol import cmd, gui
from pymol.Qt import QtCore
from PyQt5.QtTest import QTest

from tests.hosts.in_pymol import report, run, wait

FOLDER = Path(os.environ["FOLDER"])
Qt = QtCore.Qt


def names():
    return cmd.get_names("objects")


def type_in(line):
    """Type a line at the prompt; this returns when its command does."""
    window = gui.get_qtwindow()
    window.lineedit.clear()
    QTest.keyClicks(window.lineedit, line)
    QTest.keyClick(window.lineedit, Qt.Key_Return)


def later(seconds, function):
    QtCore.QTimer.singleShot(int(1000 * seconds), function)


def drive():
    from orbitile.hosts.pymol.commands import state_of

    cmd.do(f"orb_load {os.environ['FILE']}, small")
    cmd.do("orb_mo small, homo, quality=coarse")
    report["at once"] = "small_homo" in names()
    report["in a process of its own"] = state_of(cmd).computing.worker.process_id is not None

    # cancelled from the prompt, while the window goes on
    turns = []
    timer = QtCore.QTimer()
    timer.timeout.connect(lambda: turns.append(cmd.get_view()))
    timer.start(20)
    later(0.5, lambda: cmd.turn("y", 20))
    later(1.0, lambda: type_in("orb_cancel"))
    type_in("orb_field small, esp, 0.03, fine")
    timer.stop()
    report["turns meanwhile"] = len(turns)
    report["views meanwhile"] = len(set(turns))
    report["cancelled is not shown"] = "small_esp" not in names()

    # the next line of a script sees what the line before has made
    script = FOLDER / "script.pml"
    script.write_text("orb_mo small, lumo, quality=coarse\n/report_here('pml')\nset_name small_lumo, other\n")
    seen = {}
    cmd._pymol.report_here = lambda what: seen.update({what: names()})
    type_in(f"@{script}")
    report["pml"] = "small_lumo" in seen["pml"] and "other" in names()
    cmd.do("orb_mo small, homo-1, quality=coarse\n/report_here('do')")
    report["do"] = "small_homo_m1" in seen["do"]
    type_in("orb_mo small, homo-2, quality=coarse; /report_here('line')")
    report["line"] = "small_homo_m2" in seen["line"]
    program = FOLDER / "program.py"
    program.write_text(
        "from pymol import cmd\n"
        "from orbitile.hosts.pymol.commands import orb_mo\n"
        "name = orb_mo('small', 'lumo+1', quality='coarse')\n"
        "cmd.png('picture.png', 80, 60, ray=1)\n"
        "cmd._pymol.report_here('py')\n"
    )
    os.chdir(FOLDER)
    type_in(f"run {program}")
    report["py"] = "small_lumo_p1" in seen["py"] and os.path.getsize("picture.png") > 300

    # from within: another command, and a molecule that goes
    later(0.2, lambda: type_in("orb_mo small, lumo+2, quality=coarse"))
    type_in("orb_mo small, lumo+3, quality=coarse")
    wait(lambda: "small_lumo_p2" in names())
    report["within another"] = "small_lumo_p3" in names()
    later(0.3, lambda: type_in("delete small"))
    type_in("orb_field small, esp, 0.03, fine")
    report["of a molecule that has gone"] = [name for name in names() if "esp" in name]


run(drive)

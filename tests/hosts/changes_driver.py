"""Runs inside PyMOL's window: files that change, molecules that are renamed and deleted, while the panel is open.

python -m pymol -q changes_driver.py, with the environment variables REPORT, JOB (a file to be written), and ONE and
OTHER (wavefunctions).
"""

import os
import shutil

from pymol import cmd
from PyQt5.QtTest import QTest

from tests.hosts.in_pymol import report, run, wait


def names():
    return sorted(cmd.get_names("objects"))


def drive():
    from orbitile.hosts.pymol import open_panel
    from orbitile.hosts.pymol.commands import state_of

    panel, job, state = open_panel(), os.environ["JOB"], state_of(cmd)
    cmd.fragment("ala")
    cmd.create("late", "ala", 1, 3)  # has no first state
    panel.quality_box.setCurrentText("coarse")
    shutil.copy(os.environ["ONE"], job)
    panel.open(job)
    wait(lambda: panel.browser.showing.molecule == "job")
    rows = panel.table.orbitals.rowCount()
    panel.browser.showing.ask_for_named("homo")
    wait(lambda: "job_homo" in names() and panel.browser.at_rest())

    shutil.copy(os.environ["OTHER"], job)
    panel.browser.showing.ask_for_named("homo-1")
    wait(lambda: "has changed" in panel.status.text())
    report["refused"] = panel.status.text()
    report["stays"] = [name for name in names() if name.startswith("job")]
    panel.open(job)
    wait(lambda: panel.table.orbitals.rowCount() != rows)
    report["opened again"] = [name for name in names() if name.startswith("job_") and name != "job_orb"]
    report["atoms"] = cmd.count_atoms("job")
    panel.browser.showing.ask_for_named("homo")
    wait(lambda: "job_homo" in names() and panel.browser.at_rest())
    report["shows"] = state.computing.sampled(state.shelf["job_homo"].request).volume.quantity

    cmd.do("set_name job, other")
    wait(lambda: panel.browser.showing.molecule == "other")
    report["renamed"] = [panel.molecule_box.currentText(), state.shelf["job_homo"].molecule, "other_orb" in names()]
    panel.browser.showing.ask_for_named("homo-1")
    wait(lambda: "other_homo_m1" in names())
    wait(panel.browser.at_rest)
    cmd.do("delete other")
    wait(lambda: panel.table.orbitals.rowCount() == 0)
    QTest.qWait(600)
    report["left"] = names()


run(drive)

"""What the scripts share that run inside PyMOL's window: waiting, a report, an end."""

import json
import os
import time
import traceback
from collections.abc import Callable
from typing import Any

from pymol import cmd
from pymol.Qt import QtCore
from PyQt5.QtTest import QTest

report: dict = {}
"""What happened, for the test that started PyMOL."""


def wait(condition: Callable[[], object], seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        QTest.qWait(5)


def session() -> Any:
    """Session of this PyMOL, if it has one."""
    return getattr(cmd._pymol, "_orbitile", None)


def run(drive: Callable[[], None], leave: Callable[[], None] | None = None) -> None:
    """Call a function when the window is there, write the report to the file that REPORT names, and end PyMOL.

    At once, unless it is told how to `leave`.
    """

    def main() -> None:
        try:
            drive()
            report["done"] = True
        except BaseException:
            report["error"] = traceback.format_exc()
            panel = getattr(session(), "panel", None)
            report["status"] = "" if panel is None else panel.status.text()
        with open(os.environ["REPORT"], "w") as file:
            json.dump(report, file, indent=1)
        if leave is not None and "error" not in report:
            leave()
            return
        if session() is not None:
            session().computing.close()
        os._exit(0)  # PyMOL asks questions otherwise

    QtCore.QTimer.singleShot(1000, main)

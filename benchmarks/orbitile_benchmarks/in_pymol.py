"""Scripts that measure inside PyMOL's window, under Xvfb."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

_REPORT = "BENCHMARK_REPORT"


def told_in_pymol(script: str, **more: str) -> str:
    """What a script reports that PyMOL runs in its window, with more in its environment, and settings of its own."""
    with tempfile.TemporaryDirectory() as home:
        report = Path(home) / "report"
        environment = {**os.environ, "HOME": home, "QT_QPA_PLATFORM": "xcb", _REPORT: str(report), **more}
        command = ["xvfb-run", "-a", "-s", "-screen 0 1600x1000x24", sys.executable, "-m", "pymol", "-q", script]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
        return report.read_text(encoding="utf-8") if report.exists() else done.stdout + done.stderr


def runs_in_pymol() -> bool:
    """Whether PyMOL has been told to run this script."""
    return _REPORT in os.environ


def tell_from_pymol(drive: Callable[[Callable[[str], None]], None]) -> None:
    """Call a function when the window is there, report the lines that it says, and end PyMOL."""
    from pymol.Qt import QtCore

    def inside() -> None:
        lines: list[str] = []
        try:
            drive(lines.append)
        except BaseException:  # whatever it is, it is what there is to report
            lines.append(traceback.format_exc())
        Path(os.environ[_REPORT]).write_text("\n".join(lines), encoding="utf-8")
        os._exit(0)  # PyMOL asks questions otherwise

    QtCore.QTimer.singleShot(1000, inside)

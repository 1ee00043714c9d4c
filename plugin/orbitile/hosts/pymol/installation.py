"""Installing Orbitile into PyMOL: a stub in the user's start-up folder; `orbitile.hosts.Installation` says more."""

from __future__ import annotations

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

from ... import __version__
from ...errors import OrbitileError
from ...files.writing import read_settings, replace_settings
from ...imports import isolated, program, safe_environment

STUB = "orbitile_plugin.py"

_TEXT = """\
# Version: {version}
# Author: The Orbitile developers
# License: GPL-3.0-or-later
\"\"\"Orbitile in PyMOL; written by `orbitile install pymol`, removed by `orbitile install pymol --uninstall`.\"\"\"

import os
import sys

{settings}
# The current folder, of somebody's calculations, goes last: nothing there stands in for what is installed.
_path = ["" if os.path.isdir(place or ".") and os.path.samefile(place or ".", ".") else place for place in sys.path]
sys.path[:] = sorted(_path, key=lambda place: not place)
for _folder in {folders!a}:
    if _folder not in sys.path:
        sys.path.append(_folder)  # at the end: what PyMOL's own Python has goes first

from orbitile.hosts import pymol as _host

_host.register_commands()


def __init_plugin__(app=None):
    _host.add_menu()
"""


_REGISTRATION = """\
# The user's start-up folder; added by `orbitile install pymol`. PyMOL writes this file anew when a preference changes.
import pymol.plugins
if {folder!a} not in pymol.plugins.get_startup_path():
    pymol.plugins.set_startup_path([{folder!a}] + pymol.plugins.get_startup_path(True), False)
"""


def find() -> str:
    """Where PyMOL is: its program, or else its package in this Python; empty where neither is found."""
    if found := program("pymol"):
        return found
    package = find_spec("pymol")
    return str(package.origin) if package is not None else ""


def status() -> str:
    """The stub, if it is there; otherwise empty."""
    path = startup_folder() / STUB
    return str(path) if path.exists() else ""


def startup_folder() -> Path:
    """Where PyMOL looks for a user's plugins."""
    if os.environ.get("APPDATA"):
        return Path(os.environ["APPDATA"]) / "pymol" / "startup"
    return Path.home() / ".pymol" / "startup"


def install(python: str | None = None) -> list[str]:
    """Write the stub, and have PyMOL look for it; see `Installation`."""
    settings, notes = "", []
    if python is not None:
        _require_taichi(python)
        settings = f'os.environ.setdefault("ORBITILE_PYTHON", {python!a})\n'
        notes.append(f"the worker process will run with {python}")
    package = Path(__file__).parents[2]
    kernels = next((root for root in package.parents[:2] if (root / "taichi_kernels").is_dir()), package.parent)
    folders = list(dict.fromkeys([str(package.parent), str(kernels)]))
    path = startup_folder() / STUB
    preferences = Path.home() / ".pymolpluginsrc.py"
    present = read_settings(preferences)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OrbitileError(f"{error.filename or path} cannot be written: {error.strerror}") from error
    replace_settings(path, _TEXT.format(version=__version__, settings=settings, folders=folders))
    if ascii(str(path.parent)) not in present:  # PyMOL looks into the folder only when it is named there
        registration = _REGISTRATION.format(folder=str(path.parent))
        replace_settings(preferences, f"{present}\n{registration}".lstrip("\n"))
        notes.append(f"made PyMOL look into that folder, in {preferences}")
    return [f"wrote {path}", *notes, "start PyMOL again: Plugin > Orbitile, and commands that begin with orb_"]


def uninstall() -> list[str]:
    """Remove the stub; see `Installation`."""
    path = startup_folder() / STUB
    if not path.exists():
        return [f"nothing to remove: there is no {path}"]
    try:
        path.unlink()
    except OSError as error:
        raise OrbitileError(f"{path} cannot be removed: {error.strerror}") from error
    return [f"removed {path}"]


def _require_taichi(python: str) -> None:
    try:
        done = subprocess.run(
            isolated(python, "import taichi, numpy, scipy, iodata, skimage"),
            env=safe_environment(),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=120,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OrbitileError(f"--python: {python} cannot be run ({error})") from error
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.strip()]
        raise OrbitileError(
            f"--python: {python} lacks what Orbitile computes with ({last[-1] if last else 'it failed'}). To install: "
            f"{python} -m pip install orbitile"
        )

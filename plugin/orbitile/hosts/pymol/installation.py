"""Installing Orbitile into PyMOL: a plugin in the user's start-up folder, and a file that PyMOL reads without a window.

`orbitile.hosts.Installation` says more.
"""

from __future__ import annotations

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

from ... import __version__
from ...base.errors import OrbitileError
from ...base.imports import isolated, program, safe_environment
from ...base.packages import install_command
from ...files.writing import read_settings, replace_settings

STUB = "orbitile_plugin.py"
STARTUP = ".pymolrc_orbitile.py"
"""Name of the file in the home folder that adds the commands: PyMOL starts no plugins where it has no window."""

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


_STARTUP_TEXT = """\
\"\"\"Orbitile's commands in PyMOL without a window.

Written by `orbitile install pymol`, removed by `orbitile install pymol --uninstall`. PyMOL reads start-up files of one
folder and one kind only (.pymolrc* or pymolrc*): those that it would read without this file are read here.
\"\"\"


def _start():
    import glob
    import os
    import sys
    import types

    from pymol import cmd, invocation

{settings}    for folder in {folders!a}:
        if folder not in sys.path:
            sys.path.append(folder)  # at the end: what PyMOL's own Python has goes first
    try:
        from orbitile.hosts import pymol as host

        host.register_commands()
    except ImportError as error:
        print(" Orbitile cannot be imported (%s): install it again, or delete ~/{name}" % error)

    def others(pattern):
        return [file for file in glob.glob(pattern) if os.path.basename(file) != {name!a}]

    found = invocation.get_user_config
    elsewhere = dict(vars(invocation), glob=types.SimpleNamespace(glob=others))
    wanted = types.FunctionType(found.__code__, elsewhere)()  # what PyMOL would find without this file
    read = found()
    invocation.options.pymolrc = wanted
    for file in wanted:
        if file not in read:
            cmd._parser.parse(("@" if invocation.script_re.search(file) else "run ") + file)


_start()
del _start
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
    """The files of ours that are there; empty where none is."""
    return " and ".join(str(path) for path in (startup_folder() / STUB, startup_file()) if path.exists())


def startup_file() -> Path:
    """The file that adds the commands where PyMOL has no window."""
    return Path.home() / STARTUP


def startup_folder() -> Path:
    """Where PyMOL looks for a user's plugins."""
    if os.environ.get("APPDATA"):
        return Path(os.environ["APPDATA"]) / "pymol" / "startup"
    return Path.home() / ".pymol" / "startup"


def install(python: str | None = None) -> list[str]:
    """Write the stub, and have PyMOL look for it; see `Installation`."""
    notes = []
    if python is not None:
        _require_taichi(python)
        notes.append(f"the worker process will run with {python}")
    path = startup_folder() / STUB
    preferences = Path.home() / ".pymolpluginsrc.py"
    present = read_settings(preferences)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OrbitileError(f"{error.filename or path} cannot be written: {error.strerror}") from error
    replace_settings(path, _TEXT.format(version=__version__, settings=_settings(python), folders=_folders()))
    if ascii(str(path.parent)) not in present:  # PyMOL looks into the folder only when it is named there
        registration = _REGISTRATION.format(folder=str(path.parent))
        replace_settings(preferences, f"{present}\n{registration}".lstrip("\n"))
        notes.append(f"made PyMOL look into that folder, in {preferences}")
    return [f"wrote {path}", *notes, "start PyMOL again: Plugin > Orbitile, and commands that begin with orb_"]


def install_for_scripts(python: str | None = None) -> list[str]:
    """Write the file that PyMOL reads without a window too; see `Installation`."""
    path = startup_file()
    settings = f"    {_settings(python)}" if python is not None else ""
    replace_settings(path, _STARTUP_TEXT.format(settings=settings, folders=_folders(), name=STARTUP))
    return [f"wrote {path}: scripts without a window have the commands (pymol -cq script.pml)"]


def uninstall() -> list[str]:
    """Remove the stub and the start-up file; see `Installation`."""
    paths = [path for path in (startup_folder() / STUB, startup_file()) if path.exists()]
    if not paths:
        return [f"nothing to remove: there is no {startup_folder() / STUB}"]
    for path in paths:
        try:
            path.unlink()
        except OSError as error:
            raise OrbitileError(f"{path} cannot be removed: {error.strerror}") from error
    return [f"removed {path}" for path in paths]


def _folders() -> list[str]:
    """Folders in which `orbitile` and `taichi_kernels` lie."""
    package = Path(__file__).parents[2]
    kernels = next((root for root in package.parents[:2] if (root / "taichi_kernels").is_dir()), package.parent)
    return list(dict.fromkeys([str(package.parent), str(kernels)]))


def _settings(python: str | None) -> str:
    """A line of Python by which the worker process runs with an interpreter; empty where none is named."""
    return f'os.environ.setdefault("ORBITILE_PYTHON", {python!a})\n' if python is not None else ""


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
            f"{install_command('taichi', 'numpy', 'scipy', 'qc-iodata', 'scikit-image', python=python)}"
        )

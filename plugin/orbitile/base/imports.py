"""What is imported and run: never what happens to lie in the current folder, beside somebody's calculations.

Python looks first into the folder in which it was started (`python -m`, `python -c`, IPython) or into that of a script,
and some packages run files of settings that they find there. A folder that was downloaded holds what others wrote.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_HOME, _CHECKOUT = Path(__file__).parents[2:4]
OWN_FOLDERS = [str(_HOME), *([] if (_HOME / "taichi_kernels").is_dir() else [str(_CHECKOUT)])]
"""The folders in which our own packages, `orbitile` and `taichi_kernels`, lie."""
_ELSEWHERE = "import sys; sys.path[:1] = filter(None, sys.path[:1]); "
"""Begins a program for `python -c`: Python has put the current folder first, as an empty text. That `-P` and
`PYTHONSAFEPATH` leave it out came with Python 3.11."""


def isolated(python: str, program: str, *arguments: str) -> list[str]:
    """Command that runs a program, given as simple statements in one line, without modules of the current folder."""
    return [python, "-c", _ELSEWHERE + program, *arguments]


def safe_environment(*folders: str) -> dict[str, str]:
    """Environment in which a Python, and those that it starts, import from these folders first, never from the current.

    An empty entry of `PYTHONPATH` means the current folder; `PYTHONPATH=$PYTHONPATH:/lib` leaves one where it is unset.
    """
    path = [*folders, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONSAFEPATH": "1"}
    if not path:
        del settings["PYTHONPATH"]
    return settings


def safe_path() -> list[str]:
    """What `sys.path` has but for the current folder, and for that in which this process began.

    Either stays where it was named on purpose, by `PYTHONPATH` or an editable installation, or has our own packages.
    """
    library = sys.path.index(_LIBRARY) if _LIBRARY in sys.path else len(sys.path)
    named = set(map(os.path.realpath, filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))))
    named.update(map(os.path.realpath, OWN_FOLDERS))
    unnamed = {_BEGINNING, _current_folder()} - named
    return [
        place
        for n, place in enumerate(sys.path)
        if place and not (n < library and os.path.realpath(place) in unnamed)  # installed ones come after the library
    ]


_LIBRARY = os.path.dirname(os.__file__)


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


_BEGINNING = _current_folder()


@contextmanager
def safe_imports() -> Iterator[None]:
    """Have this process import from `safe_path` within the `with` block."""
    before = sys.path[:]
    sys.path[:] = safe_path()
    try:
        yield
    finally:
        sys.path[:] = before


def program(name: str) -> str:
    """Path of a program, given by its name or a path; empty where there is none.

    A name is not looked for in the current folder, as Windows does first, and others where `PATH` has an empty entry.
    """
    if os.path.dirname(name):
        return shutil.which(name) or ""
    endings = os.environ.get("PATHEXT", "").split(os.pathsep) if os.name == "nt" else [""]
    for folder in filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep)):
        for ending in endings:
            if found := shutil.which(os.path.join(folder, name + ending)):
                return found
    return ""


def with_settings_of_the_user(package: str, module: str = "") -> Any:
    """A module of PySCF or matplotlib, which at their import take settings from the current folder.

    PySCF runs `.pyscf_conf.py`, and matplotlib reads `matplotlibrc`, which may name a program. Here they have those of
    the user's home folder, and what `PYSCF_CONFIG_FILE` and `MATPLOTLIBRC` name.

    Raises
    ------
    ImportError
        When it is missing.
    """
    if package not in sys.modules:
        with _SETTINGS[package]():
            importlib.import_module(package)
    return importlib.import_module(f"{package}.{module}" if module else package)


@contextmanager
def _settings_of_pyscf() -> Iterator[None]:
    before = os.environ.get("PYSCF_CONFIG_FILE", "")
    if os.path.isfile(before) or not os.path.isfile(".pyscf_conf.py"):
        yield
        return
    own = Path(os.environ.get("HOME") or Path.home(), ".pyscf_conf.py")
    with tempfile.TemporaryDirectory(prefix="orbitile-") as folder:
        if not own.is_file():
            own = Path(folder, "empty.py")
            own.touch()
        os.environ["PYSCF_CONFIG_FILE"] = str(own)
        try:
            yield
        finally:
            os.environ["PYSCF_CONFIG_FILE"] = before
            if not before:
                del os.environ["PYSCF_CONFIG_FILE"]


@contextmanager
def _settings_of_matplotlib() -> Iterator[None]:
    yield
    if not os.path.exists("matplotlibrc") or (matplotlib := sys.modules.get("matplotlib")) is None:
        return
    places = [*filter(None, [os.environ.get("MATPLOTLIBRC")]), matplotlib.get_configdir()]
    files = (file for place in places for file in (place, os.path.join(place, "matplotlibrc")) if os.path.isfile(file))
    matplotlib.rcdefaults()
    for file in [*files][:1]:
        with suppress(OSError):
            matplotlib.rc_file(file)


_SETTINGS = {"pyscf": _settings_of_pyscf, "matplotlib": _settings_of_matplotlib}

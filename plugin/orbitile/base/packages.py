"""How a package that is missing is installed: a command that works whatever way Orbitile came here.

The package itself is named and no extra of ours: `pip install 'orbitile[scf]'` asks an index for Orbitile, which a
checkout, a wheel from a file and the plugin in a viewer did not come from.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def install_command(*packages: str, python: str = "") -> str:
    """The command line that installs packages, in the versions that Orbitile asks for, by default for this Python."""
    words = [python or _python(), "-m", "pip", "install", *(_with_version(package) for package in packages)]
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def required(module: str, error: type[Exception], what: str, *packages: str) -> Any:
    """Import a module of another package; where it is missing, `error` tells `what` needs it and how to install it."""
    try:
        return import_module(module)
    except ImportError as missing:
        raise error(f"{what}: {install_command(*(packages or (module,)))}") from missing


def _with_version(package: str) -> str:
    """A package as Orbitile requires it."""
    from importlib.metadata import PackageNotFoundError, requires  # here, as it imports all that reads e-mail

    try:
        required = requires("orbitile") or []
    except PackageNotFoundError:  # a folder without an installation, as of the plugin in a viewer
        required = []
    for line in required:
        found = re.match(r"([\w.-]+)\s*([<>=!~][^;]*?)?\s*(;|$)", line)
        if found and found[1].lower() == package.lower():
            return package + (found[2] or "").replace(" ", "")
    return package


def _python() -> str:
    """The Python that runs, by its short name where a shell finds it; that of a viewer where the viewer runs."""
    program = sys.executable or ""
    if not Path(program).name.lower().startswith("python"):
        here = [Path(sys.prefix) / name for name in ("python.exe", "bin/python3", "bin/python")]
        program = next((str(path) for path in here if path.is_file()), "python")
    found = shutil.which("python")
    return "python" if found and Path(found).parent == Path(program).parent else program

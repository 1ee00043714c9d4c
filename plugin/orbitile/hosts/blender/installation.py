"""Installing Orbitile into Blender: an extension among the user's own; `orbitile.hosts.Installation` says more."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import sysconfig
from pathlib import Path

from ...base.errors import OrbitileError
from ...base.imports import program
from ...files.writing import replace_settings

OLDEST = (4, 5)
"""The first version of Blender with all that is asked of it."""

_PARTS = ("blender_manifest.toml", "__init__.py")
_PLACES = "places.json"
_EXTENSION = Path("extensions", "user_default", "orbitile")


def find() -> str:
    """Where the program `blender` is; empty where it is not found."""
    return program("blender")


def status() -> str:
    """Where the extension is, of each version that has it; otherwise empty."""
    return ", ".join(str(folder) for folder in extension_folders() if (folder / _PARTS[0]).exists())


def extension_folders() -> list[Path]:
    """Where the extension goes, for each version of Blender that this user has started."""
    own = os.environ.get("BLENDER_USER_RESOURCES")
    if own:
        return [Path(own) / _EXTENSION]
    if os.environ.get("APPDATA"):
        home = Path(os.environ["APPDATA"]) / "Blender Foundation" / "Blender"
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Application Support" / "Blender"
    else:
        home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "blender"
    versions = sorted(home.iterdir()) if home.is_dir() else []
    numbers = {folder: re.fullmatch(r"(\d+)\.(\d+)", folder.name) for folder in versions}
    return [
        folder / _EXTENSION
        for folder, number in numbers.items()
        if number is not None and (int(number[1]), int(number[2])) >= OLDEST
    ]


def install(python: str | None = None) -> list[str]:
    """Write the extension for each version of Blender that this user has started; see `Installation`."""
    folders = extension_folders()
    if not folders:
        raise OrbitileError(
            f"no folder of Blender {OLDEST[0]}.{OLDEST[1]} or later was found: start Blender once, or let it install "
            "the zip that install/blender-zip makes"
        )
    package = Path(__file__).parents[2]
    kernels = next((root for root in package.parents[:2] if (root / "taichi_kernels").is_dir()), package.parent)
    libraries = sysconfig.get_path("purelib")
    places = {
        "folders": list(dict.fromkeys([str(package.parent), str(kernels), libraries])),
        "python": python or "",
    }
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OrbitileError(f"{error.filename or folder} cannot be written: {error.strerror}") from error
        for part in _PARTS:
            text = (Path(__file__).parent / "extension" / part).read_text(encoding="utf-8")
            replace_settings(folder / part, text)
        replace_settings(folder / _PLACES, json.dumps(places, indent=1))
    version = "{}.{}".format(*sys.version_info)
    return [
        *(f"wrote {folder}" for folder in folders),
        "start Blender again: Edit > Preferences > Add-ons, tick Orbitile; its tab is in the sidebar of a view (N)",
        f"Blender loads libraries of its own Python only, 3.11 up to Blender 5.0, then 3.13; this one is {version}",
    ]


def uninstall() -> list[str]:
    """Remove the extension; see `Installation`."""
    there = [folder for folder in extension_folders() if (folder / _PARTS[0]).exists()]
    if not there:
        return ["nothing to remove: no Blender of this user has Orbitile"]
    for folder in there:
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise OrbitileError(f"{folder} cannot be removed: {error.strerror}") from error
    return [f"removed {folder}" for folder in there]

"""How Orbitile starts in Blender, also in a Python that lacks what it needs.

Nothing but the standard library and Blender is imported before it is known that the rest can be.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import bpy

from .._requirements import COMPILER, NEEDED

_NEEDED = {module: package for module, package in NEEDED.items() if module not in ("OpenGL", "rich")}
"""Requirements by module; pictures and tables in terminals, which need more, are not Blender's."""

_registered: list[type] = []


def missing() -> str:
    """What is missing and how to get it, for people; empty where all is there.

    Taichi may be in another Python, which `ORBITILE_PYTHON` names.
    """
    needed = _NEEDED if os.environ.get("ORBITILE_PYTHON") else {**_NEEDED, **COMPILER}
    absent = [package for module, package in needed.items() if find_spec(module) is None]
    if not absent:
        return ""
    return (
        f"Orbitile needs {', '.join(absent)} in Blender's Python. To install: {_python()} -m pip install "
        + " ".join(f"'{package}'" for package in absent)
    )


def _python() -> str:
    """Blender's interpreter, which is not the program that runs."""
    found = sorted((Path(sys.prefix) / "bin").glob("python3*")) if sys.platform != "win32" else []
    return str(found[0]) if found else str(Path(sys.prefix) / "bin" / "python.exe")


def add_libraries() -> None:
    """Have OpenVDB and OpenUSD found, which the `bpy` of PyPI brings, and does not put on the path."""
    local = bpy.utils.resource_path("LOCAL")
    for folder in Path(local, "python", "lib").glob("**/site-packages") if local else ():
        if str(folder) not in sys.path:
            sys.path.append(str(folder))


def tell_workers() -> None:
    """Have worker processes find what was found here outside of Blender's own folders: wheels of extensions."""
    from ...base.imports import safe_path
    from ...workers.child_process import places

    if os.environ.get("ORBITILE_PYTHON"):
        return  # it has its own
    for module in (*_NEEDED, *COMPILER):
        spec = PathFinder.find_spec(module, safe_path())
        folder = str(Path(spec.origin).parents[1]) if spec is not None and spec.origin is not None else ""
        if folder and not folder.startswith(sys.prefix) and folder not in places:
            places.append(folder)


def register_all() -> None:
    """Add all that is Orbitile's; where something is missing, a panel that says so."""
    if missing():
        _register(_panel_of_what_is_missing())
        return
    add_libraries()
    tell_workers()
    from .commands import follow_files
    from .panel import OPERATORS, PANELS, Controls

    _register(*OPERATORS, *PANELS)
    bpy.types.WindowManager.orbitile = bpy.props.PointerProperty(type=Controls)
    follow_files()


def unregister_all() -> None:
    """Take it away, and end what runs."""
    if hasattr(bpy.types.WindowManager, "orbitile"):
        from .commands import leave_files
        from .panel import is_open, window

        leave_files()
        if is_open():
            window().close()
            window.cache_clear()
        del bpy.types.WindowManager.orbitile
    while _registered:
        bpy.utils.unregister_class(_registered.pop())


def _register(*classes: type) -> None:
    for one in classes:
        bpy.utils.register_class(one)
        _registered.append(one)


def _panel_of_what_is_missing() -> type:
    def draw(self: Any, context: Any) -> None:
        from textwrap import wrap

        for line in wrap(missing() or "Orbitile can be used now: start Blender again", 38):
            self.layout.label(text=line)

    places = {"bl_space_type": "VIEW_3D", "bl_region_type": "UI", "bl_category": "Orbitile"}
    return type(
        "ORBITILE_PT_missing",
        (bpy.types.Panel,),
        {"bl_idname": "ORBITILE_PT_missing", "bl_label": "Orbitile", "draw": draw, **places},
    )

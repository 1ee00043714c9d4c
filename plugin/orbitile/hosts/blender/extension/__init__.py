"""Orbitile as an extension of Blender: beside the packages `orbitile` and `taichi_kernels`, or told where they are."""

import json
import os
import sys
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_TOLD = os.path.join(_HERE, "places.json")

_places: dict[str, Any] = {"folders": [_HERE], "python": ""}
if os.path.exists(_TOLD):  # written by `orbitile install blender`
    with open(_TOLD, encoding="utf-8") as _stream:
        _places = json.load(_stream)
if _places["python"]:
    os.environ.setdefault("ORBITILE_PYTHON", _places["python"])
# The current folder, of somebody's calculations, goes last: nothing there stands in for what is installed.
_path = ["" if os.path.isdir(place or ".") and os.path.samefile(place or ".", ".") else place for place in sys.path]
sys.path[:] = sorted(_path, key=lambda place: not place)
for _folder in _places["folders"]:
    if _folder not in sys.path:
        sys.path.append(_folder)  # at the end: what Blender's own Python has goes first

from orbitile.hosts import blender as _host  # noqa: E402 - found on the path made above


def register() -> None:
    """Add the panel and the operators."""
    _host.register()


def unregister() -> None:
    """Take them away."""
    _host.unregister()

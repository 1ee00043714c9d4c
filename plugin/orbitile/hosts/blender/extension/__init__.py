"""Orbitile as an extension of Blender: beside the packages `orbitile` and `taichi_kernels`, or told where they are."""

import json
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_PLACES = os.path.join(_HERE, "places.json")

# Appended, so that what Blender's own Python has goes first.
_folders = [_HERE]
if os.path.exists(_PLACES):  # written by `orbitile install blender`
    with open(_PLACES, encoding="utf-8") as _stream:
        _folders = json.load(_stream)
for _folder in _folders:
    if _folder not in sys.path:
        sys.path.append(_folder)

from orbitile.hosts import blender as _host  # noqa: E402 - found on the path made above


def register():
    """Add the panel and the operators."""
    _host.register()


def unregister():
    """Take them away."""
    _host.unregister()

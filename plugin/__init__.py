# Version: 0.1.0
# Author: The Orbitile developers
# License: GPL-3.0-or-later
# Citation-Required: No
"""Orbitile as a plugin of PyMOL: molecular orbitals from the output of quantum-chemistry programs.

This file makes the tree that it lies in a plugin, beside the packages `orbitile` and `taichi_kernels`. Where Orbitile
was installed with pip, `orbitile install pymol` puts a stub of a few lines into PyMOL's start-up folder instead.
"""

import os
import sys
from importlib.util import find_spec

_HERE = os.path.dirname(os.path.abspath(__file__))

# The current folder, of somebody's calculations, goes last: nothing there stands in for what is installed.
_path = ["" if os.path.isdir(place or ".") and os.path.samefile(place or ".", ".") else place for place in sys.path]
sys.path[:] = sorted(_path, key=lambda place: not place)

# Appended, so that an Orbitile which was installed with pip goes first.
for _folder, _package in ((_HERE, "orbitile"), (_HERE, "taichi_kernels"), (os.path.dirname(_HERE), "taichi_kernels")):
    if find_spec(_package) is None and os.path.isdir(os.path.join(_folder, _package)):
        sys.path.append(_folder)

from orbitile.hosts import pymol as _host  # noqa: E402 - found on the path made above

_host.register_commands()


def __init_plugin__(app=None):
    """Add Plugin > Orbitile to the menu."""
    _host.add_menu()

"""What Orbitile needs of other packages, for hosts whose Python may lack it: nothing but the standard library here."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

NEEDED = {
    "numpy": "numpy>=1.26",
    "scipy": "scipy>=1.15",
    "skimage": "scikit-image>=0.22",
    "OpenGL": "pyopengl>=3.1.7",
    "PIL": "pillow>=10.1",
    "iodata": "qc-iodata>=1.0,<1.1",
    "cclib": "cclib>=1.8,<2",
    "mrcfile": "mrcfile>=1.5",
    "trimesh": "trimesh>=4.4",
    "rich": "rich>=13",
}
"""Requirements by the module that they bring, as in pyproject.toml; a test holds them to it."""

CONTEXTS = {"glcontext": "glcontext>=3"}
"""Needed where there is no EGL."""

COMPILER = {"taichi": "taichi==1.7.4"} if sys.version_info < (3, 14) else {"quadrants": "quadrants>=1.4,<1.5"}
"""Needed unless `ORBITILE_PYTHON` names a Python that has it."""


def absent() -> list[str]:
    """Requirements that this Python does not meet, as far as the names of modules tell."""
    needed = dict(NEEDED)
    if sys.platform in ("win32", "darwin"):
        needed.update(CONTEXTS)
    if not os.environ.get("ORBITILE_PYTHON"):
        needed.update(COMPILER)
    return [requirement for module, requirement in needed.items() if find_spec(module) is None]

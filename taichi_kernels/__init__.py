"""Kernels of Orbitile in Taichi: they know arrays, not wavefunctions. Importing this package does not import Taichi."""

import os
import warnings

# read when Taichi is imported, which the modules of this package do
os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "0")

# Python 3.12 and later complain about strings in Taichi's own sources when they are compiled for the first time
warnings.filterwarnings("ignore", category=SyntaxWarning, module=r".*[/\\]taichi[/\\]")

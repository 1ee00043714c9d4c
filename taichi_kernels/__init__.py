"""Kernels of Orbitile in Taichi: they know arrays, not wavefunctions. Importing this package does not import Taichi."""

import os

# read when Taichi is imported, which the modules of this package do
os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "0")

"""
From the core to the rim
========================

One density, from 0.3 down to 0.001 electrons a cubic bohr: first the cores, then bonds, then the
shape of the molecule.
"""

from importlib.resources import files

import numpy as np

import orbitile as ob

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")
shells = ob.over_isovalues(benzene, "density", np.geomspace(0.35, 0.001, 32))
ob.animate(shells, "density.mp4", rate=10, rock=20, size=(640, 480))

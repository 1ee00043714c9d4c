"""
A walk through the orbitals
===========================

The pi orbitals of benzene from the lowest to the highest, one a second, all at one isovalue.
"""

from importlib.resources import files

import orbitile as ob

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")
names = ["homo-4", "homo-1", "homo", "lumo", "lumo+1"]
ob.animate(ob.over_orbitals(benzene, names, 0.04), "walk.mp4", rate=1, size=(640, 480))

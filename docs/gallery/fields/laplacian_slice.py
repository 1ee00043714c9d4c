"""
A slice through a field
=======================

The Laplacian of the density of benzene in the plane of its atoms. Where it is negative, density
is concentrated: bonds, lone pairs, the shells of atoms. Contours are dashed there.
"""

from importlib.resources import files

import orbitile as ob

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")

plane = ob.plane_through(benzene)
laplacian = ob.slice_field(benzene, "laplacian", plane)
ob.draw_slice(laplacian, benzene, "laplacian.png", size=(1200, 900))

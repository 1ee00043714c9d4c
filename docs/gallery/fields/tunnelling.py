"""
Through the eye of a microscope
===============================

A scanning tunnelling microscope sees the orbitals near the Fermi level, far above the molecule: here benzene's HOMO,
by a tip that ends in an s wave, and by one that ends in carbon monoxide, whose p waves see where an orbital changes.
"""

from importlib.resources import files

import orbitile as ob

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")
angstrom = 1.8897259886

plane = ob.plane_through(benzene, spacing=0.15 * angstrom, height=3 * angstrom)
ob.draw_slice(ob.slice_field(benzene, "stm:-1", plane), benzene, "constant-height.png", size=(1000, 800))

# %%
# At constant current the tip follows a surface; its height above the plane of the atoms is the picture:

plane = ob.plane_through(benzene, spacing=0.15 * angstrom)
ob.draw_slice(ob.topograph(benzene, "stm:-1", plane, 1e-6), benzene, "constant-current.png", size=(1000, 800))
ob.draw_slice(ob.topograph(benzene, "stm:-1:xy", plane, 1e-6), benzene, "carbon-monoxide.png", size=(1000, 800))

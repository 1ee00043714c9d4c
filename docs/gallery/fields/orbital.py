"""
An orbital
==========

The highest occupied orbital of benzene, from the Molden file that comes with Orbitile. Put the path
of your own file in its place: Molden, fchk, ORCA's, a log.
"""

from importlib.resources import files

import orbitile as ob

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")
isovalue = ob.default_isovalue(benzene, "homo")  # its surface encloses 90 % of the electron
homo = ob.compute_surface(benzene, "homo", isovalue)
ob.render(homo, benzene, "homo.png", size=(1200, 900))

# %%
# In a shell: ``orbitile render benzene.molden homo -o homo.png``. In PyMOL: ``orb_mo benzene,
# homo``.

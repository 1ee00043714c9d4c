"""
Fog and slices
==============

An orbital without an isosurface: its values as fog, which is as dense as they are large, and in a plane across the line
of sight. From the command line: ``orbitile render benzene.molden homo --style fog``.
"""

from importlib.resources import files

import orbitile as ob

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")
isovalue = ob.default_isovalue(benzene, "homo")
volume = ob.compute(benzene, "homo", ob.enclosing_lattice(benzene, "homo", isovalue / 4))
for style in ("fog", "slice"):
    ob.render(ob.VolumeDrawing(volume, isovalue, style), benzene, f"benzene-{style}.png", size=(800, 600))

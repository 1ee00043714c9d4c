"""
A surface in numbers
====================

Area, volume, and the statistics of the potential on the surface of benzene, each with its error;
the extrema are what hydrogen bonds and solvents see. PyMOL marks them.
"""

from importlib.resources import files

import pymol2

import orbitile as ob
from orbitile.hosts.pymol import commands

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")

report = ob.surface(benzene, fields="esp")
for table in report.tables[:2]:
    for row in range(len(table)):
        names = ("quantity", "value", "error", "unit")
        print("  ".join(f"{table.column(name).text(row):<28s}" for name in names).rstrip())

# %%
# In PyMOL, with the surface that belongs to it:

with pymol2.PyMOL() as pymol:
    cmd = pymol.cmd
    commands.register(cmd)
    commands.orb_load(str(files("orbitile") / "data" / "benzene.molden"), _self=cmd)
    commands.orb_preset("benzene", "potential", _self=cmd)
    commands.orb_surface("benzene", "esp", quiet=1, _self=cmd)
    cmd.bg_color("white")
    cmd.set("label_size", -0.5)
    cmd.orient("benzene")
    cmd.turn("x", -30)
    cmd.set("specular", 0.1)
    cmd.set("label_position", (0, 0.4, 2))
    cmd.zoom("benzene", 2.6)
    cmd.ray(1200, 900)
    cmd.png("surface.png")

"""
A surface in numbers
====================

Area, volume, and the statistics of the potential on the surface of formamide, each with its error;
the extrema are what hydrogen bonds and solvents see. PyMOL marks them.
"""

from pathlib import Path

import pymol2

import orbitile as ob
from orbitile.hosts.pymol import commands

Path("formamide.xyz").write_text("""6

O  -1.6785   0.2897   0.0000
C  -0.4680   0.4808   0.0000
N   0.4830  -0.5027   0.0000
H  -0.0016   1.4987   0.0000
H   0.1881  -1.4774   0.0000
H   1.4770  -0.2891   0.0000
""")
(formamide,) = ob.compute_series("formamide.xyz", "formamide.h5", ob.Calculation("pbe", "6-31g*"))

report = ob.surface(formamide, fields="esp")
for table in report.tables[:2]:
    for row in range(len(table)):
        names = ("quantity", "value", "error", "unit")
        print("  ".join(f"{table.column(name).text(row):<28s}" for name in names).rstrip())

# %%
# In PyMOL, with the surface that belongs to it:

with pymol2.PyMOL() as pymol:
    cmd = pymol.cmd
    commands.register(cmd)
    commands.orb_load("formamide.h5", _self=cmd)
    commands.orb_preset("formamide", "potential", _self=cmd)
    commands.orb_surface("formamide", "esp", quiet=1, _self=cmd)
    cmd.bg_color("white")
    cmd.set("label_size", -0.5)
    cmd.orient("formamide")
    cmd.turn("x", -30)
    cmd.set("specular", 0.1)
    cmd.set("label_position", (0, 0.4, 2))
    cmd.zoom("formamide", 1.7)
    cmd.ray(1200, 900)
    cmd.png("surface.png")

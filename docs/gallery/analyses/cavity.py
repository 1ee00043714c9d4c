"""
The charges of a solvent
========================

Water answers benzene with charges on the cavity that the molecule is in: positive (blue) above and
below the ring, where its electrons are, and negative (red) around the hydrogen atoms.
"""

from importlib.resources import files

import pymol2

import orbitile as ob
from orbitile.hosts.pymol import commands

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")

report = ob.cavity(benzene, solvent="water")
energy = report.table("solvation")
for row in range(len(energy)):
    print("  ".join(f"{energy.column(name).text(row):<20s}" for name in ("quantity", "value", "unit")).rstrip())
print(report.table("atoms").closures[0].text)

# %%
# In PyMOL:

with pymol2.PyMOL() as pymol:
    cmd = pymol.cmd
    commands.register(cmd)
    commands.orb_load(str(files("orbitile") / "data" / "benzene.molden"), _self=cmd)
    commands.orb_cavity("benzene", "water", quiet=1, _self=cmd)
    cmd.bg_color("white")
    cmd.orient("benzene")
    cmd.turn("x", -50)
    cmd.zoom("all")
    cmd.ray(1200, 900)
    cmd.png("cavity.png")

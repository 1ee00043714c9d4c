"""
Bond paths and critical points
==============================

Atoms in molecules: where the gradient of the density vanishes, and the paths that join atoms
through those points. The bonds of benzene close a ring, so there is a point of that kind in its middle;
their ellipticity, the pi electrons' share, is 0.23.
"""

from importlib.resources import files

import pymol2

import orbitile as ob
from orbitile.hosts.pymol import commands

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")

points = ob.topology(benzene).table("critical_points")
for row in range(len(points)):
    if points["kind"][row] in ("bcp", "rcp"):
        print("  ".join(points.column(name).text(row) for name in ("kind", "atoms", "density", "ellipticity")))
print(points.closures[0].text)

# %%
# PyMOL draws the paths, their points, and what the points are:

with pymol2.PyMOL() as pymol:
    cmd = pymol.cmd
    commands.register(cmd)
    commands.orb_load(str(files("orbitile") / "data" / "benzene.molden"), _self=cmd)
    commands.orb_topology("benzene", "ellipticity", quiet=1, _self=cmd)
    cmd.set("label_size", -0.22)
    cmd.set("label_position", (0, 0.25, 1))
    cmd.bg_color("white")
    cmd.show_as("spheres", "benzene")
    cmd.set("sphere_scale", 0.18, "benzene")
    cmd.orient("benzene")
    cmd.turn("x", -20)
    cmd.zoom("benzene", -0.6)
    cmd.ray(1200, 900)
    cmd.png("topology.png")

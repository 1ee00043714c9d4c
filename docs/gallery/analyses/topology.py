"""
Bond paths and critical points
==============================

Atoms in molecules: where the gradient of the density vanishes, and the paths that join atoms
through those points. In the dimer of formic acid two of them are hydrogen bonds, and they close a
ring.
"""

from pathlib import Path

import pymol2

import orbitile as ob
from orbitile.hosts.pymol import commands

Path("dimer.xyz").write_text("""10

C   1.8830   0.0997   0.0000
O   1.2203   1.1453   0.0000
O   1.4261  -1.1362   0.0000
H   0.3971  -1.1296   0.0000
H   2.9899   0.1241   0.0000
C  -1.8831  -0.0997   0.0000
O  -1.2202  -1.1453   0.0000
O  -1.4262   1.1362   0.0000
H  -0.3971   1.1296   0.0000
H  -2.9899  -0.1241   0.0000
""")
(dimer,) = ob.compute_series("dimer.xyz", "dimer.h5", ob.Calculation("pbe", "6-31g*"))

points = ob.topology(dimer).table("critical_points")
for row in range(len(points)):
    if points["kind"][row] in ("bcp", "rcp"):
        print("  ".join(points.column(name).text(row) for name in ("kind", "atoms", "density", "laplacian")))
print(points.closures[0].text)

# %%
# PyMOL draws the paths, their points, and what the points are:

with pymol2.PyMOL() as pymol:
    cmd = pymol.cmd
    commands.register(cmd)
    commands.orb_load("dimer.h5", _self=cmd)
    commands.orb_topology("dimer", quiet=1, _self=cmd)
    cmd.set("label_size", -0.22)
    cmd.set("label_position", (0, 0.25, 1))
    cmd.bg_color("white")
    cmd.show_as("spheres", "dimer")
    cmd.set("sphere_scale", 0.18, "dimer")
    cmd.orient("dimer")
    cmd.turn("x", -35)
    cmd.zoom("dimer", -0.6)
    cmd.ray(1200, 900)
    cmd.png("topology.png")

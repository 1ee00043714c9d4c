"""
PyMOL, without a window
=======================

The commands of the window work in scripts: here from Python, in a file of PyMOL's commands as
``orb_mo benzene, homo``. Surfaces are PyMOL's own objects, so its ray tracer draws them.
"""

from importlib.resources import files

import pymol2

from orbitile.hosts.pymol import commands

benzene = files("orbitile") / "data" / "benzene.molden"
with pymol2.PyMOL() as pymol:
    cmd = pymol.cmd
    commands.register(cmd)
    commands.orb_load(str(benzene), _self=cmd)
    commands.orb_mo("benzene", "homo", 0.03, "fine", _self=cmd)
    commands.orb_color("marine", "orange", 0.35, _self=cmd)
    cmd.bg_color("white")
    cmd.show_as("sticks", "benzene")
    cmd.set("ray_trace_mode", 1)
    cmd.orient("benzene")
    cmd.turn("x", -60)
    cmd.zoom("benzene", -0.2)
    cmd.ray(900, 675)
    cmd.png("pymol.png")

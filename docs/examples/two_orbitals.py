"""Two orbitals in one picture, from a Python script: python two_orbitals.py."""

import pymol2

from orbitile.hosts.pymol import commands

with pymol2.PyMOL() as pymol:
    cmd = pymol.cmd
    commands.register(cmd)
    cmd.bg_color("white")
    cmd.do("orb_load benzene.molden, quiet=1", echo=0)
    cmd.orient("benzene")
    cmd.turn("x", -55)
    commands.orb_mo("benzene", "homo", 0.04, "coarse", _self=cmd)
    commands.orb_mo("benzene", "lumo", 0.04, "coarse", _self=cmd)
    commands.orb_color("marine", "orange", 0.5, _self=cmd)
    cmd.ray(320, 240)
    cmd.png("homo-and-lumo.png")

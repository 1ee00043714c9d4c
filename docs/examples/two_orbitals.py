"""Two orbitals in one picture, from a Python script: python two_orbitals.py."""

import pymol2

import orbitile.hosts.pymol  # noqa: F401 - adds the commands

with pymol2.PyMOL() as pymol:
    cmd = pymol.cmd
    cmd.bg_color("white")
    cmd.orb_load("benzene.molden")
    cmd.orient("benzene")
    cmd.turn("x", -55)
    cmd.orb_mo("benzene", "homo", 0.04, "coarse")
    cmd.orb_mo("benzene", "lumo", 0.04, "coarse")
    cmd.orb_color("marine", "orange", 0.5)
    cmd.ray(320, 240)
    cmd.png("homo-and-lumo.png")

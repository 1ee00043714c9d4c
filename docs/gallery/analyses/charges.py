"""
Charges of atoms
================

How many electrons are an atom's is a choice, so there are ten schemes. What stands below each table
says how far it closes: here, how well the charges add up to that of the molecule. The picture is
PyMOL's: ``orb_charges`` writes the charges beside the atoms and colours them, red where electrons
are and blue where they lack.
"""

from pathlib import Path

import pymol2

import orbitile as ob
from orbitile.hosts.pymol import commands

Path("formaldehyde.xyz").write_text("""4

O   0.0000   0.0000   1.2126
C   0.0000   0.0000  -0.0024
H   0.0000   0.9470  -0.6051
H   0.0000  -0.9470  -0.6051
""")
(formaldehyde,) = ob.compute_series("formaldehyde.xyz", "formaldehyde.h5", ob.Calculation("pbe", "6-31g*"))

for scheme in ("hirshfeld", "resp", "iao"):
    table = ob.charges(formaldehyde, scheme=scheme).table("atoms")
    charges = "  ".join(f"{element} {charge:+.2f}" for element, charge in zip(table["element"], table["charge"]))
    print(f"{scheme:10s} {charges}   {table.closures[0].text}")

# %%
# The same in PyMOL:

with pymol2.PyMOL() as pymol:
    cmd = pymol.cmd
    commands.register(cmd)
    commands.orb_load("formaldehyde.h5", _self=cmd)
    cmd.show_as("sticks spheres", "formaldehyde")
    cmd.set("sphere_scale", 0.28)
    commands.orb_charges("formaldehyde", "hirshfeld", quiet=1, _self=cmd)
    cmd.show("labels", "formaldehyde")
    cmd.set("label_size", -0.4)
    cmd.set("label_color", "black")
    cmd.set("label_position", (0, 0.55, 1))
    cmd.bg_color("white")
    cmd.orient("formaldehyde")
    cmd.zoom("formaldehyde", 0.3)
    cmd.ray(1200, 900)
    cmd.png("charges.png")

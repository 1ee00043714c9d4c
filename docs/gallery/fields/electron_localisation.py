"""
Lone pairs and bonds by the localisation function
=================================================

The electron localisation function (ELF) tells where electrons are paired, without any orbital: two
lone pairs at the oxygen atom of formaldehyde, its C-H bonds, and the double bond.
"""

from pathlib import Path

import orbitile as ob

Path("formaldehyde.xyz").write_text("""4

O   0.0000   0.0000   1.2126
C   0.0000   0.0000  -0.0024
H   0.0000   0.9470  -0.6051
H   0.0000  -0.9470  -0.6051
""")
(formaldehyde,) = ob.compute_series("formaldehyde.xyz", "formaldehyde.h5", ob.Calculation("pbe", "6-31g*"))

lattice = ob.enclosing_lattice(formaldehyde, "elf", 0.8, quality="fine")
elf = ob.compute_surface(formaldehyde, "elf", 0.8, lattice)
view = ob.Camera.facing(formaldehyde.positions).turned(x=25, y=-30)
ob.render(elf, formaldehyde, "elf.png", size=(1200, 900), legend=True, opacity=0.5, camera=view)

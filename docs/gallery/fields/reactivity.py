"""
Where a nucleophile attacks
===========================

The Fukui function f+ of formaldehyde: its density with one electron more less its own, at the same
geometry. It is large at the carbon atom. The dual descriptor adds where electrophiles attack, the
oxygen atom.
"""

from pathlib import Path

import orbitile as ob

Path("formaldehyde.xyz").write_text("""4

O   0.0000   0.0000   1.2126
C   0.0000   0.0000  -0.0024
H   0.0000   0.9470  -0.6051
H   0.0000  -0.9470  -0.6051
""")
for name, charge in {"neutral": 0, "anion": -1, "cation": 1}.items():
    level = ob.Calculation("b3lyp", "6-31+g*", charge=charge, unpaired=abs(charge))
    ob.compute_series("formaldehyde.xyz", f"{name}.h5", level)

neutral = ob.load("neutral.h5")
field = "dual:anion.h5,cation.h5"
lattice = ob.enclosing_lattice(neutral, field, 0.006, quality="fine")
dual = ob.compute_surface(neutral, field, 0.006, lattice)
ob.render(dual, neutral, "dual.png", size=(1200, 900), legend=True)

"""
Only what is between two molecules
==================================

The independent gradient model (IGMH) shows nothing but the contact of two fragments, here atoms 1
to 3, the donor of a hydrogen bond, and the rest.
"""

from pathlib import Path

import orbitile as ob

Path("water_dimer.xyz").write_text("""6

O  -1.4926  -0.1628   0.0000
H  -2.0212   0.6573   0.0000
H  -0.5607   0.1655   0.0000
O   1.3217   0.1842   0.0000
H   1.3764  -0.4221  -0.7670
H   1.3764  -0.4221   0.7670
""")
(dimer,) = ob.compute_series("water_dimer.xyz", "water_dimer.h5", ob.Calculation("pbe", "6-31g*"))

contact = ob.coloured(ob.compute_surface(dimer, "igmh:1-3", 0.005), dimer, "nci:1-3")
ob.render(contact, dimer, "contact.png", size=(1200, 750), legend=True)

"""
Where the unpaired electron is
==============================

The allyl radical: the spin density is that of alpha less that of beta electrons. It is positive on
both ends, and, since the others are polarised, negative in the middle, which no single orbital
shows.
"""

from pathlib import Path

import orbitile as ob

Path("allyl.xyz").write_text("""8

C   0.0000   0.4410   0.0000
C   1.2270  -0.1960   0.0000
C  -1.2270  -0.1960   0.0000
H   0.0000   1.5330   0.0000
H   2.1570   0.3660   0.0000
H   1.2980  -1.2830   0.0000
H  -2.1570   0.3660   0.0000
H  -1.2980  -1.2830   0.0000
""")
(allyl,) = ob.compute_series("allyl.xyz", "allyl.h5", ob.Calculation("b3lyp", "6-31g*", unpaired=1))

lattice = ob.enclosing_lattice(allyl, "spin", 0.003, quality="fine")
spin = ob.compute_surface(allyl, "spin", 0.003, lattice)
ob.render(spin, allyl, "spin.png", size=(1200, 900), legend=True)

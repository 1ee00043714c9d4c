"""
Where electrons are easily taken
================================

The average local ionisation energy on the surface of phenol: where it is low, electrophiles attack.
The carbon atoms opposite and beside the oxygen atom are lower than those between.
"""

from pathlib import Path

import orbitile as ob

Path("phenol.xyz").write_text("""13

C   1.1413  -0.0572   0.0000
C   0.4315   1.1571   0.0000
C  -0.9703   1.1453   0.0000
C  -1.6725  -0.0685   0.0000
C  -0.9557  -1.2765   0.0000
C   0.4434  -1.2787   0.0000
O   2.5121  -0.1150   0.0000
H   2.8505   0.8040   0.0000
H   0.9769   2.1096   0.0000
H  -1.5126   2.0970   0.0000
H  -2.7668  -0.0744   0.0000
H  -1.4923  -2.2315   0.0000
H   1.0145  -2.2111   0.0000
""")
(phenol,) = ob.compute_series("phenol.xyz", "phenol.h5", ob.Calculation("pbe", "6-31g*"))

surface = ob.coloured(ob.compute_surface(phenol, "density", 0.001), phenol, "ionisation")
ob.render(surface, phenol, "ionisation.png", size=(1200, 900), legend=True, opacity=0.85)

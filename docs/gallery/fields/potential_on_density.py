"""
The electrostatic potential on the surface of a molecule
========================================================

Where the density is 0.001 is about where another molecule begins. There the potential says what
that one meets: red, the negative oxygen atom; blue, the acidic hydrogen atoms. The potential is
exact, not that of point charges.
"""

from pathlib import Path

import orbitile as ob

Path("formamide.xyz").write_text("""6

O  -1.6785   0.2897   0.0000
C  -0.4680   0.4808   0.0000
N   0.4830  -0.5027   0.0000
H  -0.0016   1.4987   0.0000
H   0.1881  -1.4774   0.0000
H   1.4770  -0.2891   0.0000
""")
(formamide,) = ob.compute_series("formamide.xyz", "formamide.h5", ob.Calculation("pbe", "6-31g*"))

surface = ob.compute_surface(formamide, "density", 0.001)
surface = ob.coloured(surface, formamide, "esp")
ob.render(surface, formamide, "potential.png", size=(1200, 900), legend=True, opacity=0.9)

# %%
# The strongest places, found on the fields themselves and not on the triangles:

for extremum in ob.extrema(surface, formamide, "density", "esp"):
    print(extremum)

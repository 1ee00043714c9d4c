"""
Where a cation would go
=======================

The minima of the electrostatic potential are the lone pairs as a cation sees them: water has two, off the plane of its
atoms.
"""

from pathlib import Path

import orbitile as ob

Path("lone_pairs.xyz").write_text("""3

O   0.0000   0.0000   0.1170
H   0.0000   0.7570  -0.4690
H   0.0000  -0.7570  -0.4690
""")
(water,) = ob.compute_series("lone_pairs.xyz", "lone_pairs.h5", ob.Calculation("pbe", "6-31g*"))

report = ob.critical_points(water)
table = report.table("critical_points")
for name in ("kind", "value", "nearest_atom", "distance", "x", "y", "z"):
    column = table.column(name)
    print(f"{column.title:>20s}", *(f"{column.text(row):>9s}" for row in range(len(table))))

# %%
# They are blue here, in the lobe where the potential is below -0.06 hartree/e; between them is a saddle, green:

surface = ob.compute_surface(water, "esp", 0.06)
ob.render(surface, water, "lone_pairs.png", size=(1200, 900), opacity=0.35, drawings=report.drawings)

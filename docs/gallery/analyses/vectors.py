"""
Vectors in a plane or on a surface
==================================

The electric field of water as arrows in the plane of the molecule: away from the hydrogens, towards the lone pairs of
the oxygen. Arrows have one length, and their colours tell how strong the field is.
"""

from pathlib import Path

import orbitile as ob

Path("water-arrows.xyz").write_text("""3

O   0.000   0.000   0.117
H   0.000   0.757  -0.469
H   0.000  -0.757  -0.469
""")
(water,) = ob.compute_series("water-arrows.xyz", "water-arrows.h5", ob.Calculation("pbe", "6-31g*"))

report = ob.vectors(water, field="esp", spacing=0.3)
table = report.table("vectors")
for row in range(len(table)):
    print("  ".join(f"{table.column(name).text(row):>9s}" for name in ("colour", "from", "to", "arrows")))

ob.render((), water, "electric-field.png", drawings=report.drawings, size=(1000, 800))

# %%
# The gradient of any other field, here of the electron density 0.5 Angstrom above the plane:

report = ob.vectors(water, field="density", height=0.5)
print(report.title)

# %%
# And the electric field on the surface of the molecule:

report = ob.vectors(water, field="esp", surface="density", spacing=0.6)
density = ob.compute_surface(water, "density", 0.001)
ob.render(density, water, "electric-field-on-surface.png", drawings=report.drawings, size=(1000, 800))

"""
Atoms by their basins
=====================

Each atom of Bader's has the space from which the density rises to its nucleus. The integrals over
these basins add up to the electrons without being scaled, which says how exact they are. The
localisation function has basins too, one for each core, bond and lone pair.
"""

from pathlib import Path

import orbitile as ob

Path("water.xyz").write_text("""3

O   0.0000   0.0000   0.1173
H   0.0000   0.7572  -0.4692
H   0.0000  -0.7572  -0.4692
""")
(water,) = ob.compute_series("water.xyz", "water.h5", ob.Calculation("pbe", "6-31g*"))

for of in ("density", "elf"):
    table = ob.basins(water, of=of).tables[0]
    print(table.title)
    columns = table.columns[:5]
    print("  ".join(f"{column.title:>14s}" for column in columns))
    for row in range(len(table)):
        print("  ".join(f"{column.text(row):>14s}" for column in columns))
    print(table.closures[0].text)
    print()

# %%
# The density in the plane of the molecule, whose valleys are the borders:

density = ob.slice_field(water, "density", ob.plane_through(water, [0, 1, 2]))
ob.draw_slice(density, water, "density.png", size=(1200, 900))

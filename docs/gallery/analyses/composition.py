"""
Which fragment has an orbital
=============================

The frontier orbitals of para-nitroaniline, and their shares of amino group, ring and nitro group.
"""

from pathlib import Path

import orbitile as ob

Path("nitroaniline.xyz").write_text("""16

C  -1.3990   0.0000   0.0000
C  -0.6800   1.2120   0.0000
C   0.7000   1.2190   0.0000
C   1.4300   0.0000   0.0000
C   0.7000  -1.2190   0.0000
C  -0.6800  -1.2120   0.0000
H  -1.2300   2.1520   0.0000
H   1.2450   2.1620   0.0000
H   1.2450  -2.1620   0.0000
H  -1.2300  -2.1520   0.0000
N   2.8080   0.0000   0.0000
H   3.3190   0.8700   0.0000
H   3.3190  -0.8700   0.0000
N  -2.8500   0.0000   0.0000
O  -3.4300   1.0900   0.0000
O  -3.4300  -1.0900   0.0000
""")
(molecule,) = ob.compute_series("nitroaniline.xyz", "nitroaniline.h5", ob.Calculation("pbe", "6-31g*"))

fragments = "ring = 1-10; amino = 11-13; nitro = 14-16"
report = ob.composition(molecule, orbitals="homo-1..lumo+1", fragments=fragments)
table = report.table("fragments")
for row in range(len(table)):
    print("  ".join(f"{column.text(row):>12s}" for column in table.columns))

# %%
# Electrons that are excited from one to the other go from the amino group to the nitro group:

for name in ("homo", "lumo"):
    surface = ob.compute_surface(molecule, name, 0.04)
    ob.render(surface, molecule, f"{name}.png", size=(1200, 750), legend=True)

"""
Orders of bonds
===============

Butadiene: two double bonds, and between them one that is a little more than single, by two schemes.
"""

from pathlib import Path

import orbitile as ob

Path("butadiene.xyz").write_text("""10

C   0.6100   0.4020   0.0000
C  -0.6100  -0.4020   0.0000
C   1.8500  -0.1160   0.0000
C  -1.8500   0.1160   0.0000
H   0.4600   1.4830   0.0000
H  -0.4600  -1.4830   0.0000
H   2.0120  -1.1940   0.0000
H   2.7310   0.5210   0.0000
H  -2.0120   1.1940   0.0000
H  -2.7310  -0.5210   0.0000
""")
(butadiene,) = ob.compute_series("butadiene.xyz", "butadiene.h5", ob.Calculation("pbe", "6-31g*"))

bonds = ob.bonds(butadiene, threshold=0.2).table("bonds")
names = ("atom_1", "element_1", "atom_2", "element_2", "mayer", "wiberg_iao")
print("  ".join(f"{name:>10s}" for name in names))
for row in range(len(bonds)):
    print("  ".join(f"{bonds.column(name).text(row):>10s}" for name in names))

# %%
# The pi bonds that are delocalised over both halves, as orbitals:

homo, below = (ob.compute_surface(butadiene, name, 0.05) for name in ("homo", "homo-1"))
ob.render(homo, butadiene, "homo.png", size=(1200, 700), legend=True)
ob.render(below, butadiene, "below.png", size=(1200, 700), legend=True)

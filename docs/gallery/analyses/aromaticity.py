"""
Aromaticity
===========

How aromatic a ring is, by its bond lengths and by the electrons that its atoms share. Any file with atoms has the
former; the latter need the orbitals.
"""

from pathlib import Path

import numpy as np

import orbitile as ob

Path("benzene.xyz").write_text("""12

C   1.3915   0.0000   0.0000
C   0.6958   1.2051   0.0000
C  -0.6958   1.2051   0.0000
C  -1.3915   0.0000   0.0000
C  -0.6958  -1.2051   0.0000
C   0.6958  -1.2051   0.0000
H   2.4765   0.0000   0.0000
H   1.2383   2.1447   0.0000
H  -1.2383   2.1447   0.0000
H  -2.4765   0.0000   0.0000
H  -1.2383  -2.1447   0.0000
H   1.2383  -2.1447   0.0000
""")
(benzene,) = ob.compute_series("benzene.xyz", "benzene.h5", ob.Calculation("pbe", "6-31g*"))
table = ob.aromaticity(benzene).table("rings")
for name in ("homa", "en", "geo", "flu", "pdi", "i_ring", "mci"):
    print(f"{name:8s} {table[name][0]:9.5f}   {table.column(name).about}")

# %%
# HOMA stands in the centre of each ring, in colours from red to blue:

ob.render((), benzene, "aromaticity.png", drawings=ob.aromaticity(benzene).drawings, size=(1000, 750))

# %%
# The carbon atoms alone, as far apart as single bonds are. Lengths suffice for HOMA:

stretched = ob.Geometry(np.full(6, 6), benzene.positions[:6] * 1.53 / 1.3915)
report = ob.aromaticity(stretched)
print(report.table("rings")["homa"], report.remarks)

# %%
# Bonds of three centres and more: three neighbouring atoms of benzene share no pair of electrons.

print(ob.aromaticity(benzene, atoms="1,2,3").table("centres")["mci"])

"""
Ring currents
=============

A magnetic field across benzene drives its electrons around the ring. The orbitals of a functional without exact
exchange, the unoccupied ones too, are all that is needed to know where and how strongly.
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

report = ob.currents(benzene)
for name, columns in (
    ("bonds", ("bond", "strength", "diatropic", "paratropic")),
    ("rings", ("nics_0", "nics_1_zz")),
    ("orbitals", ("orbital", "energy", "strength")),
):
    table = report.table(name)
    print("  ".join(f"{column:>10s}" for column in columns))
    for row in range(len(table)):
        print("  ".join(f"{table.column(column).text(row):>10s}" for column in columns))

# %%
# Where the current is strong, coloured by how much a field across the ring is shielded:

surface = ob.compute_surface(benzene, "current", 2.0)
surface = ob.coloured(surface, benzene, "shielding:normal")
ob.render(surface, benzene, "current.png", size=(1200, 700), legend=True)

# %%
# Streamlines: the current goes around the ring one way outside, the other way inside.

ob.render((), benzene, "streamlines.png", drawings=report.drawings[1:], size=(1200, 800))

# %%
# The same in numbers, at any points: 1 bohr above the middle of a bond, and in the middle of the ring.

points = np.array([[2.28, 0.0, 1.0], [0.0, 0.0, 0.0]])
print(ob.evaluate(benzene, "current", points), ob.evaluate(benzene, "shielding", points))

"""
Profile along a line
====================

What a tunnelling microscope sees along a line over benzene: the density of states of the HOMO pair 3 Angstrom above
the molecule, and the height of the tip at constant current.
"""

from pathlib import Path

import orbitile as ob

Path("benzene-line.xyz").write_text("""12

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
(benzene,) = ob.compute_series("benzene-line.xyz", "benzene-line.h5", ob.Calculation("pbe", "6-31g*"))

at_height = ob.profile(benzene, field="stm:-1", atoms=[0, 3], height=3.0)
at_current = ob.profile(benzene, field="stm:-1", atoms=[0, 3], isovalue=1e-6)
for report in (at_height, at_current):
    table = report.table("profile")
    for row in range(len(table)):
        print("  ".join(f"{table.column(name).text(row):>12s}" for name in ("kind", "distance", "value")))

# %%
# The path of the tip at constant current, above the molecule:

ob.render((), benzene, "line-cut.png", drawings=at_current.drawings, size=(1000, 700))

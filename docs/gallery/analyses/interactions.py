"""
Weak interactions in numbers
============================

The same dimer of formic acid as in the picture of its hydrogen bonds: each spike of this diagram is
one kind of contact. Left of zero are attractions; how far left, how strong.
"""

from pathlib import Path

import orbitile as ob

Path("dimer.xyz").write_text("""10

C   1.8830   0.0997   0.0000
O   1.2203   1.1453   0.0000
O   1.4261  -1.1362   0.0000
H   0.3971  -1.1296   0.0000
H   2.9899   0.1241   0.0000
C  -1.8831  -0.0997   0.0000
O  -1.2202  -1.1453   0.0000
O  -1.4262   1.1362   0.0000
H  -0.3971   1.1296   0.0000
H  -2.9899  -0.1241   0.0000
""")
(dimer,) = ob.compute_series("dimer.xyz", "dimer.h5", ob.Calculation("pbe", "6-31g*"))

report = ob.interactions(dimer)
ob.draw_plots(report, "interactions.png")
regions = report.table("regions")
for column in regions.columns:
    print(f"{column.title:>22s}", *(f"{column.text(row):>18s}" for row in range(len(regions))))

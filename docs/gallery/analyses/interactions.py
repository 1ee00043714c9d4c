"""
Weak interactions in numbers
============================

Ammonia and water: each spike of this diagram is one kind of contact. Left of zero are attractions;
how far left, how strong. Here it is the hydrogen bond.
"""

from pathlib import Path

import orbitile as ob

Path("pair.xyz").write_text("""7

N  -0.0600   0.0000  -0.0200
H   0.8800   0.0000  -0.4000
H  -0.5300   0.8140  -0.3600
H  -0.5300  -0.8140  -0.3600
O   0.0000   0.0000   2.9500
H   0.0000   0.0000   1.9700
H   0.9300   0.0000   3.2000
""")
(pair,) = ob.compute_series("pair.xyz", "pair.h5", ob.Calculation("pbe", "6-31g*"))

report = ob.interactions(pair)
ob.draw_plots(report, "interactions.png")
regions = report.table("regions")
for column in regions.columns:
    print(f"{column.title:>22s}", *(f"{column.text(row):>18s}" for row in range(len(regions))))

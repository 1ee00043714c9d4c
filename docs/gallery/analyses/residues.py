"""
Which molecule around it makes the field
========================================

Formamide between two molecules of water, which are charges: what each of them does to the bond C=O,
and how the electrons answer: they gather (blue) at the oxygen atom, towards the water that gives a hydrogen bond.
"""

import subprocess
import sys
from pathlib import Path

import orbitile as ob

Path("formamide.pqr").write_text(
    """\
ATOM      1 C    FMD A   1       0.000   0.000   0.000  0.000 1.9
ATOM      2 O    FMD A   1       1.212   0.000   0.000  0.000 1.6
ATOM      3 N    FMD A   1      -0.700   1.170   0.000  0.000 1.8
ATOM      4 H1   FMD A   1      -0.600  -0.920   0.000  0.000 1.2
ATOM      5 H2   FMD A   1      -0.200   2.040   0.000  0.000 1.2
ATOM      6 H3   FMD A   1      -1.710   1.150   0.000  0.000 1.2
ATOM      7 O    HOH A   2       3.000  -1.900   0.000 -0.834 1.8
ATOM      8 H1   HOH A   2       2.340  -1.200   0.000  0.417 0.2
ATOM      9 H2   HOH A   2       3.920  -1.650   0.000  0.417 0.2
ATOM     10 O    HOH A   3      -3.650   1.100   0.000 -0.834 1.8
ATOM     11 H1   HOH A   3      -4.200   1.100   0.780  0.417 0.2
ATOM     12 H2   HOH A   3      -4.200   1.100  -0.780  0.417 0.2
END
"""
)
what = ["region", "formamide.pqr", "--select", "resn FMD", "--method", "pbe", "--basis", "6-31g*", "--vacuum"]
subprocess.run([sys.executable, "-m", "orbitile", *what, "-o", "formamide.h5"], check=True)

formamide = ob.load("formamide.h5")
report = ob.residues(formamide, bond="1,2")
for table in report.tables:
    for row in range(len(table)):
        print("  ".join(column.text(row) for column in table.columns))
print(report.table("residues").closures[0].text)

# %%
# The density in the field of the water less that in vacuum:

lattice = ob.enclosing_lattice(formamide, "polarisation", 0.0015, quality="fine")
surface = ob.compute_surface(formamide, "polarisation", 0.0015, lattice)
ob.render(surface, formamide, "residues.png", size=(1200, 900), legend=True)

"""
What the surroundings do to the electrons
=========================================

Formamide between two molecules of water, which are charges of a force field. The density in their field
less that in vacuum: electrons gather (blue) at the oxygen atom, where the water gives a hydrogen bond.
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
lattice = ob.enclosing_lattice(formamide, "polarisation", 0.0015, quality="fine")
surface = ob.compute_surface(formamide, "polarisation", 0.0015, lattice)
ob.render(surface, formamide, "polarisation.png", size=(1200, 900), legend=True)

"""
Hydrogen bonds
==============

Two molecules of formic acid. Surfaces of the reduced density gradient, coloured by the density with
the sign of an eigenvalue of its Hessian (NCI): hydrogen bonds are blue, van der Waals contacts
green, clashes red.
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

lattice = ob.enclosing_lattice(dimer, "rdg", 0.5, quality="fine")
surface = ob.coloured(ob.compute_surface(dimer, "rdg", 0.5, lattice), dimer, "nci")
ob.render(surface, dimer, "hydrogen_bonds.png", size=(1200, 750), legend=True)

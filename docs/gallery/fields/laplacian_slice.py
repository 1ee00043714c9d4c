"""
A slice through a field
=======================

The Laplacian of the density of formamide in the plane of its atoms. Where it is negative, density
is concentrated: bonds, lone pairs, the shells of atoms. Contours are dashed there.
"""

from pathlib import Path

import orbitile as ob

Path("formamide.xyz").write_text("""6

O  -1.6785   0.2897   0.0000
C  -0.4680   0.4808   0.0000
N   0.4830  -0.5027   0.0000
H  -0.0016   1.4987   0.0000
H   0.1881  -1.4774   0.0000
H   1.4770  -0.2891   0.0000
""")
(formamide,) = ob.compute_series("formamide.xyz", "formamide.h5", ob.Calculation("pbe", "6-31g*"))

plane = ob.plane_through(formamide, [0, 1, 2])
laplacian = ob.slice_field(formamide, "laplacian", plane)
ob.draw_slice(laplacian, formamide, "laplacian.png", size=(1200, 900))

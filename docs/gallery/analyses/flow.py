"""
Which electrons become which bond
=================================

Fluoride displaces chloride from methyl chloride (SN2). Localised orbitals are followed along the
path: a lone pair of fluoride becomes the new bond, the old bond becomes a lone pair of chloride,
and the C-H bonds look on.
"""

from pathlib import Path

import numpy as np

import orbitile as ob

frames = []
for s in np.linspace(-1, 1, 9):  # from F- + CH3Cl to CH3F + Cl-: a path made by hand, not a computed one
    near, far, lift = 1.85 - 0.46 * s, 2.15 + 0.37 * s, -0.27 * s
    hydrogens = [(lift, 1.04 * np.cos(a), 1.04 * np.sin(a)) for a in np.radians([0, 120, 240])]
    atoms = [("C", 0, 0, 0), ("F", near, 0, 0), ("Cl", -far, 0, 0), *(("H", *place) for place in hydrogens)]
    frames.append("6\n\n" + "\n".join("{} {:.5f} {:.5f} {:.5f}".format(*atom) for atom in atoms))
Path("sn2.xyz").write_text("\n".join(frames))
path = ob.compute_series("sn2.xyz", "sn2.h5", ob.Calculation("pbe", "6-31g*", charge=-1))

report = ob.flow(path)
table = report.tables[0]
for row in range(7):
    print("  ".join(f"{column.text(row):<16s}" for column in table.columns[:4]).rstrip())
ob.draw_plots(report, "flow.png")

# %%
# One of them as a film:

becomes = next(field for field, end in zip(table.fields, table["at_end"]) if "F" in end and "C1" in end)
ob.animate(ob.along(path, becomes, ob.track(path), aligned=True, between=2), "bond.mp4", rate=12, size=(800, 480))

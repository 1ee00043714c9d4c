"""
Who gives what in a bond
========================

Ammonia gives its lone pair to borane. What happens to the electrons of both is taken apart into pairs of orbitals,
natural orbitals for chemical valence: how many electrons go from one to the other, and what energy that gains.
"""

from pathlib import Path

import orbitile as ob

BORANE = """\
B   0.0000   0.0000  -0.8524
H   1.1808   0.0000  -1.1621
H  -0.5904   1.0226  -1.1621
H  -0.5904  -1.0226  -1.1621
"""
AMMONIA = """\
N   0.0000   0.0000   0.8050
H   0.4790   0.8296   1.1779
H  -0.9579   0.0000   1.1779
H   0.4790  -0.8296   1.1779
"""
for name, atoms in {"whole": BORANE + AMMONIA, "borane": BORANE, "ammonia": AMMONIA}.items():
    Path(f"{name}.xyz").write_text(f"{len(atoms.splitlines())}\n\n{atoms}")
    ob.compute_series(f"{name}.xyz", f"{name}.h5", ob.Calculation("pbe", "6-31g*"))

whole = ob.load("whole.h5")
report = ob.nocv(whole, files=["borane.h5", "ammonia.h5"])
pairs = report.table("pairs")
for row in range(len(pairs)):
    print("  ".join(f"{column.text(row):>8s}" for column in pairs.columns))

# %%
# The first pair is the bond: electrons come (blue) to the empty orbital of boron, and go (orange) from the lone pair.

pair = ob.compute_surface(whole, "nocv:1:borane.h5,ammonia.h5", 0.003)
ob.render(pair, whole, "pair.png", size=(1200, 900), legend=True)

# %%
# How many electrons cross a plane between the two, for each height of the plane along the bond:

ob.draw_plots(report, "displacement.png")

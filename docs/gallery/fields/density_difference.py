"""
What a bond does to the density
===============================

Ammonia and borane make a bond of ammonia's lone pair. The density of the whole less that of its two
halves, each with its own electrons at the same place: electrons come (blue) between the atoms, and
go (orange) from the lone pair.
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
field = "difference:borane.h5,ammonia.h5"
lattice = ob.enclosing_lattice(whole, field, 0.004, quality="fine")
difference = ob.compute_surface(whole, field, 0.004, lattice)
ob.render(difference, whole, "difference.png", size=(1200, 900), legend=True)

"""
Lone pairs by different schemes
===============================

Where the canonical orbitals of water mix its two lone pairs and its bonds, Foster-Boys makes them
two rabbit's ears, and intrinsic bond orbitals keep one of sigma and one of pi type. Each is drawn
at the same isovalue.
"""

from pathlib import Path

import orbitile as ob

Path("water.xyz").write_text("""3

O   0.0000   0.0000   0.1173
H   0.0000   0.7572  -0.4692
H   0.0000  -0.7572  -0.4692
""")
(water,) = ob.compute_series("water.xyz", "water.h5", ob.Calculation("pbe", "6-31g*"))

COLOURS = [("#4c9be8", "#f2a33a"), ("#8e6bbf", "#c9425e")]
view = ob.Camera.from_direction((0.3, 1, 0.25), up=(0, 0, 1))
for scheme in ("ibo", "boys"):
    table = ob.localise(water, scheme=scheme).table("orbitals")
    print(f"{scheme}: {', '.join(table['name'])}")
    pairs = [field for name, field in zip(table["name"], table.fields) if "lone" in name]
    lattice = ob.enclosing_lattice(water, pairs[0], 0.12, quality="fine")
    surfaces = [ob.compute_surface(water, field, 0.12, lattice) for field in pairs]
    ob.render(surfaces, water, f"{scheme}.png", size=(1000, 750), camera=view, colours=COLOURS)

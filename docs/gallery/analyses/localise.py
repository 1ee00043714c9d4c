"""
Lone pairs by different schemes
===============================

Where the canonical orbitals of water mix its two lone pairs and its bonds, Foster-Boys makes them two rabbit's ears, and
intrinsic bond orbitals keep one of sigma and one of pi type. The table has what each orbital is and how it is shared out.
"""

from pathlib import Path

import orbitile as ob

Path("water.xyz").write_text("""3

O   0.0000   0.0000   0.1173
H   0.0000   0.7572  -0.4692
H   0.0000  -0.7572  -0.4692
""")
(water,) = ob.compute_series("water.xyz", "water.h5", ob.Calculation("pbe", "6-31g*"))

view = ob.Camera.from_direction((1, 0.45, 0.3), up=(0, 0, 1))
for scheme in ("ibo", "boys"):
    table = ob.localise(water, scheme=scheme).table("orbitals")
    print(scheme, "   ".join(f"{name} ({shares})" for name, shares in zip(table["name"], table["shares"])))
    pairs = [field for name, field in zip(table["name"], table.fields) if "lone" in name]
    surfaces = [ob.compute_surface(water, field, 0.1) for field in pairs]
    ob.render(surfaces, water, f"{scheme}.png", size=(1200, 800), camera=view, colours=[("#4c9be8", "#f2a33a"), ("#8e6bbf", "#c9425e")])

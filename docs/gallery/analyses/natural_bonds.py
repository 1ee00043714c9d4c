"""
Natural bond orbitals
=====================

The lone pair of methylamine leans towards the antibond of the hydrogen atom opposite to it. How much that is worth is
the largest energy of donation, E(2), and the two orbitals that overlap are drawn together.
"""

from pathlib import Path

import orbitile as ob

Path("methylamine.xyz").write_text("""7

C   0.0000   0.0000   0.0000
N   0.0000   0.0000   1.4700
H   1.0277   0.0000  -0.3633
H  -0.5138  -0.8900  -0.3633
H  -0.5138   0.8900  -0.3633
H   0.4761   0.8247   1.8067
H   0.4761  -0.8247   1.8067
""")
(methylamine,) = ob.compute_series("methylamine.xyz", "methylamine.h5", ob.Calculation("pbe", "6-31g*"))
report = ob.natural_bonds(methylamine, threshold=2)
orbitals, donations = report.table("orbitals"), report.table("donations")
for name, occupancy, hybrids in list(zip(orbitals["name"], orbitals["occupancy"], orbitals["hybrids"], strict=True))[
    :9
]:
    print(f"{name:14s} {occupancy:8.5f}   {hybrids}")
for donor, acceptor, energy in zip(donations["donor"], donations["acceptor"], donations["energy"], strict=True):
    print(f"{donor:14s} -> {acceptor:16s} {energy:6.2f} kcal/mol")

# %%
# Both orbitals of the largest donation, at one isovalue. The lone pair is orbital 3 of the table:

acceptor = orbitals.fields[list(orbitals["name"]).index(donations["acceptor"][0])]
surfaces = []
for field in ("nbo:3", acceptor):
    lattice = ob.enclosing_lattice(methylamine, field, 0.08, quality="fine")
    surfaces.append(ob.compute_surface(methylamine, field, 0.08, lattice))
ob.render(
    surfaces,
    methylamine,
    "methylamine-donation.png",
    size=(1000, 750),
    camera=ob.Camera.from_direction((0.2, 1, 0.1), up=(1, 0, 0)),
    colours=[("#4c9be8", "#f2a33a"), ("#8e6bbf", "#c9425e")],
)

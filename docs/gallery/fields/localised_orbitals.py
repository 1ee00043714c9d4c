"""
Bonds as chemists draw them
===========================

Orbitals of a self-consistent field are spread over the molecule. Intrinsic bond orbitals span the
same space, and each is a bond, a lone pair or a core, with a name: here a C-C, a C-H and a pi bond
of benzene.
"""

from importlib.resources import files

import orbitile as ob

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")
table = ob.localise(benzene).table("orbitals")
names = dict(zip(table["name"], table.fields))
for name, field in names.items():
    print(f"{field:7s} {name}")

# %%
# Each is a field as any other orbital is:

pi = next(name for name in names if name.endswith("pi"))
for title, chosen in {"sigma": ["C1-C2 sigma", "C4-H10 sigma"], "pi": [pi]}.items():
    surfaces = [ob.compute_surface(benzene, names[name], 0.07) for name in chosen]
    ob.render(surfaces, benzene, f"{title}.png", size=(1200, 900), colours=("#4c9be8", "#f2a33a"))

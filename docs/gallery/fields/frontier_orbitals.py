"""
HOMO and LUMO in one picture
============================

Several surfaces in one picture get colours of their own; ``colours`` names others. The legend tells what
is drawn at which isovalue, and the bar how long two Angstrom are.
"""

from importlib.resources import files

import orbitile as ob

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")
homo, lumo = (ob.compute_surface(benzene, name, 0.06) for name in ("homo", "lumo"))
pairs = [("#3d57fb", "#ec6e19"), ("#2a9d8f", "#e9c46a")]
ob.render([homo, lumo], benzene, "frontier.png", size=(1200, 900), colours=pairs, legend=True, scale=True)

# %%
# Alone, on a transparent ground, from above:

above = ob.Camera.facing(benzene.positions)
ob.render(lumo, benzene, "lumo.png", size=(1200, 900), background="transparent", camera=above)

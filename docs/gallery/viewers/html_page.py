"""
A page that turns
=================

Orbitals and density of benzene in one HTML file: it needs no server, no network and no Python where
it is opened, so it goes with a mail or into supporting information. Below is the page itself: turn
it, and choose another orbital.
"""

import subprocess
import sys
from importlib.resources import files

import orbitile as ob

benzene = files("orbitile") / "data" / "benzene.molden"
shown = ["homo", "lumo", "density"]
subprocess.run([sys.executable, "-m", "orbitile", "render", benzene, *shown, "-o", "benzene.html"], check=True)

# %%
# That is what ``orbitile render benzene.molden homo lumo density -o benzene.html`` does in a shell.
# A scene that was put together in Python is saved as a page too:

wfn = ob.load(benzene)
potential = ob.coloured(ob.compute_surface(wfn, "density", 0.001), wfn, "esp")
ob.save(ob.scene_of(potential, wfn), "potential.html")
ob.render(potential, wfn, "potential.png", size=(1200, 900))

"""
Supporting information
======================

Several molecules in one page: each turns, computes its other orbitals, and has its table and its
coordinates, which are there on paper too. Links open a molecule with an orbital, an isovalue and a
direction; below is the page itself.
"""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import orbitile as ob

Path("aldehyde.xyz").write_text("""4

C   0.0000   0.0000  -0.5290
O   0.0000   0.0000   0.6770
H   0.0000   0.9350  -1.1190
H   0.0000  -0.9350  -1.1190
""")
ob.compute_vibrations("aldehyde.xyz", "aldehyde.h5", ob.Calculation("hf", "sto-3g"), optimise=True)

# %%
# A file with frequencies gives zero-point and free energies, and the number of imaginary modes:

molecules = [files("orbitile") / "data" / "benzene.molden", "aldehyde.h5"]
page = [*molecules, "homo", "lumo", "-o", "supporting.html", "--title", "Benzene and formaldehyde"]
subprocess.run([sys.executable, "-m", "orbitile", "page", *page], check=True)

# sphinx_gallery_thumbnail_path = "images/supporting-information.png"

"""
In a notebook
=============

In JupyterLab, VS Code or Colab a wavefunction at the end of a cell shows itself: turn it, choose an
orbital in the list or in the diagram, move the isovalue. ``ob.view(benzene, "homo")`` says what is
shown first, and gives a view whose traits can be read and set. What is chosen is computed in the
kernel, which stays free for other cells.
"""

from importlib.resources import files
from pathlib import Path

import orbitile as ob

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")
benzene  # at the end of a cell, that is all

# %%
# This page has no kernel. Below is what a saved notebook, or one that was exported as HTML, keeps
# of it: a view that still turns.

Path("notebook.html").write_text(ob.mimebundle(benzene)["text/html"])

# %%
# Reports show themselves as tables:

charges = ob.charges(benzene, scheme="resp")
Path("report.html").write_text(ob.mimebundle(charges)["text/html"])

# sphinx_gallery_thumbnail_path = "images/page.png"

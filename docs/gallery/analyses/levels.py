"""
Density of states
=================

The levels of benzene, and how much of each element is in them: sticks are orbitals, curves their
sum with lines of half an electronvolt.
"""

from importlib.resources import files

import orbitile as ob

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")
report = ob.levels(benzene, by="angular_momenta", fwhm=0.5)
ob.draw_plots(report, "levels.png")

"""Jmol, which `orbitile jmol` starts: scripts go to its standard input, and what its user asks for comes back as lines.

A function `orb` is defined in Jmol, which prints what it is given. Orbitile reads that, has the session of its server
do it, and has Jmol draw triangles. Jmol needs no installation for this, and both end together.
"""

TITLE = "Jmol"

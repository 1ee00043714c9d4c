"""
A turntable
===========

A film of one picture that turns, for a talk.
"""

from importlib.resources import files

import orbitile as ob

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")
turns = ob.over_isovalues(benzene, "homo", [0.03] * 36)
ob.animate(turns, "turn.mp4", turn=360, rate=12, size=(640, 480))

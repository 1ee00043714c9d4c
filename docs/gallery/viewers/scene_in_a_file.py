"""
A scene for slides and the web
==============================

Molecule and surfaces as one binary glTF file: PowerPoint, Blender, browsers and phones show it.
``.usdz`` is what Apple's devices show in a room, ``.stl`` and ``.3mf`` are for printers.
"""

from importlib.resources import files
from pathlib import Path

import orbitile as ob

benzene = ob.load(files("orbitile") / "data" / "benzene.molden")
homo = ob.compute_surface(benzene, "homo", 0.03)
ob.save(ob.scene_of(homo, benzene), "benzene.glb")
print(f"benzene.glb: {Path('benzene.glb').stat().st_size / 1e6:.1f} MB")
ob.render(homo, benzene, "benzene.png", size=(1200, 900), background="#101820")

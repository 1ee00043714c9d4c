"""
An orbital along a reaction
===========================

HCN becomes HNC: the hydrogen atom goes round the CN group. The orbital that is the highest at the
start is followed, by its overlap with itself in the frame before, so that it neither flips its
signs nor jumps to another one.
"""

from pathlib import Path

import orbitile as ob

GEOMETRIES = Path("..") / ".." / "examples" / "hcn_to_hnc.xyz"  # 25 frames
path = ob.compute_series(GEOMETRIES, "path.h5", ob.Calculation("pbe", "6-31g*"))
tracking = ob.track(path)

film = ob.along(path, "homo", tracking, aligned=True, between=1)
ob.animate(film, "homo.mp4", rate=12, size=(640, 480))

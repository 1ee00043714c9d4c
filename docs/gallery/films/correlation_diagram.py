"""
Which orbital crosses which
===========================

Ethylene is turned about its double bond. Each orbital keeps its colour; where lines cross, orbitals
change places without mixing. At 90 degrees pi (occupied) meets pi* (empty, dashed).
"""

from pathlib import Path

import numpy as np

import orbitile as ob

for number, angle in enumerate(np.radians(np.linspace(0, 180, 20))):
    y, z = 0.925 * np.cos(angle), 0.925 * np.sin(angle)
    Path("twist.xyz").write_text(
        "6\n\nC -0.667 0 0\nC 0.667 0 0\nH -1.237 0.925 0\nH -1.237 -0.925 0\n"
        f"H 1.237 {y:.6f} {z:.6f}\nH 1.237 {-y:.6f} {-z:.6f}"
    )
    # each for itself: one that began with the orbitals of the frame before would keep pi occupied beyond the crossing
    ob.compute_series("twist.xyz", f"twist_{number:02d}.h5", ob.Calculation("hf", "sto-3g"))
path = ob.load_trajectory("twist_*.h5")
tracking = ob.track(path)
ob.draw_correlation(tracking, "levels.png", around=4, size=(1200, 800))

# %%
# The pi orbital on the way:

ob.animate(ob.along(path, "homo", tracking, between=1), "pi.mp4", rate=12, size=(640, 480))

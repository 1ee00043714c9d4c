"""
Electrons along a vibration
===========================

While atoms vibrate, electrons follow. Two self-consistent fields on either side of the stationary
point say how: which mode opens the gap, and where charge flows.
"""

from pathlib import Path

import orbitile as ob

Path("formaldehyde.xyz").write_text("""4

C   0.0000   0.0000  -0.5290
O   0.0000   0.0000   0.6770
H   0.0000   0.9350  -1.1190
H   0.0000  -0.9350  -1.1190
""")
modes = ob.compute_vibrations("formaldehyde.xyz", "modes.h5", ob.Calculation("hf", "6-31g*"), optimise=True)
report = ob.vibronic(modes)
for name in ("modes", "charges"):
    table = report.table(name)
    print("  ".join(f"{column.title:>14s}" for column in table.columns))
    for row in range(len(table)):
        print("  ".join(f"{column.text(row):>14s}" for column in table.columns))

# %%
# The change of the density along the C=O stretch, where carbon and oxygen move against each other:

heavy = modes.displacements[:, 0, 2] * modes.displacements[:, 1, 2]
stretch = int(heavy.argmin()) + 1
frames = ob.electrons_along("modes.h5", stretch)
wavefunction = ob.load("modes.h5")
field = f"mode:{stretch}:density"
lattice = ob.enclosing_lattice(wavefunction, field, 0.01, quality="fine")
change = ob.compute_surface(wavefunction, field, 0.01, lattice)
ob.render(change, wavefunction, "change.png", size=(1000, 750), legend=True)

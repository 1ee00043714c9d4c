"""
Normal modes and the infrared spectrum
======================================

A mode says which way the atoms go, and how strongly light excites it. The modes are read from the
log of a frequency job (``ob.load_vibrations``) or computed, here those of formaldehyde. Hartree-Fock
makes them some 10 % too fast, so they are scaled.
"""

from pathlib import Path

import orbitile as ob

Path("formaldehyde.xyz").write_text("""4

C   0.0000   0.0000  -0.5290
O   0.0000   0.0000   0.6770
H   0.0000   0.9350  -1.1190
H   0.0000  -0.9350  -1.1190
""")
modes = ob.compute_vibrations("formaldehyde.xyz", None, ob.Calculation("hf", "6-31g*"), optimise=True)
report = ob.vibrations(modes, fwhm=20, scale=0.9, infrared="transmittance")
table = report.table("modes")
for row in range(len(table)):
    print("  ".join(f"{column.text(row):>8s}" for column in table.columns))

# %%
# Enthalpy, entropy and free energy of the gas follow from the modes:

for table in ob.thermochemistry(modes, temperature=350).tables:
    for row in range(len(table)):
        print("  ".join(f"{column.text(row):>18s}" for column in table.columns))

# %%
# The spectrum as chemists draw it, with a stick for each mode:

ob.draw_plots(report, "infrared.png")

# %%
# Arrows show the C=O stretch, in which carbon and oxygen move against each other:

heavy = modes.displacements[:, 0, 2] * modes.displacements[:, 1, 2]
stretch = int(heavy.argmin()) + 1
molecule = ob.Geometry(modes.atomic_numbers, modes.positions)
ob.render((), molecule, "stretch.png", drawings=[ob.arrow_mesh(modes, stretch)], size=(1000, 750))

"""
Spectra and charge transfer
===========================

Three excited states of formaldehyde: how much charge goes how far, and the spectrum. Amplitudes are
from PySCF here; from a log that has them ``ob.load`` reads them, and ``orbitile excitations
job.log`` does all of this.
"""

from dataclasses import replace

import numpy as np
from pyscf import gto, scf, tdscf
from pyscf.tools import molden

import orbitile as ob

molecule = gto.M(atom="O 0 0 1.205; C 0 0 0; H 0 0.94 -0.59; H 0 -0.94 -0.59", basis="6-31g*", verbose=0)
field = scf.RHF(molecule).run()
states = tdscf.TDA(field).run(nstates=3)
molden.from_scf(field, "formaldehyde.molden")

excitations = []
for energy, strength, (x, _) in zip(states.e, states.oscillator_strength(), states.xy):
    source, target = (index.ravel() for index in np.indices(x.shape))
    amplitudes = np.sqrt(2) * x.ravel()  # PySCF's are normalised to one half
    occupied, spin = x.shape[0], np.zeros(x.size, int)
    excitations.append(ob.Excitation(source, occupied + target, spin, amplitudes, energy, strength))
wfn = replace(ob.load("formaldehyde.molden"), excitations=tuple(excitations))

report = ob.excitations(wfn, fragments="CO = 1,2; hydrogen = 3,4")
states = report.table("states")
NAMES = ("energy", "strength", "orbitals", "distance")
print("  ".join(f"{states.column(name).title:>22s}" for name in NAMES))
for row in range(len(states)):
    print("  ".join(f"{states.column(name).text(row):>22s}" for name in NAMES))
ob.draw_plots(report, "spectrum.png")

# %%
# Lines of any program can be drawn, here over the wavelength:

energies = 27.2114 * np.array([state.energy for state in excitations])
lines = ob.Spectrum("uv", energies, np.array([state.strength for state in excitations]))
ob.draw_plots(ob.spectra((lines,), axis="wavelength", fwhm=0.3), "wavelengths.png")

# %%
# The first of them as one pair of natural transition orbitals: an electron leaves the lone pair for the
# antibonding pi orbital.

view = ob.Camera.facing(wfn.positions).turned(x=-40, y=-35)
for name in ("hole", "electron"):
    surface = ob.compute_surface(wfn, f"nto:1:{name}", 0.06)
    ob.render(surface, wfn, f"{name}.png", size=(1200, 800), legend=True, camera=view)

# %%
# How the density changes in the first of them: from the lone pair (orange) to the pi bond (blue).

change = ob.compute_surface(wfn, "change:1", 0.01)
ob.render(change, wfn, "change.png", size=(1200, 900), legend=True)

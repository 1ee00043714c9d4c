"""
Where an excitation leads
=========================

The lowest excited state of formaldehyde as one pair of natural transition orbitals: an electron
leaves the lone pair for the antibonding pi orbital. The amplitudes are from PySCF here; from a log
that has them, ``ob.load`` reads them.
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

view = ob.Camera.facing(wfn.positions).turned(x=-40, y=-35)
for name in ("hole", "electron"):
    surface = ob.compute_surface(wfn, f"nto:1:{name}", 0.06)
    ob.render(surface, wfn, f"{name}.png", size=(1200, 800), legend=True, camera=view)

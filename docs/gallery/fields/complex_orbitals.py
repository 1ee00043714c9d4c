"""
A complex orbital and its phase
===============================

The two highest orbitals of benzene have one energy, so that their complex combinations are orbitals
too: electrons that go round the ring, one way or the other. The surface is that of the magnitude,
its colour the phase, which turns once in a round. Orbitals of GHF and of X2C with spin-orbit
coupling are complex by themselves; their checkpoint files are read.
"""

import numpy as np
from pyscf import gto, scf
from pyscf.scf import chkfile

import orbitile as ob

angles = np.radians(np.arange(0, 360, 60))
ring = [(symbol, (r * np.cos(a), r * np.sin(a), 0)) for symbol, r in (("C", 1.395), ("H", 2.482)) for a in angles]
molecule = gto.M(atom=ring, basis="6-31g", verbose=0)
field = scf.RHF(molecule).run().to_ghf()

coefficients = field.mo_coeff.astype(complex)
pair = np.flatnonzero(np.abs(field.mo_energy - field.mo_energy[field.mo_occ > 0].max()) < 1e-4)
for spin in (slice(None, molecule.nao), slice(molecule.nao, None)):
    one, other = (i for i in pair if np.abs(coefficients[spin, i]).max() > 1e-6)
    x, y = coefficients[:, one].copy(), coefficients[:, other].copy()
    coefficients[:, one], coefficients[:, other] = (x + 1j * y) / np.sqrt(2), (x - 1j * y) / np.sqrt(2)
chkfile.dump_scf(molecule, "ring.chk", field.e_tot, field.mo_energy, coefficients, field.mo_occ)

benzene = ob.load("ring.chk")
lattice = ob.enclosing_lattice(benzene, "homo", 0.04, quality="fine")
surface = ob.coloured(ob.compute_surface(benzene, "homo", 0.04, lattice), benzene, "phase:homo")
ob.render(surface, benzene, "phase.png", size=(1200, 900), legend=True)

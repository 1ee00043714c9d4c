"""
Spins that point in three directions
====================================

Three hydrogen atoms in a triangle cannot all have the opposite spin of their neighbours. In general
Hartree-Fock (GHF) each spin points away from the others, at 120 degrees: the magnetisation along z,
positive at one atom and negative at the two others, and along x, which those two have of opposite
signs.
"""

import numpy as np
from pyscf import gto, scf

import orbitile as ob

triangle = [("H", (1.1 * np.sin(a), 0, 1.1 * np.cos(a))) for a in np.radians((0, 120, 240))]
molecule = gto.M(atom=triangle, basis="6-31g", spin=1, verbose=0)
n = molecule.nao
start = np.zeros((2 * n, 2 * n))
for atom, angle in enumerate(np.radians((0, 120, 240))):
    first = molecule.aoslice_by_atom()[atom, 2]
    up, down = np.cos(angle / 2), np.sin(angle / 2)  # a spin that points to this angle
    start[np.ix_((first, n + first), (first, n + first))] = [[up * up, up * down], [up * down, down * down]]
field = scf.GHF(molecule)
field.chkfile = "triangle.chk"
field.kernel(start)

hydrogens = ob.load("triangle.chk")
view = ob.Camera.from_direction((0.25, -1, 0.2), up=(0, 0, 1))
for axis in "zx":
    surface = ob.compute_surface(hydrogens, f"magnetisation:{axis}", 0.02)
    ob.render(surface, hydrogens, f"magnetisation_{axis}.png", size=(1200, 900), legend=True, camera=view)

"""Geometries of the path from HCN to HNC: python hcn_to_hnc.py > hcn_to_hnc.xyz

The hydrogen atom goes round the CN group. At each of 25 angles between the axis of CN and the line from its middle to
H, both distances are relaxed (Hartree-Fock, 6-31G*, PySCF; about a minute).
"""

import sys

import numpy as np
from pyscf import gto, scf
from scipy.optimize import minimize


def atoms(angle, distances):
    bond, far = distances
    x, y = far * np.cos(angle), far * np.sin(angle)
    return [("C", (bond / 2, 0, 0)), ("N", (-bond / 2, 0, 0)), ("H", (x, y, 0))]


def energy(distances, angle, start):
    field = scf.RHF(gto.M(atom=atoms(angle, distances), basis="6-31g*", verbose=0))
    total = field.kernel(start.get("density"))
    start["density"] = field.make_rdm1()
    return total


distances, start = (1.15, 1.65), {}
lowest = None
for degrees in np.linspace(6, 174, 25):
    angle = np.radians(degrees)
    found = minimize(energy, distances, (angle, start), method="Nelder-Mead", options={"xatol": 2e-4, "fatol": 1e-7})
    distances = found.x
    lowest = found.fun if lowest is None else lowest
    lines = ["3", f"HCN to HNC, {degrees:g} degrees, {1000 * (found.fun - lowest):.1f} mhartree"]
    lines += [f"{symbol} {x:10.6f} {y:10.6f} {z:10.6f}" for symbol, (x, y, z) in atoms(angle, distances)]
    sys.stdout.write("\n".join(lines) + "\n")

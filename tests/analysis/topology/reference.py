"""The density and its derivatives as PySCF's basis functions have them, and Newton's search in it."""

from __future__ import annotations

import numpy as np
import pytest

dft = pytest.importorskip("pyscf.dft", reason="PySCF (extra scf) is not installed")

PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Order of PySCF's second derivatives."""


def density_by_pyscf(mol, matrix, points):
    """Density, gradient, Hessian and kinetic energy density of a density matrix at points in bohr."""
    functions = dft.numint.eval_ao(mol, points, deriv=2)
    value, slope, second = functions[0], functions[1:4], functions[4:]
    moved = value @ matrix
    density = np.einsum("pm,pm->p", moved, value)
    gradient = 2 * np.einsum("pm,apm->pa", moved, slope)
    products = np.einsum("apm,mn,bpn->abp", slope, matrix, slope)
    hessian = np.empty((len(points), 3, 3))
    for (a, b), values in zip(PAIRS, second, strict=True):
        hessian[:, a, b] = hessian[:, b, a] = 2 * (np.einsum("pm,pm->p", moved, values) + products[a, b])
    return density, gradient, hessian, 0.5 * np.einsum("aap->p", products)


def newton(mol, matrix, start):
    """The critical point that Newton's steps lead to, in bohr."""
    place = np.array(start, float)
    for _ in range(50):
        _, gradient, hessian, _ = density_by_pyscf(mol, matrix, place[None])
        step = -np.linalg.solve(hessian[0], gradient[0])
        place += step * min(1.0, 0.1 / max(np.linalg.norm(step), 1e-300))
        if np.linalg.norm(step) < 1e-11:
            return place
    raise AssertionError(f"no critical point near {start}")

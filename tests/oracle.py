"""Orbitals by the definition, in float64 and plain NumPy: nothing of packing, screening or the kernels is used.

Pure functions come from SciPy's spherical harmonics, Cartesian ones from the textbook normalisation.
"""

from math import factorial, pi, sqrt

import numpy as np
from scipy.special import sph_harm_y

from orbitile import Wavefunction


def double_factorial(n: int) -> int:
    return 1 if n <= 0 else n * double_factorial(n - 2)


def basis_functions(wavefunction: Wavefunction, points: np.ndarray) -> np.ndarray:
    """Values of all basis functions, shape (n_basis, n_points)."""
    rows = []
    for shell in wavefunction.shells:
        d = points - wavefunction.positions[shell.atom]
        r = np.linalg.norm(d, axis=1)
        l = shell.angular_momentum
        if not shell.pure:
            for i in range(l, -1, -1):
                for j in range(l - i, -1, -1):
                    k = l - i - j
                    norm = (2 * shell.exponents / pi) ** 0.75 * (4 * shell.exponents) ** (l / 2)
                    norm /= sqrt(
                        double_factorial(2 * i - 1) * double_factorial(2 * j - 1) * double_factorial(2 * k - 1)
                    )
                    radial = (shell.coefficients * norm) @ np.exp(-np.outer(shell.exponents, r**2))
                    rows.append(d[:, 0] ** i * d[:, 1] ** j * d[:, 2] ** k * radial)
            continue
        # integral of r^(2l+2) exp(-2 a r^2) over r fixes the norm of r^l exp(-a r^2) Y_lm
        moment = (
            factorial(2 * l + 2) * sqrt(pi) / (factorial(l + 1) * 2 ** (2 * l + 3)) / (2 * shell.exponents) ** (l + 1.5)
        )
        radial = (shell.coefficients / np.sqrt(moment)) @ np.exp(-np.outer(shell.exponents, r**2)) * r**l
        theta = np.arccos(np.divide(d[:, 2], r, out=np.ones_like(r), where=r > 0))
        phi = np.arctan2(d[:, 1], d[:, 0])
        rows.append(sph_harm_y(l, 0, theta, phi).real * radial)
        for m in range(1, l + 1):
            harmonic = (-1) ** m * sqrt(2) * sph_harm_y(l, m, theta, phi)  # the phase of Condon and Shortley undone
            rows.append(harmonic.real * radial)
            rows.append(harmonic.imag * radial)
    return np.array(rows)


def orbital(wavefunction: Wavefunction, index: int, points: np.ndarray, spin: str = "alpha") -> np.ndarray:
    """Values of one orbital, shape (n_points,)."""
    return wavefunction.orbitals(spin).coefficients[:, index] @ basis_functions(wavefunction, points)

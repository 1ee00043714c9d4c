"""Find the coefficients of the Gaussian that ends smoothly: python benchmarks/smooth_cutoff.py [--end 26] [--terms 8]

Minimises the largest w(t) |g(t) - e^-t|, with the weight w(t) = (1 + t/4)^2 because errors far out are multiplied by
powers of R in shells of higher angular momentum, by least squares with weights that follow the error.
"""

import argparse

import numpy as np

from taichi_kernels.direct_sums.radial.smooth_cutoff import POWER


def fit(end: float, terms: int, rounds: int = 800) -> np.ndarray:
    """Coefficients of q in u, from the constant on."""
    t = np.linspace(0.0, end, 8001)
    u = t / end
    basis = np.polynomial.chebyshev.chebvander(2 * u - 1, terms - 1) * (1 - u)[:, None]
    importance = (1 + t / 4) ** 2
    near = np.exp(-t * (1 - 1 / POWER))
    found = np.linalg.lstsq(basis * near[:, None], np.exp(-t / POWER) * near, rcond=None)[0]
    weight, best, least = np.ones_like(t), found, np.inf
    for _ in range(rounds):
        root = basis @ found
        error = (root**POWER - np.exp(-t)) * importance
        largest = np.abs(error).max()
        if largest < least:
            best, least = found, largest
        weight *= (np.abs(error) / largest + 1e-3) ** 0.25
        weight /= weight.mean()
        slope = (POWER * root ** (POWER - 1) * importance)[:, None] * basis
        half = np.sqrt(weight)
        found = found + 0.5 * np.linalg.lstsq(slope * half[:, None], -error * half, rcond=None)[0]
    return np.polynomial.Chebyshev(best, domain=[0, 1]).convert(kind=np.polynomial.Polynomial).coef


def main() -> None:
    """Print coefficients and what they are worth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--end", type=float, default=26.0, help="value of t at which the Gaussian ends (default: 26)")
    parser.add_argument("--terms", type=int, default=8, help="coefficients of q (default: 8)")
    options = parser.parse_args()
    coefficients = fit(options.end, options.terms)
    t = np.linspace(0.0, options.end, 400_001)
    u = t / options.end
    g = ((1 - u) * np.polynomial.polynomial.polyval(u, coefficients)) ** POWER
    print(", ".join(f"{c!r}" for c in coefficients.tolist()))
    print("falls steadily:", bool((np.diff(g) <= 0).all()))
    for l in range(9):
        print(f"l = {l}: largest t^(l/2) |g - e^-t| = {(t ** (l / 2) * np.abs(g - np.exp(-t))).max():.2e}")


if __name__ == "__main__":
    main()

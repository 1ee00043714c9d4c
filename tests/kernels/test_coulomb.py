"""Coulomb sums of Hermite Gaussians against sums of the same formula by SciPy, one pair at a time."""

"""Integrals over basis functions, all from one list of Hermite Gaussians: overlaps, Coulomb, exchange-correlation."""

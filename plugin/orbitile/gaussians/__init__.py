"""Algebra of Gaussians in NumPy: packing, products, bounds, overlaps, multipoles."""

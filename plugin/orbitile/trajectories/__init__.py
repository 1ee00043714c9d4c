"""Orbitals along a path of geometries: followed, matched, interpolated."""

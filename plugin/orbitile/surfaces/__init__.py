"""Isosurfaces of volumes, isovalues, and colour maps."""

"""Calculations of our own, by PySCF: levels of theory, and series of wavefunctions along geometries."""

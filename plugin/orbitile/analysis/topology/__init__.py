"""Topology of the electron density: its critical points and the paths of steepest ascent between them.

R. F. W. Bader, Atoms in Molecules: A Quantum Theory, Oxford 1990.
"""

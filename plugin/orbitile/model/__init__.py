"""Nouns, frozen: wavefunctions, geometries, trajectories, lattices, volumes, surfaces, charges."""

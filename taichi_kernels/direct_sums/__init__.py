"""Orbitals by the direct sum over atoms, shells and primitives: the kernels of Stone et al. and what grew from them.

(GPGPU 2009, doi 10.1145/1513895.1513897.) They evaluate each Gaussian at each point that it reaches, on any lattice and
at arbitrary points. Where a lattice has an axis at right angles to the others, `orbital_lattice` is many times as fast:
kernels of this folder serve the other lattices, and whoever asks for one by its name.
"""

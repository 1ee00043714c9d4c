"""Basins: the regions about the maxima of a field, bounded where its gradient does not cross.

`qtaim` has those of the density, which are atoms in molecules, `elf` those of the electron localisation function, which
are cores, bonds and lone pairs.
"""

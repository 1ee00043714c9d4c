"""Two-electron integrals: of s functions as Ufimtsev and Martinez mapped them, and of Hermite Gaussians of any order.

(J. Chem. Theory Comput. 2008, 4, 222, doi 10.1021/ct700268q.) The Coulomb matrix needs none of them: they are for the
record, and for whoever asks for integrals by themselves.
"""

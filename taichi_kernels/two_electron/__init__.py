"""Two-electron integrals as kernels: those of Ufimtsev and Martinez for s functions, and Hermite Gaussians of any order.

(J. Chem. Theory Comput. 2008, 4, 222, doi 10.1021/ct700268q.) The Coulomb matrix needs none of these integrals: they are
for whoever asks for them by themselves, and for the record.
"""

"""Kernels of Orbitile: they know arrays, not wavefunctions.

Importing this package imports no compiler, writes no file and changes no environment variable; that comes with the
first session, or the first module that has kernels.
"""

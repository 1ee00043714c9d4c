"""Molecular orbitals and other fields of the electrons, computed live and shown in the viewer you already use."""

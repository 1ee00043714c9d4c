"""Live: atoms of the viewer are moved, and the electrons follow.

`LiveMolecule` is what a session has of it: it begins and ends one, and waits for it. `Live` looks where the atoms are,
has the newest geometry computed by `calculating`, in a process of its own, and hands what comes to `Following`, which
keeps the surfaces with the atoms. `LivePath` has the geometries that were reached.
"""

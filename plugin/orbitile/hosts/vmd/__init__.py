"""Orbitile in VMD: a package of Tcl, and the same commands for its Python."""

TITLE = "VMD"

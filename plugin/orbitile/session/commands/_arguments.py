"""Arguments that several commands have."""

from __future__ import annotations

from ...base.arguments import TEXT, Argument, one_of
from ...model.lattice import QUALITIES
from ...pictures.words import quality_spacings

OBJECT = Argument("name", TEXT, "an object loaded by orb_load", otherwise="the only one", completes="molecules")
SURFACE = Argument("name", TEXT, "the surface", otherwise="the one shown last", completes="surfaces")
QUALITY = Argument("quality", one_of(*QUALITIES), f"spacing {quality_spacings()} Angstrom", "medium", "medium")

"""Arguments that several commands have."""

from __future__ import annotations

from ...model.lattice import QUALITIES
from ..declaration import TEXT, Argument, one_of

OBJECT = Argument("name", TEXT, "an object loaded by orb_load", otherwise="the only one", completes="molecules")
SURFACE = Argument("name", TEXT, "the surface", otherwise="the one shown last", completes="surfaces")
QUALITY = Argument("quality", one_of(*QUALITIES), "spacing 0.25, 0.15 or 0.075 Angstrom", "medium", "medium")

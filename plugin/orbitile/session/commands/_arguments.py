"""Arguments that several commands have."""

from __future__ import annotations

from ...base.arguments import TEXT, Argument

OBJECT = Argument("name", TEXT, "an object loaded by orb_load", otherwise="the only one", completes="molecules")
SURFACE = Argument("name", TEXT, "the surface", otherwise="the one shown last", completes="surfaces")

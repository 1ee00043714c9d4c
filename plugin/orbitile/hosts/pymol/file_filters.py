"""Which files the dialogs of Qt offer, from the formats there are."""

from __future__ import annotations

import re

from ... import exporters, readers


def files_to_open() -> str:
    """Filter of a dialog that opens a wavefunction or a trajectory."""
    return f"{_choice('Wavefunctions', readers.patterns('wavefunction', 'trajectory'))};;All files (*)"


def suffix_of(pattern: str) -> str:
    """The suffix that a file gets whose name has none, by the filter that was chosen; without its dot."""
    found = re.search(r"\*\.(\w+)", pattern)
    return "" if found is None else found[1]


def _choice(title: str, patterns: list[str]) -> str:
    return f"{title} ({' '.join(patterns)})"


VOLUMES, SURFACES = (
    _choice(title, exporters.patterns(kind)) for title, kind in (("Volumes", "volume"), ("Surfaces", "mesh"))
)
PICTURES, FILMS = "Pictures (*.png)", "Films (*.mp4);;Animated pictures (*.gif)"


def files_to_export() -> str:
    """Filter of a dialog that saves what is shown, as a volume or as its surface."""
    return f"{VOLUMES};;{SURFACES}"

"""Which files the dialogs of Qt offer, from the formats there are."""

from __future__ import annotations

import re

from ... import exporters, readers


def files_to_open() -> str:
    """Filter of a dialog that opens wavefunctions, trajectories and volumes."""
    wavefunctions, volumes = readers.patterns("wavefunction", "trajectory"), readers.patterns("volume")
    choices = (("All that Orbitile opens", [*wavefunctions, *volumes]), ("Wavefunctions", wavefunctions))
    return ";;".join([*(_choice(*choice) for choice in (*choices, ("Volumes", volumes))), "All files (*)"])


def wavefunctions_to_open() -> str:
    """Filter of a dialog that opens a wavefunction that a field refers to."""
    return f"{_choice('Wavefunctions', readers.patterns('wavefunction'))};;All files (*)"


def files_of_field(pattern: str) -> str:
    """Filter of a dialog that asks for a file that the name of a field refers to; see `fields.field_names`."""
    if pattern.startswith("esp:"):
        return "Point charges (*.pqr *.txt *.xyzq);;All files (*)"
    return wavefunctions_to_open()


def suffix_of(pattern: str) -> str:
    """The suffix that a file gets whose name has none, by the filter that was chosen; without its dot."""
    suffix = re.search(r"\*\.(\w+)", pattern)
    return "" if suffix is None else suffix[1]


def _choice(title: str, patterns: list[str]) -> str:
    return f"{title} ({' '.join(patterns)})"


PICTURES, FILMS = "Pictures (*.png)", "Films (*.mp4);;Animated pictures (*.gif)"
SERIES = "Series (*.h5)"


def volumes_to_export() -> str:
    """Filter of a dialog that saves what is shown as a volume."""
    return _choice("Volumes", exporters.patterns("volume"))


def surfaces_to_export() -> str:
    """Filter of a dialog that saves what is shown as a surface."""
    return _choice("Surfaces", exporters.patterns("mesh"))


def files_to_export() -> str:
    """Filter of a dialog that saves what is shown, as a volume or as its surface."""
    return f"{volumes_to_export()};;{surfaces_to_export()}"

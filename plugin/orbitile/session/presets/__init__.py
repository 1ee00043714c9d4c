"""Presets: what is often looked at, each with the fields, isovalues and colours that suit it; a module states some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from ...base.arguments import alternatives
from ...base.errors import OrbitileError
from ...base.registry import modules_of
from ...fields import unavailable
from ...model.wavefunction import Wavefunction

FILE = "FILE"
"""What stands in the name of a field for the file that a preset needs."""


@dataclass(frozen=True)
class PresetSurface:
    """One surface of a preset.

    Attributes
    ----------
    field : str
        Name of the field; where the preset needs a file, with `FILE` in its place.
    isovalue : float or None
        In the unit of the field; None for the one that suits it.
    color_by : str
        Name of a second field that colours the surface; empty for two colours.
    transparency : float or None
        0 opaque, 1 invisible; None for what is set.
    """

    field: str
    isovalue: float | None = None
    color_by: str = ""
    transparency: float | None = None


@dataclass(frozen=True)
class Preset:
    """Surfaces that are shown together.

    Attributes
    ----------
    name : str
        One word, for commands.
    title, sentence : str
        For people: what a menu lists, and what it shows.
    surfaces : tuple of PresetSurface
        Several of them are shown side by side.
    surfaces_for : callable or None
        Returns the surfaces of a wavefunction, where they depend on it; `surfaces` is empty then.
    obstacle : callable or None
        Returns quickly why a wavefunction does not have the preset, as the end of a sentence, or "". What fields say
        of themselves (`orbitile.fields.unavailable`) need not be repeated.
    """

    name: str
    title: str
    sentence: str
    surfaces: tuple[PresetSurface, ...] = ()
    surfaces_for: Callable[[Wavefunction], tuple[PresetSurface, ...]] | None = None
    obstacle: Callable[[Wavefunction], str] | None = None

    @property
    def needs_file(self) -> bool:
        """Whether it compares with another file, which the user has to name."""
        return any(FILE in surface.field for surface in self.surfaces)


class Presets(Protocol):
    """What a module of presets offers; those of a higher `PRIORITY` are listed first."""

    PRESETS: tuple[Preset, ...]


def preset_named(name: str) -> Preset:
    """The preset of a name.

    Raises
    ------
    OrbitileError
        When there is none.
    """
    found = next((preset for preset in PRESETS if preset.name == name.strip().lower()), None)
    if found is None:
        names = alternatives([preset.name for preset in PRESETS])
        raise OrbitileError(f"preset: expected {names}, got {name!r}")
    return found


def surfaces_of(preset: Preset, wavefunction: Wavefunction, file: str = "") -> tuple[PresetSurface, ...]:
    """What a preset shows of a wavefunction.

    Parameters
    ----------
    preset : Preset
    wavefunction : Wavefunction
    file : str
        The file to compare with, or several with commas between, for a preset that needs one.

    Raises
    ------
    OrbitileError
        When the wavefunction does not have it, the file is missing, or one is given that is not needed.
    """
    if reason := why_not(preset, wavefunction):
        raise OrbitileError(f"{preset.title}: {reason}")
    if preset.needs_file != bool(file.strip()):
        wanted = "expected another file to compare with, got none" if preset.needs_file else "it takes no file"
        raise OrbitileError(f"{preset.title}: {wanted}")
    surfaces = preset.surfaces if preset.surfaces_for is None else preset.surfaces_for(wavefunction)
    return tuple(replace(surface, field=surface.field.replace(FILE, file.strip())) for surface in surfaces)


def why_not(preset: Preset, wavefunction: Wavefunction) -> str:
    """Return why a wavefunction does not have a preset, as the end of a sentence, or ""; quickly."""
    if preset.obstacle is not None and (reason := preset.obstacle(wavefunction)):
        return reason
    missing = unavailable(wavefunction)
    names = {name for surface in preset.surfaces for name in (surface.field, surface.color_by)}
    return next((why for name, why in missing.items() if name.replace("N", "1") in names), "")


PRESETS = tuple(preset for module in modules_of(__name__, Presets).values() for preset in module.PRESETS)
"""All presets, in the order in which menus list them."""

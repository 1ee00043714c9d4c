"""Presets: what is often looked at, each with the fields, isovalues and colours that suit it."""

from __future__ import annotations

from dataclasses import dataclass

from ..arguments import alternatives
from ..errors import OrbitileError
from ..fields import unavailable
from ..fields._frontier import frontier_order, why_no_frontier
from ..fields.localised import localised_name
from ..localised.localisation import count_of
from ..localised.localisation import why_not as why_not_localised
from ..localised.schemes import SCHEMES
from ..model.wavefunction import Spin, Wavefunction

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
        Several of them are shown side by side. Empty where they depend on the wavefunction: of the frontier orbitals on
        its spins, of localised ones on how many are occupied; `surfaces_of` has them.
    """

    name: str
    title: str
    sentence: str
    surfaces: tuple[PresetSurface, ...]

    @property
    def needs_file(self) -> bool:
        """Whether it compares with another file, which the user has to name."""
        return any(FILE in surface.field for surface in self.surfaces)


_SEEN_THROUGH = 0.25
"""Transparency by which the molecule is seen through its surface, whose colours stand for values."""

_MOLECULE = 0.001
"""Density in e bohr^-3 of the surface of a molecule: R. F. W. Bader et al., J. Am. Chem. Soc. 1987, 109, 7968."""

PRESETS = (
    Preset("frontier", "HOMO and LUMO", "The highest occupied and the lowest unoccupied orbital side by side", ()),
    Preset("ibo", "Bonds and lone pairs (IBO)", "Intrinsic bond orbitals: lists them, and shows the last one", ()),
    Preset(
        "potential",
        "Potential on the density",
        "Where the surface of the molecule attracts a positive charge (red) and a negative one (blue)",
        (PresetSurface("density", _MOLECULE, "esp", _SEEN_THROUGH),),
    ),
    Preset(
        "nci",
        "Weak interactions (NCI)",
        "Hydrogen bonds (blue), van der Waals contacts (green), clashes (red)",
        (PresetSurface("nci", transparency=0.0),),
    ),
    Preset("spin", "Spin density", "Where unpaired electrons are", (PresetSurface("spin"),)),
    Preset("elf", "Electron localisation (ELF)", "Bonds, lone pairs and shells", (PresetSurface("elf"),)),
    Preset(
        "ionisation",
        "Ionisation energy on the density",
        "Where electrons are easily taken from the surface of the molecule",
        (PresetSurface("density", _MOLECULE, "ionisation", _SEEN_THROUGH),),
    ),
    Preset(
        "excitation",
        "First excitation",
        "The orbitals that the electron leaves and enters, side by side (natural transition orbitals)",
        (PresetSurface("nto:1:hole"), PresetSurface("nto:1:electron")),
    ),
    Preset(
        "difference",
        "Density difference",
        "What is added and taken away, compared with the density of another file",
        (PresetSurface(f"difference:{FILE}"),),
    ),
)
"""All presets, those first that are wanted most."""


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
    return tuple(
        PresetSurface(
            surface.field.replace(FILE, file.strip()), surface.isovalue, surface.color_by, surface.transparency
        )
        for surface in preset.surfaces or _MADE[preset.name](wavefunction)
    )


def why_not(preset: Preset, wavefunction: Wavefunction) -> str:
    """Why a wavefunction does not have a preset, as the end of a sentence; empty where it has it. Quick."""
    if preset.name in SCHEMES:
        return why_not_localised(wavefunction, next(one for one in SCHEMES if one == preset.name))
    if not preset.surfaces:
        if reason := why_no_frontier(wavefunction):
            return reason
        found = [surface.field for surface in _frontier(wavefunction)]
        for frontier, what in (("homo", "occupied"), ("lumo", "unoccupied")):
            if not any(name.startswith(frontier) for name in found):
                return f"the file holds no {what} orbitals, so there is no {frontier.upper()}"
    missing = unavailable(wavefunction)
    names = {name for surface in preset.surfaces for name in (surface.field, surface.color_by)}
    return next((why for name, why in missing.items() if name.replace("N", "1") in names), "")


def _frontier(wavefunction: Wavefunction) -> tuple[PresetSurface, ...]:
    """HOMO and LUMO, of both spins where these have orbitals of their own; those that the file holds."""
    if wavefunction.beta is None:
        spins: tuple[tuple[Spin, str], ...] = (("alpha", ""),)
    else:
        spins = (("alpha", ":alpha"), ("beta", ":beta"))
    there = []
    for spin, ending in spins:
        occupied, unoccupied = frontier_order(wavefunction, spin)
        there += [f"homo{ending}"] if occupied else []
        there += [f"lumo{ending}"] if unoccupied else []
    return tuple(PresetSurface(name) for name in there)


def _last_bond(wavefunction: Wavefunction) -> tuple[PresetSurface, ...]:
    """The occupied intrinsic bond orbital of the highest energy."""
    occupied, _ = count_of(wavefunction, "ibo")
    return (PresetSurface(localised_name(wavefunction, "ibo", occupied - 1)),)


_MADE = {"frontier": _frontier, "ibo": _last_bond}
"""By name what presets show that depend on the wavefunction."""

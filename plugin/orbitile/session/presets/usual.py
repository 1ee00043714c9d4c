"""The usual presets, those first that are wanted most."""

from __future__ import annotations

from ...fields._frontier import frontier_order, why_no_frontier
from ...fields.orbital import name_in_family
from ...fields.surroundings import unavailable
from ...gaussians.localised.localisation import count_of
from ...gaussians.localised.localisation import why_not as why_not_localised
from ...model.wavefunction import Spin, Wavefunction
from . import FILE, Preset, PresetSurface

PRIORITY = 1
"""Before those of other distributions."""

_SEEN_THROUGH = 0.25
"""Transparency by which the molecule is seen through its surface, whose colours stand for values."""

_MOLECULE = 0.001
"""Density in e bohr^-3 of the surface of a molecule: R. F. W. Bader et al., J. Am. Chem. Soc. 1987, 109, 7968."""


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


def _why_no_frontier(wavefunction: Wavefunction) -> str:
    """Return why there is no HOMO or no LUMO, or ""."""
    if reason := why_no_frontier(wavefunction):
        return reason
    found = [surface.field for surface in _frontier(wavefunction)]
    for frontier, what in (("homo", "occupied"), ("lumo", "unoccupied")):
        if not any(name.startswith(frontier) for name in found):
            return f"the file holds no {what} orbitals, so there is no {frontier.upper()}"
    return ""


def _why_not_in_surroundings(wavefunction: Wavefunction) -> str:
    return unavailable(wavefunction).get("polarisation", "")


def _in_surroundings(wavefunction: Wavefunction) -> tuple[PresetSurface, ...]:
    """HOMO, what the surroundings do to the density, and the potential at the surface."""
    return (
        PresetSurface("homo"),
        PresetSurface("polarisation"),
        PresetSurface("density", _MOLECULE, "esp", _SEEN_THROUGH),
    )


def _last_bond(wavefunction: Wavefunction) -> tuple[PresetSurface, ...]:
    """The occupied intrinsic bond orbital of the highest energy."""
    occupied, _ = count_of(wavefunction, "ibo")
    return (PresetSurface(name_in_family(wavefunction, "ibo", occupied - 1)),)


PRESETS = (
    Preset(
        "frontier",
        "HOMO and LUMO",
        "The highest occupied and the lowest unoccupied orbital side by side",
        surfaces_for=_frontier,
        obstacle=_why_no_frontier,
    ),
    Preset(
        "ibo",
        "Bonds and lone pairs (IBO)",
        "Intrinsic bond orbitals: lists them, and shows the last one",
        surfaces_for=_last_bond,
        obstacle=lambda wavefunction: why_not_localised(wavefunction, "ibo"),
    ),
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
    Preset(
        "surroundings",
        "Electrons in their protein",
        "HOMO, polarisation (the density less that in vacuum) and potential of a region, side by side",
        surfaces_for=_in_surroundings,
        obstacle=_why_not_in_surroundings,
    ),
    Preset("spin", "Spin density", "Where alpha or beta electrons are in excess", (PresetSurface("spin"),)),
    Preset("elf", "Electron localisation (ELF)", "Bonds, lone pairs and shells", (PresetSurface("elf"),)),
    Preset(
        "ionisation",
        "Ionisation energy on the density",
        "Where electrons are most easily removed from the surface of the molecule",
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
        "Where the density is higher and where it is lower than that of another file",
        (PresetSurface(f"difference:{FILE}"),),
    ),
)

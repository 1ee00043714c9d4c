"""Topology of the density: its critical points and bond paths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import COUNT, POSITIVE_NUMBER, Argument, listed, one_of
from ...base.arrays import Reals
from ...model.report import Closure, Column, Paths, Points, Report, Table, atom_names, column, places_of
from ...model.wavefunction import Wavefunction
from . import takes_long
from .charges import unavailable as without_electrons

if TYPE_CHECKING:
    from ..topology import Topology

TITLE = "Topology of the density"
HELP = "critical points of the density (QTAIM), their properties, and bond paths"
GROUP = "Density"
PRIORITY = 80
LABELS = ("density", "laplacian", "ellipticity", "atoms", "none")
PARAMETERS = (
    Argument("labels", one_of(*LABELS), "label of each critical point", "density", "density"),
    Argument("cutoff", POSITIVE_NUMBER, "lowest density that is searched, in e bohr^-3", 1e-6, "1e-6"),
    Argument("surfaces", COUNT, "lines in the surface between the atoms of each bond; 0 for none", 0, "0"),
)
EXAMPLES = ("orb_topology", "orb_topology labels=ellipticity", "orb_topology surfaces=36")

_NAMES = {"maximum": "ncp", "bond": "bcp", "ring": "rcp", "cage": "ccp", "degenerate": "degenerate"}
"""What critical points are called in the literature; maxima without a nucleus are nna."""

_COLOURS = {
    "ncp": (0.55, 0.55, 0.6),
    "nna": (0.9, 0.2, 0.8),
    "bcp": (0.9, 0.35, 0.1),
    "rcp": (0.95, 0.8, 0.15),
    "ccp": (0.2, 0.7, 0.3),
    "degenerate": (0.1, 0.1, 0.1),
}

_BETWEEN, _THIN = (0.35, 0.55, 0.75), 0.02
"""Colour of lines in surfaces between atoms, and their radius in bohr."""

_NOTHING = 1e-9
"""What is less is rounding: places are converged to that, in bohr."""

_LISTED = 8
"""Atoms that a remark names."""


def unavailable(wavefunction: Wavefunction) -> str:
    """The reason why a molecule has none, or ""."""
    if wavefunction.is_ghost.all():
        return "there are no nuclei, only ghost atoms"
    return without_electrons(wavefunction)


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """How long it will take, where that is long."""
    from ..topology import seconds_of_search

    return takes_long("the search for critical points takes", seconds_of_search(wavefunction))


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Critical points and bond paths; parameters as stated, see `orbitile.analysis.topology`.

    Matrix products on the processor do all of it, in double precision, whatever the device.
    """
    from ..topology import interatomic_surfaces, topology_of

    found = topology_of(wavefunction, parameters["cutoff"])
    kinds = [
        "nna" if kind == "maximum" and atoms[0] < 0 else _NAMES[kind]
        for kind, atoms in zip(found.kinds, found.atoms, strict=True)
    ]
    names = [_named(wavefunction, atoms) for atoms in found.atoms]
    table = _table(found, kinds, names)
    labels = {
        "density": [f"{value:.3f}" for value in found.density],
        "laplacian": [f"{value:.3f}" for value in found.laplacian],
        "ellipticity": ["" if np.isnan(value) else f"{value:.3f}" for value in found.ellipticity],
        "atoms": names,
        "none": [""] * len(kinds),
    }[parameters["labels"]]
    drawings: list[Points | Paths] = []
    for kind, colour in _COLOURS.items():
        of_kind = [n for n, one in enumerate(kinds) if one == kind]
        if of_kind:
            # the density at a nucleus says nothing of the molecule
            texts = () if kind == "ncp" else tuple(labels[n] for n in of_kind)
            texts = texts if any(texts) else ()
            drawings.append(Points(kind, found.positions[of_kind], texts, colour, 0.12 if kind == "ncp" else 0.2))
    if found.bond_paths:
        drawings.append(Paths("bond_paths", found.bond_paths))
    if parameters["surfaces"] and found.bond_paths:
        lines = interatomic_surfaces(wavefunction, found, parameters["surfaces"])
        drawings.append(Paths("interatomic_surfaces", lines, _BETWEEN, _THIN))
    return Report(
        "topology",
        f"Topology of the density: {', '.join(f'{kinds.count(kind)} {kind}' for kind in _COLOURS if kind in kinds)}",
        (table,),
        drawings=tuple(drawings),
        remarks=tuple(_remarks(wavefunction, found, kinds)),
    )


def _table(found: Topology, kinds: list[str], names: list[str]) -> Table:
    lengths, bends = _lengths(found)
    density, second, energy = "e bohr^-3", "e bohr^-5", "hartree bohr^-3"

    def reals(name: str, values: Any, unit: str, about: str) -> Column:
        # what is zero by symmetry is not shown as rounding left it
        return column(name, (0.0 if abs(value) < _NOTHING else value for value in values), unit, 5, about)

    columns = (
        column("kind", kinds, about="ncp nucleus, nna maximum elsewhere, bcp bond, rcp ring, ccp cage"),
        column("atoms", names, about="atoms that a bond path joins, or that surround a ring or a cage"),
        reals("density", found.density, density, "the electron density"),
        reals("laplacian", found.laplacian, second, "negative where density is concentrated"),
        reals("ellipticity", found.ellipticity, "", "of a bond: 0 for a round one"),
        *(reals(f"curvature_{n + 1}", found.eigenvalues[:, n], second, "eigenvalue of the Hessian") for n in range(3)),
        reals("kinetic", found.kinetic, energy, "kinetic energy density G, positive everywhere"),
        reals("potential", found.potential, energy, "potential energy density V, by the local virial theorem"),
        reals("energy", found.energy, energy, "energy density H = G + V = -K"),
        reals("lagrangian", -found.laplacian / 4, energy, "K - G, which equals -1/4 of the Laplacian"),
        reals("path_length", lengths, "bohr", "of the bond path"),
        reals("bend", bends, "bohr", "how much longer the bond path is than the straight line"),
        *(reals(axis, found.positions[:, n], "bohr", "position") for n, axis in enumerate("xyz")),
    )
    closure = Closure("maxima - bonds + rings - cages (Poincare-Hopf)", found.index, found.expected, tolerance=0)
    atoms = tuple(tuple(atom for atom in some if atom >= 0) for some in found.atoms)
    places = places_of(found.positions)
    return Table("critical_points", "Critical points of the density", columns, (closure,), atoms, places=places)


def _lengths(found: Topology) -> tuple[Reals, Reals]:
    """Lengths of bond paths, and less those of the straight lines; NaN where there is none."""
    lengths, bends = np.full((2, len(found.kinds)), np.nan)
    bonds = [n for n, kind in enumerate(found.kinds) if kind == "bond"]
    for n, path in zip(bonds, found.bond_paths, strict=True):
        lengths[n] = np.sqrt((np.diff(path, axis=0) ** 2).sum(axis=1)).sum()
        bends[n] = lengths[n] - np.sqrt(((path[-1] - path[0]) ** 2).sum())
    return lengths, bends


def _named(wavefunction: Wavefunction, atoms: tuple[int, ...]) -> str:
    """Atoms as C1-C2, maxima without a nucleus as nna1."""
    names = atom_names(wavefunction.atomic_numbers)
    return "-".join(names[atom] if atom >= 0 else f"nna{-atom}" for atom in atoms)


def _listed(wavefunction: Wavefunction, atoms: Iterable[int]) -> str:
    """Atoms as C1, C2, and how many more there are."""
    return listed((_named(wavefunction, (atom,)) for atom in atoms), _LISTED)


def _remarks(wavefunction: Wavefunction, found: Topology, kinds: list[str]) -> list[str]:
    remarks = []
    if found.missing_cores:
        atoms = _listed(wavefunction, found.missing_cores)
        remarks.append(
            f"The core electrons of {atoms} are replaced by a core potential: the density has a hole there, which is "
            "counted as one maximum at the nucleus; bond points outside it are as reliable as the valence density."
        )
    whole = {atom for kind, atoms in zip(found.kinds, found.atoms, strict=True) if kind == "maximum" for atom in atoms}
    without = [atom for atom in np.flatnonzero(~wavefunction.is_ghost).tolist() if atom not in whole]
    if without:
        remarks.append(f"The density has no maximum at {_listed(wavefunction, without)}.")
    if np.any(wavefunction.core_charges[without] < wavefunction.atomic_numbers[without] - 0.5):
        remarks.append(
            "A core potential replaces the core electrons, and hardly any others are there: bonds of these "
            "atoms are not found, and their neighbours have bonds, rings and cages around them. A smaller core "
            "potential, or none, helps."
        )
    if "nna" in kinds:
        remarks.append("There are maxima without a nucleus (nna); in small basis sets they may not be real.")
    if "degenerate" in kinds:
        remarks.append(
            "A critical point is degenerate: a curvature vanishes, so that a small change of the geometry splits it in "
            "two or removes it. It is left out of the sum."
        )
    loose = sum(kind == "bond" and len(atoms) < 2 for kind, atoms in zip(found.kinds, found.atoms, strict=True))
    if loose:
        remarks.append(f"{loose} bond paths do not end at a maximum that was found.")
    if found.expected != 1:
        remarks.append(
            f"The density falls below the cut-off between parts of the molecule or within a ring, so the "
            f"expected sum is {found.expected}."
        )
    if found.index != found.expected:
        remarks.append("Critical points are missing, or some are too close to each other to be distinguished.")
    return remarks

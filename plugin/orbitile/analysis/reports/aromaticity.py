"""Aromaticity of rings: by bond lengths, and by the electrons that are shared around them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...base.arguments import ATOMS, Argument, atom_list, listed, one_of
from ...base.errors import Cancelled, OrbitileError
from ...base.watch import stage
from ...model.geometry import Geometry
from ...model.report import Closure, Column, Points, Report, Table, atom_names, column, places_of
from ...model.wavefunction import Wavefunction
from ...surfaces.colour_maps import MAPS
from ..aromaticity import (
    MOST_CENTRES,
    SCHEMES,
    Homa,
    SharedElectrons,
    fluctuation,
    homa_of,
    multicentre_index,
    para_delocalisation,
    per_centre,
    ring_index,
    shared_electrons,
    without_orbitals,
)
from ..currents import Ring, rings_of
from . import takes_long

TITLE = "Aromaticity"
HELP = "aromaticity of rings: HOMA, FLU, PDI and multicentre indices, also of chosen atoms"
KIND = "atoms"
GROUP = "Atoms and bonds"
PRIORITY = 75
PARAMETERS = (
    Argument("scheme", one_of(*SCHEMES), "what atoms are, for electrons that they share", SCHEMES[0], SCHEMES[0]),
    Argument("atoms", ATOMS, "three or more atoms whose multicentre bond order is wanted, in their order", (), "none"),
)
EXAMPLES = ("orb_aromaticity", "orb_aromaticity scheme=mulliken", "orb_aromaticity atoms=1 2 3")

_TOLERANCE = 1e-3
"""How far the electrons of atoms may be from all, in e."""
_BALL = 0.15
"""Radius of what is drawn in the centre of a ring, in bohr."""


def unavailable(subject: Wavefunction | Geometry) -> str:
    """The reason why a molecule can have neither rings nor bonds of several centres, or ""."""
    few = np.count_nonzero(subject.atomic_numbers) < 3
    return "there are fewer than three atoms" if few else ""


def warning(subject: Wavefunction | Geometry, **parameters: Any) -> str:
    """That it takes long, for large molecules."""
    if without_orbitals(subject) or not isinstance(subject, Wavefunction):
        return ""
    return takes_long(f"bond orders of {subject.n_basis} basis functions take", 2e-10 * subject.n_basis**3)


def report(subject: Wavefunction | Geometry, *, device: str | None = None, **parameters: Any) -> Report:
    """Aromaticity; parameters as stated, see `orbitile.analysis.aromaticity`."""
    rings, atoms = rings_of(subject), parameters["atoms"]
    if atoms and (len(atoms) < 3 or max(atoms) >= len(subject.atomic_numbers)):
        raise OrbitileError(
            f"atoms: expected three or more from 1 to {len(subject.atomic_numbers)}, got {atom_list(atoms)}"
        )
    if not rings and not atoms:
        raise OrbitileError("aromaticity: there is no ring of bonded atoms; name atoms, such as atoms=1,2,3")
    shared, remarks = _shared(subject, parameters["scheme"])
    if atoms and shared is None:
        raise OrbitileError(f"multicentre bond order: {remarks[0]}")
    found = [homa_of(subject, ring) for ring in rings]
    tables = []
    if rings:
        with stage(0.2, 0.9):
            tables.append(_rings(subject, rings, found, shared))
        remarks += _missing(rings, found, shared is not None)
    if atoms and shared is not None:
        with stage(0.9, 1.0):
            tables.append(_chosen(subject, atoms, shared))
    return Report(
        "aromaticity",
        f"Aromaticity{f', electrons of atoms by {shared.scheme}' if shared else ', by bond lengths'}",
        tuple(tables),
        drawings=tuple(_labels(rings, found)),
        remarks=tuple(remarks),
    )


def _shared(subject: Wavefunction | Geometry, scheme: str) -> tuple[SharedElectrons | None, list[str]]:
    """Electrons that atoms share, or why there are none."""
    reason = without_orbitals(subject)
    if not reason and isinstance(subject, Wavefunction):
        try:
            with stage(0.0, 0.2):
                return shared_electrons(subject, scheme), []
        except Cancelled:
            raise
        except OrbitileError as error:
            reason = str(error)
    return None, [f"indices of shared electrons are left out: {reason}"]


def _name(subject: Wavefunction | Geometry, atoms: Iterable[int]) -> str:
    names = atom_names(subject.atomic_numbers)
    return "-".join(names[atom] for atom in atoms)


def _rings(
    subject: Wavefunction | Geometry, rings: Sequence[Ring], found: list[Homa], shared: SharedElectrons | None
) -> Table:
    def of_lengths(name: str, values: Iterable[float], about: str) -> Column:
        return column(name, values, about=about, exponents=False)

    columns = [
        column("ring", range(1, len(rings) + 1)),
        column("atoms", (_name(subject, ring.atoms) for ring in rings)),
        of_lengths("homa", (homa.value for homa in found), "1 where all bonds have the optimal length"),
        of_lengths("en", (homa.elongation for homa in found), "part of 1 - HOMA by bonds that are too long or short"),
        of_lengths("geo", (homa.alternation for homa in found), "part of 1 - HOMA by bonds that alternate"),
    ]
    closures: tuple[Closure, ...] = ()
    if shared is not None and isinstance(subject, Wavefunction):
        around, over_all = [], []
        for n, ring in enumerate(rings):
            with stage(n / len(rings), (n + 1) / len(rings)):
                around.append(ring_index(shared, ring.atoms))
                over_all.append(multicentre_index(shared, ring.atoms))
        sizes = [len(ring.atoms) for ring in rings]
        columns += [
            column("flu", (fluctuation(subject, ring, shared) for ring in rings), about="0 where it is aromatic"),
            column("pdi", (para_delocalisation(ring, shared) for ring in rings), "e", about="of rings of six"),
            column("i_ring", around, decimals=5, about="multicentre index in the order of the ring"),
            column("i_ring_per_centre", map(per_centre, around, sizes), about="to the power 1/n"),
            column("mci", over_all, decimals=5, about="multicentre index, summed over all orders"),
            column("mci_per_centre", map(per_centre, over_all, sizes), about="to the power 1/n"),
        ]
        electrons = float(subject.n_electrons)
        closures = (Closure("sum of the electrons of atoms", shared.electrons, electrons, "e", _TOLERANCE),)
    places = places_of(np.array([ring.centre for ring in rings]))
    return Table("rings", "Rings", tuple(columns), closures, tuple(ring.atoms for ring in rings), places=places)


def _chosen(subject: Wavefunction | Geometry, atoms: tuple[int, ...], shared: SharedElectrons) -> Table:
    around, over_all = ring_index(shared, atoms), multicentre_index(shared, atoms)
    columns = (
        column("atoms", (_name(subject, atoms),)),
        column("i_ring", (around,), decimals=5, about="in the order of the atoms, and back to the first"),
        column("mci", (over_all,), decimals=5, about="summed over all orders"),
        column("mci_per_centre", (per_centre(over_all, len(atoms)),), about="to the power 1/n"),
    )
    return Table("centres", "Multicentre bond order", columns, atoms=(atoms,))


def _missing(rings: Sequence[Ring], found: list[Homa], has_electrons: bool) -> list[str]:
    """What some rings do not have."""
    remarks = []
    if unknown := sorted({kind for homa in found for kind in homa.unknown}):
        remarks.append(f"rings with {listed(unknown, 8)} bonds have no HOMA: these bonds have no parameters")
    if has_electrons and max(len(ring.atoms) for ring in rings) > MOST_CENTRES:
        remarks.append(f"rings of more than {MOST_CENTRES} atoms have no MCI, which takes too long")
    return remarks


def _labels(rings: Sequence[Ring], found: list[Homa]) -> list[Points]:
    """HOMA in the centre of each ring, in colours from red, -1 or less, to blue, 1."""
    colours = MAPS["signed"]
    with_value = [(ring, homa.value) for ring, homa in zip(rings, found, strict=True) if math.isfinite(homa.value)]
    steps = [round((max(-1.0, min(value, 1.0)) + 1) / 2 * (len(colours) - 1)) for _, value in with_value]
    drawings = []
    for step in sorted(set(steps)):
        some = [pair for pair, of_pair in zip(with_value, steps, strict=True) if of_pair == step]
        centres, labels = np.array([ring.centre for ring, _ in some]), tuple(f"{value:.2f}" for _, value in some)
        drawings.append(Points(f"homa_{step + 1}", centres, labels, colours[step], _BALL))
    return drawings

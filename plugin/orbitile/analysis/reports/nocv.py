"""The interaction of fragments: natural orbitals for chemical valence (ETS-NOCV) and charge displacement."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...base.arguments import ATOMS, PATHS, SHARE, TEXT, Argument, atom_list
from ...base.arrays import Reals
from ...base.errors import Cancelled, DeviceError, OrbitileError
from ...base.watch import checkpoint, stage
from ...fields.nocv import Deformation, deformation_of
from ...gaussians.expansion import integrals
from ...gaussians.fragments import why_not
from ...model.elements import SYMBOLS
from ...model.report import Closure, Curve, Isosurface, Plot, Report, Table, column
from ...model.units import angstrom, kilocalorie_per_mole
from ...model.wavefunction import Wavefunction
from ..nocv import (
    Axis,
    OrbitalEnergies,
    axis_through,
    charge_displacement,
    gained_electrons,
    isodensity_boundary,
    orbital_energies,
    shortest_axis,
)
from . import takes_long

TITLE = "Interaction of fragments (ETS-NOCV)"
HELP = "what fragments give to and take from each other: pairs of NOCV, their energies, and displaced charge"
KIND = "wavefunction"
GROUP = "Atoms and bonds"
PLOTS = True
PRIORITY = 55
PARAMETERS = (
    Argument(
        "files",
        PATHS,
        "files of the fragments, by the same method and basis set, at the places that their atoms have here",
        (),
        required=True,
    ),
    Argument("axis", ATOMS, "two atoms, from one to the other of which charge is displaced", (), "the closest two"),
    Argument("method", TEXT, "method of the files for energies, such as hf or pbe", "", "that of the file"),
    Argument("least", SHARE, "smallest eigenvalue that is listed, in e", 0.02, "0.02"),
)
EXAMPLES = (
    "orb_nocv files=borane.h5 ammonia.h5",
    "orb_nocv files=borane.molden ammonia.molden, method=pbe",
    "orb_nocv complex, nickel.molden carbonyl.molden, axis=1 8",
)

_SHOWN = 3
"""Pairs that are drawn, and have curves of their own."""
_HEIGHTS, _MARGIN = 241, 8.0
"""Planes of a curve, and how far beyond the last atoms it goes, in bohr."""
_SECONDS, _USUAL = 30.0, 200.0
"""Time for so many basis functions; it grows with the square."""
_SIMPSON = 1e-3
"""Hartree by which Simpson's rule may be off for functionals."""
_WHOLE = 0.9
"""Eigenvalue, of one spin, from which on a pair moves what is almost an electron."""
_CONSERVED = 1e-6
"""Electrons that leaving out small products of Gaussians may cost."""


def unavailable(wavefunction: Wavefunction) -> str:
    """Why there is none."""
    if reason := why_not(wavefunction):
        return reason
    return "" if int((~wavefunction.is_ghost).sum()) > 1 else "there is only one atom, and no fragments"


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """That large molecules take long."""
    seconds = _SECONDS * (wavefunction.n_basis / _USUAL) ** 2
    return takes_long(f"the interaction in {wavefunction.n_basis} basis functions takes", seconds)


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Interaction of fragments; parameters as stated, see `orbitile.fields.nocv` and `orbitile.analysis.nocv`."""
    from ...readers import load

    files = [str(file) for file in parameters["files"]]
    if len(files) < 2:
        raise OrbitileError(
            f"files: expected those of two fragments or more, as {EXAMPLES[1]} has them, got {len(files)}"
        )
    with stage(0.0, 0.1):
        found = deformation_of(wavefunction, [load(file) for file in files])
    axis = _axis(found, parameters["axis"])
    remarks = list(_remarks(found))
    energies: OrbitalEnergies | None = None
    with stage(0.1, 0.6):
        try:
            energies = orbital_energies(found, parameters["method"], device)
        except (Cancelled, DeviceError):
            raise
        except OrbitileError as error:
            remarks.append(f"no energies: {error}")
    names, gained = _names(found, files), gained_electrons(found)
    listed = [
        (spin, n)
        for n in range(max(len(pairs.values) for pairs in found.pairs))
        for spin, pairs in enumerate(found.pairs)
        if n < len(pairs.values) and pairs.values[n] >= parameters["least"]
    ]
    with stage(0.6, 1.0):
        displaced, plot = _displacement(found, axis, listed[:_SHOWN], device)
    tables = (
        *((_pairs(found, listed, names, gained, energies),) if listed else ()),
        *((_energies(energies),) if energies is not None else ()),
        _fragments(found, gained),
        displaced,
    )
    behind = ",".join(files)
    drawn = tuple(Isosurface(names[pair]) for pair in listed[:_SHOWN])
    return Report(
        "nocv",
        f"Interaction of {' and '.join(fragment.name for fragment in found.fragments)}",
        tables,
        (plot,),
        (),
        (*drawn, Isosurface(f"deformation:{behind}")),
        tuple(remarks),
    )


def _axis(found: Deformation, atoms: tuple[int, ...]) -> Axis:
    if not atoms:
        return shortest_axis(found)
    if len(atoms) != 2:
        raise OrbitileError(f"axis: expected two atoms such as 1,5, got {len(atoms)}")
    return axis_through(found.whole, *atoms)


def _remarks(found: Deformation) -> list[str]:
    turned = [fragment.name for fragment in found.fragments if fragment.flipped]
    remarks = [f"spins of {' and '.join(turned)} are turned around"] if turned else []
    for pairs in found.pairs:
        of_spin = f" {pairs.spin}" if len(found.pairs) > 1 else ""
        remarks += [
            f"pair {n + 1}{of_spin} moves a whole electron to another orbital: fragments in another state, such as "
            "ions or another open shell of an atom, may be closer to what they are in the whole"
            for n in np.flatnonzero(pairs.values / found.electrons_an_orbital > _WHOLE).tolist()
        ]
    remarks.append(
        "the orbitals of the fragments are made orthogonal (Loewdin); populations of fragments are Loewdin's"
    )
    return remarks


def _names(found: Deformation, files: list[str]) -> dict[tuple[int, int], str]:
    """Names of the fields of all pairs."""
    behind = ",".join(map(os.path.expanduser, files))
    return {
        (spin, n): f"nocv:{n + 1}{f':{pairs.spin}' if len(found.pairs) > 1 else ''}:{behind}"
        for spin, pairs in enumerate(found.pairs)
        for n in range(len(pairs.values))
    }


def _pairs(
    found: Deformation,
    listed: list[tuple[int, int]],
    names: dict[tuple[int, int], str],
    gained: list[Reals],
    energies: OrbitalEnergies | None,
) -> Table:
    columns = [column("pair", (n + 1 for _, n in listed))]
    if len(found.pairs) > 1:
        columns.append(column("spin", (found.pairs[spin].spin for spin, _ in listed)))
    columns.append(column("eigenvalue", (found.pairs[spin].values[n] for spin, n in listed), "e", 4))
    closures = [
        Closure("sum over all pairs of what fragments gain", float(sum(g.sum() for g in gained)), 0.0, "e", 1e-6)
    ]
    if found.whole.is_ghost.any():
        closures = []
    if energies is not None:
        values = [energies.of_pairs[spin][n] / kilocalorie_per_mole for spin, n in listed]
        columns.append(column("energy", values, "kcal/mol", 2, f"by the Fock matrix of {energies.method}"))
        total = sum(float(some.sum()) for some in energies.of_pairs)
        closures.append(Closure("energy of all pairs", total, energies.total, "hartree", 1e-6))
    for number in range(len(found.fragments)):
        values = [gained[spin][n, number] for spin, n in listed]
        columns.append(column(f"gain_{number + 1}", values, "e", 4, f"electrons that fragment {number + 1} gains"))
    return Table(
        "pairs",
        "Pairs of natural orbitals for chemical valence",
        tuple(columns),
        tuple(closures),
        fields=tuple(names[pair] for pair in listed),
    )


def _energies(energies: OrbitalEnergies) -> Table:
    """The interaction of the fragments as they are in the whole, in two steps."""
    steps = {"orbitals": energies.difference}
    if np.isfinite(energies.interaction):
        frozen = energies.interaction - energies.difference
        steps = {"frozen fragments": frozen, **steps, "together": energies.interaction}
    columns = (
        column("step", steps),
        column("energy", (value / kilocalorie_per_mole for value in steps.values()), "kcal/mol", 2),
    )
    what = "orbital interaction by the Fock matrix of the transition state, and as a difference of energies"
    closure = Closure(what, energies.total, energies.difference, "hartree", _SIMPSON)
    title = (
        f"Interaction of the fragments by {energies.method}: frozen until their orbitals are orthogonal, then relaxed"
    )
    return Table("energies", title, columns, (closure,))


def _fragments(found: Deformation, gained: list[Reals]) -> Table:
    fragments = found.fragments
    columns = (
        column("fragment", range(1, len(fragments) + 1)),
        column("file", (fragment.name for fragment in fragments)),
        column("atoms", (atom_list(fragment.atoms) for fragment in fragments)),
        column("charge", (fragment.charge + 0.0 for fragment in fragments), "e", 2),
        column("alpha", (fragment.n_alpha for fragment in fragments), "", 0, "alpha electrons, as they count here"),
        column("beta", (fragment.n_beta for fragment in fragments), "", 0, "beta electrons, as they count here"),
        column(
            "gain",
            sum(of_spin.sum(axis=0) for of_spin in gained),
            "e",
            4,
            "electrons that it gains from its orthogonal orbitals on",
        ),
    )
    electrons = float(sum(fragment.n_alpha + fragment.n_beta for fragment in fragments))
    closure = Closure("electrons of the fragments", electrons, found.whole.n_electrons, "e", 1e-3)
    atoms = tuple(fragment.atoms for fragment in fragments)
    return Table("fragments", "Fragments", columns, (closure,), atoms=atoms)


def _displacement(
    found: Deformation, axis: Axis, shown: list[tuple[int, int]], device: str | None
) -> tuple[Table, Plot]:
    """Charge displaced along the axis: by all, by orbital interaction alone, and by the first pairs."""
    along = (found.whole.positions - axis.origin) @ axis.direction
    heights = np.linspace(along.min() - _MARGIN, along.max() + _MARGIN, _HEIGHTS)
    boundary = isodensity_boundary(found, axis, device)
    middle = axis.length / 2 if boundary is None else boundary
    densities = {"all": found.total, "orbitals": found.orbital}
    for spin, n in shown:
        label = f"pair {n + 1}" + (f" {found.pairs[spin].spin}" if len(found.pairs) > 1 else "")
        densities[label] = found.pair(found.pairs[spin].spin, n + 1)
    curves: dict[str, Reals] = {}
    at: dict[str, float] = {}
    conserved = 0.0
    for n, (label, density) in enumerate(densities.items()):
        with stage(n / len(densities), (n + 1) / len(densities)):
            checkpoint()
            *values, there = charge_displacement(density, axis, np.append(heights, middle)).tolist()
        curves[label], at[label] = np.array(values), there
        conserved = max(conserved, abs(integrals(density)[0]))
    first, second = (f"{SYMBOLS[found.whole.atomic_numbers[atom]]}{atom + 1}" for atom in axis.atoms)
    where = "half-way between them" if boundary is None else "where the fragments are as dense as each other"
    table = Table(
        "displacement",
        f"Electrons displaced from {second} to {first} across the plane {middle / angstrom:.3f} Angstrom from {first}, "
        f"{where}",
        (
            column("of", at),
            column("displaced", at.values(), "e", 4, "negative where they go the other way"),
        ),
        (Closure("integrals of these densities over space, the largest", conserved, 0.0, "e", _CONSERVED),),
    )
    plot = Plot(
        "displacement",
        f"Charge displacement from {second} to {first}",
        "height along the axis / Angstrom",
        "Δq / e",
        tuple(Curve(label, heights / angstrom, values) for label, values in curves.items()),
        ((0.0, first), (middle / angstrom, "boundary"), (axis.length / angstrom, second)),
    )
    return table, plot

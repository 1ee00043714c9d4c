r"""What each residue around a quantum region does to it: potential, field, energy, shifts of the frontier orbitals.

With charges q_m at R_m (Gaussians of width w_m where they have one) the surroundings make, at a point r,

.. math::  \phi(r) = \sum_m q_m\, \frac{\operatorname{erf}(|r - R_m|/w_m)}{|r - R_m|}, \qquad F = -\nabla\phi

and have with the nuclei and the polarised density of the region, of the potential V, the energy
:math:`\sum_m q_m V(R_m)`. An orbital :math:`\psi` of the region is shifted, to first order, by
:math:`-\langle\psi|\phi|\psi\rangle`. All of these are linear in the charges, so that residues add up to the whole. The
density is held: how it answers the charges of one residue tells a calculation `without_residues`. Exchange repulsion
and the answer of the residues' own electrons are in none of them.

The field along a bond is that of the surroundings alone, as it is meant in vibrational Stark spectroscopy (S. D. Fried
and S. G. Boxer, Acc. Chem. Res. 2015, 48, 998), positive where it points from the first atom to the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import FieldError, OrbitileError
from ..evaluation.devices import device_session
from ..fields.density import density_of
from ..fields.orbital import Orbital, orbital_of
from ..integrals.external_charges import (
    energy_in_field,
    field_at,
    fields_along,
    potential_at_charges,
    potential_of_molecule,
    potentials,
)
from ..integrals.pairs import pairs_of, to_hermite
from ..model.external_charges import ExternalCharges
from ..model.geometry import formula
from ..model.report import Arrows, Closure, Paths, Report, ResidueValues, Table, column, places_of
from ..model.structure import Residue
from ..model.units import angstrom, debye, electronvolt, kilocalorie_per_mole, megavolt_per_centimetre, volt
from ..model.wavefunction import Wavefunction
from ..readers._surroundings import at_same_places
from ._quadrature import analytic_moments, density_matrix

if TYPE_CHECKING:
    from ..scf.region import Region


@dataclass(frozen=True, eq=False)
class ResidueShares:
    """Shares of the residues around a region in what their charges do to it, a row each, in the order of the structure.

    Attributes
    ----------
    residues : tuple of Residue
        Those that have charges; one that is cut has those of its atoms that are not computed.
    rows : ndarray of int, shape (n_atoms of the structure,)
        The row that each atom counts to; -1 for atoms without charges.
    centres : ndarray, shape (n, 3)
        Centre of the places of the charges, in bohr.
    distance : ndarray, shape (n,)
        From the nearest charge to the nearest atom of the region, in bohr.
    charge : ndarray, shape (n,)
        In e.
    energy : ndarray, shape (n,)
        Of the charges with the nuclei and the density, in hartree.
    homo, lumo : ndarray, shape (n,)
        Shifts of these orbitals to first order, in hartree; not numbers where there is no such orbital.
    potential : ndarray, shape (n,)
        At the atom that was asked for, in hartree/e; empty if none was.
    field : ndarray, shape (n, 3)
        Along the bond that was asked for at its first atom, its midpoint and its second atom, in hartree/(e bohr);
        empty if none was.
    whole_energy : float
        The energy of all charges, by its own integrals.
    """

    residues: tuple[Residue, ...]
    rows: NDArray[np.int64]
    centres: Reals
    distance: Reals
    charge: Reals
    energy: Reals
    homo: Reals
    lumo: Reals
    potential: Reals
    field: Reals
    whole_energy: float

    def of_atoms(self, values: Reals) -> Reals:
        """Values of the rows at the atoms of the structure, for colours; not numbers where there are no charges."""
        return np.append(values, np.nan)[self.rows]


def residue_shares(
    wavefunction: Wavefunction,
    region: Region,
    *,
    atom: int | None = None,
    bond: tuple[int, int] | None = None,
    device: str | None = None,
) -> ResidueShares:
    """What each residue around a region contributes.

    Parameters
    ----------
    wavefunction
        Of the region in the field of its surroundings.
    region
        With its surroundings.
    atom
        An atom of the wavefunction, from 0, at which the potential is wanted.
    bond
        Two atoms of the wavefunction, from 0, between which the field is wanted.
    device
        As for `orbitile.evaluate`; the precision is double.

    Raises
    ------
    OrbitileError
        When the region has no surroundings, the wavefunction is of other atoms, or `atom` or `bond` names an atom that
        is not there.
    """
    from scipy.spatial import cKDTree

    external = _surroundings(wavefunction, region)
    n = wavefunction.n_atoms
    for index in (*(() if atom is None else (atom,)), *(bond or ())):
        if not 0 <= index < n:
            raise OrbitileError(f"residues: expected atoms 1 to {n} of the region, got {index + 1}")
    if bond is not None and (len(bond) != 2 or bond[0] == bond[1]):
        raise OrbitileError(f"residues: expected two atoms as a bond, got {[index + 1 for index in bond]}")
    of_charges = region.structure.residue_of[region.owners]
    present, row = np.unique(of_charges, return_inverse=True)

    def rows(each: Reals) -> Reals:
        return np.bincount(row, each, len(present)).astype(np.float64)

    with device_session(device, "double") as target:
        pairs, nuclei, positions = pairs_of(wavefunction), wavefunction.core_charges, wavefunction.positions
        total = to_hermite(pairs, density_matrix(wavefunction), target)
        whole = energy_in_field(external, pairs, total, nuclei, positions, target)
        potential = potential_of_molecule(external, pairs.list, total, nuclei, positions, target)[:, 0]
        shifts = []
        for name in ("homo", "lumo"):
            shift = np.full(len(present), np.nan)
            if (density := _orbital_density(wavefunction, name)) is not None:
                electrons = to_hermite(pairs, density, target)
                shift = rows(-external.charges * potential_at_charges(external, pairs.list, electrons, target)[:, 0])
            shifts.append(shift)
    at_atom = np.zeros(0)
    if atom is not None:
        _, values, _ = next(potentials(external, positions[[atom]]))
        at_atom = rows(external.charges * values)
    field = np.zeros((0, 3))
    if bond is not None:
        field = np.stack([rows(each) for each in fields_along(external, *positions[list(bond)])], axis=1)
    row_of_residue = np.full(len(region.structure.residues), -1)
    row_of_residue[present] = np.arange(len(present))
    charged = np.zeros(len(region.structure.residue_of), bool)
    charged[region.owners] = True
    counts = np.bincount(row)
    nearest = np.full(len(present), np.inf)
    np.minimum.at(nearest, row, cKDTree(positions).query(external.positions)[0])
    return ResidueShares(
        residues=tuple(region.structure.residues[index] for index in present),
        rows=np.where(charged, row_of_residue[region.structure.residue_of], -1),
        centres=np.stack([rows(along) / counts for along in external.positions.T], axis=1),
        distance=nearest,
        charge=rows(external.charges),
        energy=rows(external.charges * potential),
        homo=shifts[0],
        lumo=shifts[1],
        potential=at_atom,
        field=field,
        whole_energy=whole,
    )


def without_residues(region: Region, residues: Sequence[Residue]) -> Region:
    """The same region with the charges of some residues set to zero.

    Raises
    ------
    OrbitileError
        When one of them has no charges there.
    """
    if region.external is None:
        raise OrbitileError("residues: this region is in vacuum, without charges of residues")
    of_charges = region.structure.residue_of[region.owners]
    chosen = np.array([residue in residues for residue in region.structure.residues])[of_charges]
    there = {region.structure.residues[index] for index in of_charges[chosen]}
    if missing := [str(residue) for residue in residues if residue not in there]:
        raise OrbitileError(f"residues: {', '.join(missing)} has no charges around this region")
    return replace(region, external=replace(region.external, charges=np.where(chosen, 0.0, region.external.charges)))


def _surroundings(wavefunction: Wavefunction, region: Region) -> ExternalCharges:
    if region.external is None:
        raise OrbitileError("residues: this region is in vacuum; make it with the charges around it (embed)")
    expected, got = region.geometry.positions, wavefunction.positions
    if not at_same_places(expected, got):
        raise OrbitileError(
            f"residues: expected a wavefunction of the {len(expected)} atoms of the region where they are there, got "
            f"{len(got)} atoms or other positions; compute the region again"
        )
    return region.external


def _orbital(wavefunction: Wavefunction, name: str) -> Orbital | None:
    try:
        return orbital_of(wavefunction, name)
    except FieldError:
        return None


def _orbital_density(wavefunction: Wavefunction, name: str) -> Reals | None:
    """Density matrix of an orbital with one electron; None where there is no such orbital."""
    if (orbital := _orbital(wavefunction, name)) is None:
        return None
    parts = wavefunction.orbitals(orbital.spin).parts()[:, :, orbital.index]
    return parts.T @ parts


# Report -----------------------------------------------------------------------------------------------------------

_ABOUT = 1.5 * angstrom
_MOST_ARROWS, _MOST_TRIED = 5_000, 1 << 22

_ARROW = 0.05
"""Length of an arrow in bohr for each MV/cm."""


def _names(region: Region) -> tuple[str, ...]:
    """Names of the atoms of a region as its structure has them, with residues where there are several."""
    structure, atoms = region.structure, region.atoms.tolist()
    several = len(np.unique(structure.residue_of[atoms])) > 1
    names = [
        f"{structure.names[i]}{f' {structure.residues[structure.residue_of[i]].number}' if several else ''}"
        for i in atoms
    ]
    return (*names, *(f"H{n}" for n in range(len(atoms) + 1, len(atoms) + 1 + len(region.links))))


def residue_report(
    wavefunction: Wavefunction,
    region: Region,
    *,
    atom: int | None = None,
    bond: tuple[int, int] | None = None,
    spacing: float | None = None,
    vacuum: Wavefunction | None = None,
    device: str | None = None,
) -> Report:
    """The same as a report: residues with the largest shares first, their colours, the field as arrows.

    Sorted by the field if a bond is given, otherwise by the potential if an atom is, otherwise by the energy.

    Parameters
    ----------
    wavefunction, region, atom, bond, device
        As for `residue_shares`.
    spacing
        Of a lattice in and about the region in bohr, on which the field of the surroundings is drawn as arrows.
    vacuum
        The same calculation without surroundings: the whole shift of the orbitals is told then.
    """
    shares = residue_shares(wavefunction, region, atom=atom, bond=bond, device=device)
    names = _names(region)
    named = "" if atom is None else names[atom]
    along = "" if bond is None else f"{names[bond[0]]}-{names[bond[1]]}"
    kcal, ev, field = shares.energy / kilocalorie_per_mole, electronvolt, shares.field / megavolt_per_centimetre
    key, what = kcal, "interaction energy"
    columns = [
        ("distance", "Angstrom", shares.distance / angstrom, 1, "of its nearest charge from the region"),
        ("charge", "e", np.round(shares.charge, 9), 3, ""),
        ("energy", "kcal/mol", kcal, 3, "of its charges with the nuclei and the polarised density"),
    ]
    if atom is not None:
        key, what = shares.potential / volt, f"potential at {named}"
        columns += [
            ("potential", "hartree/e", shares.potential, 5, f"of its charges at {named}"),
            ("potential_in_volt", "V", key, 3, "the same"),
        ]
    if bond is not None:
        direction = f"positive from {names[bond[0]]} to {names[bond[1]]}"
        key, what = field[:, 1], f"field along {along}, {direction}"
        columns += [
            ("field", "MV/cm", field[:, 1], 3, f"of its charges at the midpoint of {along}, {direction}"),
            ("field_at_first", "MV/cm", field[:, 0], 3, f"at {names[bond[0]]}"),
            ("field_at_second", "MV/cm", field[:, 2], 3, f"at {names[bond[1]]}"),
        ]
    columns += [
        ("homo_shift", "eV", shares.homo / ev, 4, "to first order"),
        ("lumo_shift", "eV", shares.lumo / ev, 4, "to first order"),
        ("gap_shift", "eV", (shares.lumo - shares.homo) / ev, 4, "to first order"),
    ]
    order = np.argsort(-np.abs(key), kind="stable")
    residues, centres = tuple(shares.residues[n] for n in order), shares.centres[order]
    rows = [
        column("residue", map(str, residues)),
        *(column(name, values[order], unit, decimals, about) for name, unit, values, decimals, about in columns),
    ]
    closure = Closure(
        "sum of the energies", float(kcal.sum()), shares.whole_energy / kilocalorie_per_mole, "kcal/mol", 1e-6
    )
    polarisation = None if vacuum is None else _polarisation(wavefunction, vacuum, region, shares.whole_energy, device)
    table = Table(
        "residues", f"Residues by their {what}", tuple(rows), (closure,), places=places_of(centres), residues=residues
    )
    unit = "MV/cm" if bond is not None else "V" if atom is not None else "kcal/mol"
    colours = ResidueValues("share", residues, centres, key[order], unit)
    arrows = None if spacing is None else field_arrows(wavefunction, region, spacing)
    return Report(
        "residues",
        f"Residues around {formula(wavefunction)}, by their {what}",
        (table, _whole(wavefunction, vacuum, shares, named, along, polarisation)),
        drawings=(colours, *_arrows(wavefunction, bond, field), *(() if arrows is None else (arrows.paths(),))),
        remarks=(
            "energies are of charges with a density that is held: without exchange repulsion, and without an answer of "
            "the residues' own electrons; the density answers all residues together",
            *(("the field is that of the surroundings alone",) if bond is not None or arrows is not None else ()),
            *(() if arrows is None else (_told_length(arrows),)),
            *region.notes,
        ),
    )


Row = tuple[str, float, str]


def _polarisation(
    wavefunction: Wavefunction, vacuum: Wavefunction, region: Region, energy: float, device: str | None
) -> list[Row]:
    """What the density does in the field, by that in vacuum.

    Where the answer is linear, half of what it gains in the field is lost again within the molecule: the energy is
    stationary, so that what is lost is quadratic in the change of the density.
    """
    external = _surroundings(vacuum, region)
    with device_session(device, "double") as target:
        pairs, nuclei, positions = pairs_of(vacuum), vacuum.core_charges, vacuum.positions
        total = to_hermite(pairs, density_matrix(vacuum), target)
        before = energy_in_field(external, pairs, total, nuclei, positions, target)
    dipoles = [analytic_moments(state, density_of(state)).dipole for state in (wavefunction, vacuum)]
    return [
        ("interaction energy of the density in vacuum", before / kilocalorie_per_mole, "kcal/mol"),
        ("energy of polarisation, of a linear answer", 0.5 * (energy - before) / kilocalorie_per_mole, "kcal/mol"),
        ("dipole moment by polarisation", float(np.linalg.norm(dipoles[0] - dipoles[1])) / debye, "D"),
    ]


def _whole(
    wavefunction: Wavefunction,
    vacuum: Wavefunction | None,
    shares: ResidueShares,
    named: str,
    along: str,
    polarisation: list[Row] | None,
) -> Table:
    """What all residues do together, and the frontier orbitals in their field."""
    rows: list[Row] = [("interaction energy", shares.energy.sum() / kilocalorie_per_mole, "kcal/mol")]
    rows += polarisation or []
    if named:
        rows.append((f"potential at {named}", shares.potential.sum() / volt, "V"))
    if along:
        places = zip(("the first atom", "the midpoint", "the second atom"), shares.field.sum(axis=0), strict=True)
        rows += [(f"field along {along} at {where}", one / megavolt_per_centimetre, "MV/cm") for where, one in places]
    own, without = (frontier_energies(state) for state in (wavefunction, vacuum or wavefunction))
    shifts = {"HOMO": shares.homo.sum(), "LUMO": shares.lumo.sum(), "gap": shares.lumo.sum() - shares.homo.sum()}
    for name, shift in shifts.items():
        rows.append((name, own[name] / electronvolt, "eV"))
        rows.append((f"shift of the {name} to first order", shift / electronvolt, "eV"))
        if vacuum is not None:
            rows.append((f"shift of the {name} from vacuum", (own[name] - without[name]) / electronvolt, "eV"))
    quantity, value, unit = zip(*rows, strict=True)
    return Table(
        "whole", "All residues together", (column("quantity", quantity), column("value", value), column("unit", unit))
    )


def frontier_energies(wavefunction: Wavefunction) -> dict[str, float]:
    """Of HOMO, LUMO and the gap between them in hartree; not numbers where there are none."""
    found = {}
    for name in ("HOMO", "LUMO"):
        orbital = _orbital(wavefunction, name)
        found[name] = np.nan if orbital is None else float(wavefunction.orbitals(orbital.spin).energies[orbital.index])
    return {**found, "gap": found["LUMO"] - found["HOMO"]}


def field_arrows(wavefunction: Wavefunction, region: Region, spacing: float) -> Arrows:
    """The electric field of the surroundings of a region on a lattice in and about it.

    Parameters
    ----------
    wavefunction, region
        As for `residue_shares`.
    spacing
        Of the lattice in bohr. Its points within 1.5 Angstrom of an atom are taken.

    Raises
    ------
    OrbitileError
        When there are no surroundings, or no such points, or more than 5,000.
    """
    from scipy.spatial import cKDTree

    external, positions = _surroundings(wavefunction, region), wavefunction.positions
    low, extent = positions.min(axis=0) - _ABOUT, np.ptp(positions, axis=0) + 2 * _ABOUT
    n = np.floor(extent / spacing) + 1
    points = np.zeros((0, 3))
    if n.prod() <= _MOST_TRIED:
        first = low + 0.5 * (extent - (n - 1) * spacing)
        points = first + spacing * np.indices(n.astype(int)).reshape(3, -1).T
        points = points[cKDTree(positions).query(points)[0] <= _ABOUT]
    if not 0 < len(points) <= _MOST_ARROWS:
        raise OrbitileError(
            f"arrows: expected 1 to {_MOST_ARROWS:,} of them, got {len(points) or 'none or far more'} with a spacing "
            f"of {spacing / angstrom:.3g} Angstrom; 1 to 2 suit a ligand"
        )
    return Arrows("field_on_lattice", points, field_at(external, points), 0.9 * spacing)


def _told_length(arrows: Arrows) -> str:
    largest = arrows.largest / megavolt_per_centimetre
    return f"the longest arrows on the lattice stand for {largest:.3g} MV/cm and more, others are in proportion"


def _arrows(wavefunction: Wavefunction, bond: tuple[int, int] | None, field: Reals) -> list[Paths]:
    """The field of all residues along the bond, an arrow at each end and in the middle."""
    if bond is None:
        return []
    first, second = wavefunction.positions[list(bond)]
    unit = (second - first) / np.linalg.norm(second - first)
    places = (first, 0.5 * (first + second), second)
    lines = zip(places, field.sum(axis=0), strict=True)
    return [Paths("field", tuple(np.array([p, p + _ARROW * value * unit]) for p, value in lines), heads=True)]

r"""Atoms of a structure that are computed, in the field of the charges of all others.

A bond between an atom that is computed and one that is not is cut if it is a single bond of two carbons. A hydrogen
takes the place of the outer one, on the bond at the ratio of usual bond lengths, 1.09 to 1.53 Angstrom, so that it
follows from the positions of both (S. Dapprich et al., J. Mol. Struct. THEOCHEM 1999, 461, 1). The charge of the outer
atom, on top of that hydrogen, goes in equal parts to the neighbours that it has outside, where pairs of charges keep
the dipole moment: the charge shift of P. Sherwood et al., J. Mol. Struct. THEOCHEM 2003, 632, 1. Before that the outer
atoms share what the atoms that are computed have by the partial charges beyond the integer that they have in the
calculation, so that the sum of all charges is kept, as R. C. Walker et al., J. Comput. Chem. 2008, 29, 1019, keep it by
all atoms outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arguments import listed
from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..model.elements import SYMBOLS
from ..model.external_charges import ExternalCharges
from ..model.geometry import NOT_A_BOND, Geometry, connected_parts, find_bonds
from ..model.structure import Structure, known_charges
from ..model.units import angstrom
from .calculation import Calculation, check_electrons
from .lennard_jones import LennardJones, lennard_jones
from .valences import HYDROGENS, USUAL_UNPAIRED, atom_names, check_valences, named, signed, without_ionic_bonds

SHARE = 1.09 / 1.53
"""Length of a C-H bond by that of a C-C bond: where on the bond that is cut its hydrogen lies."""

_NEAR = 1.0 * angstrom
"""Charges nearer than this to an atom that is computed are told."""

_RING = 8
"""Atoms of the largest rings that are not cut; larger ones are loops of proteins, closed by disulphides."""

_AROUND = 15.0 * angstrom
"""How far around the choice bonds are looked at: those that could be cut instead, and those that are missing."""

_HALF_DIPOLE = 0.05
"""Half the distance of the two charges of a dipole, by the length of the bond along which the charge was shifted."""

_MOST_SHARED = 0.5
"""What each outer atom at a cut takes at most, in e, so that the sum of all charges is kept; more is no rounding."""

_NOT_INTEGER = 0.02
"""Charges of residues are printed to some 1e-4; sums farther than this from an integer, in e, are told."""


@dataclass(frozen=True)
class Link:
    """A hydrogen in place of an atom outside, at inside + share (outside - inside).

    Attributes
    ----------
    inside, outside : int
        Atoms of the structure.
    share : float
        Where the hydrogen lies on the bond, 0 to 1.
    """

    inside: int
    outside: int
    share: float


@dataclass(frozen=True, eq=False)
class Region:
    """Atoms of a structure that are computed, with the surroundings in whose field they are.

    Attributes
    ----------
    structure : Structure
        All atoms.
    atoms : ndarray of int, shape (n_atoms,)
        Those of the structure that are computed, in its order.
    links : tuple of Link
        One for each bond that is cut.
    geometry : Geometry
        The atoms, then one hydrogen for each link.
    external : ExternalCharges or None
        The surroundings; None in vacuum.
    owners : ndarray of int, shape (n_charges,)
        Atom of the structure that each external charge counts to: shifted charges and dipoles count to the atom at the
        cut whose charge they carry.
    sites, shifts : ndarray, shape (n_charges,)
        Where each external charge is: at the atom `sites`, and beyond it by `shifts` times its distance from the owner.
    charge, unpaired : int
        As of a `Calculation`.
    notes : tuple of str
        What was assumed, a sentence each.
    """

    structure: Structure
    atoms: NDArray[np.int64]
    links: tuple[Link, ...]
    geometry: Geometry
    external: ExternalCharges | None
    owners: NDArray[np.int64]
    sites: NDArray[np.int64]
    shifts: Reals
    charge: int
    unpaired: int
    notes: tuple[str, ...]


def quantum_region(
    structure: Structure,
    chosen: ArrayLike,
    *,
    charge: int | None = None,
    unpaired: int | None = None,
    width: float = 0.0,
    embed: bool = True,
) -> Region:
    """Choose the atoms of a structure that are computed.

    Parameters
    ----------
    structure
        All atoms with their bonds; hydrogens of those that are chosen have to be there.
    chosen : array_like
        Indices of atoms, or of each atom whether it is chosen.
    charge
        Of what is chosen, in e; guessed from valences, or for metals from formal charges, where none is given.
    unpaired
        Unpaired electrons; 0 where none are given, which is refused where it cannot be.
    width
        Of the surrounding charges in bohr, 0 for points, as of `ExternalCharges`.
    embed
        In the field of the partial charges of the other atoms, or in vacuum.

    Returns
    -------
    Region
        With notes of what was assumed.

    Raises
    ------
    OrbitileError
        When nothing is chosen, atoms lack hydrogens, a bond cannot be cut, charge or unpaired electrons have to be
        given, or do not go together, or no atom outside has a partial charge.
    """
    asked, bonded = _mask(structure, chosen), without_ionic_bonds(structure)
    inside = _with_their_atoms(bonded, asked)
    atoms = np.flatnonzero(inside)
    _refuse_overlaps(structure, atoms)
    if len(atoms) > 1 and not len(structure.bonds):
        raise OrbitileError(
            "region: expected the bonds of the structure, got none; make them, for instance by distance"
        )
    links = _links(bonded, inside)
    valences = check_valences(bonded, inside, charge, unpaired)
    notes = [*structure.notes, *_near_but_not_bonded(structure, inside), *valences.notes]
    if n_hydrogens := np.count_nonzero(inside != asked):
        notes.append(f"{n_hydrogens} hydrogens were taken or left out, to go with the atoms that they are bonded to.")
    if links:
        told = listed([f"{structure.names[link.inside]} - {named(structure, link.outside)}" for link in links], 8, "; ")
        notes.append(f"Bonds that are cut, with a hydrogen in place of the outer atom: {told}.")
    charge = valences.charge if charge is None else int(charge)
    numbers = np.append(structure.atomic_numbers[atoms], np.ones(len(links), np.int64))
    unpaired = _unpaired(structure, atoms, int(numbers.sum()) - charge, charge, unpaired)
    empty = np.zeros(0, np.int64)
    region = Region(
        structure, atoms, links, Geometry(numbers, _positions(structure.positions, atoms, links)), None, empty, empty,
        np.zeros(0), charge, unpaired, tuple(notes),
    )  # fmt: skip
    return _embedded(region, inside, width) if embed and not inside.all() else region


def complete_choice(structure: Structure, chosen: ArrayLike) -> NDArray[np.int64]:
    """The smallest choice of atoms that has those that are chosen and cuts nothing but single bonds of two carbons.

    Of residues in a row these are their side chains and all peptide groups at them. Errors as of `quantum_region`.
    """
    bonded = without_ionic_bonds(structure)
    inside = _with_their_atoms(bonded, _mask(structure, chosen))
    return np.flatnonzero(_larger(bonded, inside, _groups(bonded, inside)))


def calculation_of(region: Region, method: str = "gfn2", basis: str = "") -> Calculation:
    """The calculation of a region, with its charge, its unpaired electrons and the charges around it."""
    return Calculation(method, basis, region.charge, region.unpaired, external_charges=region.external)


def lennard_jones_of(region: Region) -> LennardJones:
    """Repulsion and dispersion between a region and all other atoms of its structure; errors as of `lennard_jones`."""
    return lennard_jones(region.structure, region.atoms, [(link.inside, link.outside) for link in region.links])


def to_structure(region: Region, forces: ArrayLike, on_charges: ArrayLike | None = None) -> Reals:
    """Forces on the atoms of the structure: those on link hydrogens and charges go to the atoms that place them.

    Parameters
    ----------
    region
        What was computed.
    forces : array_like, shape (n_atoms of the region and its links, 3)
        In hartree/bohr.
    on_charges : array_like, shape (n_charges, 3), optional
        Forces on the external charges, as by `orbitile.forces_on_charges`; left out, those atoms are held.

    Returns
    -------
    ndarray, shape (n_atoms of the structure, 3)
        In hartree/bohr, by the chain rule.

    Raises
    ------
    OrbitileError
        When shapes do not go together.
    """
    inner = np.asarray(forces, np.float64)
    n = len(region.atoms)
    if inner.shape != region.geometry.positions.shape:
        raise OrbitileError(
            f"forces: expected those on {n} atoms and {len(region.links)} link hydrogens, got shape {inner.shape}"
        )
    result = np.zeros((len(region.structure.atomic_numbers), 3))
    result[region.atoms] = inner[:n]
    for link, force in zip(region.links, inner[n:], strict=True):
        result[link.inside] += (1 - link.share) * force
        result[link.outside] += link.share * force
    if on_charges is not None:
        outer = np.asarray(on_charges, np.float64)
        if outer.shape != (len(region.owners), 3):
            raise OrbitileError(f"forces: expected those on {len(region.owners)} charges, got shape {outer.shape}")
        np.add.at(result, region.sites, (1 + region.shifts)[:, None] * outer)
        np.add.at(result, region.owners, -region.shifts[:, None] * outer)
    return result


def with_positions(region: Region, positions: ArrayLike) -> Region:
    """The same choice at other positions of all atoms of the structure, shape (n_atoms, 3) in bohr: another frame."""
    structure = replace(region.structure, positions=np.array(positions, np.float64))
    geometry = Geometry(region.geometry.atomic_numbers, _positions(structure.positions, region.atoms, region.links))
    external = region.external and replace(region.external, positions=_places(structure.positions, region))
    return replace(region, structure=structure, geometry=geometry, external=external)


def at_geometry(region: Region, geometry: Geometry) -> Region:
    """A region whose atoms and link hydrogens were moved, in surroundings that stay.

    Raises
    ------
    OrbitileError
        When these are other atoms.
    """
    if not np.array_equal(region.geometry.atomic_numbers, geometry.atomic_numbers):
        raise OrbitileError(
            f"region: expected its {len(region.geometry.atomic_numbers)} atoms, got {len(geometry.atomic_numbers)} or "
            "other elements; compute the region again"
        )
    positions = region.structure.positions.copy()
    positions[region.atoms] = geometry.positions[: len(region.atoms)]
    return replace(region, structure=replace(region.structure, positions=positions), geometry=geometry)


def _mask(structure: Structure, chosen: ArrayLike) -> NDArray[np.bool_]:
    """Of each atom whether it is chosen."""
    n, given = len(structure.atomic_numbers), np.asarray(chosen)
    if given.ndim != 1 or (given.dtype == bool and len(given) != n):
        raise OrbitileError(f"region: expected indices of atoms, or {n} truth values, got shape {given.shape}")
    if given.size and given.dtype != bool and not np.issubdtype(given.dtype, np.integer):
        raise OrbitileError(f"region: expected indices of atoms, or {n} truth values, got {given.dtype} numbers")
    if given.size and given.dtype != bool and not (given.min() >= 0 and given.max() < n):
        raise OrbitileError(f"region: expected atoms 0 to {n - 1}, got {given[(given < 0) | (given >= n)][0]}")
    inside = np.zeros(n, bool)
    inside[given if given.size else slice(0, 0)] = True
    if ghosts := np.flatnonzero(inside & (structure.atomic_numbers == 0)).tolist():
        raise OrbitileError(f"region: {atom_names(structure, ghosts)} has no element; name it, or leave it out")
    return inside


def _with_their_atoms(structure: Structure, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The choice with hydrogens as the atoms that they are bonded to."""
    light = structure.atomic_numbers == 1
    result = inside.copy()
    for one, other in (structure.bonds.T, structure.bonds.T[::-1]):
        ends = light[one] & ~light[other]
        result[one[ends]] = inside[other[ends]]
    if not result.any():
        got = "only hydrogens of atoms that are not chosen" if inside.any() else "none"
        raise OrbitileError(f"region: expected one or more atoms, got {got}; look at what the selection names")
    return result


def _refuse_overlaps(structure: Structure, atoms: NDArray[np.int64]) -> None:
    """Refuse atoms that are chosen and where another one is already."""
    from scipy.spatial import cKDTree

    near = cKDTree(structure.positions[atoms]).query_ball_tree(cKDTree(structure.positions), NOT_A_BOND)
    close = {tuple(sorted((atom, other))) for atom, those in zip(atoms.tolist(), near, strict=True) for other in those}
    close -= {(atom, atom) for atom in atoms.tolist()}
    if close:
        pair = " and ".join(named(structure, atom) for atom in min(close))
        raise OrbitileError(
            f"region: {pair} are at one place ({len(close)} such pairs); of alternate locations choose one, in PyMOL "
            "by `remove not alt ''+A`, and leave out copies of it, such as another object that is shown"
        )


def _near_but_not_bonded(structure: Structure, inside: NDArray[np.bool_]) -> list[str]:
    """Tell what is at the distance of a bond to atoms that are chosen, and has none."""
    near = np.flatnonzero(_is_near(structure, inside))
    pairs = near[find_bonds(structure.atomic_numbers[near], structure.positions[near])]
    hydrogen = (structure.atomic_numbers[pairs] <= 1).all(axis=1)
    known = {tuple(sorted(bond)) for bond in structure.bonds[inside[structure.bonds].any(axis=1)].tolist()}
    missing = [pair for pair in pairs[inside[pairs].any(axis=1) & ~hydrogen].tolist() if tuple(pair) not in known]
    if not missing:
        return []
    told = listed([f"{named(structure, one)} and {named(structure, other)}" for one, other in missing], 4, "; ")
    return [f"At the distance of a bond, but without one: {told}."]


def _is_near(structure: Structure, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of each atom whether it is near to the choice."""
    from scipy.spatial import cKDTree

    tree = cKDTree(structure.positions[inside])
    result: NDArray[np.bool_] = np.isfinite(tree.query(structure.positions, distance_upper_bound=_AROUND)[0])
    return result


def _cuttable(structure: Structure, inside: NDArray[np.bool_], is_asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of each bond whether it may be cut: a single bond of two carbons, in no small ring; only of those asked for.

    Where orders are not known, or may be wrong as those of ligands in PDB files are, one of the two has to have four
    neighbours; a bond that is said to be single may be without hydrogens, but not as short as in an aromatic ring.
    """
    one, other = structure.bonds.T
    lengths = np.linalg.norm(structure.positions[one] - structure.positions[other], axis=1)
    neighbours = np.bincount(structure.bonds.ravel(), minlength=len(inside))
    saturated = np.maximum(neighbours[one], neighbours[other]) == 4
    single = (structure.orders == 1) | (structure.orders == 0)
    carbons = (structure.atomic_numbers[structure.bonds] == 6).all(axis=1)
    result: NDArray[np.bool_] = carbons & single & (saturated | ((structure.orders == 1) & (lengths > 1.47 * angstrom)))
    result &= is_asked
    both = np.concatenate([structure.bonds, structure.bonds[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    starts = np.searchsorted(both[:, 0], np.arange(len(inside) + 1))
    for bond in np.flatnonzero(result).tolist():
        result[bond] = not _in_ring(starts, both[:, 1], *structure.bonds[bond].tolist())
    return result


def _in_ring(starts: NDArray[np.int64], neighbours: NDArray[np.int64], one: int, other: int) -> bool:
    """Whether a bond is in a ring of `_RING` atoms or fewer."""
    seen, front = {one, other}, set(neighbours[starts[one] : starts[one + 1]].tolist()) - {other}
    for _ in range(_RING - 2):
        seen |= front
        front = {beyond for atom in front for beyond in neighbours[starts[atom] : starts[atom + 1]].tolist()}
        if other in front:
            return True
        front -= seen
    return False


def _groups(structure: Structure, inside: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Number of the group of each atom: those near the choice between which no bond may be cut."""
    may_be = _cuttable(structure, inside, np.any(_is_near(structure, inside)[structure.bonds], axis=1))
    return connected_parts(len(inside), structure.bonds[~may_be])


def _links(structure: Structure, inside: NDArray[np.bool_]) -> tuple[Link, ...]:
    """Hydrogens at the bonds that the choice cuts."""
    is_cut = inside[structure.bonds[:, 0]] != inside[structure.bonds[:, 1]]
    if not is_cut.any():
        return ()
    may_be = _cuttable(structure, inside, is_cut)
    bad = structure.bonds[is_cut & ~may_be]
    twice = _at_two_cuts(structure, inside)
    if len(bad) or len(twice):
        _refuse_cuts(structure, inside, bad, twice)
    pairs = [(one, other) if inside[one] else (other, one) for one, other in structure.bonds[is_cut].tolist()]
    return tuple(Link(one, other, SHARE) for one, other in sorted(pairs))


def _at_two_cuts(structure: Structure, inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Atoms outside that have two neighbours inside: two hydrogens in their place would be too near to each other."""
    cut = structure.bonds[inside[structure.bonds[:, 0]] != inside[structure.bonds[:, 1]]]
    outer, counts = np.unique(cut[~inside[cut]], return_counts=True)
    return outer[counts > 1]


def _refuse_cuts(
    structure: Structure, inside: NDArray[np.bool_], bad: NDArray[np.int64], twice: NDArray[np.int64]
) -> None:
    """Say which bonds cannot be cut, and which more or fewer atoms would do.

    Atoms between bonds that may be cut go together: the larger choice has all such groups that the selection touches,
    the smaller one those that are in it.
    """
    if len(bad):
        bonds = listed([f"{named(structure, one)} - {named(structure, other)}" for one, other in bad.tolist()], 4, "; ")
        what = f"only single bonds between carbons, in no ring, can be cut, not {bonds}"
    else:
        what = f"two hydrogens would stand for {atom_names(structure, twice.tolist())}"
    groups = _groups(structure, inside)
    larger = _larger(structure, inside, groups)
    smaller = inside & ~np.isin(groups, groups[~inside])
    ways = [f"take {_by_residue(structure, larger & ~inside)} too (`complete` takes them)"]
    if smaller.any() and not len(_at_two_cuts(structure, smaller)):
        ways.append(f"leave out {_by_residue(structure, inside & ~smaller)}")
    if np.array_equal(np.isin(structure.residue_of, structure.residue_of[inside]), larger):
        ways.append("take whole residues (in PyMOL `byres`)")
    raise OrbitileError(f"region: {what}; {', or '.join(ways)}")


def _larger(structure: Structure, inside: NDArray[np.bool_], groups: NDArray[np.int32]) -> NDArray[np.bool_]:
    """The choice with all of each group that it touches, and no atom outside at two bonds that are cut."""
    twice = np.flatnonzero(inside)
    while len(twice):
        inside = inside.copy()
        inside[twice] = True
        inside = np.isin(groups, groups[inside])
        twice = _at_two_cuts(structure, inside)
    return inside


def _by_residue(structure: Structure, mask: NDArray[np.bool_]) -> str:
    """Atoms in words, residue by residue; without hydrogens, which go with them."""
    texts = []
    for n in np.unique(structure.residue_of[mask]).tolist():
        heavy = (structure.residue_of == n) & (structure.atomic_numbers > 1)
        names = [structure.names[atom] for atom in np.flatnonzero(heavy & mask)]
        whole = len(names) == np.count_nonzero(heavy)
        texts.append(("" if whole else f"{', '.join(names)} of ") + str(structure.residues[n]))
    return listed(texts, 6, "; ")


def _unpaired(structure: Structure, atoms: NDArray[np.int64], electrons: int, charge: int, unpaired: int | None) -> int:
    """Unpaired electrons, as given; none where none have to be."""
    if unpaired is None:
        metals = [atom for atom in atoms.tolist() if SYMBOLS[structure.atomic_numbers[atom]] in USUAL_UNPAIRED]
        if metals:
            symbol = SYMBOLS[structure.atomic_numbers[metals[0]]]
            raise OrbitileError(
                f"region: {atom_names(structure, metals)} may have unpaired electrons; give their number, unpaired=0 "
                f"for none (usual with high spin: {USUAL_UNPAIRED[symbol]})"
            )
        if electrons % 2:
            raise OrbitileError(
                f"region: a charge of {signed(charge)} leaves {electrons} electrons, an odd number; with charge="
                f"{signed(charge - 1)} or {signed(charge + 1)} it is even, and a radical has unpaired=1"
            )
        unpaired = 0
    check_electrons(electrons, 0, Calculation("hf", charge=charge, unpaired=unpaired))
    return unpaired


def _positions(positions: Reals, atoms: NDArray[np.int64], links: tuple[Link, ...]) -> Reals:
    """Of the atoms of a region and its link hydrogens."""
    hydrogens = [(1 - link.share) * positions[link.inside] + link.share * positions[link.outside] for link in links]
    return np.concatenate([positions[atoms], np.reshape(hydrogens, (-1, 3))])


def _places(positions: Reals, region: Region) -> Reals:
    """Of the external charges."""
    at = positions[region.sites]
    return at + region.shifts[:, None] * (at - positions[region.owners])


def _embedded(region: Region, inside: NDArray[np.bool_], width: float) -> Region:
    """The region in the field of the partial charges of all other atoms."""
    structure = region.structure
    charges = known_charges(structure.partial_charges, structure.residue_of)
    lacking = np.isnan(charges)
    if lacking[~inside].all():
        raise OrbitileError(
            f"region: none of the {np.count_nonzero(~inside)} atoms around it has a partial charge; add charges by "
            "PDB2PQR, or from a PQR or mol2 file, or compute it in vacuum (embed=False)"
        )
    cut = np.zeros(len(inside), bool)
    cut[[link.outside for link in region.links]] = True
    plain = np.flatnonzero(~inside & ~cut & ~lacking)
    sites, owners, shifts, values = [plain], [plain], [np.zeros(len(plain))], [charges[plain]]
    outer, rest = np.flatnonzero(cut & ~lacking).tolist(), 0.0
    if outer and not lacking[inside].any():
        rest = float(charges[inside].sum()) - region.charge
        rest = rest / len(outer) if abs(rest) < len(outer) * _MOST_SHARED else 0.0
    for atom in outer:
        bonds = structure.bonds[(structure.bonds == atom).any(axis=1)]
        around = np.setdiff1d(bonds[~(inside | cut)[bonds]], atom)
        if not len(around):
            raise OrbitileError(
                f"region: {named(structure, atom)} at a cut has no neighbour outside that could take its charge; add "
                f"its hydrogens ({HYDROGENS}), or choose it too"
            )
        part = (charges[atom] + rest) / len(around)
        pair = part / (2 * _HALF_DIPOLE)
        for value, shift in ((part, 0.0), (-pair, _HALF_DIPOLE), (pair, -_HALF_DIPOLE)):
            sites.append(around)
            owners.append(np.full(len(around), atom))
            shifts.append(np.full(len(around), shift))
            values.append(np.full(len(around), value))
    region = replace(region, sites=np.concatenate(sites), owners=np.concatenate(owners), shifts=np.concatenate(shifts))
    external = ExternalCharges(_places(structure.positions, region), np.concatenate(values), width)
    region = replace(region, external=external)
    return replace(region, notes=(*region.notes, *_told_charges(region, inside, lacking, rest)))


def _told_charges(region: Region, inside: NDArray[np.bool_], lacking: NDArray[np.bool_], rest: float) -> Iterable[str]:
    """What is to be known of the charges around a region."""
    from scipy.spatial import cKDTree

    structure, external = region.structure, region.external
    assert external is not None
    charges, n = structure.partial_charges, len(structure.residues)
    around = np.count_nonzero(~inside & ~lacking)
    yield f"The charges of {around} atoms around it sum to {external.charges.sum():+.3f} e."
    if region.links:
        yield (
            "At bonds that are cut, the charge of the outer atom is shifted to its neighbours, with dipoles that keep "
            "the moment (Sherwood et al. 2003)."
        )
    own = charges[inside].sum()
    if abs(own - region.charge) > _NOT_INTEGER and not lacking[inside].any():
        shared = f"; each outer atom at a cut takes {rest:+.3f} e of the difference" if rest else ""
        here = f"{signed(region.charge)} here{shared}"
        yield f"The atoms that are computed have {own:+.3f} e by these charges, and {here}."
    if (lacking & ~inside).any():
        without = structure.residue_of[lacking & ~inside]
        counts = Counter(structure.residues[i].name for i in np.unique(without).tolist())
        told = ", ".join(f"{name} ({count})" for name, count in counts.most_common())
        yield f"Left out, since they have no charges: {len(without)} atoms of the residues {told}."
    sums = np.bincount(structure.residue_of, np.nan_to_num(charges), n)
    whole = np.bincount(structure.residue_of, inside | lacking, n) == 0
    odd = np.flatnonzero(whole & (abs(sums - np.rint(sums)) > _NOT_INTEGER))
    if len(odd):
        told = listed([f"{structure.residues[i]} ({sums[i]:+.3f})" for i in odd], 4, "; ")
        yield f"Charges of whole residues around it that sum to no integer: {told}."
    distances, nearest = cKDTree(region.geometry.positions).query(external.positions)
    near = np.flatnonzero(distances < _NEAR)
    if len(near):
        closest = near[np.argmin(distances[near])]
        atom = nearest[closest]
        to = named(structure, region.atoms[atom]) if atom < len(region.atoms) else "a link hydrogen"
        yield (
            f"Charges nearer than 1 Angstrom to atoms that are computed: {len(near)}; that of "
            f"{named(structure, region.owners[closest])} is {distances[closest] / angstrom:.2f} Angstrom from {to}."
        )

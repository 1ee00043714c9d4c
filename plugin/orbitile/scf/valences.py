"""Bonds that atoms have and that they lack: missing hydrogens, and the charge of what is complete.

Each atom has as many bonds as its element takes. What the neighbours leave open is closed by double and triple bonds,
as many as there can be (an integer programme; its solution is a Lewis structure). What stays open is a charge where
that is usual, as of carboxylates, phosphates, thiolates and guanidinium ions, and a missing hydrogen elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..base.arguments import listed
from ..base.errors import OrbitileError
from ..model.elements import IONIC, SYMBOLS
from ..model.geometry import connected_parts
from ..model.structure import Structure
from ..model.units import angstrom

HYDROGENS = "in PyMOL by `h_add`, in a protein by PDB2PQR"
"""How hydrogens are added."""

_VALENCES = {
    "H": (1,),
    "B": (3,),
    "C": (4,),
    "Si": (4,),
    "N": (3,),
    "P": (3, 5),
    "As": (3, 5),
    "O": (2,),
    "S": (2, 4, 6),
    "Se": (2, 4, 6),
    "F": (1,),
    "Cl": (1, 3, 5, 7),
    "Br": (1, 3, 5, 7),
    "I": (1, 3, 5, 7),
    **dict.fromkeys(("He", "Ne", "Ar", "Kr", "Xe"), (0,)),
}
"""Bonds that an element takes; all others are metals, whose bonds count for nobody."""

_IONS = dict.fromkeys(("Li", "Na", "K", "Rb", "Cs", "Ag"), 1) | {"Al": 3}
_IONS |= dict.fromkeys(("Be", "Mg", "Ca", "Sr", "Ba", "Zn", "Cd"), 2)
"""Charges of metals that have one."""

_USUAL_CHARGES = {"Fe": "+2, +3", "Cu": "+1, +2", "Mn": "+2, +3", "Co": "+2, +3", "Ni": "+2", "Hg": "+2"}

USUAL_UNPAIRED = {
    "V": "V(IV) 1, V(V) 0",
    "Cr": "Cr(III) 3",
    "Mn": "Mn(II) 5, Mn(III) 4",
    "Fe": "Fe(II) 4, Fe(III) 5",
    "Co": "Co(II) 3",
    "Ni": "Ni(II) 2",
    "Cu": "Cu(II) 1, Cu(I) 0",
}
"""Metals that mostly have unpaired electrons, and how many."""

_COSTS = {"C": 20.0, "N": 0.8}
"""What an open valence costs; others 1. Less at N than at O: an amide that lacks its hydrogen shows it at N."""

_CATION = 1.5
"""The same of a carbon beside a nitrogen with three neighbours: the middle of an amidinium ion, or of a pyridinium."""

_LONG, _AT_LONG = 1.47 * angstrom, 4.0
"""Bonds between C, N and O that are longer are hardly double bonds, and what they cost if they are."""

_TRIPLE = 1.25 * angstrom
"""C and N with one neighbour that is farther away lack hydrogens."""

_BENT, _PYRAMIDAL = 150.0, 345.0
"""Sums of angles in degrees, below which C with two and with three neighbours lacks hydrogens."""


_USUAL_ANGLES = {5: (106.0, 1.5), 6: (120.0, 3.0), 7: (124.0, 3.0)}
"""Of nitrogens with two neighbours by the size of their ring: the angle in degrees that lies half-way between those
without and those with a hydrogen, which are wider (C. Singh, Acta Cryst. 1965, 19, 861), and half of the difference."""


@dataclass(frozen=True)
class Valences:
    """The charge of what was looked at, and sentences about it."""

    charge: int
    notes: tuple[str, ...]


def named(structure: Structure, atom: int) -> str:
    """An atom in words."""
    return f"{structure.names[atom]} of {structure.residues[structure.residue_of[atom]]}"


def atom_names(structure: Structure, atoms: Iterable[int]) -> str:
    """The first of some atoms in words, and how many more there are."""
    return listed((named(structure, atom) for atom in atoms), 6)


def without_ionic_bonds(structure: Structure) -> Structure:
    """The structure without bonds to ions of alkali and alkaline earth metals."""
    kept = ~np.isin(structure.atomic_numbers[structure.bonds], IONIC).any(axis=1)
    return structure if kept.all() else replace(structure, bonds=structure.bonds[kept], orders=structure.orders[kept])


def signed(charge: int) -> str:
    """A charge with its sign."""
    return f"{charge:+d}" if charge else "0"


def check_valences(
    structure: Structure, inside: NDArray[np.bool_], charge: int | None = None, unpaired: int | None = None
) -> Valences:
    """The charge of some atoms of a structure by their valences.

    Parameters
    ----------
    structure
        All atoms.
    inside : ndarray of bool, shape (n_atoms,)
        Which are looked at; bonds to others count as single ones.
    charge, unpaired
        Where they are given: then atoms may be ions and radicals that would be asked for otherwise.

    Raises
    ------
    OrbitileError
        When hydrogens are missing, or the charge has to be given.
    """
    bonds = _Bonds(structure, inside)
    lacking = [atom for atom in bonds.around if bonds.lacks(atom)]
    crowded = [atom for atom in bonds.around if bonds.open[atom] < 0]
    charges, asked = dict(bonds.charges), []
    left_open, either = _left_open(bonds)
    for atom, left in left_open.items():
        verdict, value = bonds.ion(atom, left)
        if verdict == "ask" and structure.formal_charges[atom]:
            verdict, value = "ion", int(structure.formal_charges[atom])
        lacking += [atom] if verdict == "lacks" else []
        asked += [atom] if verdict == "ask" else []
        charges[atom] = charges.get(atom, 0) + value
    if charge is not None and 0 < len(lacking) <= (unpaired or 0):
        asked += lacking  # radicals
    elif lacking:
        _refuse_lacking(structure, inside, sorted(set(lacking)))
    if crowded and charge is None:
        raise OrbitileError(
            f"region: {atom_names(structure, crowded)} has more bonds than its element takes; remove wrong bonds (in "
            "PyMOL by `unbond`) or atoms, or give the charge"
        )
    metals = {atom: int(structure.formal_charges[atom] or _IONS.get(bonds.symbols[atom], 0)) for atom in bonds.metals}
    unknown = [atom for atom, value in metals.items() if not value]
    if unknown and charge is None:
        symbol = bonds.symbols[unknown[0]]
        usual = f" (usual for {symbol}: {_USUAL_CHARGES[symbol]})" if symbol in _USUAL_CHARGES else ""
        raise OrbitileError(
            f"region: {atom_names(structure, unknown)} has no formal charge; give it one{usual}, or the charge of all "
            "that is computed"
        )
    charges |= metals
    total = sum(charges.values())
    ions = {total}
    for change in either:
        ions |= {value + change for value in ions}
    if asked and not unknown and charge not in ions | set(range(total, total + (unpaired or 0) + 1)):
        told = " or ".join(signed(value) for value in sorted(ions))
        sites = [site for atom in asked if (site := bonds.protonated(atom)) is not None]
        how = HYDROGENS
        if sites:
            names = atom_names(structure, dict.fromkeys(sites))
            how = f"probably at {names}, where the angle is that of an NH; in PyMOL by {_at_site(structure, sites[0])}"
        raise OrbitileError(
            f"region: {atom_names(structure, asked)}: open valence; add missing hydrogens ({how}), or give the charge "
            f"if it is an ion ({told} in all), charge and unpaired electrons if it is a radical"
        )
    notes = [*_told(structure, charges, total, charge)]
    acids = [atom for atom in bonds.around if bonds.is_phosphoric_acid(atom)]
    if acids:
        notes.append(
            f"Phosphates with a hydrogen, as h_add of PyMOL makes them: {atom_names(structure, acids)}; remove it "
            "where they are ions."
        )
    return Valences(total, tuple(notes))


def protonated_nitrogens(structure: Structure, inside: NDArray[np.bool_]) -> list[int]:
    """Nitrogens of rings that lack a hydrogen by the angles at them, where double bonds leave valences open.

    Of each system of double bonds the most likely one; with a hydrogen there, another one may follow.

    Parameters
    ----------
    structure, inside
        As for `check_valences`.
    """
    bonds = _Bonds(structure, inside)
    found = (bonds.protonated(atom) for atom, n in _left_open(bonds)[0].items() if bonds.ion(atom, n)[0] == "ask")
    return sorted({site for site in found if site is not None})


def _at_site(structure: Structure, atom: int) -> str:
    """How PyMOL adds a hydrogen to a nitrogen that it takes for one without."""
    residue = structure.residues[structure.residue_of[atom]]
    chain = f"chain {residue.chain} and " if residue.chain else ""
    return f"`edit {chain}resi {residue.number} and name {structure.names[atom]}` and `attach H, 1, 1`"


def _refuse_lacking(structure: Structure, inside: NDArray[np.bool_], lacking: list[int]) -> None:
    none = "hydrogens are missing" if (structure.atomic_numbers[inside] == 1).any() else "all hydrogens are missing"
    names = sorted({structure.residues[i].name for i in structure.residue_of[lacking].tolist()})
    how = HYDROGENS.replace("h_add", f"h_add resn {'+'.join(names)}") if len(names) < 4 and all(names) else HYDROGENS
    raise OrbitileError(f"region: {none}, at {atom_names(structure, lacking)}; add them {how}")


def _told(structure: Structure, charges: dict[int, int], total: int, charge: int | None) -> Iterable[str]:
    """Where the charge is from."""
    by_residue = np.bincount(
        structure.residue_of[list(charges)], list(charges.values()), len(structure.residues)
    ).astype(int)
    charged = np.flatnonzero(by_residue).tolist()
    parts = listed((f"{structure.residues[n]} {by_residue[n]:+d}" for n in charged), 8)
    if charge is not None and charge != total:
        yield (
            f"The charge is {signed(charge)}, as given; the bonds that atoms have would make {signed(total)} "
            f"({parts or 'no ions'})."
        )
    else:
        yield f"The charge of {signed(total)} follows from the bonds that atoms have: {parts or 'no ions'}."


class _Bonds:
    """Neighbours of the atoms that are looked at, and what they leave open."""

    def __init__(self, structure: Structure, inside: NDArray[np.bool_]) -> None:
        self.positions = structure.positions
        numbers = structure.atomic_numbers.tolist()
        self.symbols = [SYMBOLS[number] for number in numbers]
        chosen = np.flatnonzero(inside).tolist()
        self.metals = [atom for atom in chosen if self.symbols[atom] not in _VALENCES]
        self.around: dict[int, list[int]] = {atom: [] for atom in chosen if self.symbols[atom] in _VALENCES}
        self.at_metal: set[int] = set()
        for pair in structure.bonds[inside[structure.bonds].any(axis=1)].tolist():
            for one, other in (pair, pair[::-1]):
                if one not in self.around:
                    continue
                if self.symbols[other] in _VALENCES:
                    self.around[one].append(other)
                else:
                    self.at_metal.add(one)
        self.charges: dict[int, int] = {}
        self.open = {atom: self._open(atom) for atom in self.around}

    def _open(self, atom: int) -> int:
        """Bonds that an atom takes beyond one to each neighbour; what it is charged by its neighbours is kept."""
        symbol, neighbours = self.symbols[atom], self.around[atom]
        n = len(neighbours)
        ends = self.ends(atom)
        known = {("N", 4): 1, ("O", 3): 1, ("B", 4): -1}.get((symbol, n), 0)
        if (symbol, n) in (("N", 3), ("O", 2)) and ends.count("O") >= 2:
            known = 1  # nitro and nitrate; ozone
        if (symbol, n) == ("N", 2) and {"C", "N"} & set(ends):
            known = 1  # azide, diazo and isonitrile
        if known:
            self.charges[atom] = known
            return max(_VALENCES[symbol][0] + known - n, 0)
        taken = _VALENCES[symbol]
        beyond = 1 if symbol in ("S", "Se") and ends.count("O") == n == 2 else max(n - taken[0], 0)
        return taken[min(beyond, len(taken) - 1)] - n

    def lacks(self, atom: int) -> bool:
        """Whether the places of its neighbours say that hydrogens are missing."""
        symbol, neighbours = self.symbols[atom], self.around[atom]
        n = len(neighbours)
        if symbol not in ("C", "N") or atom in self.at_metal or self.open[atom] <= 0 or n > (3 if symbol == "C" else 1):
            return False
        along = self.positions[neighbours] - self.positions[atom]
        lengths = np.linalg.norm(along, axis=1)
        if n < 2:
            return not n or bool(lengths[0] > _TRIPLE)
        along = along / lengths[:, None]
        cosines = (along @ along.T)[np.triu_indices(n, 1)]
        angles = np.degrees(np.arccos(np.clip(cosines, -1, 1))).sum()
        return bool(angles < (_BENT if n == 2 else _PYRAMIDAL))

    def protonated(self, atom: int) -> int | None:
        """The nitrogen most likely to lack a hydrogen, of those that double bonds connect with an atom; None for none.

        By the angles at nitrogens with two neighbours in rings.
        """
        reached, front = {atom}, {atom}
        while front:
            beyond = {neighbour for inner in front for neighbour in self.around[inner]}
            front = {neighbour for neighbour in beyond - reached if self.open.get(neighbour, 0) > 0}
            reached |= front
        scores: dict[int, float] = {}
        for site in sorted(reached):
            if self.symbols[site] != "N" or len(self.around[site]) != 2 or self.open[site] <= 0:
                continue
            if (size := self._ring(site)) in _USUAL_ANGLES:
                middle, half = _USUAL_ANGLES[size]
                along = self.positions[self.around[site]] - self.positions[site]
                cosine = along[0] @ along[1] / np.prod(np.linalg.norm(along, axis=1))
                scores[site] = (float(np.degrees(np.arccos(cosine))) - middle) / half
        return max(scores, key=scores.__getitem__) if scores else None

    def _ring(self, atom: int) -> int:
        """Atoms of the smallest ring that an atom with two neighbours is in; 0 for none."""
        start, end = self.around[atom]
        seen, front, n = {atom, start}, {start}, 2
        while front:
            front = {neighbour for inner in front for neighbour in self.around.get(inner, ())} - seen
            seen |= front
            n += 1
            if end in front:
                return n
        return 0

    def ends(self, atom: int) -> list[str]:
        """Elements of the neighbours that have no other one."""
        return [self.symbols[other] for other in self.around.get(atom, ()) if len(self.around.get(other, ())) == 1]

    def cost(self, atom: int, cation: float) -> float:
        """What an open valence of an atom costs."""
        if self.symbols[atom] == "N" and len(self.around[atom]) == 1:
            return _COSTS["N"] - 0.1  # the end of an azide
        is_cation = self.symbols[atom] == "C" and self.beside_nitrogen(atom)
        return cation if is_cation else _COSTS.get(self.symbols[atom], 1.0)

    def is_long(self, one: int, other: int) -> bool:
        """Whether a bond is hardly a double one."""
        is_long = np.linalg.norm(self.positions[one] - self.positions[other]) > _LONG
        return bool(is_long) and {self.symbols[one], self.symbols[other]} <= {"C", "N", "O"}

    def beside_nitrogen(self, atom: int) -> bool:
        """Whether a neighbour is a nitrogen whose pair of electrons can take part in a double bond."""
        return any(self.symbols[other] == "N" and len(self.around.get(other, ())) == 3 for other in self.around[atom])

    def is_phosphoric_acid(self, atom: int) -> bool:
        """Whether it is a phosphorus with an OH group."""
        oxygens = [other for other in self.around[atom] if self.symbols[other] == "O"]
        return self.symbols[atom] == "P" and any(
            self.symbols[other] == "H" for oxygen in oxygens for other in self.around.get(oxygen, ())
        )

    def ion(self, atom: int, left: int) -> tuple[str, int]:
        """What open valences of an atom mean, "ion", "lacks" (hydrogens) or "ask", and the charge that they make."""
        symbol, neighbours = self.symbols[atom], self.around[atom]
        n, at_metal = len(neighbours), atom in self.at_metal
        beside = neighbours[0] if n else -1
        if symbol in ("H", "B", "Si") or (n == 0 and (symbol == "O" or (symbol in ("S", "Se") and not at_metal))):
            return "lacks", 0
        if (symbol in ("S", "Se") and n == 3) or (symbol in ("P", "As") and n == 4):
            return "ion", left
        if symbol == "C":
            if self.beside_nitrogen(atom):
                return "ion", left
            if n == 1 and self.symbols[beside] == "O":
                return "ion", 0  # carbon monoxide
            usual = at_metal or (n == 1 and self.symbols[beside] == "N")
            return ("ion", -left) if usual else ("ask", 0)
        if symbol == "N":
            usual = at_metal or (n == 1 and beside in self.charges)
        elif symbol == "O" and self.symbols[beside] in ("B", "C"):
            usual = at_metal or self.ends(beside).count("O") > 1
        elif symbol == "O" and self.symbols[beside] == "N":
            closed = len(self.around.get(beside, ())) == 3 and "H" not in self.ends(beside)
            usual = at_metal or beside in self.charges or self.ends(beside).count("O") > 1 or closed
        else:
            usual = symbol not in ("P", "As")
        return "ion" if usual else "ask", -left


def _left_open(bonds: _Bonds) -> tuple[dict[int, int], list[int]]:
    """Valences that double and triple bonds leave open, by atom; how much else charges can be that are asked for."""
    atoms = [atom for atom, n in bonds.open.items() if n > 0]
    place = {atom: n for n, atom in enumerate(atoms)}
    found = [
        (place[one], place[other]) for one in atoms for other in bonds.around[one] if one < other and other in place
    ]
    edges = np.array(found, np.int64).reshape(-1, 2)
    parts = connected_parts(len(atoms), edges)
    result: dict[int, int] = {}
    either: list[int] = []
    for part in range(parts.max(initial=-1) + 1):
        members = np.flatnonzero(parts == part)
        mine = [atoms[n] for n in members]
        inner = np.searchsorted(members, edges[parts[edges[:, 0]] == part])
        left = _matched(bonds, mine, inner)
        result |= left
        meant = [bonds.ion(atom, n) for atom, n in left.items()]
        if len(inner) and any(verdict == "ask" for verdict, _ in meant):
            other = [bonds.ion(atom, n) for atom, n in _matched(bonds, mine, inner, cation=0.1, at_long=0.0).items()]
            if all(verdict == "ion" for verdict, _ in other):
                either.append(sum(value for _, value in other) - sum(value for _, value in meant))
    return result, either


def _matched(
    bonds: _Bonds, atoms: list[int], edges: NDArray[np.int64], cation: float = _CATION, at_long: float = _AT_LONG
) -> dict[int, int]:
    """Valences of atoms of one part that are open when as many as can be are closed, those first that cost most."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    most = np.array([bonds.open[atom] for atom in atoms])
    free = most
    if len(edges):
        costs = np.array([bonds.cost(atom, cation) for atom in atoms])
        which = np.repeat(np.arange(len(edges)), 2)
        ends = coo_array((np.ones(len(which)), (edges.ravel(), which)), shape=(len(atoms), len(edges))).tocsr()
        solution = milp(
            at_long * np.array([bonds.is_long(atoms[one], atoms[other]) for one, other in edges]) - ends.T @ costs,
            integrality=np.ones(len(edges)),
            bounds=Bounds(0, most[edges].min(axis=1)),
            constraints=LinearConstraint(ends, ub=most),
        )
        free = most - np.rint(ends @ solution.x).astype(int)
    several = np.array([len(_VALENCES[bonds.symbols[atom]]) > 1 and len(bonds.around[atom]) > 1 for atom in atoms])
    free = np.where(several, free % 2, free)  # their lower valences are less by two
    return {atom: int(n) for atom, n in zip(atoms, free, strict=True) if n}

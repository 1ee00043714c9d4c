"""Atoms with residues, bonds and charges from files of proteins, through MDAnalysis (extra `orbitile[region]`).

Partial charges for those that have none come from the package PDB2PQR, or from a second file. Both packages run in the
process for foreign code (`orbitile.readers._isolation`).
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arguments import listed
from ..base.arrays import Reals
from ..base.errors import FileError, OrbitileError
from ..base.packages import install_command
from ..base.temporary import own_folder
from ..files.plain import PlainFile
from ..files.reading import user_path
from ..model.elements import IONIC, SYMBOLS
from ..model.geometry import find_bonds
from ..model.structure import Residue, Structure, most_occupied
from ..model.units import angstrom
from ._formats import by_name, checked_path, known
from ._isolation import isolated
from ._selections import select as select

DESCRIPTION = "proteins with residues: PDB, PQR, mol2, mmCIF, GRO files, and PSF or PRMTOP with coordinates"
PATTERNS = (
    *("*.pdb", "*.ent", "*.pqr", "*.mol2", "*.cif", "*.mmcif", "*.gro", "*.psf", "*.prmtop", "*.parm7", "*.top"),
    *("*.crd", "*.inpcrd", "*.rst7", "*.dcd", "*.nc", "*.ncdf"),
)
KIND = "structure"
BINARY = True

_WITH_MASSES = (".psf", ".prmtop", ".parm7", ".top", ".tpr")
"""Topologies of force fields."""

_SYBYL = {"1": 1.0, "2": 2.0, "3": 3.0, "ar": 1.5, "am": 1.0}
"""Orders of bonds in mol2 files."""

FORCE_FIELDS = ("AMBER", "CHARMM", "PARSE", "TYL06", "PEOEPB", "SWANSON")
"""Of PDB2PQR."""

_TOLD = 8
"""Residues that a note names."""

# ---- files


def load_structure(path: str | PathLike[str], topology: str | PathLike[str] | None = None) -> Structure:
    """Read atoms with their residues, bonds and charges.

    Of alternate locations those are taken that are occupied most, of several models the first; `notes` says so. Bonds
    are those of the file and those that distances show; orders are known of amino acids, nucleotides, water and
    hydrogen, and of mol2 files.

    Parameters
    ----------
    path
        A PDB, PQR, mol2, mmCIF (by the package gemmi) or GRO file; coordinates with a topology (CRD, INPCRD, RST7,
        the first frame of DCD or NetCDF).
    topology
        A PSF, PRMTOP or TPR file, which tells names, bonds and charges where `path` holds coordinates.

    Raises
    ------
    FileError
        When a file is missing, damaged or of no known format, or an atom has no element. When MDAnalysis is missing.
    """
    file = checked_path(path)
    if by_name(file, KIND) is None:
        raise FileError(f"{file.name}: not a structure by its name. Known: {known(KIND)}")
    return read(file, None if topology is None else checked_path(topology))


def read(path: Path, topology: Path | None = None) -> Structure:
    """Read a structure; see `load_structure`."""
    with PlainFile(path) as file, PlainFile(topology or path) as named:
        size = sum(part.path.stat().st_size for part in (file, named))
        paths = [str(part.path.absolute()) for part in (file, named)]  # its process may be in another folder
        found = isolated(contents_of, *paths, name=path.name, library="MDAnalysis", imports="MDAnalysis", size=size)
    try:
        return _structure(found, path.name)
    except FileError:
        raise
    except OrbitileError as error:
        raise FileError(f"{path.name}: {error}") from error


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file says, atom by atom; what it does not say is empty text, 0, or not a number for charges."""

    names: list[str]
    elements: list[str]
    masses: Reals
    positions: Reals  # Angstrom
    residue_of: NDArray[np.int64]
    residues: list[Residue]
    alternates: list[str]
    occupancies: Reals
    formal_charges: NDArray[np.int64]
    partial_charges: Reals
    bonds: NDArray[np.int64]
    orders: Reals
    has_all_bonds: bool
    n_models: int
    in_box: bool


def contents_of(path: str, topology: str) -> Contents:
    """What MDAnalysis finds in a file, or in coordinates with a topology."""
    if find_spec("MDAnalysis") is None:
        raise FileError(f"{Path(path).name}: needs the package MDAnalysis: {install_command('MDAnalysis')}")
    if Path(path).suffix.lower() in (".cif", ".mmcif") and find_spec("gemmi") is None:
        raise FileError(f"{Path(path).name}: needs the package gemmi: {install_command('gemmi')}; or take its PDB file")
    import MDAnalysis

    warnings.simplefilter("ignore")
    try:
        universe = MDAnalysis.Universe(topology, *(() if path == topology else (path,)), **_format(path))
    except IndexError as error:
        raise FileError(f"{Path(path).name}: no atoms are in it, or it is damaged") from error
    except ValueError as error:  # which says what failed in its last line
        raise FileError(
            f"{Path(path).name}: MDAnalysis cannot read it ({str(error).splitlines()[-1][:200]})"
        ) from error
    atoms, n = universe.atoms, len(universe.atoms)
    if not hasattr(universe, "trajectory"):
        raise FileError(f"{Path(path).name}: has no coordinates; give a file that has, and this one as its topology")

    def told(name: str, otherwise: Any) -> Any:
        return getattr(atoms, name) if hasattr(atoms, name) else np.full(n, otherwise)

    suffix = Path(topology).suffix.lower()
    chains = [str(chain).strip() for chain in told("chainIDs" if hasattr(atoms, "chainIDs") else "segids", "")]
    chains = ["" if chain == "SYSTEM" else chain for chain in chains]
    numbers = [f"{number}{str(code).strip()}" for number, code in zip(atoms.resids, told("icodes", ""), strict=True)]
    keys = list(zip(atoms.resindices.tolist(), chains, numbers, map(str, told("resnames", "")), strict=True))
    places = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    names = [Residue(chain, number, name.strip()) for _, chain, number, name in places]
    bonds, orders = np.zeros((0, 2), np.int64), np.zeros(0)
    if hasattr(universe, "bonds"):
        bonds = np.array(universe.bonds.indices, np.int64).reshape(-1, 2)
        orders = np.array([_SYBYL.get(str(bond.order), 0.0) for bond in universe.bonds])
    charged = hasattr(atoms, "charges")
    return Contents(
        names=[str(name).strip() for name in told("names", "")],
        elements=[str(element).strip() for element in told("elements", "")],
        masses=np.array(atoms.masses if suffix in _WITH_MASSES else np.zeros(n), np.float64),
        positions=np.array(atoms.positions, np.float64).round(5),  # it keeps seven digits
        residue_of=np.array([places[key] for key in keys], np.int64),
        residues=names,
        alternates=[str(label).strip() for label in told("altLocs", "")],
        occupancies=np.array(told("occupancies", 1.0), np.float64),
        formal_charges=np.array(told("formalcharges", 0), np.int64),
        partial_charges=np.array(atoms.charges, np.float64).round(6) if charged else np.full(n, np.nan),
        bonds=bonds,
        orders=orders,
        has_all_bonds=suffix in (*_WITH_MASSES, ".mol2"),
        n_models=len(universe.trajectory),
        in_box=suffix in _WITH_MASSES and universe.dimensions is not None,
    )


def _format(path: str) -> dict[str, str]:
    """What MDAnalysis does not know of a name."""
    return {"format": "INPCRD"} if path.lower().endswith(".rst7") else {}


# ---- what is not in the file

_IONS = {"SOD": 11, "POT": 19, "CLA": 17, "CAL": 20, "CES": 55, "LIT": 3, "RUB": 37, "BAR": 56, "CAD": 48}
"""Atomic numbers of ions by their names in CHARMM."""

_TWO_LETTERS = ("CL", "BR", "FE", "ZN", "MG", "MN", "SI", "SE")
"""How names of atoms begin that are of an element of two letters, outside amino acids and nucleotides."""

_VIRTUAL = ("MW", "EP", "EPW", "LP", "OM", "M")
"""Names of places with a charge and without an atom, as in water with four places; they are ghosts."""

_RINGS = {
    "PHE": "CG CD1 CE1 CZ CE2 CD2",
    "HIS": "CG ND1 CE1 NE2 CD2",
    "TRP": "CG CD1 NE1 CE2 CD2/CE2 CZ2 CH2 CZ3 CE3 CD2",
    "U": "N1 C2 N3 C4 C5 C6",
    "A": "N1 C2 N3 C4 C5 C6/N9 C8 N7 C5 C4",
}
_DOUBLE = {
    "": "C=O P=OP1 P=O1P",
    "ASP": "CG=OD1",
    "ASN": "CG=OD1",
    "GLU": "CD=OE1",
    "GLN": "CD=OE1",
    "ARG": "CZ=NH1",
    "U": "C2=O2 C4=O4",
    "C": "C2=O2",
    "G": "C6=O6",
}
_SAME = {"TYR": "PHE", "TRP": "TRP", "T": "U", "G": "A", "C": "U"}
"""Residues with the rings of another one."""

_KINDS = {
    name: kind
    for kind, names in {
        **{n: n for n in "ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL".split()},
        "HIS": "HIS HID HIE HIP HSD HSE HSP",
        "ASP": "ASP ASH",
        "GLU": "GLU GLH",
        "CYS": "CYS CYX CYM",
        "LYS": "LYS LYN",
        "ARG": "ARG ARN",
        "TYR": "TYR TYM",
        "MET": "MET MSE",
        "ALA": "ALA ACE NME NMA NH2",
        "HOH": "HOH WAT TIP TIP3 SOL H2O",
        **{
            base: " ".join(f"{sugar}{base}{end}" for sugar in ("", "D", "R") for end in ("", "3", "5"))
            for base in "ACGUT"
        },
    }.items()
    for name in names.split()
}
"""What a residue is, by its name: bonds within it are known."""


def _element(name: str, residue: str) -> int:
    """Atomic number by the names of an atom and its residue; 0 where they tell none."""
    bare, of = name.lstrip("0123456789").upper(), residue.upper()
    letters = "".join(letter for letter in bare if letter.isalpha())
    if of in _IONS and letters == of:
        return _IONS[of]
    if of not in _KINDS or of == "MSE":
        alone = "".join(letter for letter in of if letter.isalpha()) == letters  # an ion is called as its residue
        if (alone or letters[:2] in _TWO_LETTERS) and letters[:2].capitalize() in SYMBOLS:
            return SYMBOLS.index(letters[:2].capitalize())
    first = {"D": "H"}.get(letters[:1], letters[:1])
    return SYMBOLS.index(first) if first in ("H", "B", "C", "N", "O", "F", "P", "S", "K", "I") else 0


def _atomic_numbers(found: Contents, file: str) -> tuple[NDArray[np.int64], list[str]]:
    """Elements of all atoms, and what is to be said of them."""
    numbers = np.zeros(len(found.names), np.int64)
    n_guessed = 0
    for n, (element, name) in enumerate(zip(found.elements, found.names, strict=True)):
        symbol = {"D": "H"}.get(element.upper(), element.capitalize())
        if symbol in SYMBOLS[1:]:
            numbers[n] = SYMBOLS.index(symbol)
            continue
        residue = found.residues[found.residue_of[n]]
        numbers[n] = _by_mass(found.masses[n]) or _element(name, residue.name)
        n_guessed += 1
        if not numbers[n] and name.rstrip("0123456789").upper() not in _VIRTUAL:
            raise FileError(f"{file}: atom {n + 1}, {name} of {residue}, has no element; state it in the file")
    told = [f"{file} names no elements of {n_guessed} atoms: their names or masses tell them."] if n_guessed else []
    return numbers, told


def _by_mass(mass: float) -> int:
    """Atomic number by a mass in dalton, of elements that force fields have; 0 where there is none."""
    masses = {1: 1.008, 6: 12.011, 7: 14.007, 8: 15.999, 9: 18.998, 11: 22.99, 12: 24.305, 15: 30.974, 16: 32.06}
    masses |= {17: 35.45, 19: 39.098, 20: 40.078, 26: 55.845, 30: 65.38, 35: 79.904, 53: 126.904}
    return next((number for number, of in masses.items() if abs(mass - of) < 0.15), 0)


def _taken(found: Contents) -> tuple[NDArray[np.int64], list[str]]:
    """Atoms at one location each: of alternate ones in a residue those that are occupied most; what is to be said."""
    where = [(found.residues[n].chain, found.residues[n].number) for n in found.residue_of]
    best = most_occupied(zip(where, found.alternates, found.occupancies.tolist(), strict=True))
    is_taken = np.array(
        [label in ("", best.get(place)) for place, label in zip(where, found.alternates, strict=True)], bool
    )
    taken, several = np.flatnonzero(is_taken), dict.fromkeys(where[n] for n in np.flatnonzero(~is_taken))
    if not several:
        return taken, []
    shown = listed((f"{number}{chain and f' of chain {chain}'}" for chain, number in several), _TOLD)
    return taken, [f"Of alternate locations those with most occupancy were taken: residues {shown}."]


def _structure(found: Contents, file: str) -> Structure:
    """A structure of what was read."""
    numbers, notes = _atomic_numbers(found, file)
    taken, told = _taken(found)
    notes += told
    if found.n_models > 1:
        notes.append(f"{file} has {found.n_models} geometries; the first was taken.")
    if found.in_box:
        notes.append(f"{file} has a periodic box: atoms are taken where they are, not at their nearest images.")
    new = np.full(len(numbers), -1)
    new[taken] = np.arange(len(taken))
    kept = np.all(new[found.bonds] >= 0, axis=1)
    bonds, orders = new[found.bonds][kept], found.orders[kept]
    residues, residue_of = np.unique(found.residue_of[taken], return_inverse=True)
    structure = Structure(
        numbers[taken],
        found.positions[taken] * angstrom,
        tuple(found.names[n] for n in taken),
        tuple(found.residues[n] for n in residues),
        residue_of.reshape(-1).astype(np.int64),
        bonds,
        orders,
        found.formal_charges[taken],
        found.partial_charges[taken],
        tuple(notes),
    )
    return with_bonds(structure, by_distance=not found.has_all_bonds)


def with_bonds(structure: Structure, *, by_distance: bool = True) -> Structure:
    """A structure with the bonds that distances show beside its own, and with the orders that are known."""
    numbers, names = structure.atomic_numbers, structure.names
    stated = {
        (min(pair), max(pair)): order for pair, order in zip(structure.bonds.tolist(), structure.orders, strict=True)
    }
    pairs = dict(stated)
    if by_distance:
        for pair in find_bonds(numbers, structure.positions).tolist():
            if not np.isin(numbers[pair], IONIC).any():
                pairs.setdefault((pair[0], pair[1]), 0.0)
        pairs = _with_single_hydrogens(pairs, structure)
    kinds = [_KINDS.get(residue.name.upper(), "") for residue in structure.residues]
    bonds: list[tuple[int, int]] = []
    orders: list[float] = []
    for (one, other), order in sorted(pairs.items()):
        hydrogen = numbers[[one, other]] == 1
        if hydrogen.all() and len(numbers) > 2:  # rigid water of force fields, and atoms that are too close
            continue
        kind, its = (kinds[structure.residue_of[atom]] for atom in (one, other))
        if not order and (hydrogen.any() or (kind and its)):
            same = structure.residue_of[one] == structure.residue_of[other]
            order = _order(kind, names[one], names[other]) if same and not hydrogen.any() else 1.0
        bonds.append((one, other))
        orders.append(order)
    return replace(structure, bonds=np.array(bonds, np.int64).reshape(-1, 2), orders=np.array(orders, np.float64))


def _with_single_hydrogens(pairs: dict[tuple[int, int], float], structure: Structure) -> dict[tuple[int, int], float]:
    """Bonds without those of a hydrogen to any but the nearest atom: what comes too close is no second partner."""
    atoms = np.array(list(pairs), np.int64).reshape(-1, 2)
    lengths = np.linalg.norm(structure.positions[atoms[:, 0]] - structure.positions[atoms[:, 1]], axis=1)
    taken: set[int] = set()
    kept = set()
    for n in np.argsort(lengths, kind="stable").tolist():
        hydrogens = [atom for atom in atoms[n].tolist() if structure.atomic_numbers[atom] == 1]
        if len(hydrogens) < 2 and taken.isdisjoint(hydrogens):
            kept.add((int(atoms[n, 0]), int(atoms[n, 1])))
            taken.update(hydrogens)
    return {pair: order for pair, order in pairs.items() if pair in kept or len(structure.names) == 2}


def _order(kind: str, one: str, other: str) -> float:
    """Order of a bond within a residue that is known."""
    pair = {one.replace("*", "'"), other.replace("*", "'")}
    if any(pair <= set(ring.split()) for ring in _RINGS.get(_SAME.get(kind, kind), "").split("/")):
        return 1.5
    doubles = f"{_DOUBLE['']} {_DOUBLE.get('U' if kind == 'T' else kind, '')}".split()
    return 2.0 if any(pair == set(double.split("=")) for double in doubles) else 1.0


# ---- charges


def with_charges(
    structure: Structure, source: str | PathLike[str], *, forcefield: str = "AMBER", ph: float = 7.0
) -> Structure:
    """A structure with the partial charges of a force field, or of another file.

    Parameters
    ----------
    structure
        What has no charges, as a structure from a PDB file.
    source
        "pdb2pqr": the package PDB2PQR adds hydrogens to amino acids, nucleotides and water, as PROPKA expects them at a
        pH, and missing atoms of side chains; all else keeps its atoms and gets no charges. Otherwise a PQR or mol2
        file, whose atoms are found by chain, number of the residue and name; without chains by number, name and place;
        of one residue, such as a cofactor, by names. Atoms that it lacks keep the charges that they have.
    forcefield
        Of PDB2PQR: one of `FORCE_FIELDS`.
    ph

    Returns
    -------
    Structure
        `notes` says which residues have no charges, and what was added.

    Raises
    ------
    OrbitileError
        When PDB2PQR fails, there is no such file, or not one of its atoms is of the structure.
    """
    if str(source).lower() == "pdb2pqr":
        return _by_pdb2pqr(structure, forcefield, ph)
    if not (file := user_path(source)).exists():
        raise OrbitileError(f"charges: expected pdb2pqr or a PQR or mol2 file, got {str(source)!r}, which is no file")
    return _of_file(structure, load_structure(file), file.name)


def _of_file(structure: Structure, other: Structure, file: str) -> Structure:
    """A structure with the charges of another one of the same atoms."""
    there: dict[tuple[str, str], list[int]] = defaultdict(list)
    for atom, (name, residue) in enumerate(zip(other.names, _residues(other), strict=True)):
        there[residue.number, name].append(atom)
    has_chains = any(residue.chain for residue in other.residues)
    alone = dict(zip(other.names, other.partial_charges, strict=True)) if len(other.residues) == 1 else {}
    names = defaultdict(set)
    for name, n in zip(structure.names, structure.residue_of.tolist(), strict=True):
        names[n].add(name)

    def charge(atom: int) -> float:
        n, name = structure.residue_of[atom], structure.names[atom]
        residue = structure.residues[n]
        for one in there[residue.number, name]:
            is_it = residue.chain == other.residues[other.residue_of[one]].chain
            away = np.linalg.norm(structure.positions[atom] - other.positions[one])
            if is_it or (not has_chains and away < _SAME_PLACE * angstrom):
                return float(other.partial_charges[one])
        fits = alone and (residue.name == other.residues[0].name or names[n] == alone.keys())
        return float(alone.get(name, np.nan)) if fits else np.nan

    found = np.array([charge(atom) for atom in range(len(structure.names))])
    has = np.isfinite(found)
    if not np.isfinite(other.partial_charges).any():
        raise OrbitileError(f"{file}: has no partial charges; PQR and mol2 files have them")
    if not has.any():
        raise OrbitileError(
            f"{file}: not one of its {len(other.names)} atoms is of this structure, by chain, number of residue and "
            f"name of atom; its first is {other.names[0]} of {other.residues[0]}, that of the structure "
            f"{structure.names[0]} of {structure.residues[0]}"
        )
    notes = [f"Charges of {has.sum()} atoms are those of {file}."]
    if len(other.names) != has.sum():
        notes.append(f"Of the {len(other.names)} atoms in {file} {has.sum()} are in this structure.")
    charges_now = np.where(has, found, structure.partial_charges)
    before = (note for note in structure.notes if not note.startswith(_LACKING))
    notes = [*before, *notes, *_without(structure, charges_now)]
    return replace(structure, partial_charges=charges_now, notes=tuple(notes))


def _residues(structure: Structure) -> list[Residue]:
    """Residue of each atom."""
    return [structure.residues[n] for n in structure.residue_of]


def _without(structure: Structure, charges: Reals) -> list[str]:
    """What is to be said of residues without charges."""
    missing = Counter(structure.residues[n].name for n in set(structure.residue_of[~np.isfinite(charges)].tolist()))
    if not missing:
        return []
    names = (f"{name} ({count})" if count > 1 else name for name, count in sorted(missing.items()))
    return [f"{_LACKING} {listed(names, _TOLD)}."]


_LACKING = "Not all atoms have charges in residues"


_SECONDS_AN_ATOM = 0.1
"""Processor time that PDB2PQR may take: fifty times what it does for a protein of two hundred residues."""


def _by_pdb2pqr(structure: Structure, forcefield: str, ph: float) -> Structure:
    """A structure with the hydrogens and charges that PDB2PQR gives."""
    if forcefield.upper() not in FORCE_FIELDS:
        raise OrbitileError(f"force field {forcefield!r}: PDB2PQR has {', '.join(FORCE_FIELDS)}")
    if not 0 <= ph <= 14:
        raise OrbitileError(f"pH: expected 0 to 14, got {ph:g}")
    places, n = _places(structure), len(structure.names)
    with TemporaryDirectory(dir=own_folder()) as folder:
        path = Path(folder, "structure.pdb")
        path.write_text(_pdb(structure, places), encoding="ascii", errors="replace")
        arguments = str(path), forcefield.upper(), float(ph)
        parametrised: _Parametrised = isolated(
            parametrised_by_pdb2pqr,
            *arguments,
            name="structure",
            library="PDB2PQR",
            imports="pdb2pqr.main",
            size=path.stat().st_size,
            computing=_SECONDS_AN_ATOM * n,
        )
    rows: list[tuple[int, int, str, int, Any, float]] = []  # residue, atom before or -1, name, element, place, charge
    turned: set[int] = set()
    for residue, of in enumerate(structure.residues):
        there = {structure.names[atom]: atom for atom in np.flatnonzero(structure.residue_of == residue).tolist()}
        given = parametrised.get(places[residue]) or [(name, None, np.nan) for name in there]
        for name, place, charge in given:
            atom = there.get(name, -1)
            number = _element(name, of.name) if atom < 0 else int(structure.atomic_numbers[atom])
            if atom >= 0:
                before = structure.positions[atom] / angstrom
                if place is None or np.abs(before - place).max() < _SAME_PLACE:
                    place = before  # all digits of it
                elif number != 1:
                    turned.add(residue)
            rows.append((residue, atom, name, number, place, charge))
    of_residue, origins, names, numbers, positions, charges = (list(column) for column in zip(*rows, strict=True))
    origin = np.array(origins)
    new = np.full(n, -1)
    new[origin[origin >= 0]] = np.flatnonzero(origin >= 0)
    pairs = new[structure.bonds]
    stay = np.all(pairs >= 0, axis=1)
    found = Structure(
        np.array(numbers, np.int64),
        np.array(positions) * angstrom,
        tuple(names),
        structure.residues,
        np.array(of_residue, np.int64),
        pairs[stay],
        structure.orders[stay],
        np.where(origin >= 0, structure.formal_charges[origin], 0),
        np.array(charges, np.float64),
    )
    has = np.isfinite(found.partial_charges)
    told = [
        f"Charges of {has.sum()} atoms are those of {forcefield.upper()}, by PDB2PQR at pH {ph:g}; they sum to "
        f"{found.partial_charges[has].sum():+.3f} e."
    ]
    hydrogens, before = ((atoms.atomic_numbers == 1).sum() for atoms in (found, structure))
    heavy = len(found.names) - len(structure.names) - hydrogens + before
    more = f" and added {heavy} other atoms that were missing" if heavy > 0 else ""
    told.append(f"PDB2PQR placed the hydrogens of what it knows, {hydrogens} in place of {before} in all{more}.")
    if turned:
        told.append(f"PDB2PQR turned ends of side chains for their hydrogen bonds: {_of_residues(found, turned)}.")
    if protonated := _protonated(found):
        told.append(f"By PROPKA, more protons than usual at pH 7 are at {_of_residues(found, protonated)}.")
    notes = (*structure.notes, *told, *_without(found, found.partial_charges))
    return with_bonds(replace(found, notes=notes))


_SAME_PLACE = 0.01
"""Distance in Angstrom up to which places are the same: files round them."""


def _protonated(structure: Structure) -> list[int]:
    """Residues with protons that they rarely have in water: of carboxylates, and the second one of histidines."""
    unusual = {"ASP": {"HD1", "HD2"}, "GLU": {"HE1", "HE2"}}
    names: dict[int, set[str]] = defaultdict(set)
    for residue, name in zip(structure.residue_of.tolist(), structure.names, strict=True):
        names[residue].add(name)
    kinds = {residue: _KINDS.get(structure.residues[residue].name.upper(), "") for residue in names}
    return [
        residue
        for residue, there in sorted(names.items())
        if there & unusual.get(kinds[residue], set()) or (kinds[residue] == "HIS" and {"HD1", "HE2"} <= there)
    ]


def _of_residues(structure: Structure, which: Iterable[int]) -> str:
    return listed((str(structure.residues[residue]) for residue in sorted(which)), _TOLD)


_CHAINS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def _places(structure: Structure) -> list[tuple[str, int]]:
    """A chain of one letter and a number for each residue, as the columns of a PDB file have room for.

    PDB2PQR charges both ends of a chain. A chain without a name, or of several objects of a viewer, may be several: a
    residue that is not bonded to the one before begins another, unless numbers in between tell that some are missing.
    """
    joined = {(min(pair), max(pair)) for pair in structure.residue_of[structure.bonds].tolist()}
    chains: dict[tuple[str, int], int] = {}
    parts: Counter[str] = Counter()
    last: dict[str, tuple[int, int]] = {}
    counts: Counter[str] = Counter()
    found = []
    for n, residue in enumerate(structure.residues):
        if _KINDS.get(residue.name.upper(), "HOH") != "HOH":
            number = int("".join(letter for letter in residue.number if letter in "-0123456789") or 0)
            before, its = last.get(residue.chain, (n, number))
            parts[residue.chain] += before < n and (before, n) not in joined and number - its <= 1
            last[residue.chain] = n, number
        chain = chains.setdefault((residue.chain, parts[residue.chain]), len(chains))
        letter = _CHAINS[chain % len(_CHAINS)]
        counts[letter] += 1
        if counts[letter] > 9999:
            raise OrbitileError(
                f"PDB2PQR: a PDB file has room for 9999 residues of a chain, and {residue.chain or 'one'} has more; "
                "leave out water that is far away, or give charges in a PQR file"
            )
        found.append((letter, counts[letter]))
    return found


def _pdb(structure: Structure, places: list[tuple[str, int]]) -> str:
    """A PDB file of the atoms; hydrogens of residues that PDB2PQR knows are left to it."""
    lines = []
    for atom, (name, (x, y, z)) in enumerate(zip(structure.names, structure.positions / angstrom, strict=True)):
        residue = structure.residues[structure.residue_of[atom]]
        kind = _KINDS.get(residue.name.upper(), "")
        symbol = SYMBOLS[structure.atomic_numbers[atom]].upper()
        if kind and symbol == "H":
            continue
        letter, number = places[structure.residue_of[atom]]
        record = "ATOM" if kind and kind != "HOH" else "HETATM"
        aligned = name if len(symbol) > 1 or len(name) > 3 else f" {name}"
        lines.append(
            f"{record:6s}{(atom + 1) % 100000:5d} {aligned:4.4s} {residue.name:>3.3s} {letter}{number:4d}    "
            f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {symbol:>2s}"
        )
    return "\n".join([*lines, "END", ""])


_Parametrised = dict[tuple[str, int], list[tuple[str, Any, float]]]
"""Name, position in Angstrom and charge of each atom, by the chain and the number of its residue."""


def parametrised_by_pdb2pqr(path: str, forcefield: str, ph: float) -> _Parametrised:
    """What PDB2PQR makes of a PDB file: residues with charges, hydrogens among their atoms."""
    if find_spec("pdb2pqr") is None:
        raise OrbitileError(f"charges of a protein need the package pdb2pqr: {install_command('pdb2pqr')}")
    import logging

    from pdb2pqr.main import run_pdb2pqr

    logging.disable(logging.CRITICAL)
    options = [f"--ff={forcefield}", "--titration-state-method=propka", f"--with-ph={ph}", "--keep-chain"]
    try:
        _, _, molecule = run_pdb2pqr([*options, path, f"{path}.pqr"])
    except RuntimeError as error:
        why = " ".join(str(error.__cause__ or error).split())
        raise OrbitileError(
            f"PDB2PQR gives no charges: {why} A PQR or mol2 file may have some; otherwise compute in vacuum"
        ) from error
    found: _Parametrised = {}
    for residue in molecule.residues:
        atoms = [
            (atom.name, (atom.x, atom.y, atom.z), np.nan if atom.ffcharge is None else float(atom.ffcharge))
            for atom in residue.atoms
        ]
        if any(charge == charge for _, _, charge in atoms):
            found[residue.chain_id, int(residue.res_seq)] = atoms
    return found

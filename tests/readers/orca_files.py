"""Files as ORCA writes them, of molecules of PySCF and orthonormal orbitals that nobody computed."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.linalg import sqrtm

gto = pytest.importorskip("pyscf.gto", reason="PySCF (extra scf) is not installed")

BOHR = 0.5291772083
LETTERS = "spdfghi"


@dataclass
class Sample:
    """A molecule with orbitals in PySCF's order, and the same in ORCA's: p as z, x, y, others as 0, 1, -1, 2, ..."""

    molecule: Any
    orbitals: list[np.ndarray]
    occupations: list[np.ndarray]
    energies: list[np.ndarray]

    def shells(self):
        """Atom, angular momentum, exponents, column of the contraction as PySCF has it and as r^l exp(-a r^2)."""
        m = self.molecule
        for n in range(m.nbas):
            for column in range(m.bas_nctr(n)):
                yield (
                    m.bas_atom(n),
                    m.bas_angular(n),
                    m.bas_exp(n),
                    m.bas_ctr_coeff(n)[:, column],
                    m._libcint_ctr_coeff(n)[:, column],
                )

    def in_orcas_order(self, orbitals, minus=(3, 4)):
        rows, signs, first = [], [], 0
        for _, l, *_ in self.shells():
            ms = [0, *(sign * m for m in range(1, l + 1) for sign in (1, -1))]
            rows += [first + ({0: 2, 1: 0, -1: 1}[m] if l == 1 else l + m) for m in ms]
            signs += [-1 if l > 2 and abs(m) in minus else 1 for m in ms]
            first += 2 * l + 1
        return orbitals[rows] * np.array(signs)[:, None]


def sample(atoms, basis, *, spins=1, ecp=None, seed=0, electrons=None) -> Sample:
    """A molecule, and as many orthonormal orbitals as it has basis functions, turned at random."""
    molecule = gto.M(atom=atoms, basis=basis, ecp=ecp or {}, spin=None, verbose=0)
    root, n = np.linalg.inv(sqrtm(molecule.intor("int1e_ovlp")).real), molecule.nao
    random = np.random.default_rng(seed)
    count = molecule.nelectron if electrons is None else electrons
    orbitals, occupations, energies = [], [], []
    for spin in range(spins):
        turned, _ = np.linalg.qr(random.normal(size=(n, n)))
        orbitals.append(root @ turned)
        filled = (count + 1 - spin) // 2
        occupations.append(np.where(np.arange(n) < filled, 2.0 / spins, 0.0))
        energies.append(np.sort(random.normal(size=n)))
    return Sample(molecule, orbitals, occupations, energies)


def _element(molecule, atom):
    """Atomic number, also of a ghost."""
    return gto.charge(molecule.atom_symbol(atom).rpartition("-")[2])


def json_text(made: Sample, *, version=6, minus=(3, 4), unit="Angs", **changes) -> str:
    m, scale = made.molecule, BOHR if unit == "Angs" else 1.0
    atoms = [
        {
            "Coords": (m.atom_coord(n) * scale).tolist(),
            "ElementLabel": m.atom_pure_symbol(n),
            "ElementNumber": _element(m, n),
            "Idx": n,
            "NuclearCharge": float(m.atom_charge(n)),
            "Basis" if version == 6 else "BasisFunctions": [
                {"Coefficients": c.tolist(), "Exponents": e.tolist(), "Shell": LETTERS[l]}
                for atom, l, e, c, _ in made.shells()
                if atom == n
            ],
        }
        for n in range(m.natm)
    ]
    orbitals = [
        {"MOCoefficients": column.tolist(), "Occupancy": occupation, "OrbitalEnergy": energy}
        for part, occupations, energies in zip(made.orbitals, made.occupations, made.energies, strict=True)
        for column, occupation, energy in zip(
            made.in_orcas_order(part, minus).T, occupations.tolist(), energies.tolist(), strict=True
        )
    ]
    molecule = {
        "Atoms": atoms,
        "BaseName": "made up",
        "Charge": 0,
        "CoordinateUnits": unit,
        "HFTyp": "UHF" if len(made.orbitals) == 2 else "RHF",
        "MolecularOrbitals": {"EnergyUnit": "Eh", "MOs": orbitals},
        "Multiplicity": 1,
    }
    return json.dumps({"Molecule": {**molecule, **changes}, "ORCA Header": {"Version": f"{version}.0 - current"}})


def gbw_bytes(made: Sample, *, version="6.1", minus=(3, 4), settings=200) -> bytes:
    """A file of ORCA 4.2, 5, 6.0 or 6.1."""
    m, new = made.molecule, version == "6.1"
    geometry = struct.pack("<i", m.natm)
    for n in range(m.natm):
        element = _element(m, n)
        geometry += struct.pack("<6d", *m.atom_coord(n), m.atom_charge(n), 1e9, 2.0 * element)
        geometry += struct.pack("<q", element) if new else struct.pack("<5i", element, 0, 0, 0, 0)
    most, first = 32 if version == "4.2" else 37, 0
    basis = struct.pack("<2i", 6 if version >= "6" else 5, m.natm)
    for n in range(m.natm):
        shells = [shell for shell in made.shells() if shell[0] == n]
        basis += struct.pack("<2i", n, len(shells))
        for _, l, exponents, _, contraction in shells:
            basis += struct.pack("<4i", l, first, len(exponents), 32765)
            for numbers in (exponents, contraction / np.sqrt(4 * np.pi)):
                basis += np.pad(numbers, (0, most - len(numbers))).tobytes()
            first += 2 * l + 1
    basis += b"\1" * 380  # names and the like
    orbitals = struct.pack("<iq" if new else "<ii", len(made.orbitals), m.nao)
    for part, occupations, energies in zip(made.orbitals, made.occupations, made.energies, strict=True):
        orbitals += made.in_orcas_order(part, minus).tobytes() + occupations.tobytes() + energies.tobytes()
        orbitals += bytes(8 * m.nao)
    start = 72 if new else 40
    places, data = {}, b"made up".ljust(settings, b"\0")
    order = (("basis", basis), ("geometry", geometry)) if version >= "6" else (("geometry", geometry), ("basis", basis))
    for name, block in (*order, ("orbitals", orbitals)):
        places[name] = start + len(data)
        data += block
    head = struct.pack("<5q", start, places["geometry"], places["basis"], places["orbitals"], 0)
    return (struct.pack("<2q8s", -1, 149839, b"00000000") + head + bytes(8) if new else head) + data


def densities_files(made: Sample, densities: dict[str, np.ndarray], *, version=5, name="job") -> dict[str, bytes]:
    """`.densities` of matrices in PySCF's order, by their names; from ORCA 6 on with `.densitiesinfo`."""
    matrices, about = b"", struct.pack("<i512s", len(densities), name.encode())
    start = 8 if version == 5 else 0
    for kind, matrix in densities.items():
        matrix = made.in_orcas_order(made.in_orcas_order(matrix).T)
        about += struct.pack("<512sq", f"./{name}.{kind}".encode(), start + len(matrices))
        about += b"" if version == 5 else struct.pack("<q", -1)
        about += struct.pack("<2i", *matrix.shape) + bytes(1 if version == 5 else 125)
        matrices += np.ascontiguousarray(matrix).tobytes()
    if version == 5:
        return {f"{name}.densities": struct.pack("<q", 8 + len(matrices)) + matrices + about}
    return {f"{name}.densities": matrices, f"{name}.densitiesinfo": about}


def log_text(made: Sample, version="6.0.1", *, states="") -> str:
    """A log with basis set and orbitals, as far as these need it."""
    m = made.molecule
    elements = [m.atom_pure_symbol(n) for n in range(m.natm)]
    lines = ["", "* O   R   C   A *", "", f"  Program Version {version}  -  RELEASE  -", ""]
    lines += ["-" * 28, "CARTESIAN COORDINATES (A.U.)", "-" * 28]
    lines += ["  NO LB      ZA    FRAG     MASS         X           Y           Z"]
    for n, element in enumerate(elements):
        x, y, z = m.atom_coord(n)
        reduced = "*" if m.atom_charge(n) < gto.charge(element) else " "
        charge = f"{m.atom_charge(n):10.4f}{reduced}"
        lines.append(f"{n:4d} {element:<2s}{charge}   0{1.0:10.3f}{x:12.6f}{y:12.6f}{z:12.6f}")
    lines += ["* core charge reduced due to ECP", "", "-" * 21, "BASIS SET INFORMATION", "-" * 21, ""]
    lines += [f"Atom {n:3d}{element:<2s}   basis set group =>   1" for n, element in enumerate(elements)]
    lines += ["", "-" * 25, "BASIS SET IN INPUT FORMAT", "-" * 25, ""]
    for element in dict.fromkeys(elements):
        lines += [f" # Basis set for element : {element} ", f" NewGTO {element} "]
        for atom, l, exponents, contraction, _ in made.shells():
            if atom == elements.index(element):
                lines.append(f" {LETTERS[l].upper()} {len(exponents)} ")
                rows = enumerate(zip(exponents, contraction, strict=True), 1)
                lines += [f"{k:4d} {e:19.10f} {c:19.10f}" for k, (e, c) in rows]
        lines += ["  end;", ""]
    lines += ["-" * 31, "SHARK", ""]
    electrons = [occupations.sum() for occupations in made.occupations]
    charge = m.atom_charges().sum() - sum(electrons)
    unpaired = electrons[0] - electrons[1] if len(electrons) == 2 else np.sum(made.occupations[0] == 1)
    lines += [f" Total Charge           Charge          ....  {charge:.0f}"]
    lines += [f" Multiplicity           Mult            ....  {unpaired + 1:.0f}", "", "MOLECULAR ORBITALS", "-" * 18]
    labels = list(_labels(made, elements))
    for part, occupations, energies in zip(made.orbitals, made.occupations, made.energies, strict=True):
        rows = made.in_orcas_order(part)
        for first in range(0, m.nao, 6):
            some = slice(first, min(first + 6, m.nao))
            lines.append(" " * 12 + "".join(f"{n:10d}" for n in range(m.nao)[some]))
            for numbers in (energies, occupations):
                lines.append(" " * 16 + "".join(f"{number:10.5f}" for number in numbers[some]))
            lines.append(" " * 16 + "  --------" * (some.stop - first))
            for label, row in zip(labels, rows, strict=True):
                lines.append(f"{label:<16s}" + "".join(f"{number:10.6f}" for number in row[some]))
        lines.append("")
    return "\n".join([*lines, states, "****ORCA TERMINATED NORMALLY****", ""])


def _labels(made: Sample, elements):
    counts: dict[tuple[int, int], int] = {}
    named = {1: ["pz", "px", "py"], 2: ["dz2", "dxz", "dyz", "dx2y2", "dxy"]}
    for atom, l, *_ in made.shells():
        counts[atom, l] = counts.get((atom, l), 0) + 1
        ms = [f"{sign * m:+d}" if m else "0" for m in range(l + 1) for sign in ((1, -1) if m else (1,))]
        for name in named.get(l, [LETTERS[l] + (m if l else "") for m in ms]):
            yield f"{atom:3d}{elements[atom]:<2s}{counts[atom, l]:4d}{name}"

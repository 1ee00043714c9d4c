"""The programs whose logs are understood, and in what they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...base.errors import FileError
from ...model.conventions import component_names

LOG_PATTERNS = ("*.log", "*.out", "*.output")
"""Names of their logs."""


@dataclass(frozen=True)
class Program:
    """What has to be known about a program to understand its logs.

    Attributes
    ----------
    name : str
        Its name.
    banner : tuple of str
        What stands in the first lines of its logs, one or the other.
    basis, coefficients : str
        How to make it print the basis set and all orbital coefficients.
    geometry, orbitals : tuple of str
        How the lines above a geometry and above orbitals (those of alpha spin) begin, after spaces.
    labels : dict
        Labels of basis functions that the general rules would misread: their angular momentum and component.
    numbered : bool
        Whether `D 1`, `D 2`, ... number the pure components from -l to l.
    minus : set
        Angular momenta and m of pure functions that have the opposite sign of ours.
    order : function or None
        Component names of a shell, given its angular momentum and whether it is pure, with a minus where the sign is
        opposite to ours: the order in which it prints functions without labels. None where the log has labels.
    calculation : tuple of str
        How the lines above a calculation begin, where only the first one below a geometry is one at this geometry.
    """

    name: str
    banner: tuple[str, ...]
    basis: str
    coefficients: str
    geometry: tuple[str, ...]
    orbitals: tuple[str, ...]
    labels: dict[str, tuple[int, str]]
    numbered: bool = False
    minus: frozenset[tuple[int, int]] = frozenset()
    order: Callable[[int, bool], tuple[str, ...]] | None = None
    calculation: tuple[str, ...] = ()


def _from_zero(l: int, pure: bool) -> tuple[str, ...]:
    """0, +1, -1, +2, -2, ... also for p shells, where that is z, x, y; Cartesian functions as ours."""
    return ("z", "x", "y") if l == 1 and pure else component_names(l, pure)


def _ascending(l: int, pure: bool) -> tuple[str, ...]:
    """-l, ..., l with a minus sign for odd positive m; p shells x, y, z; Cartesian functions as ours."""
    if l < 2 or not pure:
        return component_names(l, pure)
    return tuple(("-" if m > 0 and m % 2 else "") + harmonic(m) for m in range(-l, l + 1))


def harmonic(m: int) -> str:
    return f"{'s' if m < 0 else 'c'}{abs(m)}"


_ORCA_D = {"DZ2": "c0", "DXZ": "c1", "DYZ": "s1", "DX2Y2": "c2", "DXY": "s2"}

PROGRAMS = {
    "GAMESS": Program(
        "GAMESS",
        ("GAMESS VERSION",),
        "$CONTRL NPRINT=7 $END",
        "$CONTRL NPRINT=7 $END",
        ("COORDINATES OF ALL ATOMS ARE", "ATOM      ATOMIC"),
        ("EIGENVECTORS", "MOLECULAR ORBITALS"),
        {},
    ),
    "Gaussian": Program(
        "Gaussian",
        ("Entering Gaussian System",),
        "gfinput",
        "pop=full",
        ("Standard orientation:", "Input orientation:", "Z-Matrix orientation:"),
        ("Molecular Orbital Coefficients", "Alpha Molecular Orbital Coefficients", "Natural Orbital Coefficients"),
        {},
    ),
    "ORCA": Program(
        "ORCA",
        ("* O   R   C   A *",),
        "! PrintBasis, or open the .gbw file of the calculation",
        "! PrintMOs, or open the .gbw file of the calculation",
        ("CARTESIAN COORDINATES (ANGSTROEM)",),
        ("MOLECULAR ORBITALS",),
        {label: (2, component) for label, component in _ORCA_D.items()},
        minus=frozenset({(3, 3), (4, 3), (4, 4), (5, 3), (5, 4)}),
    ),
    "NWChem": Program(
        "NWChem",
        ("Northwest Computational Chemistry Package",),
        "print basis",
        'print "final vectors" "final vectors analysis"',
        ('Geometry "geometry" -> "',),
        ("Final MO vectors",),
        {},
        order=_ascending,
        calculation=("NWChem SCF Module", "NWChem DFT Module"),
    ),
    "Psi4": Program(
        "Psi4",
        ("Psi4: An Open-Source Ab Initio Electronic Structure Package",),
        "set print_basis true",
        "set print_mos true",
        ("==> Geometry <==",),
        ("==> Molecular Orbitals <==", "==> Alpha-Spin Molecular Orbitals <=="),
        {},
        order=_from_zero,
    ),
    "QChem": Program(
        "Q-Chem",
        ("A Quantum Leap Into The Future Of Chemistry",),
        "PRINT_GENERAL_BASIS TRUE",
        "PRINT_ORBITALS 9999",
        ("Standard Nuclear Orientation",),
        ("RESTRICTED (RHF) MOLECULAR ORBITAL", "ALPHA MOLECULAR ORBITAL", "Final Alpha MO Coefficients"),
        {},
        numbered=True,
    ),
    "Molpro": Program(
        "Molpro",
        ("PROGRAM SYSTEM MOLPRO", "1PROGRAM * "),
        "gprint,basis",
        "gprint,orbitals",
        ("ATOMIC COORDINATES",),
        ("ELECTRON ORBITALS", "NATURAL ORBITALS"),
        {},
    ),
    "GAMESSUK": Program(
        "GAMESS-UK",
        ("GAMESS-UK Input Data Set", "===  G A M E S S - U K    ==="),
        "RUNTYPE SCF, which prints it unless NOPRINT is set",
        "FORMAT HIGH and without NOPRINT VECTORS",
        ("molecular geometry", "point  "),
        ("eigenvectors",),
        {},
    ),
    "Jaguar": Program(
        "Jaguar",
        ("Jaguar version",),
        "ip1=2 in &gen",
        "ip102=8 and ipvirt=-1 in &gen",
        ("Input geometry:", "Symmetrized geometry:", "new geometry:"),
        ("occupied + virtual orbitals: final wave function", "occupied orbitals: final wave function"),
        {},
    ),
    "Molcas": Program(
        "OpenMolcas",
        ("This run of MOLCAS", "OPENMOLCAS"),
        "MOLCAS_PRINT=3; its .scf.h5 or .rasscf.h5 has everything, with all digits",
        "MOLCAS_PRINT=3; its .scf.h5 or .rasscf.h5 has everything, with all digits",
        ("**** Cartesian Coordinates", "Cartesian coordinates in Angstrom:"),
        ("Molecular orbitals for symmetry species",),
        {},
    ),
}
"""Programs by their names in cclib."""


_SLATER = "its basis functions are Slater functions, which are not supported"
_MOLDEN = "its Molden file of the same calculation can be read"

INSTEAD = {
    "ADF": _SLATER,
    "MOPAC": _SLATER,
    "DALTON": f"{_MOLDEN} (molden.inp, in the archive of the calculation)",
    "CFOUR": f"{_MOLDEN} (MOLDEN)",
    "Turbomole": "its orbitals are in the folder of the calculation: give that, or the file control in it",
    "XTB": f"{_MOLDEN} (molden.input, by xtb --molden)",
}
"""What to do with programs whose logs have no orbitals that we read, by their names in cclib."""

OTHERS = {
    "CP2K": ("CP2K|", f"{_MOLDEN} (MO_MOLDEN in PRINT in DFT)"),
    "AMS": ("Amsterdam Modeling Suite", _SLATER),
    "DFTB+": ("|  DFTB+", "its orbitals are in files of its own (eigenvec.bin), which are not read"),
}
"""Programs that cclib does not know: what their logs begin with, and what to do."""

BANNERS = tuple(banner for program in PROGRAMS.values() for banner in program.banner)


def is_log(head: str) -> bool:
    """Whether the beginning of a file is the banner of one of these programs."""
    return not head.lstrip().startswith("[") and any(banner in head for banner in BANNERS)


def missing_error(data: Any, program: Program, path: Path, what: str, remedy: str) -> FileError:
    finished = getattr(data, "metadata", {}).get("success", True)
    end = "" if finished else " and does not end as a finished calculation does"
    return FileError(f"{path.name}: this {program.name} log prints no {what}{end}; run it again with {remedy}")

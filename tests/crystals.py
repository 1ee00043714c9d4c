"""Periodic systems as PySCF computes them at the Gamma point, and files of them as CP2K writes them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitile.model.units import angstrom

Reals = NDArray[np.float64]

UREA = """
data_urea
_cell_length_a 5.565
_cell_length_b 5.565
_cell_length_c 4.684
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_space_group_name_H-M 'P -4 21 m'
_space_group_IT_number 113
loop_
_symmetry_equiv_pos_as_xyz
x,y,z
-x,-y,z
y,-x,-z
-y,x,-z
-x+1/2,y+1/2,-z
x+1/2,-y+1/2,-z
-y+1/2,-x+1/2,z
y+1/2,x+1/2,z
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
C C 0 0.5 0.3260
O O 0 0.5 0.5953
N N 0.1459 0.6459 0.1766
H1 H 0.2575 0.7575 0.2827
H2 H 0.1441 0.6441 -0.0388
"""
"""Urea at 12 K (S. Swaminathan, B. M. Craven and R. K. McMullan, Acta Cryst. B 1984, 40, 300), one N-H bond lengthened
by 0.004 Angstrom to 1.009."""

TRICLINIC = np.array([[4.5, 0, 0], [1.0, 4.2, 0], [0.3, -0.8, 5.0]])
"""Vectors of a skewed cell in Angstrom, in which a molecule of water meets its images."""

WATER = "O 0.1 0.2 0.1; H 0.857 0.787 0.1; H 0.857 -0.387 0.1"

_UNNORMALISED = 1.7
"""By which contractions are multiplied, as CP2K does not normalise those that it writes."""


@dataclass(frozen=True)
class Solved:
    """Orbitals of a cell: eigenfunctions of the kinetic energy, which are orthonormal and cost no iterations."""

    cell: Any
    mo_coeff: Reals
    mo_occ: Reals
    mo_energy: Reals


@lru_cache(maxsize=8)
def computed(atoms: str, vectors: tuple[float, ...], basis: str = "gth-dzvp", spin: int = 0) -> Solved:
    """Orbitals of a cell (vectors in Angstrom, one after the other) with pseudopotentials."""
    from pyscf.pbc.gto import Cell
    from scipy.linalg import eigh

    cell = Cell()
    cell.atom, cell.a, cell.basis, cell.pseudo = atoms, np.reshape(vectors, (3, 3)), basis, "gth-pade"
    cell.unit, cell.spin, cell.precision, cell.verbose = "A", spin, 1e-12, 0
    cell.build()
    energies, coefficients = eigh(cell.pbc_intor("int1e_kin"), cell.pbc_intor("int1e_ovlp"))
    occupations = np.array([np.arange(len(energies)) < n for n in cell.nelec], float)
    if not spin:
        return Solved(cell, coefficients, occupations.sum(axis=0), energies)
    other = coefficients[:, [*range(1, len(energies)), 0]]  # of the other spin, whatever: the first one comes last
    return Solved(cell, np.stack([coefficients, other]), occupations, np.stack([energies, energies]))


def water(vectors: NDArray[Any] = TRICLINIC, spin: int = 0) -> Solved:
    """Water in a cell."""
    return computed(WATER, tuple(np.ravel(vectors).tolist()), spin=spin)


def _molden_order(cell: Any) -> NDArray[np.intp]:
    """Basis functions of PySCF, in the order of a Molden file."""
    order: list[int] = []
    for shell in range(cell.nbas):
        l = cell.bas_angular(shell)
        within = {0: [0], 1: [0, 1, 2]}.get(l, [l, *(l + s * m for m in range(1, l + 1) for s in (1, -1))])
        for _ in range(cell.bas_nctr(shell)):
            start = len(order)
            order += [start + n for n in within]
    return np.array(order, np.intp)


def write_molden(
    path: Path,
    field: Solved,
    heading: str = "[Cell] AU",
    unit: float = 1.0,
    digits: int = 12,
    orbitals: slice = slice(None),
    nuclei: str = "[Pseudo]",
) -> Path:
    """A Molden file of a calculation in the manner of CP2K.

    Parameters
    ----------
    heading, unit
        Heading of the section of the cell, none where it is empty, and bohr that its unit has.
    digits
        After the point.
    orbitals
        Which are written.
    nuclei
        Heading of the section of core charges; by element for [Nval].
    """
    from pyscf.gto import gto_norm

    cell = field.cell
    charges, symbols = cell.atom_charges(), [cell.atom_pure_symbol(n) for n in range(cell.natm)]
    from pyscf.data.elements import charge

    lines = [" [Molden Format]"]
    if heading:
        lines += [f" {heading}", *(" ".join(f"{x / unit:.{digits}f}" for x in row) for row in cell.lattice_vectors())]
    lines.append(" [Atoms] AU")
    for n, (symbol, place) in enumerate(zip(symbols, cell.atom_coords(), strict=True)):
        lines.append(f" {symbol} {n + 1} {charge(symbol)} " + " ".join(f"{x:.{digits}f}" for x in place))
    lines.append(f" {nuclei}")
    if nuclei == "[Nval]":
        lines += [f" {symbol} {value}" for symbol, value in dict(zip(symbols, charges, strict=True)).items()]
    else:
        lines += [f" {symbol} {n + 1} {charges[n]}" for n, symbol in enumerate(symbols)]
    lines.append(" [GTO]")
    for atom in range(cell.natm):
        lines.append(f"  {atom + 1} 0")
        for shell in cell.atom_shell_ids(atom):
            l, exponents = cell.bas_angular(shell), cell.bas_exp(shell)
            norms = np.array([gto_norm(l, x) for x in exponents])
            for column in (cell._libcint_ctr_coeff(shell) / norms[:, None]).T:
                lines.append(f"                        {'spdfg'[l]}  {len(exponents)}  1.00")
                lines += [
                    f"  {x:.{digits}f} {_UNNORMALISED * c:.{digits}f}" for x, c in zip(exponents, column, strict=True)
                ]
        lines.append("")
    lines += [" [5D7F]", " [9G]", " [MO]"]
    order = _molden_order(cell)
    unrestricted = np.ndim(field.mo_energy) == 2
    for spin in range(1 + unrestricted):
        energies, occupations, coefficients = (
            values[spin] if unrestricted else values for values in (field.mo_energy, field.mo_occ, field.mo_coeff)
        )
        for n in range(len(energies))[orbitals]:
            lines += [f"Ene= {energies[n]:.10E}", f"Spin= {('Alpha', 'Beta')[spin]}", f"Occup= {occupations[n]:.7f}"]
            column = coefficients[order, n]
            lines += [f"{m + 1:6d} {c:.{digits}E}" for m, c in enumerate(column) if abs(c) >= 10.0**-digits]
    path.write_text("\n".join(lines) + "\n")
    return path


def bohr(vectors: NDArray[Any]) -> Reals:
    """Vectors in Angstrom in bohr."""
    result: Reals = np.asarray(vectors) * angstrom
    return result

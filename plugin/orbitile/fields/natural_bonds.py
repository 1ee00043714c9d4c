"""Natural bond orbitals: `nbo:12`, `nbo:12:beta`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.errors import FieldError, OrbitileError
from ..gaussians.localised.intrinsic_atomic_orbitals import n_functions
from ..gaussians.localised.natural_atomic_orbitals import NaturalAtomicOrbitals, natural_atomic_orbitals
from ..gaussians.localised.natural_bonds import NaturalBondOrbitals, natural_bond_orbitals
from ..model.report import atom_names
from ..model.wavefunction import COMPLEX, Orbitals, Spin, Wavefunction, nothing
from . import References
from .density import occupied
from .orbital import TransformedOrbital, name_in_family, of_spin, size_of, spin_of

PRIORITY = 94
GROUP = "Localised orbitals"
NAMES = (
    ("nbo:N", "Natural bond orbital N: cores, lone pairs, bonds, then what they leave empty"),
    ("nbo:N:alpha", "The same, of one spin (:alpha or :beta)"),
)

FAMILY = "nbo"

_NAME = re.compile(rf"{FAMILY}:(\d{{1,18}})(?::(a|alpha|b|beta))?")

_COMPLETE = 1e-6
"""Norm of a natural atomic orbital that the orbitals of the file may lack for energies to be known."""


@dataclass(frozen=True, eq=False)
class NaturalBonds:
    """Natural bond orbitals of a wavefunction.

    Attributes
    ----------
    atomic : NaturalAtomicOrbitals
        Of all electrons; cores are orthogonalised first.
    sets : dict of NaturalBondOrbitals
        By spin: alpha alone where all electrons are paired.
    densities : dict of ndarray, shape (n, n)
        Density matrices over the natural atomic orbitals, by spin.
    wavefunction : Wavefunction
        The same molecule with natural bond orbitals as orbitals: energies where there is a Fock matrix, otherwise NaN.
    focks : dict of ndarray, shape (n, n)
        Fock matrices over the natural atomic orbitals in hartree, by spin; empty where `no_energies`.
    no_energies : str
        Why there is no Fock matrix; empty where there is one.
    """

    atomic: NaturalAtomicOrbitals
    sets: dict[Spin, NaturalBondOrbitals]
    densities: dict[Spin, Reals]
    wavefunction: Wavefunction
    focks: dict[Spin, Reals]
    no_energies: str


_FOUND = Derived[NaturalBonds]("orbitals")
_ORBITALS = Derived["NaturalBondOrbital"]("orbitals", size=size_of)


def why_not(wavefunction: Wavefunction) -> str:
    """Why a molecule has no natural bond orbitals, in a sentence; empty where it has; found quickly."""
    if wavefunction.promolecule:
        return "a promolecule (superposed free atoms) has no orbitals"
    if wavefunction.spinors is not None:
        return COMPLEX
    if len(wavefunction.cell):
        return "natural bond orbitals are those of molecules, and this is a periodic system"
    if wavefunction.density_missing:
        return wavefunction.density_missing
    try:
        n_functions(wavefunction)
        if not wavefunction.density_matrix.size:
            occupied(wavefunction, "total")
            if not _is_paired(wavefunction):
                occupied(wavefunction, "alpha")
        elif not wavefunction.spin_density_matrix.size and not _is_paired(wavefunction):
            return "natural bond orbitals of an open shell need its spin density, which the file does not give"
    except OrbitileError as error:
        return str(error)
    return ""


def _is_paired(wavefunction: Wavefunction) -> bool:
    """Whether one set of natural bond orbitals stands for both spins."""
    if wavefunction.spin_density_matrix.size:
        return not np.any(np.abs(wavefunction.spin_density_matrix) > _COMPLETE)
    return wavefunction.beta is None and not wavefunction.n_unpaired and round(wavefunction.n_electrons) % 2 == 0


def natural_bonds(wavefunction: Wavefunction) -> NaturalBonds:
    """Natural bond orbitals of a wavefunction; kept with it.

    Those of each spin where electrons are unpaired, over natural atomic orbitals of all electrons. See
    `orbitile.gaussians.localised.natural_bonds`.

    Raises
    ------
    OrbitileError
        As `why_not` has it, and when the memory does not suffice.
    """
    if reason := why_not(wavefunction):
        raise OrbitileError(f"natural bond orbitals: {reason}")
    return _FOUND.of(wavefunction, "", lambda: _find(wavefunction))


def _find(wavefunction: Wavefunction) -> NaturalBonds:
    atomic = natural_atomic_orbitals(wavefunction, *occupied(wavefunction, "total"), cores_first=True)
    paired = _is_paired(wavefunction)
    spins: tuple[Spin, ...] = ("alpha",) if paired else ("alpha", "beta")
    shells = atomic.shells
    kinds = [atomic.kinds[shell] for shell in shells]
    reason = _why_no_energies(wavefunction, paired)
    sets: dict[Spin, NaturalBondOrbitals] = {}
    densities: dict[Spin, Reals] = {}
    focks: dict[Spin, Reals] = {}
    orbitals: dict[Spin, Orbitals] = {}
    densities["alpha"] = whole = atomic.density(*occupied(wavefunction, "total"))
    if not paired:
        densities["alpha"] = atomic.density(*occupied(wavefunction, "alpha"))
        densities["beta"] = whole - densities["alpha"]
    for spin in spins:
        sets[spin] = found = natural_bond_orbitals(
            densities[spin], atomic.atoms[shells], kinds, atomic.functions, 3 - len(spins)
        )
        energies = np.full(len(found.kinds), np.nan)
        if not reason:
            canonical = wavefunction.orbitals(spin)
            inside = atomic.projections @ canonical.coefficients
            if np.abs(np.sum(inside**2, axis=1) - 1).max() > _COMPLETE:
                reason, focks = "the file lacks unoccupied orbitals", {}
            else:
                focks[spin] = (inside * canonical.energies) @ inside.T
                energies = np.einsum("in,ij,jn->n", found.vectors, focks[spin], found.vectors)
        orbitals[spin] = Orbitals(
            atomic.coefficients @ found.vectors,
            np.maximum(found.occupancies, 0),
            energies,
            orbital_names(wavefunction, found),
        )
    made = replace(
        wavefunction,
        alpha=orbitals["alpha"],
        beta=orbitals.get("beta"),
        natural=False,
        excitations=(),
        density_matrix=nothing(),
        spin_density_matrix=nothing(),
        unordered=True,
        density_missing="natural bond orbitals are not those of one determinant",
    )
    return NaturalBonds(atomic, sets, densities, made, focks, reason)


def _why_no_energies(wavefunction: Wavefunction, paired: bool) -> str:
    """Why orbitals and their energies make no Fock matrix; not whether there are enough of them."""
    if wavefunction.density_matrix.size or wavefunction.natural:
        return "natural orbitals have no energies of one Fock operator"
    if wavefunction.localised or wavefunction.overlapping or wavefunction.unordered:
        return "the orbitals are localised, which have no energies as eigenvalues"
    if not paired and wavefunction.beta is None:
        return "orbitals that both spins share have no energies of one spin's Fock operator"
    if not all(np.all(np.isfinite(orbitals.energies)) for orbitals in wavefunction.sets):
        return "the file gives no energies of orbitals"
    return ""


def orbital_names(wavefunction: Wavefunction, found: NaturalBondOrbitals) -> tuple[str, ...]:
    """Names of natural bond orbitals: `C1-N2 bond`, `N2 lone pair`, `C1-C2 antibond 2`."""
    atoms = atom_names(wavefunction.atomic_numbers)
    keys = list(zip(found.kinds, found.atoms, strict=True))
    names = []
    for (kind, those), number in zip(keys, found.numbers, strict=True):
        several = f" {number}" if keys.count((kind, those)) > 1 else ""
        names.append(f"{'-'.join(atoms[atom] for atom in those)} {kind}{several}")
    return tuple(names)


@dataclass(frozen=True, eq=False)
class NaturalBondOrbital(TransformedOrbital):
    """A natural bond orbital."""

    def neighbour(self, step: int) -> str:
        """Name of the natural bond orbital some places further on.

        Raises
        ------
        FieldError
            When there is none so far on.
        """
        name = name_in_family(self.wavefunction, FAMILY, self.index + step, self.spin)
        _natural_bond_orbital(self.canonical, name)
        return name


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """The reason why there are none, for each name."""
    reason = why_not(wavefunction)
    return dict.fromkeys(dict(NAMES), reason) if reason else {}


def resolve(wavefunction: Wavefunction, name: str, references: References) -> NaturalBondOrbital | None:
    """The natural bond orbital that a name stands for, or None.

    Raises
    ------
    FieldError
        When there is no such orbital.
    OrbitileError
        When there are no natural bond orbitals.
    """
    wanted = name.strip().lower()
    return _natural_bond_orbital(wavefunction, wanted) if _NAME.fullmatch(wanted) else None


def _natural_bond_orbital(wavefunction: Wavefunction, name: str) -> NaturalBondOrbital:
    return _ORBITALS.of(wavefunction, name, lambda: _numbered(wavefunction, name))


def _numbered(wavefunction: Wavefunction, name: str) -> NaturalBondOrbital:
    match = _NAME.fullmatch(name)
    made = natural_bonds(wavefunction).wavefunction
    spin = spin_of(match[2] if match else None)
    index = int(match[1]) - 1 if match else -1
    orbitals = made.orbitals(spin)
    if not 0 <= index < len(orbitals):
        raise FieldError(f"field {name!r}: there are natural bond orbitals 1 to {len(orbitals)}")
    quantity = f"natural bond orbital {index + 1}{of_spin(made, spin)}: {orbitals.irreps[index]}"
    return NaturalBondOrbital(made, spin, index, quantity, canonical=wavefunction, family=FAMILY)

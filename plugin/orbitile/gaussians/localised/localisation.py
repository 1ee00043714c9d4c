"""Orbitals of a wavefunction, localised: as a wavefunction of the same atoms and functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from ...base.arrays import Reals, one_thread_of_blas
from ...base.caches import Derived
from ...base.errors import OrbitileError
from ...base.watch import patiently, stage
from ...model.wavefunction import Orbitals, Spin, Wavefunction
from ..overlap import dense, own_overlap, position_integrals
from .intrinsic_atomic_orbitals import (
    NotDescribed,
    in_intrinsic,
    intrinsic_atomic_orbitals,
    n_functions,
    whole_occupations,
)
from .maximisation import Centres, Functional, Maximum, Populations, climbed, maximised, products_for
from .names import OnAtoms, name_of

Scheme = Literal["ibo", "pm", "pm_iao", "boys"]

SCHEMES: Mapping[Scheme, str] = {
    "ibo": "Intrinsic bond orbitals",
    "pm": "Pipek-Mezey orbitals by Löwdin populations",
    "pm_iao": "Pipek-Mezey orbitals by intrinsic populations",
    "boys": "Foster-Boys orbitals",
}
"""All schemes, each with the title of its orbitals."""

INTRINSIC: tuple[Scheme, ...] = ("ibo", "pm_iao")
"""Those on intrinsic atomic orbitals."""

Which = Literal["occupied", "all"]

_WHOLLY = 1e-5
"""Orbitals that are on one atom but for this share may be mixed: none of the measures tells them apart."""

_COMPLETE = 1e-6
"""Norm of an orbital that the orbitals of the file may lack for its energy to be known."""


_PAIRED = 0.25
"""Share of an orbital in those of the other spin below which its electron is unpaired."""


_RATE = 1e10
"""Operations in a second, of products of matrices and what goes with them."""


@dataclass(frozen=True, eq=False)
class LocalisedSet:
    """Orbitals that were localised together: of one spin, and of one occupation.

    Attributes
    ----------
    spin : str
        alpha, also where both spins share orbitals, or beta.
    occupation : int
    first, last : int
        Places of its orbitals in the wavefunction, from 0; the last one is not among them.
    value : float
        Of the functional, which grows as orbitals are localised.
    gradient : float
        Its norm.
    """

    spin: Spin
    occupation: int
    first: int
    last: int
    value: float
    gradient: float


@dataclass(frozen=True, eq=False)
class Localisation:
    """Localised orbitals, and how well they were found.

    Attributes
    ----------
    wavefunction : Wavefunction
        With localised orbitals in place of the canonical ones; symmetry labels tell what they are.
    sets : tuple of LocalisedSet
    shares : dict of ndarray, shape (n_atoms, n_orbitals)
        Share of each orbital on each atom, by spin.
    """

    wavefunction: Wavefunction
    sets: tuple[LocalisedSet, ...]
    shares: Mapping[str, Reals]


@dataclass(frozen=True, eq=False)
class _Local:
    """The orbitals of a set, of which shares and names follow from those over functions of the atoms."""

    coefficients: Reals
    energies: Reals
    on_atoms: OnAtoms
    occupation: int
    maximum: Maximum


_LOCALISED = Derived[Localisation]("orbitals")
_SETS = Derived[_Local]("orbitals")
"""Sets by scheme, spin and occupation: the occupied ones are the same with and without the others."""


def localised(wavefunction: Wavefunction, scheme: Scheme = "ibo", which: Which = "occupied") -> Wavefunction:
    """The same wavefunction with localised orbitals; kept with it.

    Each spin is localised by itself, core orbitals with the others; where both share orbitals, those of two electrons
    and those of one apart. Occupied orbitals come first, each set by rising energy, which is the expectation value of
    the Fock operator as the canonical energies give it: NaN where the file has none. Symmetry labels tell what the
    orbitals are, see `orbitile.gaussians.localised.names`.

    Parameters
    ----------
    wavefunction
    scheme
        ibo (intrinsic bond orbitals: fourth powers of populations of intrinsic atomic orbitals), pm_iao (their
        squares), pm (squares of Loewdin's populations), boys (least spread).
    which
        occupied, or all: with ibo and pm_iao those that the orbitals of free atoms leave unoccupied, otherwise all
        unoccupied ones.

    Raises
    ------
    OrbitileError
        When there is no such scheme, orbitals have fractional occupations, or there are no intrinsic atomic orbitals.
    """
    return localisation(wavefunction, scheme, which).wavefunction


def localisation(wavefunction: Wavefunction, scheme: Scheme = "ibo", which: Which = "occupied") -> Localisation:
    """Localised orbitals with their shares on atoms and the values of the functional; as `localised`."""
    if scheme not in SCHEMES or which not in ("occupied", "all"):
        raise OrbitileError(
            f"localised orbitals: expected a scheme of {', '.join(SCHEMES)} and occupied or all, got {scheme!r} and "
            f"{which!r}"
        )
    return _LOCALISED.of(wavefunction, (scheme, which), lambda: _localise_all(wavefunction, scheme, which))


def localisation_near(
    wavefunction: Wavefunction, scheme: Scheme, which: Which, near: Mapping[Spin, Reals]
) -> Localisation:
    """Localised orbitals at the maximum next to some orbitals; otherwise as `localisation`.

    Parameters
    ----------
    wavefunction, scheme, which
        As for `localised`.
    near : dict of ndarray, shape (n_basis, n_orbitals)
        Of each spin about the orbitals that are wanted, such as those of another geometry, in the order in which
        localised ones come: of two electrons, of one, of none.

    Raises
    ------
    OrbitileError
        As `localised`, and when there are not as many orbitals.
    """
    return _localise_all(wavefunction, scheme, which, near)


def shares_on_atoms(wavefunction: Wavefunction, spin: Spin = "alpha") -> Reals:
    """Share of each orbital of a localised wavefunction on each atom, shape (n_atoms, n_orbitals).

    Over intrinsic atomic orbitals where it was localised by these, otherwise over the basis functions.

    Raises
    ------
    OrbitileError
        As of `intrinsic_atomic_orbitals`.
    """
    orbitals = wavefunction.orbitals(spin).coefficients
    if wavefunction.localised in INTRINSIC:
        return _intrinsic(wavefunction, spin, orbitals).shares(wavefunction.n_atoms)
    sizes = [shell.n_functions for shell in wavefunction.shells]
    shares = np.zeros((wavefunction.n_atoms, orbitals.shape[1]))
    atoms = np.repeat([shell.atom for shell in wavefunction.shells], sizes)
    np.add.at(shares, atoms, orbitals * (own_overlap(wavefunction) @ orbitals))
    return shares


def count_of(wavefunction: Wavefunction, scheme: Scheme, spin: Spin = "alpha") -> tuple[int, int]:
    """Localised orbitals of a spin that are occupied, and all that there are; found without localising any.

    Raises
    ------
    OrbitileError
        As of `whole_occupations` and `minimal_basis`.
    """
    wavefunction.require_real()
    occupations = whole_occupations(wavefunction, spin)
    total = n_functions(wavefunction) if scheme in INTRINSIC else len(occupations)
    return int(np.sum(occupations > 0)), total


def why_not(wavefunction: Wavefunction, scheme: Scheme) -> str:
    """Why a wavefunction has no localised orbitals of a scheme, in a sentence; empty where it has; found quickly."""
    try:
        occupied, _ = count_of(wavefunction, scheme)
    except OrbitileError as error:
        return str(error)
    return "" if occupied else "the file holds no occupied orbitals"


def seconds_for(wavefunction: Wavefunction, scheme: Scheme = "ibo", which: Which = "occupied") -> float:
    """About how long localisation takes on two cores of 2023, in seconds; 0 where it is done, or cannot be done."""
    if (scheme, which) in _LOCALISED.kept_with(wavefunction) or why_not(wavefunction, scheme):
        return 0.0
    operations = 20.0 * wavefunction.n_basis**3  # of the matrices of the basis
    for spin in wavefunction.spins:
        occupied, total = count_of(wavefunction, scheme, spin)
        sites = total if scheme in INTRINSIC else wavefunction.n_basis
        for n in (occupied, total - occupied)[: 1 if which == "occupied" else 2]:
            product = 6 * n**3 if scheme == "boys" else (4 * sites + 2 * n) * n**2
            operations += products_for(n) * product
    return operations / _RATE


def _localise_all(
    wavefunction: Wavefunction, scheme: Scheme, which: Which, near: Mapping[Spin, Reals] | None = None
) -> Localisation:
    orbitals: dict[Spin, Orbitals] = {}
    shares: dict[str, Reals] = {}
    sets: list[LocalisedSet] = []
    n_spins = len(wavefunction.spins)
    for n, spin in enumerate(wavefunction.spins):
        with stage(n / n_spins, (n + 1) / n_spins), one_thread_of_blas(wavefunction.n_basis):
            parts = list(_sets(wavefunction, spin, scheme, which, None if near is None else near[spin]))
        ends = np.cumsum([0, *(part.coefficients.shape[1] for part in parts)])
        orbitals[spin] = Orbitals(
            np.hstack([np.empty((wavefunction.n_basis, 0)), *(part.coefficients for part in parts)]),
            np.repeat([part.occupation for part in parts], np.diff(ends)),
            np.concatenate([np.empty(0), *(part.energies for part in parts)]),
            tuple(name for part in parts for name in _names(wavefunction, spin, part, scheme)),
        )
        shares[spin] = np.hstack(
            [np.empty((wavefunction.n_atoms, 0)), *(part.on_atoms.shares(wavefunction.n_atoms) for part in parts)]
        )
        sets += [
            LocalisedSet(
                spin, part.occupation, int(a), int(b), part.maximum.functional.value, part.maximum.gradient_norm
            )
            for part, a, b in zip(parts, ends[:-1], ends[1:], strict=True)
        ]
    made = replace(wavefunction, alpha=orbitals["alpha"], beta=orbitals.get("beta"), excitations=(), localised=scheme)
    return Localisation(made, tuple(sets), shares)


def _sets(wavefunction: Wavefunction, spin: Spin, scheme: Scheme, which: Which, near: Reals | None) -> Iterator[_Local]:
    """Localised orbitals of a spin, occupation by occupation."""
    starts = _starts(wavefunction, spin, scheme, which)
    ends = np.cumsum([0, *(coefficients.shape[1] for _, coefficients, _ in starts)])
    if near is not None and near.shape[1] != ends[-1]:
        raise OrbitileError(f"localised orbitals: expected {ends[-1]} {spin} orbitals near them, got {near.shape[1]}")
    for first, last, start in zip(ends[:-1], ends[1:], starts, strict=True):
        make = partial(_localise_set, wavefunction, spin, scheme, *start, None if near is None else near[:, first:last])
        yield make() if near is not None else _SETS.of(wavefunction, (scheme, spin, start[0]), make)


def _starts(wavefunction: Wavefunction, spin: Spin, scheme: Scheme, which: Which) -> list[tuple[int, Reals, Reals]]:
    """Sets of orbitals that are localised together: occupation, coefficients, energies."""
    canonical = wavefunction.orbitals(spin)
    occupations = whole_occupations(wavefunction, spin)
    if spin == "alpha" and not np.any(occupations > 0):
        raise OrbitileError("localised orbitals: the file holds no occupied orbitals")
    wanted = (2, 1, 0) if which == "all" and scheme not in INTRINSIC else (2, 1)
    members = {occupation: occupations == occupation for occupation in wanted}
    starts = [
        (occupation, canonical.coefficients[:, those], canonical.energies[those])
        for occupation, those in members.items()
        if np.any(those)
    ]
    virtual = which == "all" and scheme in INTRINSIC
    return [*starts, (0, *_valence_virtual(wavefunction, spin))] if virtual else starts


def _valence_virtual(wavefunction: Wavefunction, spin: Spin) -> tuple[Reals, Reals]:
    """What intrinsic atomic orbitals span beside the occupied ones, as eigenvectors of the Fock operator; energies."""
    atomic = intrinsic_atomic_orbitals(wavefunction, spin)
    canonical = wavefunction.orbitals(spin)
    there = whole_occupations(wavefunction, spin) > 0
    occupied = in_intrinsic(wavefunction, atomic, canonical.coefficients[:, there])
    complement = np.linalg.qr(occupied, mode="complete")[0][:, occupied.shape[1] :]
    virtual = atomic.coefficients @ complement
    parts = canonical.coefficients.T @ (own_overlap(wavefunction) @ virtual)
    missing = 1 - np.sum(parts**2, axis=0)
    if np.any(missing > _COMPLETE) or not np.all(np.isfinite(canonical.energies)):
        return virtual, np.full(virtual.shape[1], np.nan)
    energies, rotation = np.linalg.eigh(parts.T @ (canonical.energies[:, None] * parts))
    return virtual @ rotation, energies


def _localise_set(
    wavefunction: Wavefunction,
    spin: Spin,
    scheme: Scheme,
    occupation: int,
    start: Reals,
    energies: Reals,
    near: Reals | None,
) -> _Local:
    """Localised orbitals of the space of some eigenvectors of the Fock operator, of these energies, by energy."""
    on_atoms = _for_names(wavefunction, spin, scheme, occupation, start)
    functional = _functional(wavefunction, scheme, start, on_atoms)
    if near is None:
        thorough = bool(occupation) or scheme in INTRINSIC
        rotation = maximised(functional, on_atoms.coefficients, thorough).rotation
    else:
        left, _, right = np.linalg.svd(start.T @ (own_overlap(wavefunction) @ near))
        rotation = left @ right
        rotation = rotation @ climbed(functional.rotated(rotation)).rotation
    if scheme != "boys":
        rotation = _separate(rotation, functional.rotated(rotation).expectations, energies)
    values = np.einsum("ki,k,ki->i", rotation, energies, rotation)
    order = np.argsort(np.where(np.isnan(values), np.inf, np.round(values, 7)), kind="stable")
    rotation = rotation[:, order]
    local = on_atoms.coefficients @ rotation
    rotation = rotation * np.sign(local[np.argmax(np.abs(local), axis=0), np.arange(local.shape[1])])
    return _Local(
        start @ rotation,
        values[order],
        replace(on_atoms, coefficients=on_atoms.coefficients @ rotation),
        occupation,
        Maximum(rotation, functional.rotated(rotation)),
    )


def _separate(rotation: Reals, shares: Reals, energies: Reals) -> Reals:
    """Orbitals that are wholly on one atom, such as 1s and 2s, as eigenvectors of the Fock operator among them."""
    if not np.all(np.isfinite(energies)) or not shares.size:
        return rotation
    owner, whole = np.argmax(shares, axis=0), shares.max(axis=0) > 1 - _WHOLLY
    rotation = rotation.copy()
    for atom in np.unique(owner[whole]):
        members = np.flatnonzero(whole & (owner == atom))
        some = rotation[:, members]
        rotation[:, members] = some @ np.linalg.eigh(some.T @ (energies[:, None] * some))[1]
    return rotation


def _intrinsic(wavefunction: Wavefunction, spin: Spin, orbitals: Reals) -> OnAtoms:
    """Orbitals over intrinsic atomic orbitals."""
    atomic = intrinsic_atomic_orbitals(wavefunction, spin)
    return OnAtoms(in_intrinsic(wavefunction, atomic, orbitals), atomic.shells, atomic.is_core)


def _of_loewdin(wavefunction: Wavefunction, orbitals: Reals) -> OnAtoms:
    """Orbitals over the basis functions made orthonormal by the inverse root of their overlap, atom by atom."""
    order = np.argsort([shell.atom for shell in wavefunction.shells], kind="stable")
    sizes = np.array([shell.n_functions for shell in wavefunction.shells])
    first = np.cumsum(sizes) - sizes
    rows = np.concatenate([np.arange(first[n], first[n] + sizes[n]) for n in order])
    local = patiently(lambda: _root(wavefunction) @ orbitals)
    return OnAtoms(local[rows], tuple(wavefunction.shells[n] for n in order), np.zeros(len(rows), bool))


def _for_names(wavefunction: Wavefunction, spin: Spin, scheme: Scheme, occupation: int, orbitals: Reals) -> OnAtoms:
    """Over intrinsic atomic orbitals, where these hold the orbitals: elements may lack them."""
    if occupation or scheme in INTRINSIC:
        try:
            return _intrinsic(wavefunction, spin, orbitals)
        except NotDescribed:
            if scheme in INTRINSIC:
                raise
    return _of_loewdin(wavefunction, orbitals)


def _root(wavefunction: Wavefunction) -> Reals:
    """Root of the overlap of the basis functions, shape (n_basis, n_basis)."""
    values, axes = np.linalg.eigh(dense(own_overlap(wavefunction)))
    return (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T


def _functional(wavefunction: Wavefunction, scheme: Scheme, orbitals: Reals, for_names: OnAtoms) -> Functional:
    if scheme == "boys":
        positions = position_integrals(wavefunction, orbitals)
        mean = np.einsum("xii->x", positions) / orbitals.shape[1]
        return Centres(positions - mean[:, None, None] * np.eye(orbitals.shape[1]))
    on_atoms = for_names if scheme in INTRINSIC else _of_loewdin(wavefunction, orbitals)
    counts = np.bincount(on_atoms.atoms, minlength=wavefunction.n_atoms)
    return Populations(on_atoms.coefficients, 4 if scheme == "ibo" else 2, counts[counts > 0])


def _names(wavefunction: Wavefunction, spin: Spin, part: _Local, scheme: Scheme) -> list[str]:
    """What each orbital of a set is, see `orbitile.gaussians.localised.names`."""
    n = part.coefficients.shape[1]
    states = ["antibonding" if scheme in INTRINSIC else "empty"] * n
    if part.occupation:
        alone = part.occupation == 1 and wavefunction.beta is None
        paired = np.full(n, not alone)
        if wavefunction.beta is not None:
            other = wavefunction.alpha if spin == "beta" else wavefunction.beta
            there = other.coefficients[:, other.occupations > 0.5]
            paired = np.sum((there.T @ (own_overlap(wavefunction) @ part.coefficients)) ** 2, axis=0) > _PAIRED
        states = ["occupied" if both else "unpaired" for both in paired]
    return [name_of(wavefunction, part.on_atoms, index, state) for index, state in enumerate(states)]

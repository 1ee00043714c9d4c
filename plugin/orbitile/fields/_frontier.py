"""The order in which HOMO and LUMO count, and which orbitals of a file have one energy and one occupation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model.wavefunction import Orbitals, Spin, Wavefunction, are_natural


def frontier_order(wavefunction: Wavefunction, spin: Spin, named: Spin | None = None) -> tuple[list[int], list[int]]:
    """Occupied and unoccupied orbitals of one spin, each from low to high.

    By energy where the file gives energies; natural orbitals by falling occupation, bonds, lone pairs and the like only
    where they have no energies. Both lists are empty where neither says which orbital is the higher one: then there is
    no HOMO. An orbital counts as
    occupied from half its capacity on; the singly occupied ones of a restricted open shell are occupied, except when
    the beta electrons are asked for by name.
    """
    orbitals = wavefunction.orbitals(spin)
    threshold = wavefunction.capacity / 2 - 1e-6
    if wavefunction.kind == "restricted open-shell" and named == "beta":
        threshold = 1.5
    occupied = orbitals.occupations >= threshold
    height = _height(wavefunction, orbitals)
    if height is None:
        return [], []
    order = np.argsort(height, kind="stable")
    return [int(i) for i in order if occupied[i]], [int(i) for i in order if not occupied[i]]


def frontier_name(place: int) -> str:
    """An orbital as counted from the HOMO, whose place is 0, or from the LUMO, whose place is 1: HOMO-1, LUMO+2."""
    name, shift = ("HOMO", place) if place <= 0 else ("LUMO", place - 1)
    return f"{name}{shift:+d}" if shift else name


def why_no_frontier(wavefunction: Wavefunction) -> str:
    """Why there is no HOMO though there are occupied orbitals, as the end of a sentence; empty where there is one."""
    if _height(wavefunction, wavefunction.alpha) is not None:
        return ""
    return "these orbitals have neither energies nor occupations to be ordered by, so there is no HOMO and no LUMO"


def _height(wavefunction: Wavefunction, orbitals: Orbitals) -> NDArray[np.float64] | None:
    """By what orbitals are ordered; None where nothing orders them."""
    if wavefunction.natural and not (wavefunction.unordered or any(orbitals.labels)):
        return -orbitals.occupations
    if np.all(np.isfinite(orbitals.energies)) and np.any(orbitals.energies != 0):
        return orbitals.energies
    if wavefunction.unordered or wavefunction.localised:
        ordered = are_natural(orbitals.occupations) and not wavefunction.overlapping
        return -orbitals.occupations if ordered else None
    return np.arange(len(orbitals), dtype=np.float64)


_SAME_ENERGY = 1e-4
"""Difference in hartree of neighbours in a degenerate set: programs converge and print to this."""

_MOST_DEGENERATE = 5
"""Orbitals of such a set, in an icosahedral molecule; atoms have 2 l + 1."""


def degenerate_with(wavefunction: Wavefunction, spin: Spin, index: int) -> tuple[int, ...]:
    """The orbitals of one energy and occupation that an orbital is one of, itself included, by rising energy.

    The same for each of them. It is alone among natural orbitals, and where a file has no energies.

    Parameters
    ----------
    wavefunction
    spin
        Spin whose set of orbitals it is counted in.
    index
        From 0, in the order of the file.
    """
    orbitals = wavefunction.orbitals(spin)
    energies = orbitals.energies
    if wavefunction.natural or not np.all(np.isfinite(energies)) or np.ptp(energies) == 0:
        return (index,)
    occupations = np.round(orbitals.occupations, 4)
    alike = np.flatnonzero(occupations == occupations[index])
    alike = alike[np.argsort(energies[alike], kind="stable")]
    gaps, mine = np.diff(energies[alike]), int(np.flatnonzero(alike == index)[0])
    ends = np.array([0, *(np.flatnonzero(gaps > _SAME_ENERGY) + 1), len(alike)])
    place = int(np.searchsorted(ends, mine, side="right"))
    begin, end = ends[place - 1], ends[place]
    atom = len({shell.atom for shell in wavefunction.shells}) == 1
    most = 2 * max(shell.angular_momentum for shell in wavefunction.shells) + 1 if atom else _MOST_DEGENERATE
    while end - begin > most:  # several sets in a row
        widest = begin + 1 + int(np.argmax(gaps[begin : end - 1]))
        begin, end = (widest, end) if mine >= widest else (begin, widest)
    return tuple(alike[begin:end].tolist())

"""Orbitals in the order in which HOMO and LUMO count."""

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

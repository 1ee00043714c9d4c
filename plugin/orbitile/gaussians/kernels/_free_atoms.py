"""The density of free atoms on a lattice: from a promolecule to the kernel of tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from taichi_kernels.target import Target

from ...base.arrays import Indices, Reals
from ...base.caches import Derived
from ...base.watch import watcher
from ...model.free_atoms import FreeAtom
from ...model.lattice import Lattice
from ...model.wavefunction import Wavefunction
from ..expansion import box_outside_which
from ..promolecule import free_atoms_of
from ._sums import shares_derivatives

if TYPE_CHECKING:
    from taichi_kernels.spherical_atoms import SphericalAtoms

_FAINT = 1e-9
"""Density in e bohr^-3 at which an atom ends. What all those cut at about the same distance from a point have there,
some hundred in a protein, is less than screening of Gaussians may cost."""

_FARTHEST, _NODES, _COARSE = 40.0, 4096, 4001

_ATOMS: Derived[SphericalAtoms] = Derived("sums of Gaussians")


@lru_cache(maxsize=256)
def _cut(atom: FreeAtom) -> float:
    """Distance in bohr beyond which the density of an atom is fainter than where atoms end."""
    r = np.linspace(0.0, _FARTHEST, _COARSE)
    return float(r[min(np.flatnonzero(np.abs(atom.density(r)) > _FAINT).max() + 1, _COARSE - 1)])


def _kinds(wavefunction: Wavefunction) -> tuple[list[FreeAtom], Indices, Reals]:
    """The different free atoms, which of them is at each place with electrons, and the places."""
    there = [(n, atom) for n, atom in enumerate(free_atoms_of(wavefunction)) if atom is not None]
    kinds = list(dict.fromkeys(atom for _, atom in there))
    number = {atom: n for n, atom in enumerate(kinds)}
    which = np.array([number[atom] for _, atom in there], np.intp)
    return kinds, which, wavefunction.positions[[n for n, _ in there]]


def free_atoms_on_slabs(
    wavefunction: Wavefunction, lattice: Lattice, target: Target
) -> Callable[[int, int, Any], None] | None:
    """Evaluator for slabs of a lattice, on a CPU in single precision; None elsewhere and on other lattices.

    Parameters
    ----------
    wavefunction
        A promolecule.
    lattice, target
        As for `on_slabs` of `_sums`.
    """
    if not target.on_host or target.precision == "double" or not shares_derivatives(lattice):
        return None
    from taichi_kernels.arrays import view
    from taichi_kernels.spherical_atoms import add_atoms, sorted_atoms

    def make() -> SphericalAtoms:
        kinds, which, positions = _kinds(wavefunction)
        cut = np.array([_cut(atom) for atom in kinds])
        nodes = cut[:, None] * np.linspace(0.0, 1.0, _NODES + 1)
        values = np.array([atom.density(r) for atom, r in zip(kinds, nodes, strict=True)])
        slopes = np.array([atom.slope(r) for atom, r in zip(kinds, nodes, strict=True)])
        return sorted_atoms(positions, which, cut, values, slopes)

    atoms = _ATOMS.of(wavefunction, None, make)

    def evaluate(start: int, stop: int, out: Any) -> None:
        values = out if isinstance(out, np.ndarray) else view(out).reshape(out.shape)
        add_atoms(atoms, lattice.origin, lattice.spacings, start, target, values[: stop - start], watcher())

    return evaluate


def box_of_free_atoms(wavefunction: Wavefunction, isovalue: float) -> tuple[Reals, Reals]:
    """Corners of a box outside which the density of free atoms is smaller than an isovalue, in bohr."""
    kinds, which, positions = _kinds(wavefunction)
    r = np.linspace(0.0, _FARTHEST, _COARSE)
    falling = [np.maximum.accumulate(np.abs(atom.density(r))[::-1])[::-1] for atom in kinds]
    of_kind = [which == n for n in range(len(kinds))]

    def beyond(distance: Reals) -> float:
        total = 0.0
        for values, some in zip(falling, of_kind, strict=True):
            before = np.clip(distance[some] * ((_COARSE - 1) / _FARTHEST), 0, _COARSE - 1).astype(np.intp)
            total += float(values[before].sum())
        return total

    return box_outside_which(beyond, isovalue, positions, before=0.0, beyond=_FARTHEST, width=0.02)

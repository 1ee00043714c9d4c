"""Which orbitals of a file have one energy and one occupation."""

from __future__ import annotations

import numpy as np

from ..model.wavefunction import Spin, Wavefunction

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
    return tuple(int(one) for one in alike[begin:end])

"""Molecules whose numbers are known."""

from importlib.resources import files

import numpy as np

from orbitile import Orbitals, Shell, Wavefunction

BENZENE = str(files("orbitile.data") / "benzene.molden")

_STO_3G = np.array([3.425250914, 0.6239137298, 0.1688554040]), np.array([0.1543289673, 0.5353281423, 0.4446345422])
"""Of hydrogen."""


def _s_shell(atom: int) -> Shell:
    return Shell(atom, 0, False, *_STO_3G)


def dihydrogen() -> Wavefunction:
    """H2 in the smallest basis set at 1.4 bohr; its orbitals follow from symmetry and the overlap."""
    from orbitile.gaussians.overlap import shell_overlap

    shells, positions = [_s_shell(0), _s_shell(1)], np.array([[0.0, 0, -0.7], [0, 0, 0.7]])
    s = float(shell_overlap(shells, positions, shells, positions)[0, 1])
    up, down = 1 / np.sqrt(2 + 2 * s), 1 / np.sqrt(2 - 2 * s)
    orbitals = Orbitals(np.array([[up, down], [up, -down]]), np.array([2.0, 0.0]), np.array([-0.578, 0.670]))
    return Wavefunction(np.array([1, 1]), positions, tuple(shells), orbitals)


def hydrogen_atom() -> Wavefunction:
    """H with its one electron."""
    alpha = Orbitals(np.ones((1, 1)), np.ones(1), np.array([-0.4666]))
    beta = Orbitals(np.ones((1, 1)), np.zeros(1), np.array([0.3079]))
    return Wavefunction(np.array([1]), np.zeros((1, 3)), (_s_shell(0),), alpha, beta)

"""Orbitals of many molecules from the orbitals of one: each molecule is a rotated copy, and so are its orbitals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def monomials(points: Array, degree: int) -> Array:
    """Monomials x^i y^j z^k of one degree, alphabetically (xx, xy, xz, yy, ...), shape (n_points, n_components)."""
    powers = [(i, j, degree - i - j) for i in range(degree, -1, -1) for j in range(degree - i, -1, -1)]
    return np.stack([np.prod(points ** np.array(power), axis=1) for power in powers], axis=1)


def rotation_of_monomials(rotation: Array, degree: int) -> Array:
    """Matrix T such that the function with coefficients T c is the one with coefficients c, rotated.

    A homogeneous polynomial f of the degree becomes f(R^-1 r), which is one of the same degree again; its coefficients
    follow from its values at as many points as there are monomials, here more of them and exact in a least-squares
    sense.

    Parameters
    ----------
    rotation : ndarray, shape (3, 3)
        A proper or improper rotation R.
    degree
        Angular momentum of a Cartesian shell whose components share one normalisation.
    """
    points = np.random.default_rng(degree).normal(size=(2 * (degree + 1) * (degree + 2), 3))
    turned = np.linalg.lstsq(monomials(points, degree), monomials(points @ rotation, degree), rcond=None)
    return np.asarray(turned[0])


def rotated_coefficients(molecule: Any, coefficients: Array, rotation: Array) -> Array:
    """Orbital coefficients of a molecule after a rotation about the origin.

    Parameters
    ----------
    molecule : pyscf.gto.Mole
        With Cartesian basis functions; its atoms are rotated by the caller.
    coefficients : ndarray, shape (n_basis, n_orbitals)
    rotation : ndarray, shape (3, 3)
    """
    result = np.empty_like(coefficients)
    offsets = molecule.ao_loc_nr()
    for shell in range(molecule.nbas):
        matrix = rotation_of_monomials(rotation, molecule.bas_angular(shell))
        for first in range(offsets[shell], offsets[shell + 1], len(matrix)):  # contractions of a general shell
            result[first : first + len(matrix)] = matrix @ coefficients[first : first + len(matrix)]
    return result


def random_rotation(generator: np.random.Generator) -> Array:
    """A proper rotation, all equally likely: the orthogonal factor of a random matrix, with its signs settled."""
    q, r = np.linalg.qr(generator.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return np.asarray(q * np.sign(np.linalg.det(q)))


def delocalised(n: int, count: int) -> Array:
    """Orthonormal combinations of n like orbitals, shape (n, count): those of a discrete cosine transform.

    The first is in phase everywhere; all have entries of about n^-1/2.
    """
    wave = np.cos(np.pi * (np.arange(n)[:, None] + 0.5) * np.arange(count) / n)
    return np.asarray(wave / np.linalg.norm(wave, axis=0))


def orthonormalised(coefficients: Array, overlap: Array) -> Array:
    """Symmetric (Loewdin) orthonormalisation, C (C^T S C)^-1/2: of all orthonormal sets the one closest to C."""
    values, vectors = np.linalg.eigh(coefficients.T @ (overlap @ coefficients))
    return np.asarray(coefficients @ (vectors / np.sqrt(values)) @ vectors.T)


def superposition(
    molecule: Any, whole: Any, orbitals: Array, rotations: list[Array], n_localised: int = 4, n_delocalised: int = 4
) -> Array:
    """Orbitals of a set of like molecules from one orbital of each.

    Parameters
    ----------
    molecule, whole : pyscf.gto.Mole
        One molecule, and all of them one after the other, with Cartesian basis functions.
    orbitals : ndarray, shape (n_basis, 2)
        Two orbitals of the molecule: the first for the localised orbitals, the second for the delocalised ones.
    rotations
        Of each molecule.
    n_localised, n_delocalised
        How many of each.

    Returns
    -------
    ndarray, shape (n_basis of all, n_localised + n_delocalised)
        Orthonormal: localised ones, on molecules spread over the set, then delocalised ones, the one that is in phase
        everywhere last.
    """
    n, m = len(rotations), molecule.nao
    n_localised, n_delocalised = min(n, n_localised), min(n, n_delocalised)  # one molecule has one of each
    where = np.linspace(0, n - 1, n_localised).round().astype(int)
    columns = np.zeros((whole.nao, n_localised + n))
    for index, rotation in enumerate(rotations):
        turned = rotated_coefficients(molecule, orbitals, rotation)
        rows = slice(index * m, (index + 1) * m)
        columns[rows, n_localised + index] = turned[:, 1]
        columns[rows, np.flatnonzero(where == index)] = turned[:, :1]
    columns = orthonormalised(columns, whole.intor_symmetric("int1e_ovlp"))
    waves = columns[:, n_localised:] @ delocalised(n, n_delocalised)[:, ::-1]
    return np.hstack([columns[:, :n_localised], waves])

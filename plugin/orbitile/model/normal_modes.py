r"""Normal modes from second derivatives of the energy, and how strongly spectra show them.

The Hessian is weighted by masses, and translations and rotations of the whole molecule are projected out by the
conditions of C. Eckart (Phys. Rev. 1935, 47, 552): E. B. Wilson, J. C. Decius, P. C. Cross, *Molecular Vibrations*,
1955, chapters 2 and 3. Along the normal coordinate Q of a mode atoms are at :math:`x_0 + L Q`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from .elements import MASSES
from .units import angstrom, dalton, wavenumber
from .vibrations import Vibrations

_LINE = 0.02
"""Distance in bohr from a line within which all atoms of a linear molecule are."""

_KILOMETRES_PER_MOLE = 1777097.73
r"""Of the square of one e/sqrt(m_e), the derivative of a dipole moment with a normal coordinate: as the integrated
absorption coefficient is :math:`N_A |d\mu/dQ|^2 / (12 \epsilon_0 c^2)` (Wilson, Decius and Cross, chapter 7), this is
N_A e^2 / (12 epsilon_0 c^2 m_e), with the constants of CODATA 2018. That of one e^2/u is 974.88 km/mol."""


def standard_masses(atomic_numbers: NDArray[np.integer]) -> Reals:
    """Mean masses of the elements in u, shape (n_atoms,); see `orbitile.model.elements.MASSES`."""
    return np.array(MASSES)[atomic_numbers]


def infrared_intensities(dipole_derivatives: Reals) -> Reals:
    """Integrated molar absorption coefficients of modes.

    Parameters
    ----------
    dipole_derivatives : ndarray, shape (n_modes, 3)
        Of the dipole moment with the normal coordinates, in e/sqrt(m_e).

    Returns
    -------
    ndarray, shape (n_modes,)
        In km/mol.
    """
    return _KILOMETRES_PER_MOLE * (dipole_derivatives**2).sum(axis=1)


def raman_activities(polarisability_derivatives: Reals) -> Reals:
    r"""Raman activities of modes, :math:`45 \bar\alpha'^2 + 7 \gamma'^2`.

    The mean polarisability and its anisotropy are those of Wilson, Decius and Cross (chapter 3).

    Parameters
    ----------
    polarisability_derivatives : ndarray, shape (n_modes, 3, 3)
        Of the polarisability with the normal coordinates, in bohr^2/sqrt(m_e).

    Returns
    -------
    ndarray, shape (n_modes,)
        In Angstrom^4/u.
    """
    a = polarisability_derivatives
    mean = np.trace(a, axis1=1, axis2=2) / 3
    traceless = a - mean[:, None, None] * np.eye(3)
    anisotropy = 1.5 * (traceless**2).sum(axis=(1, 2))
    return (45 * mean**2 + 7 * anisotropy) * dalton / angstrom**4


def modes_of(vibrations: Vibrations, masses: Reals | None = None, *, is_free: bool = True) -> Vibrations:
    """Modes, wavenumbers and strengths that follow from the derivatives that vibrations hold.

    Parameters
    ----------
    vibrations
        With a Hessian; what it has of modes is not looked at. Without a Hessian that of its modes is taken.
    masses : ndarray, shape (n_atoms,), optional
        In u; by default its own.
    is_free
        Whether the molecule may move as a whole: nothing is projected out of one in the field of charges that stay.

    Raises
    ------
    OrbitileError
        When there is nothing to begin from.
    """
    masses = vibrations.masses if masses is None else masses
    hessian = vibrations.hessian if np.size(vibrations.hessian) else _hessian_of_modes(vibrations)
    weights = 1.0 / np.sqrt(np.repeat(masses * dalton, 3))
    inner = _inner_space(masses, vibrations.positions) if is_free else np.eye(len(weights))
    squares, axes = np.linalg.eigh(inner.T @ (hessian * np.outer(weights, weights)) @ inner)
    along = (inner @ axes).T * weights  # rows are L of each mode
    largest = np.take_along_axis(along, np.abs(along).argmax(axis=1)[:, None], axis=1)
    along *= np.sign(largest)
    infrared = raman = np.empty(0)
    if np.size(vibrations.dipole_derivatives):
        infrared = infrared_intensities(along @ vibrations.dipole_derivatives)
    if np.size(vibrations.polarisability_derivatives):
        raman = raman_activities(np.einsum("kx,xij->kij", along, vibrations.polarisability_derivatives))
    lengths = np.linalg.norm(along, axis=1, keepdims=True)
    return replace(
        vibrations,
        masses=masses,
        wavenumbers=np.sign(squares) * np.sqrt(np.abs(squares)) / wavenumber,
        displacements=(along / lengths).reshape(len(along), len(masses), 3),
        infrared=infrared,
        raman=raman,
        rotatory=np.empty(0),
        symmetries=(),
    )


def is_linear(positions: Reals) -> bool:
    """Whether all atoms, two or more, are on one line."""
    from_middle = positions - positions.mean(axis=0)
    if len(positions) < 2:
        return False
    axis = np.linalg.svd(from_middle, full_matrices=False)[2][0]
    beside = from_middle - np.outer(from_middle @ axis, axis)
    return bool(np.linalg.norm(beside, axis=1).max() < _LINE)


def whole_motions(masses: Reals, positions: Reals) -> Reals:
    """Orthonormal columns, over mass-weighted coordinates, of translations and rotations of the whole molecule."""
    return _axes_of_motions(masses, positions)[0]


def _inner_space(masses: Reals, positions: Reals) -> Reals:
    """The same of all that is no translation nor rotation."""
    return _axes_of_motions(masses, positions)[1]


def _axes_of_motions(masses: Reals, positions: Reals) -> tuple[Reals, Reals]:
    """Orthonormal axes of motions of the whole, and of all others."""
    from_centre = positions - masses @ positions / masses.sum()
    whole = [np.tile(axis, len(masses)).reshape(-1, 3) for axis in np.eye(3)]
    whole += [np.cross(axis, from_centre) for axis in np.eye(3)]
    motions = np.array([(np.sqrt(masses)[:, None] * motion).ravel() for motion in whole]).T
    n = 3 if len(masses) == 1 else 5 if is_linear(positions) else 6
    axes = np.linalg.svd(motions, full_matrices=True)[0]
    return axes[:, :n], axes[:, n:]


def _hessian_of_modes(vibrations: Vibrations) -> Reals:
    """The Hessian, without translations and rotations, of which modes are the axes."""
    if not vibrations.n_modes:
        return np.zeros((3 * len(vibrations.masses),) * 2)
    reduced = np.sqrt(vibrations.reduced_masses * dalton)
    masses = np.repeat(vibrations.masses * dalton, 3)
    axes = vibrations.displacements.reshape(vibrations.n_modes, -1) * masses / reduced[:, None]
    squares = np.sign(vibrations.wavenumbers) * (vibrations.wavenumbers * wavenumber) ** 2
    return np.einsum("ka,k,kb->ab", axes, squares, axes, optimize=True)


def with_isotopes(vibrations: Vibrations, isotopes: Mapping[int, float]) -> Vibrations:
    """The same molecule with other masses of some atoms.

    Parameters
    ----------
    vibrations
        Of any file. Infrared and Raman strengths remain known only where it has derivatives of the dipole moment and of
        the polarisability, as files by `orbitile vibrations` have.
    isotopes
        Masses in u by the number of the atom, from 0.

    Raises
    ------
    OrbitileError
        When there is no such atom, or a mass is not one.
    """
    masses = vibrations.masses.copy()
    for atom, mass in isotopes.items():
        if not 0 <= atom < len(masses):
            raise OrbitileError(f"isotopes: there is no atom {atom + 1}, expected 1 to {len(masses)}")
        if not 0 < mass < np.inf:
            raise OrbitileError(f"isotopes: expected a mass of more than 0 u for atom {atom + 1}, got {mass:g}")
        masses[atom] = mass
    is_free = vibrations.n_modes < 3 * len(masses)
    return modes_of(vibrations, masses, is_free=is_free)

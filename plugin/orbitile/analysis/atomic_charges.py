"""Charges of atoms, as integrals of the density.

Over the fuzzy cells of A. D. Becke (J. Chem. Phys. 1988, 88, 2547) or F. L. Hirshfeld (Theor. Chim. Acta 1977, 44,
129), summed over the points of a quadrature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import OrbitileError
from ..model.elements import SYMBOLS
from ._quadrature import quadrature_with_density

if TYPE_CHECKING:
    from ..model.wavefunction import Wavefunction


Reals = NDArray[np.float64]

_KRYPTON = 36
"""The last element for which def2-TZVP describes all electrons."""

_AT_ONCE = 1 << 16
"""Points that are shared out together."""


def atomic_charges(wavefunction: Wavefunction, scheme: str = "becke", device: str | None = None) -> Reals:
    """Charges of the atoms: nuclear charge less the electrons in the atom's cell.

    Parameters
    ----------
    wavefunction
    scheme
        becke, or hirshfeld, whose free atoms are computed by PySCF (spherically averaged Hartree-Fock; def2-TZVP,
        beyond krypton with its core potentials, or DZP, as the molecule is).
    device
        As for `orbitile.evaluate`.

    Returns
    -------
    ndarray, shape (n_atoms,)
        In e. They add up to the charge of the molecule up to the error of the quadrature, below 0.01 e.

    Raises
    ------
    OrbitileError
        For another scheme, or when PySCF is not installed.
    """
    from ..evaluation.devices import device_session

    real = np.flatnonzero(wavefunction.atomic_numbers > 0)
    share: Callable[[Reals, Reals], Reals] | None = None
    if scheme == "hirshfeld":
        numbers = wavefunction.atomic_numbers[real]
        cores = np.rint(numbers - wavefunction.core_charges[real]).astype(int)
        kinds = list(zip(numbers.tolist(), cores.tolist(), strict=True))
        free = {kind: _free_atom(*kind) for kind in set(kinds)}
        profiles = [free[kind] for kind in kinds]

        def share(points: Reals, positions: Reals) -> Reals:
            distances = np.linalg.norm(points[:, None] - positions, axis=2)
            parts = np.stack(
                [np.interp(distances[:, n], *profile, right=0) for n, profile in enumerate(profiles)], axis=1
            )
            parts /= np.maximum(parts.sum(axis=1, keepdims=True), 1e-300)
            return parts

    elif scheme != "becke":
        raise OrbitileError(f"charges of atoms: expected becke or hirshfeld, got {scheme!r}")
    with device_session(device, "single") as target:
        quadrature, electrons = quadrature_with_density(wavefunction, target, borders="becke")
    in_cells = np.zeros(len(real))
    if share is None:
        in_cells += np.bincount(quadrature.atom, electrons, len(wavefunction.atomic_numbers))[real]
    else:
        for first in range(0, len(electrons), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            in_cells += electrons[some] @ share(quadrature.points[some], wavefunction.positions[real])
    charges = np.zeros(len(wavefunction.atomic_numbers))
    charges[real] = wavefunction.core_charges[real] - in_cells
    return charges


def _free_atom(number: int, core: int) -> tuple[Reals, Reals]:
    """Radii in bohr and density in e bohr^-3 of a free atom, by PySCF: the electrons that no core potential replaces.

    Beyond krypton def2-TZVP goes with core potentials of its own. Where those of the molecule replace as many
    electrons they serve; otherwise the atom has all of its electrons, in a basis made for them, and the shells of
    lowest energy are left out.
    """
    try:
        from pyscf import dft, gto
        from pyscf.gto.basis import load_ecp
        from pyscf.lib.exceptions import BasisNotFoundError
        from pyscf.scf import atom_hf
    except ImportError as error:
        raise OrbitileError("Hirshfeld charges need free atoms, from PySCF: pip install pyscf") from error
    symbol = SYMBOLS[number]
    try:
        replaced = int(load_ecp("def2-tzvp", symbol)[0]) if number > _KRYPTON else 0
        matches = replaced == core and core > 0
        basis = "def2-tzvp" if matches or number <= _KRYPTON else "dzp"
        mol = gto.M(
            atom=f"{symbol} 0 0 0",
            basis=basis,
            ecp={symbol: "def2-tzvp"} if matches else {},
            spin=(number - (core if matches else 0)) % 2,
            verbose=0,
        )
    except (BasisNotFoundError, KeyError) as error:
        raise OrbitileError(
            f"Hirshfeld charges: PySCF has no basis set for a free atom of {symbol}; use becke"
        ) from error
    _, energies, coefficients, occupations = atom_hf.get_atm_nrhf(mol)[symbol]
    if core and not matches:
        order = np.argsort(np.where(occupations > 0, energies, np.inf), kind="stable")
        below = np.concatenate([[0.0], np.cumsum(occupations[order])[:-1]])
        occupations = occupations.copy()
        occupations[order] -= np.clip(core - below, 0, occupations[order])
    radii = np.concatenate([[0.0], np.geomspace(1e-3, 25, 400)])
    # a direction of no symmetry sees no shell of an average over all: the density is the same along all of them
    values = dft.numint.eval_ao(mol, radii[:, None] * np.array([[0.48, 0.6, 0.64]]))
    density: Reals = (values @ coefficients) ** 2 @ occupations
    return radii, density

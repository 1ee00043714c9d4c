r"""Compute atoms by Hartree-Fock, fit them by Gaussians: writes `plugin/orbitile/data/hartree_fock_atoms.npz`.

    python benchmarks/hartree_fock_atoms.py

Voids of crystals are where the tails of atoms have died out, and those of PBE, as `benchmarks/free_atoms.py` has them,
are too long: 2 Angstrom from oxygen by 40 %. Published voids are of atoms by Hartree-Fock (T. Koga, K. Kanayama, S.
Watanabe and A. J. Thakkar, Int. J. Quantum Chem. 1999, 71, 491), and of a hydrogen atom as it is in molecules, a 1s
Slater function with the exponent 1.24 (W. J. Hehre, R. F. Stewart and J. A. Pople, J. Chem. Phys. 1969, 51, 2657).

Hydrogen to xenon, but for open d shells: ground states of restricted open shells by PySCF, not relativistic, in
even-tempered Gaussians, and spherical averages of their densities. The fits are those of the free atoms.
"""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
from pyscf import dft, gto, scf

from free_atoms import MESH, RATIO, VOLUME, Reals, configuration, fit
from orbitile.model.elements import SYMBOLS
from orbitile.model.units import angstrom

LAST = 54
TABLE = Path(__file__).parents[1] / "plugin/orbitile/data/hartree_fock_atoms.npz"
IN_MOLECULES = 1.24
"""Exponent of hydrogen's Slater function."""
_LEAST = (0.03, 0.04, 0.3)
_MOST = (2e5, 2e3, 2e2)
"""Exponents of s, p and d functions in bohr^-2; the largest in units of the square of the charge over 10."""
_BETA = 2.2


def density_of(number: int) -> Reals:
    """On the mesh, in e bohr^-3."""
    if number == 1:
        return IN_MOLECULES**3 / pi * np.exp(-2 * IN_MOLECULES * MESH)
    shells = configuration(number)
    basis = []
    for l in range(max(l for _, l in shells) + 1):
        most = _MOST[l] * max(number, 3) ** 2 / 100
        basis += gto.expand_etbs([(l, int(np.log(most / _LEAST[l]) / np.log(_BETA)) + 1, _LEAST[l], _BETA)])
    open_shells = [min(e, 4 * l + 2 - e) for (_, l), e in shells.items()]
    molecule = gto.M(atom=f"{SYMBOLS[number]} 0 0 0", basis=basis, spin=max(open_shells), verbose=0)
    field = scf.ROHF(molecule) if molecule.spin else scf.RHF(molecule)
    field.conv_tol, field.max_cycle, field.level_shift = 1e-10, 200, 0.1 if molecule.spin else 0.0
    field.kernel()
    if not field.converged:
        raise SystemExit(f"{SYMBOLS[number]}: not converged")
    sphere = dft.gen_grid.MakeAngularGrid(26)
    matrix = field.make_rdm1()
    matrix = matrix if matrix.ndim == 2 else matrix.sum(axis=0)
    result = np.zeros_like(MESH)
    for place, weight in zip(sphere[:, :3], sphere[:, 3], strict=True):
        functions = dft.numint.eval_ao(molecule, MESH[:, None] * place)
        result += weight * np.einsum("pi,ij,pj->p", functions, matrix, functions, optimize=True)
    return result


def main() -> None:
    rows, firsts, weights = [], [], []
    for number in range(1, LAST + 1):
        if any(l == 2 and electrons < 10 for (_, l), electrons in configuration(number).items()):
            continue
        density = density_of(number)
        least, electrons, fitted = fit(density, number, 0.0)
        rows.append((number, 0, len(electrons)))
        firsts.append(least)
        weights.append(electrons)
        outside = (density > 1e-5) & (0.3 / number < MESH)
        print(
            f"{SYMBOLS[number]:2} {4 * pi * float(density @ VOLUME):.5f} e; relative error beyond 0.3/Z bohr "
            f"{np.abs(fitted / density - 1)[outside].max():.1e}; at 2 Angstrom "
            f"{np.interp(2 * angstrom, MESH, density):.3e} e bohr^-3",
            flush=True,
        )
        np.savez_compressed(
            TABLE,
            fits=np.array(rows, np.int16),
            least=np.array(firsts),
            electrons=np.concatenate(weights),
            ratio=RATIO,
        )


if __name__ == "__main__":
    main()

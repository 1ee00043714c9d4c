"""Stability: eigenvalues of the Hessian are PySCF's, and second differences of the energy."""

from __future__ import annotations

import json

import numpy as np
import pytest

from orbitile.base.errors import OrbitileError
from orbitile.commandline import main
from orbitile.scf.calculation import Calculation
from orbitile.scf.kohn_sham import self_consistent_field
from orbitile.scf.occupation import Occupation
from orbitile.scf.rotations import Rotations
from orbitile.scf.series import compute_series
from orbitile.scf.stability import stability, stability_of
from tests.integrals.references import basis_of, molecule
from tests.molecules import scf
from tests.scf.test_kohn_sham import CRITERIA, HartreeFock, atoms_of

HYDROGEN, STRETCHED = "H 0 0 0; H 0 0 0.74", "H 0 0 0; H 0 0 2.0"
OXYGEN = "O 0 0 0; O 0 0 1.3"
WATER = "O 0 0 0; H 0 0.79 0.61; H 0 -0.79 0.61"


class OfAnySpin:
    """Hartree-Fock energy of one density matrix, or of two."""

    def __init__(self, mol) -> None:
        self.both = {n: HartreeFock(mol, n) for n in (1, 2)}
        self.overlap = self.both[1].overlap

    def fock(self, densities, exact=False):
        return self.both[len(densities)].fock(densities)

    def refine(self) -> bool:
        return False


def solved(atoms: str, unpaired: int = 0, shared: bool = False):
    mol = molecule(atoms, "6-31g", unpaired=unpaired)
    operator, n_spins = OfAnySpin(mol), 2 if unpaired else 1
    occupation = Occupation(mol.nelec[:n_spins], shared)
    field = self_consistent_field(operator, occupation, atoms_of(mol, basis_of(mol), n_spins), CRITERIA, "it")
    return operator, occupation, list(field.coefficients), field.energy


def lowest(hessian, n: int) -> float:
    return float(np.linalg.eigvalsh([hessian(row) for row in np.eye(n)])[0])


@pytest.mark.parametrize("atoms", [HYDROGEN, STRETCHED, WATER, OXYGEN])
def test_closed_shells_are_as_stable_as_pyscf_finds_them(atoms):
    from pyscf.scf.stability import _gen_hop_rhf_external
    from pyscf.soscf.newton_ah import gen_g_hop_rhf

    operator, occupation, orbitals, _ = solved(atoms)
    found = stability_of(operator, occupation, orbitals, "it")
    field = scf.RHF(molecule(atoms, "6-31g")).run(conv_tol=1e-11)
    gradient, hessian, _ = gen_g_hop_rhf(field, field.mo_coeff, field.mo_occ, field.get_fock())
    assert found.internal == pytest.approx(2 * lowest(hessian, len(gradient)), abs=5e-3)  # their unit is 2 or 4 of ours
    _, _, hessian, _ = _gen_hop_rhf_external(field)
    assert found.external == pytest.approx(4 * lowest(hessian, len(gradient)), abs=5e-3)
    assert found.is_internal
    assert found.is_external == (atoms in (HYDROGEN, WATER))


def test_open_shells():
    """Unrestricted orbitals of triplet oxygen."""
    from pyscf.soscf.newton_ah import gen_g_hop_uhf

    operator, occupation, orbitals, _ = solved(OXYGEN, 2)
    field = scf.UHF(molecule(OXYGEN, "6-31g", unpaired=2)).run(conv_tol=1e-11)
    gradient, hessian, _ = gen_g_hop_uhf(field, field.mo_coeff, field.mo_occ, field.get_fock())
    found = stability_of(operator, occupation, orbitals, "it")
    assert found.internal == pytest.approx(2 * lowest(hessian, len(gradient)), abs=1e-3)
    assert found.external is None


@pytest.mark.parametrize(("unpaired", "shared"), [(0, False), (2, False), (2, True)])
def test_derivatives_are_those_of_the_energy(unpaired, shared):
    """The gradient is differences of energies; no single rotation has a lower second difference than the eigenvalue."""
    operator, occupation, orbitals, energy = solved("O 0 0 0; O 0 0 1.5", unpaired, shared)
    rotations = Rotations(occupation, orbitals[0].shape[1])
    numbers, _ = occupation.of_energies([np.zeros(c.shape[1]) for c in orbitals])

    def at(x, of):
        rotated = rotations.rotated(of, x)
        return rotated, *operator.fock(occupation.densities(rotated, numbers))

    start = operator.fock(occupation.densities(orbitals, numbers))[1]
    size = len(rotations.gradient(orbitals, start))
    direction = np.random.default_rng(0).normal(size=size)
    moved, _, fock = at(0.3 * direction / np.linalg.norm(direction), orbitals)
    ahead, behind = (at(step * direction, moved)[1] for step in (1e-3, -1e-3))
    assert rotations.gradient(moved, fock) @ direction == pytest.approx((ahead - behind) / 2e-3, rel=1e-4)

    found = stability_of(operator, occupation, orbitals, "it").internal
    curvatures = [(at(0.02 * x, orbitals)[1] + at(-0.02 * x, orbitals)[1] - 2 * energy) / 0.02**2 for x in np.eye(size)]
    assert found <= min(curvatures) + 1e-3


def test_the_command_tells_a_torn_bond(tmp_path, capsys):
    path = tmp_path / "hydrogen.xyz"
    path.write_text("2\n\nH 0 0 0\nH 0 0 2.0\n")
    calculation = Calculation("pbe", "6-31g")
    (torn,) = compute_series(path, tmp_path / "hydrogen.h5", calculation, engine="orbitile", device="cpu")
    main(["energy", str(tmp_path / "hydrogen.h5"), "--stability", "--device", "cpu"])
    internal, external = capsys.readouterr().out.splitlines()[-2:]
    assert internal.split()[0] == "internal"
    assert internal.endswith("stable towards other orbitals of their kind")
    assert "unstable: energies fall towards unrestricted orbitals" in external
    main(["energy", str(tmp_path / "hydrogen.h5"), "--stability", "--json", "--device", "cpu"])
    assert json.loads(capsys.readouterr().out)["stability"]["external"] == pytest.approx(float(external.split()[1]))
    with pytest.raises(OrbitileError, match=r"not those of blyp/6-31g.* name the functional"):
        stability(torn, Calculation("blyp", "6-31g"), device="cpu")

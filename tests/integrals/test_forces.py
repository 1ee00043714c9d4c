"""Derivatives of the energy and of its parts: those of finite differences, and those of PySCF."""

import numpy as np
import pytest

from orbitile.evaluation.devices import device_session
from orbitile.integrals.hermite_gradient import kinetic_gradient, to_gradient
from orbitile.integrals.hermite_map import to_hermite
from orbitile.integrals.one_electron import integrals_over_space, kinetic
from orbitile.integrals.pairs import pairs_of

from .references import basis_of, molecule, random_matrix, theirs

WATER = "O 0 0 0; H 0 0.9 0.5; H 0.1 -0.75 0.7"
COORDINATES = ((0, 2), (1, 1), (2, 0))


def differences(value, positions, coordinates=COORDINATES, step=2e-3):
    """Derivatives of a function of the positions with respect to some coordinates, to fourth order."""
    found = []
    for atom, axis in coordinates:
        values = []
        for n in (-2, -1, 1, 2):
            moved = positions.copy()
            moved[atom, axis] += n * step
            values.append(value(moved))
        found.append((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step))
    return found


def at(gradient, coordinates=COORDINATES):
    return [gradient[coordinate] for coordinate in coordinates]


@pytest.mark.parametrize(("basis", "cartesian"), [("cc-pvtz", False), ("6-31g*", True)])
def test_kinetic_energy_and_overlap(basis, cartesian):
    mol = molecule(WATER, basis, cartesian)
    matrix = random_matrix(mol.nao)
    with device_session("cpu", "double") as target:
        first = kinetic_gradient(basis_of(mol), matrix)
        pairs = pairs_of(basis_of(mol))
        second = to_gradient(pairs, matrix, integrals_over_space(pairs.list.raised()))

        def energy(positions):
            return float((kinetic(basis_of(mol, positions), target) * matrix).sum())

        def charge(positions):
            moved = pairs_of(basis_of(mol, positions))
            return float(to_hermite(moved, matrix, target) @ integrals_over_space(moved.list))

        np.testing.assert_allclose(at(first), differences(energy, mol.atom_coords()), atol=1e-7)
        np.testing.assert_allclose(at(second), differences(charge, mol.atom_coords()), atol=1e-7)
    for gradient, name in ((first, "int1e_ipkin"), (second, "int1e_ipovlp")):
        integrals = mol.intor(name)
        of_functions = -2 * np.einsum("xij,ij->xi", integrals, theirs(mol, matrix))
        expected = [of_functions[:, a:b].sum(axis=1) for _, _, a, b in mol.aoslice_by_atom()]
        np.testing.assert_allclose(gradient, expected, atol=1e-8)

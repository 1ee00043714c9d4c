"""How far basis functions reach in the exchange matrix."""

import numpy as np

from orbitile.integrals.exchange import _reach
from orbitile.integrals.pairs import pairs_of
from orbitile.scf.engines.pyscf import functions_of_pyscf

from .references import basis_of, molecule


def test_functions_are_left_out_only_where_they_are_small():
    """Of copper, whose sharp ones fall from 1e-3 to nothing within a quarter of a bohr."""
    mol = molecule("Cu 0 0 0", "def2-svp", False, 0, 1)
    reach = _reach(pairs_of(basis_of(mol)).primitives)
    directions = np.random.default_rng(1).normal(size=(20, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    rows, _ = functions_of_pyscf(mol)
    values = [mol.eval_gto("GTOval", far * directions)[:, row] for far, row in zip(reach, rows, strict=True)]
    assert np.abs(values).max() < 1e-7

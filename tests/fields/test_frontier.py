from dataclasses import replace

import numpy as np

import orbitile as ob
from orbitile.evaluation.requests import field_of
from orbitile.fields import unavailable


def test_named_natural_orbitals_go_by_their_energies(benzene):
    """A core orbital has fewer electrons than any bond, and is not the HOMO for that."""
    n = len(benzene.alpha)
    occupations = np.where(np.arange(n) < 21, 1.99, 0.01)
    occupations[0] = 1.98  # of a core
    named = ob.Orbitals(
        benzene.alpha.coefficients, occupations, benzene.alpha.energies, labels=[f"NBO {i}" for i in range(n)]
    )
    bonds = replace(benzene, alpha=named, natural=True)
    assert (field_of(bonds, "homo").name, field_of(bonds, "lumo").name) == ("mo:21", "mo:22")
    unnamed = replace(bonds, alpha=replace(named, labels=()))
    assert field_of(unnamed, "homo").name == "mo:1"


def test_what_a_file_of_occupied_orbitals_lacks_is_told(benzene):
    assert not {"homo", "lumo", "homo-N", "lumo+N"} & unavailable(benzene).keys()
    occupied = benzene.alpha.occupations > 0
    alpha = benzene.alpha
    only = ob.Orbitals(alpha.coefficients[:, occupied], alpha.occupations[occupied], alpha.energies[occupied])
    lacking = unavailable(replace(benzene, alpha=only))
    assert "no unoccupied" in lacking["lumo"]
    assert "no unoccupied" in lacking["lumo+N"]
    assert "homo" not in lacking

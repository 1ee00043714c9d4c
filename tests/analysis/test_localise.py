"""The report on localised orbitals."""

import numpy as np
import pytest

from orbitile import OrbitileError, localise


def test_report_closes_and_points_at_what_it_is_about(benzene):
    found = localise(benzene)
    table = found.table("orbitals")
    assert len(table) == 21
    assert all(closure.holds for closure in table.closures)
    assert [closure.expected for closure in table.closures] == [42, 0]
    assert table.fields[0] == "ibo:1"
    pi = [row for row, name in enumerate(table["name"]) if name.endswith("pi")]
    assert all(len(table.atoms[row]) == 3 for row in pi)
    np.testing.assert_allclose(table["spread"][pi], table["spread"][pi[0]], atol=1e-4)
    centre = np.array(table.places[int(np.flatnonzero(table["name"] == "C1-C2 sigma")[0])])
    np.testing.assert_allclose(centre, benzene.positions[:2].mean(axis=0), atol=0.05)
    sets = found.table("sets")
    assert sets["gradient"].max() < 1e-6
    virtual = localise(benzene, which="virtual").table("orbitals")
    assert len(virtual) == 15
    assert virtual.fields[0] == "ibo:22"
    assert all(name.endswith("*") for name in virtual["name"])
    with pytest.raises(OrbitileError, match="share these orbitals"):
        localise(benzene, spin="beta")

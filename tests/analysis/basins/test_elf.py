"""Basins of the electron localisation function: names and populations of molecules that are known."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.elf_basins import core_spheres, elf_basins

from ...molecules import computed


def populations(wavefunction, accuracy="normal"):
    found = elf_basins(wavefunction, accuracy, "cpu")
    assert found.population.sum() == pytest.approx(wavefunction.n_electrons, abs=1e-4)
    return dict(zip(found.names, found.population.tolist(), strict=True))


@pytest.mark.slow
def test_the_bond_of_hydrogen_has_all_of_its_electrons():
    assert populations(computed("H 0 0 0; H 0 0 0.74", "6-31g"), "quick") == pytest.approx({"V(H1,H2)": 2}, abs=1e-4)


@pytest.mark.slow
def test_water_has_a_core_two_bonds_and_two_lone_pairs():
    found = populations(computed("O 0 0 0.1173; H 0 0.7572 -0.4692; H 0 -0.7572 -0.4692", "cc-pvtz"))
    assert set(found) == {"C(O1)", "V1(O1)", "V2(O1)", "V(O1,H2)", "V(O1,H3)"}
    assert found["C(O1)"] == pytest.approx(2, abs=0.25)
    assert 1.4 < found["V(O1,H2)"] < 2
    assert found["V(O1,H2)"] == pytest.approx(found["V(O1,H3)"], abs=0.02)
    assert found["V1(O1)"] == pytest.approx(found["V2(O1)"], abs=0.02)


@pytest.mark.slow
def test_spacings_agree_with_each_other():
    ethene = computed(
        "C 0 0 0.66; C 0 0 -0.66; H 0 0.92 1.23; H 0 -0.92 1.23; H 0 0.92 -1.23; H 0 -0.92 -1.23", "6-31g*"
    )
    coarse, fine = populations(ethene, "quick"), populations(ethene, "fine")
    assert set(coarse) == set(fine)
    for name, population in fine.items():
        assert coarse[name] == pytest.approx(population, abs=0.06), name
    bonds = sum(population for name, population in fine.items() if "C1,C2" in name)
    assert 3 < bonds < 4


@pytest.mark.slow
def test_cores_have_the_electrons_of_their_shells():
    salt = computed("Na 0 0 0; Cl 0 0 2.3609", "6-31g*")
    radius = core_spheres(salt, "cpu").radius
    assert 1.0 < radius[0] < 2.5
    assert 0.5 < radius[1] < 1.2
    found = populations(salt)
    assert found["C(Na1)"] == pytest.approx(10, abs=0.15)
    assert found["C(Cl2)"] == pytest.approx(10, abs=0.25)


def test_the_report_has_a_closure_and_places():
    report = ob.basins(computed("H 0 0 0; H 0 0 0.74", "6-31g"), of="elf", accuracy="quick", device="cpu")
    table = report.table("basins")
    assert table.atoms == ((0, 1),)
    assert len(table.places) == 1
    assert np.isfinite(table.places).all()
    assert abs(table.closures[0].error) < 1e-4

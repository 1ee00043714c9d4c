"""Natural bond orbitals against NBO 7, from the same geometries and basis sets."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.evaluation.requests import field_of
from orbitile.fields.natural_bonds import why_not
from orbitile.gaussians.localised.natural_bonds import natural_bond_orbitals
from orbitile.scf.engines.pyscf import wavefunction_of

from .charges.samples import gto, lib, scf, solved
from .charges.test_natural_populations import METHYLAMINE

DIBORANE = (
    "B 0 0 .887; B 0 0 -.887; H 0 1.036 1.47; H 0 -1.036 1.47; H 0 1.036 -1.47; H 0 -1.036 -1.47; H .976 0 0; "
    "H -.976 0 0"
)
WATERS = (
    "O -.004158 -1.4257 0; H .498701 -1.716026 -.75946; H .498701 -1.716026 .75946; O -.004158 1.5543 0; "
    "H -.926714 1.804953 0; H -.004158 .5983 0"
)


@pytest.fixture(scope="module")
def methylamine():
    return solved(METHYLAMINE, "3-21g")[1]


def rows(table):
    """Occupancies and energies by name."""
    return {name: values for name, *values in zip(table["name"], table["occupancy"], table["energy"], strict=True)}


def donated(report):
    """Energies of donation by donor and acceptor."""
    table = report.table("donations")
    return dict(zip(zip(table["donor"], table["acceptor"], strict=True), table["energy"], strict=True))


def test_methylamine(methylamine):
    """RHF/3-21G, the example of the manual of NBO, by NBO 7.0.4; H3 is opposite to the lone pair."""
    report = ob.natural_bonds(methylamine)
    found = rows(report.table("orbitals"))
    expected = {
        "C1 core": (1.99978, -11.18041),
        "N2 core": (1.99983, -15.43259),
        "N2 lone pair": (1.97796, -0.42062),
        "C1-N2 bond": (1.99846, -0.80721),
        "C1-H3 bond": (1.99858, -0.65805),
        "N2-H6 bond": (1.99440, -0.76603),
        "C1-H3 antibond": (0.01567, 0.68807),
        "H3 Rydberg": (0.00163, 0.94880),
    }
    for name, (occupancy, energy) in expected.items():
        assert found[name][0] == pytest.approx(occupancy, abs=2e-5), name
        assert found[name][1] == pytest.approx(energy, abs=4e-4), name
    table = report.table("orbitals")
    hybrids = dict(zip(table["name"], table["hybrids"], strict=True))
    assert hybrids["C1-N2 bond"] == "40.1% C1 s21.8 p78.2; 59.9% N2 s30.8 p69.2"
    found = donated(report)
    expected = {
        ("N2 lone pair", "C1-H3 antibond"): 8.19,
        ("N2 lone pair", "C1-H4 antibond"): 1.53,
        ("C1-H4 bond", "N2-H6 antibond"): 2.77,
        ("N2-H6 bond", "C1-H4 antibond"): 2.88,
        ("C1-H3 bond", "N2 Rydberg 1"): 0.86,
        ("N2 core", "N2 Rydberg 3"): 0.67,
        ("C1 core", "C1 Rydberg 3"): 0.51,
    }
    assert {pair: found[pair] for pair in expected} == pytest.approx(expected, abs=0.015)
    assert len(found) == 10
    lewis = report.table("lewis")
    assert lewis["electrons"][-1] == pytest.approx(17.95153, abs=2e-5)


def test_methyl_radical():
    """UHF/6-31G(d) with Cartesian functions, by Gaussian and NBO 7.0.9: each spin by itself."""
    with lib.with_omp_threads(1):
        atoms = "C 0 0 0; H 0 1.0736 0; H .929765 -.5368 0; H -.929765 -.5368 0"
        molecule = gto.M(atom=atoms, basis="6-31g*", spin=1, cart=True, verbose=0)
        field = scf.UHF(molecule).run(conv_tol=1e-11)
    wavefunction = wavefunction_of(molecule, field.mo_coeff, field.mo_occ, field.mo_energy)
    table = ob.natural_bonds(wavefunction).table("orbitals")
    alpha = [n for n, spin in enumerate(table["spin"]) if spin == "alpha"]
    found = {table["name"][n]: (table["occupancy"][n], table["energy"][n]) for n in alpha}
    expected = {
        "C1 core": (1.00000, -11.22851),
        "C1 lone pair": (1.00000, -0.38342),
        "C1-H2 bond": (0.99969, -0.70126),
        "C1-H2 antibond": (0.00030, 0.75591),
        "H2 Rydberg": (0.00001, 0.78165),
    }
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, abs=3e-5), name
    beta = {name for name, spin in zip(table["name"], table["spin"], strict=True) if spin == "beta"}
    assert "C1 empty valence" in beta
    assert "C1 lone pair" not in beta


def test_hydrogen_bond():
    """The water dimer of H. Umeyama and K. Morokuma, RHF/4-31G, by GAMESS and NBO 7.0.4."""
    found = donated(ob.natural_bonds(solved(WATERS, "4-31g")[1]))
    expected = {
        ("O1 lone pair 2", "O4-H6 antibond"): 11.07,
        ("O4 lone pair 2", "H5 Rydberg"): 0.85,
        ("O4-H6 bond", "H5 Rydberg"): 0.57,
        ("O1 lone pair 2", "H2 Rydberg"): 0.53,
        ("O1-H2 bond", "H3 Rydberg"): 0.51,
    }
    assert {pair: found[pair] for pair in expected} == pytest.approx(expected, abs=0.015)


@pytest.mark.slow
def test_hydrogen_bond_by_density_functional_theory():
    """B3LYP with VWN5, 4-31G, by GAMESS and NBO 7.0.4."""
    from pyscf import dft

    with lib.with_omp_threads(1):
        molecule = gto.M(atom=WATERS, basis="4-31g", verbose=0)
        field = dft.RKS(molecule, xc="b3lyp5").run(conv_tol=1e-9)
    found = donated(ob.natural_bonds(wavefunction_of(molecule, field.mo_coeff, field.mo_occ, field.mo_energy)))
    expected = {
        ("O1 lone pair 2", "O4-H6 antibond"): 10.08,
        ("O4 lone pair 2", "H5 Rydberg"): 1.13,
        ("O1 lone pair 1", "H2 Rydberg"): 0.72,
        ("O4-H6 bond", "H5 Rydberg"): 0.70,
        ("O1-H2 bond", "H3 Rydberg"): 0.57,
    }
    assert {pair: found[pair] for pair in expected} == pytest.approx(expected, abs=0.015)


def test_bonds_of_three_atoms():
    found = rows(ob.natural_bonds(solved(DIBORANE, "6-31g")[1]).table("orbitals"))
    assert all(found[f"B1-B2-H{n} bond"][0] > 1.97 for n in (7, 8))
    assert all(found[name][0] > 1.98 for name in ("B1-H3 bond", "B1-H4 bond", "B2-H5 bond", "B2-H6 bond"))


def test_double_bonds_of_a_ring_leave_none_over():
    """Divinylbenzene by E. Hueckel: two opposite double bonds are the fullest, and would leave one across the ring."""
    bonds = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 6), (6, 7), (3, 8), (8, 9)]
    matrix = np.zeros((10, 10))
    for a, b in bonds:
        matrix[a, b] = matrix[b, a] = -1.0
    occupied = np.linalg.eigh(matrix)[1][:, :5]
    found = natural_bond_orbitals(2 * occupied @ occupied.T, np.arange(10), ["valence"] * 10, np.zeros(10), 2)
    assert found.n_lewis == 5
    assert {tuple(sorted(pair)) for pair in bonds} >= set(found.atoms[:5])
    assert found.occupancies[:5].min() > 1.55


def test_triple_bond_along_any_axis():
    """Bonds of equal occupancy are not mixed, however the molecule stands: energies stay."""
    axis = np.array([0.3, 0.5, 0.8]) / np.linalg.norm([0.3, 0.5, 0.8]) * 1.1
    energies = []
    for x, y, z in ([0, 0, 1.1], axis):
        table = ob.natural_bonds(solved(f"N 0 0 0; N {x} {y} {z}", "3-21g")[1]).table("orbitals")
        bonds = [n for n, name in enumerate(table["name"]) if "bond" in name and "anti" not in name]
        energies.append(sorted(table["energy"][bonds]))
    assert energies[0] == pytest.approx(energies[1], abs=1e-6)
    assert energies[0][1] == pytest.approx(energies[0][2], abs=1e-6)


def test_orbitals_are_fields(methylamine):
    """Under the names of the table."""
    table = ob.natural_bonds(methylamine).table("orbitals")
    name = table.fields[list(table["name"]).index("N2 lone pair")]
    assert "N2 lone pair" in field_of(methylamine, name).quantity
    points = np.array([[-1.0, 0.0, 3.4], [1.0, 0.0, 3.4]])  # outside the nitrogen atom, and within its pyramid
    values = np.abs(ob.evaluate(methylamine, name, points))
    assert values[0] > 1.5 * values[1]
    with pytest.raises(ob.OrbitileError, match="natural bond orbitals 1 to 28"):
        ob.evaluate(methylamine, "nbo:29", points)


def test_what_has_none_or_no_energies(methylamine):
    fewer = replace(
        methylamine,
        alpha=replace(
            methylamine.alpha,
            coefficients=methylamine.alpha.coefficients[:, :12],
            occupations=methylamine.alpha.occupations[:12],
            energies=methylamine.alpha.energies[:12],
            irreps=(),
            labels=(),
        ),
    )
    report = ob.natural_bonds(fewer)
    assert [table.name for table in report.tables] == ["orbitals", "lewis", "atomic"]
    assert "lacks unoccupied orbitals" in report.remarks[0]
    promolecule = replace(methylamine, promolecule=True)
    assert "promolecule" in why_not(promolecule)
    with pytest.raises(ob.OrbitileError, match="promolecule"):
        ob.natural_bonds(promolecule)

"""Natural bond orbitals against NBO, from the same geometries and basis sets, as cclib's public data have it."""

import re
from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.evaluation.requests import field_of
from orbitile.fields.density import occupied
from orbitile.fields.natural_bonds import orbital_names, why_not
from orbitile.gaussians.localised.natural_atomic_orbitals import natural_atomic_orbitals
from orbitile.gaussians.localised.natural_bonds import natural_bond_orbitals

from .charges.samples import METHYL, solved
from .charges.test_natural_populations import DIVINYLBENZENE, FORMAMIDE, METHYLAMINE, TRYPTOPHAN, kohn_sham

DIBORANE = (
    "B 0 0 .887; B 0 0 -.887; H 0 1.036 1.47; H 0 -1.036 1.47; H 0 1.036 -1.47; H 0 -1.036 -1.47; H .976 0 0; "
    "H -.976 0 0"
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


def test_water():
    """HF/STO-3G by ORCA 5 with NBO 7.0.10: water_mp2.nbo.out in the data of cclib; its lone pairs may be mixed."""
    atoms = "O 1.784914 1.262422 .511985; H 2.648237 1.072929 .131631; H 1.183168 1.256816 -.238835"
    report = ob.natural_bonds(solved(atoms)[1])
    found = rows(report.table("orbitals"))
    expected = {
        "O1 core": (2.00000, -20.15343),
        "O1-H2 bond": (1.99870, -0.80079),
        "O1-H3 bond": (1.99870, -0.80081),
        "O1-H2 antibond": (0.00130, 0.66761),
        "O1-H3 antibond": (0.00130, 0.66764),
    }
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, abs=2e-5), name
    lone_pairs = [found[f"O1 lone pair {n}"][1] for n in (1, 2)]
    assert sum(lone_pairs) == pytest.approx(-0.52344 - 0.68619, abs=2e-5)
    expected = {("O1-H2 bond", "O1-H3 antibond"): 1.20, ("O1-H3 bond", "O1-H2 antibond"): 1.20}
    assert donated(report) == pytest.approx(expected, abs=0.005)
    assert report.table("lewis")["electrons"][-1] == pytest.approx(9.99740, abs=2e-5)


@pytest.mark.slow
def test_tryptophan():
    """HF/STO-3G by ORCA 5 with NBO 7.0.10: Trp_polar.nbo.out in the data of cclib."""
    report = ob.natural_bonds(solved(TRYPTOPHAN)[1])
    found = rows(report.table("orbitals"))
    expected = {
        "O26 core": (2.00000, -20.19129),
        "N1 lone pair": (1.95322, -0.47281),
        "O4 lone pair 2": (1.88543, -0.32307),
        "N10 lone pair": (1.70401, -0.29668),
        "O26 lone pair 1": (1.98935, -0.82864),
        "C2-C3 bond": (1.97915, -0.68882),
        "C8-C9 bond 2": (1.90091, -0.30620),
        "C12-C13 bond 2": (1.64091, -0.23746),
    }
    for name, (occupancy, energy) in expected.items():
        assert found[name][0] == pytest.approx(occupancy, abs=2e-5), name
        assert found[name][1] == pytest.approx(energy, abs=1.5e-3), name
    found = donated(report)
    expected = {
        ("N10 lone pair", "C8-C9 antibond 2"): 59.18,
        ("N10 lone pair", "C12-C13 antibond 2"): 58.17,
        ("O26 lone pair 2", "C3-O4 antibond 2"): 52.65,
        ("O4 lone pair 2", "C3-O26 antibond"): 45.74,
        ("C12-C13 bond 2", "C14-C16 antibond 2"): 43.35,
        ("C14-C16 bond 2", "C18-C20 antibond 2"): 41.08,
        ("O4 lone pair 2", "C2-C3 antibond"): 34.93,
        ("N1 lone pair", "O26-H27 antibond"): 21.03,
    }
    assert {pair: found[pair] for pair in expected} == pytest.approx(expected, abs=0.07)


@pytest.mark.slow
def test_divinylbenzene():
    """B3LYP/STO-3G by ORCA 5 with NBO 7.0.10: dvb_sp.nbo.out in the data of cclib."""
    report = ob.natural_bonds(kohn_sham(DIVINYLBENZENE, "sto-3g", xc="b3lyp5"))
    found = rows(report.table("orbitals"))
    expected = {
        "C1-C3 bond 1": (1.98204, -0.52733),
        "C1-C3 bond 2": (1.61832, -0.17617),
        "C4-C6 bond 2": (1.69174, -0.18520),
        "C11-C15 bond 2": (1.94406, -0.20760),
        "C16-H20 bond": (1.98892, -0.45433),
        "C1-C3 antibond 2": (0.37581, 0.09761),
    }
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, abs=3e-4), name
    found = donated(report)
    expected = {
        ("C1-C3 bond 2", "C2-C5 antibond 2"): 23.36,
        ("C2-C5 bond 2", "C1-C3 antibond 2"): 23.46,
        ("C1-C3 bond 2", "C4-C6 antibond 2"): 21.53,
        ("C1-C3 bond 2", "C12-C16 antibond 2"): 15.21,
        ("C2-C5 bond 2", "C11-C15 antibond 2"): 13.75,
    }
    assert {pair: found[pair] for pair in expected} == pytest.approx(expected, abs=0.05)


@pytest.mark.slow
def test_rydberg_orbitals():
    """Twisted formamide, B3LYP/6-311++G(d,p) by NBO 6.0, without cores first: NBO/data.nbo in the data of cclib."""
    wavefunction = kohn_sham(FORMAMIDE, "6-311++g**", xc="b3lypg")
    whole = occupied(wavefunction, "total")
    atomic = natural_atomic_orbitals(wavefunction, *whole)
    kinds = [atomic.kinds[shell] for shell in atomic.shells]
    atoms = atomic.atoms[atomic.shells]
    found = natural_bond_orbitals(atomic.density(*whole), atoms, kinds, atomic.functions, 2)
    occupancies = dict(zip(orbital_names(wavefunction, found), found.occupancies, strict=True))
    expected = {
        "N1 core": 1.99949,
        "N1 lone pair": 1.75080,
        "O3 lone pair 1": 1.98438,
        "O3 lone pair 2": 1.85210,
        "N1-C2 bond": 1.99656,
        "C2-H6 bond": 1.98423,
        "N1-C2 antibond": 0.06374,
        "C2-O3 antibond 1": 0.24284,
        "C2-H6 antibond": 0.07173,
        "N1 Rydberg 1": 0.00175,
        "C2 Rydberg 1": 0.01209,
        "C2 Rydberg 2": 0.00975,
    }
    assert {name: occupancies[name] for name in expected} == pytest.approx(expected, abs=1e-4)


def test_methylamine(methylamine):
    """Names, and the delocalisation that the manual of NBO explains: of the lone pair into the bond opposite to it."""
    report = ob.natural_bonds(methylamine)
    table = report.table("orbitals")
    hybrids = dict(zip(table["name"], table["hybrids"], strict=True))
    shares = re.fullmatch(r"([0-9.]+)% C1 s[0-9.]+ p[0-9.]+; ([0-9.]+)% N2 s[0-9.]+ p[0-9.]+", hybrids["C1-N2 bond"])
    assert float(shares[1]) + float(shares[2]) == pytest.approx(100, abs=0.11)
    assert float(shares[1]) < float(shares[2])
    found = donated(report)
    assert max(found, key=found.get) == ("N2 lone pair", "C1-H3 antibond")
    assert found["N2 lone pair", "C1-H3 antibond"] > 4 * found["N2 lone pair", "C1-H4 antibond"]


def test_methyl_radical():
    """Each spin by itself: a lone pair of alpha spin, and its empty place for beta."""
    table = ob.natural_bonds(solved(METHYL, "6-31g*", 0, 1)[1]).table("orbitals")
    kinds = {spin: [] for spin in ("alpha", "beta")}
    for name, spin in zip(table["name"], table["spin"], strict=True):
        kinds[spin].append(name)
    assert "C1 lone pair" in kinds["alpha"]
    assert "C1 lone pair" not in kinds["beta"]
    assert "C1 empty valence" in kinds["beta"]
    assert table["occupancy"].sum() == pytest.approx(9, abs=1e-6)


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

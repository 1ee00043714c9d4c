"""Reports of weak interactions, and indices of pairs against another quadrature."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.interactions import interaction_indices
from orbitile.base.errors import OrbitileError
from orbitile.gaussians.promolecule import promolecule
from orbitile.model.free_atoms import free_atom
from orbitile.model.geometry import Geometry, molecules_of

from ..fields.test_promolecules import NUMBERS, WATERS


def slope(number, r):
    atom = free_atom(number)
    return sum(
        -2 * a * r * n * (a / np.pi) ** 1.5 * np.exp(-a * r * r)
        for a, n in zip(atom.exponents, atom.electrons, strict=True)
    )


def index_of_pair(number, other, distance):
    """By Gauss's rules in prolate spheroidal coordinates about both nuclei: no atom-centred grid, and no table."""
    x, wx = np.polynomial.legendre.leggauss(160)
    far = 30.0 / distance
    mu, w_mu = 1 + far * ((x + 1) / 2) ** 3, wx * far * 1.5 * ((x + 1) / 2) ** 2
    nu, w_nu = np.polynomial.legendre.leggauss(120)
    mu, nu = mu[:, None], nu[None]
    half = distance / 2
    first, second = half * (mu + nu), half * (mu - nu)
    one, two = slope(number, first), slope(other, second)
    cosine = (first**2 + second**2 - distance**2) / (2 * first * second)
    together = np.sqrt(np.maximum(one**2 + two**2 + 2 * one * two * cosine, 0))
    lost = np.abs(one) + np.abs(two) - together
    return 2 * np.pi * half**3 * float(w_mu @ (lost * (mu**2 - nu**2)) @ w_nu)


@pytest.mark.parametrize(("number", "other", "distance"), [(2, 2, 5.0), (8, 1, 3.6), (18, 6, 6.5)])
def test_index_of_two_atoms(number, other, distance):
    pair = promolecule(Geometry(np.array([number, other]), np.array([[0, 0, 0], [0, 0, distance]])))
    found = interaction_indices(pair, np.array([0]), level=5, device="cpu")
    assert found.pairs.item() == pytest.approx(index_of_pair(number, other, distance), rel=1e-3)
    assert found.electrons == pytest.approx(number + other, abs=2e-3)


def test_molecules_are_told_by_distances():
    assert [list(atoms) for atoms in molecules_of(NUMBERS, WATERS)] == [[0, 1, 2], [3, 4, 5]]


def test_report_of_a_structure_without_a_wavefunction():
    report = ob.interactions(Geometry(NUMBERS, WATERS), device="cpu")
    pairs, regions = report.table("pairs"), report.table("regions")
    assert pairs.atoms[0] == (0, 4)  # the hydrogen bond
    assert pairs["share"].sum() == pytest.approx(100)
    volume = dict(zip(regions["kind"], regions["volume"], strict=True))
    assert volume["strong attraction"] > 0
    assert volume["repulsion"] == 0
    assert volume["all"] == pytest.approx(sum(volume.values()) - volume["all"])
    assert report.surfaces[0].field == "rdg:1-3"
    assert report.surfaces[0].color_by == "nci:1-3"
    assert len(report.plots[0].curves[0].x) <= 50_000
    assert all(closure.holds for table in report.tables for closure in table.closures)


@pytest.mark.slow
def test_turning_a_molecule_changes_no_index():
    from scipy.spatial.transform import Rotation

    turned = WATERS @ Rotation.from_euler("xyz", [0.3, 1.1, 2.0]).as_matrix().T
    here, there = (
        interaction_indices(promolecule(Geometry(NUMBERS, places)), np.arange(3), device="cpu").pairs
        for places in (WATERS, turned)
    )
    assert np.allclose(here, there, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
def test_indices_by_the_density_of_a_molecule(benzene):
    report = ob.interactions(benzene, atoms="1-3", model="igmh", device="cpu")
    table = report.table("pairs")
    assert table.closures[0].holds
    bonded = set(map(frozenset, table.atoms[:2]))
    assert all(np.linalg.norm(benzene.positions[i] - benzene.positions[j]) < 2.8 for i, j in bonded)


def test_one_atom_is_told_apart():
    with pytest.raises(OrbitileError, match="one atom"):
        ob.interactions(Geometry(np.array([2]), np.zeros((1, 3))), device="cpu")


def test_one_molecule_has_no_fragments(benzene):
    with pytest.raises(OrbitileError, match="expected the atoms of one fragment"):
        ob.interactions(benzene, model="igm", device="cpu")
    with pytest.raises(OrbitileError, match="no nucleus is left"):
        ob.interactions(benzene, atoms="1-12", device="cpu")


def test_a_protein_needs_a_fragment():
    n = 10_648
    places = np.stack(np.meshgrid(*[6.0 * np.arange(22)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    water = Geometry(np.full(n, 8), places)
    with pytest.raises(OrbitileError, match=r"atoms=1-12.*10,648 atoms would take"):
        ob.interactions(water)
    for name in ("nci", "rdg"):
        with pytest.raises(OrbitileError, match=r"10,648 atoms.*nci:1-12"):
            ob.evaluate(promolecule(water), name, places[:1])
    middle = places[:1] + np.array([3.0, 0.0, 0.0])
    assert 0 <= ob.evaluate(promolecule(water), "rdg:1", middle)[0] <= 2

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.density_derivatives import density_derivatives
from orbitile.analysis.topology import (
    Found,
    Spheres,
    ascents,
    critical_points_near,
    interatomic_surfaces,
    nothing_found,
    on_grid,
    promising,
    topology_of,
)
from orbitile.base.errors import Cancelled, OrbitileError
from orbitile.base.watch import watched
from orbitile.model.units import angstrom
from orbitile.scf.engines.pyscf import wavefunction_of
from tests.analysis.topology.reference import density_by_pyscf, newton
from tests.molecules import computed, gto, scf, solved

WATER = "O 0 0 0; H 0 0.76 0.59; H 0 -0.76 0.59"


def counts(topology):
    return tuple(topology.count(kind) for kind in ("maximum", "bond", "ring", "cage"))


def test_benzene(benzene):
    found = topology_of(benzene)
    assert counts(found) == (12, 12, 1, 0)
    assert found.index == 1
    assert found.atoms[:12] == tuple((atom,) for atom in range(12))
    ring = [(0, 1), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert list(found.atoms[12:24]) == sorted([*ring, *((n, n + 6) for n in range(6))])
    assert found.atoms[24] == (0, 1, 2, 3, 4, 5)
    assert np.allclose(found.positions[24], benzene.positions[:6].mean(axis=0), atol=1e-6)
    _, gradient, hessian = density_derivatives(benzene)(found.positions)
    assert np.abs(gradient[12:]).max() < 1e-9
    assert np.allclose(found.laplacian, np.trace(hessian, axis1=1, axis2=2), rtol=1e-10)
    assert np.allclose(2 * found.kinetic + found.potential, found.laplacian / 4)
    ellipticity = found.ellipticity[12:24][[one in ring for one in found.atoms[12:24]]]
    assert np.allclose(ellipticity, 0.2315, atol=1e-4)
    assert np.ptp(ellipticity) < 1e-5


def test_bond_paths_climb_to_the_atoms(benzene):
    found = topology_of(benzene)
    field = density_derivatives(benzene)
    for atoms, path in zip(found.atoms[12:24], found.bond_paths, strict=True):
        assert np.allclose(path[[0, -1]], benzene.positions[list(atoms)], atol=0.05)
        density = field.gradient(path)[0]
        lowest = int(density.argmin())
        assert np.any(np.all(np.abs(path[lowest] - found.positions[12:24]) < 1e-9, axis=1))
        assert np.all(np.diff(density[: lowest + 1]) < 0)
        assert np.all(np.diff(density[lowest:]) > 0)
        # the gradient goes along the path
        middle = (path[1:] + path[:-1])[1:-1] / 2
        along, slope = np.diff(path, axis=0)[1:-1], field.gradient(middle)[1]
        cosine = np.abs((along * slope).sum(axis=1)) / np.linalg.norm(along, axis=1) / np.linalg.norm(slope, axis=1)
        assert cosine.min() > 0.99


def test_the_surface_between_two_atoms_parts_what_climbs_to_one_from_what_climbs_to_the_other():
    water = computed(WATER, "6-31g*")
    found = topology_of(water)
    lines = interatomic_surfaces(water, found, 8, least=5e-3)
    assert len(lines) == 2 * 8
    nuclei = Spheres(water.positions, np.full(3, 0.2))
    field = density_derivatives(water)
    for bond, some in ((3, lines[:8]), (4, lines[8:])):
        assert all(np.array_equal(line[0], found.positions[bond]) for line in some)
        density, _ = field.gradient(np.concatenate([line[1:] for line in some]))
        assert density.min() < 5.5e-3
        assert density[0] > 0.2
        points = np.array([line[len(line) // 2] for line in some])
        along = water.positions[0] - found.positions[bond]
        along /= np.linalg.norm(along)
        # no gradient goes through: on either side paths lead to different atoms
        ends = [ascents(field, points + sign * 0.03 * along, sign * along[None], nuclei)[1] for sign in (1.0, -1.0)]
        assert (ends[0] == 0).all()
        assert (ends[1] == bond - 2).all()


@pytest.mark.parametrize(
    ("atoms", "basis"),
    [
        (WATER, "6-31g**"),
        pytest.param("C 0 0 0; O 0 0 1.21; H 0 0.94 -0.59; H 0 -0.94 -0.59", "cc-pvtz", marks=pytest.mark.slow),
    ],
)
def test_bonds_are_those_of_a_newton_search_by_pyscf(atoms, basis):
    field = solved(atoms, basis)
    wavefunction = wavefunction_of(field.mol, field.mo_coeff, field.mo_occ, field.mo_energy)
    found, matrix = topology_of(wavefunction), field.make_rdm1()
    bonds = [n for n, kind in enumerate(found.kinds) if kind == "bond"]
    assert len(bonds) == wavefunction.n_atoms - 1
    for n in bonds:
        place = newton(field.mol, matrix, found.positions[n] + 0.03)
        density, _, hessian, kinetic = (part[0] for part in density_by_pyscf(field.mol, matrix, place[None]))
        assert np.allclose(found.positions[n], place, atol=1e-7)
        assert abs(found.density[n] - density) < 1e-6
        assert np.allclose(found.eigenvalues[n], np.linalg.eigvalsh(hessian), atol=1e-6)
        assert abs(found.laplacian[n] - np.trace(hessian)) < 1e-6
        assert abs(found.kinetic[n] - kinetic) < 1e-6


def test_an_atom_and_a_molecule_of_two():
    assert counts(topology_of(computed("Ne 0 0 0"))) == (1, 0, 0, 0)
    hydrogen = topology_of(computed("H 0 0 0; H 0 0 0.74"))
    assert counts(hydrogen) == (2, 1, 0, 0)
    assert hydrogen.atoms[2] == (0, 1)
    assert np.allclose(hydrogen.positions[2], [0, 0, 0.37 * angstrom], atol=1e-7)
    assert abs(hydrogen.ellipticity[2]) < 1e-9


@pytest.mark.slow
def test_a_maximum_without_a_nucleus():
    found = topology_of(computed("Li 0 0 0; Li 0 0 2.7", "6-311g*"))
    assert counts(found) == (3, 2, 0, 0)
    assert found.atoms == ((0,), (1,), (-1,), (0, -1), (1, -1))
    assert np.allclose(found.positions[2], [0, 0, 1.35 * angstrom], atol=1e-6)
    report = ob.topology(computed("Li 0 0 0; Li 0 0 2.7", "6-311g*"))
    assert list(report.tables[0]["kind"]) == ["ncp", "ncp", "nna", "bcp", "bcp"]
    assert "maxima without a nucleus" in report.remarks[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("atoms", "expected"),
    [
        ("P 1 1 1; P 1 -1 -1; P -1 1 -1; P -1 -1 1".replace("1", "0.78"), (4, 6, 4, 1)),
        (
            "; ".join(
                f"{symbol} {x * d} {y * d} {z * d}"
                for symbol, d in (("C", 0.785), ("H", 1.414))
                for x in (1, -1)
                for y in (1, -1)
                for z in (1, -1)
            ),
            (16, 20, 6, 1),
        ),
    ],
)
def test_cages(atoms, expected):
    found = topology_of(computed(atoms))
    assert counts(found) == expected
    assert found.index == 1
    heavy = tuple(range(4 if expected[0] == 4 else 8))
    assert found.atoms[-1] == heavy
    assert all(len(some) == (3 if expected[0] == 4 else 4) for some in found.atoms[-1 - expected[2] : -1])


@pytest.mark.slow
def test_a_hydrogen_bond_and_no_point_that_a_fine_grid_finds_beside():
    atoms = """O -1.551007 -0.114520 0; H -1.934259 0.762503 0; H -0.599677 0.040712 0;
        O 1.350625 0.111469 0; H 1.680398 -0.373741 -0.758561; H 1.680398 -0.373741 0.758561"""
    wavefunction = computed(atoms, "6-31g**")
    found = topology_of(wavefunction)
    assert counts(found) == (6, 5, 0, 0)
    bond = found.atoms.index((2, 3))
    assert 0.01 < found.density[bond] < 0.04
    assert found.laplacian[bond] > 0
    field, nothing = density_derivatives(wavefunction), Spheres(np.zeros((0, 3)), np.zeros(0))
    known = Found(found.positions, found.density, found.eigenvalues, np.zeros((len(found.positions), 3, 3)))
    grid = on_grid(wavefunction.positions, 0.3, 0.1, 10**6)
    assert len(grid) > 2000
    seeds, wanted = promising(field, grid, 0.3, 1e-6, known)
    assert len(critical_points_near(field, seeds, wanted, 1e-6, nothing, known)) == len(known)


@pytest.mark.slow
def test_radical_ghosts_and_density_matrix():
    mol = gto.M(atom="C 0 0 0; H 0 1.08 0; H 0.935 -0.54 0; H -0.935 -0.54 0; ghost-H 0 0 3", basis="sto-3g", spin=1)
    field = scf.UHF(mol)
    field.verbose = 0
    field.kernel()
    radical = wavefunction_of(mol, field.mo_coeff, field.mo_occ, field.mo_energy)
    found = topology_of(radical)
    assert counts(found) == (4, 3, 0, 0)
    assert found.atoms[:4] == ((0,), (1,), (2,), (3,))
    # the same density as a matrix, and as if it were that of a correlated method
    parts = ((part.coefficients * part.occupations) @ part.coefficients.T for part in (radical.alpha, radical.beta))
    correlated = replace(radical, density_matrix=1.01 * sum(parts))
    assert np.allclose(topology_of(correlated).density, 1.01 * found.density, rtol=1e-9)
    assert np.allclose(topology_of(correlated).positions, found.positions, atol=1e-8)
    only_ghosts = replace(radical, core_charges=np.zeros(5))
    with pytest.raises(OrbitileError, match="ghost"):
        ob.topology(only_ghosts)


@pytest.mark.slow
def test_missing_cores_stand_as_one_maximum():
    mol = gto.M(atom="Au 0 0 0; Cl 0 0 2.2", basis="lanl2dz", ecp="lanl2dz", verbose=0)
    field = scf.RHF(mol)
    field.max_cycle = 8
    field.kernel()
    wavefunction = wavefunction_of(mol, field.mo_coeff, field.mo_occ, field.mo_energy)
    found = topology_of(wavefunction)
    assert counts(found) == (2, 1, 0, 0)
    assert found.atoms == ((0,), (1,), (0, 1))
    assert found.missing_cores == (0, 1)
    assert np.isnan(found.eigenvalues[:2]).all()
    assert np.isfinite(found.eigenvalues[2]).all()
    remark = ob.topology(wavefunction).remarks[0]
    assert "Au1, Cl2" in remark
    assert "core potential" in remark


@pytest.mark.slow
def test_an_atom_that_is_hardly_more_than_its_missing_core():
    mol = gto.M(atom="Na 0 0 0; Cl 0 0 2.36", basis="lanl2dz", ecp="lanl2dz", verbose=0)
    field = scf.RHF(mol).run()
    wavefunction = wavefunction_of(mol, field.mo_coeff, field.mo_occ, field.mo_energy)
    assert counts(topology_of(wavefunction)) == (1, 0, 0, 0)
    remarks = " ".join(ob.topology(wavefunction).remarks)
    assert "no maximum at Na1" in remarks
    assert "A smaller core" in remarks


def test_parts_far_from_each_other_count_for_themselves():
    report = ob.topology(computed("He 0 0 0; He 0 0 12"))
    (closure,) = report.tables[0].closures
    assert (closure.found, closure.expected) == (2, 2)
    assert closure.holds
    assert "expected sum is 2" in report.remarks[0]


def test_a_cut_off_above_the_density_of_a_ring_leaves_a_tunnel(benzene):
    report = ob.topology(benzene, cutoff=0.05)
    (closure,) = report.tables[0].closures
    assert (closure.found, closure.expected) == (0, 0)
    assert "rcp" not in report.tables[0]["kind"]
    assert "expected sum is 0" in report.remarks[0]


class Fold:
    """Two critical points at the roots of x^2 = a that have met where a is 0; about them a maximum in y and z."""

    def __init__(self, a: float) -> None:
        self.a = a

    def __call__(self, points):
        x, y, z = points.T
        density = 1 + x**3 / 3 - self.a * x - y * y - z * z
        gradient = np.stack([x * x - self.a, -2 * y, -2 * z], axis=1)
        hessian = np.zeros((len(points), 3, 3))
        hessian[:, 0, 0], hessian[:, 1, 1], hessian[:, 2, 2] = 2 * x, -2, -2
        return density, gradient, hessian


def test_points_that_are_about_to_vanish_are_found_as_degenerate():
    seeds = np.random.default_rng(5).uniform(-0.5, 0.5, size=(50, 3))
    search = seeds, None, 1e-6, Spheres(np.zeros((0, 3)), np.zeros(0)), nothing_found()
    two = critical_points_near(Fold(0.01), *search)
    assert sorted(two.n_negative) == [2, 3]
    assert not two.degenerate.any()
    assert two.index == 0
    one = critical_points_near(Fold(0.0), *search)
    assert len(one) == 1
    assert one.degenerate.all()
    assert one.index == 0
    assert np.allclose(one.positions, 0, atol=1e-4)
    assert not len(critical_points_near(Fold(-0.01), *search))


def test_the_search_can_be_cancelled(benzene):
    asked = []

    def cancelled():
        asked.append(None)
        return len(asked) > 5

    with pytest.raises(Cancelled), watched(cancelled=cancelled):
        topology_of(replace(benzene))


def test_turned_molecules_have_turned_critical_points():
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    atoms = [("O", (0, 0, 0)), ("H", (0, 0.76, 0.59)), ("H", (0, -0.76, 0.59))]
    turned = [(symbol, turn @ np.array(place) + 1) for symbol, place in atoms]
    one, other = (topology_of(computed(geometry)) for geometry in (atoms, turned))
    assert one.atoms == other.atoms
    assert np.allclose(one.positions @ turn.T + angstrom, other.positions, atol=1e-5)
    assert np.allclose(one.eigenvalues[3:], other.eigenvalues[3:], atol=1e-5)


def test_report(benzene):
    report = ob.topology(benzene, labels="atoms")
    (table,) = report.tables
    assert table.closures[0].holds
    assert len(table) == 25
    assert table.atoms[24] == (0, 1, 2, 3, 4, 5)
    assert table["atoms"][24] == "C1-C2-C3-C4-C5-C6"
    kinds = {drawing.name: drawing for drawing in report.drawings}
    assert set(kinds) == {"ncp", "bcp", "rcp", "bond_paths"}
    assert len(kinds["bond_paths"].lines) == 12
    assert len(kinds["bcp"].labels) == 12
    assert np.all(table["bend"][12:24] > -1e-9)
    assert np.isnan(table["bend"][0])
    assert "12 ncp, 12 bcp, 1 rcp" in report.title
    assert not ob.topology(benzene, labels="none").drawings[1].labels


@pytest.mark.slow
def test_long_searches_are_announced(benzene):
    from orbitile.analysis.reports import topology

    assert topology.warning(benzene) == ""
    many = np.concatenate([benzene.positions + 12.0 * np.array(shift) for shift in np.ndindex(4, 4, 6)])
    shells = tuple(replace(shell, atom=shell.atom + 12 * copy) for copy in range(96) for shell in benzene.shells)
    orbitals = ob.Orbitals(np.zeros((96 * benzene.n_basis, 50)), np.full(50, 2.0))
    large = replace(
        benzene,
        atomic_numbers=np.tile(benzene.atomic_numbers, 96),
        core_charges=np.tile(benzene.core_charges, 96),
        positions=many,
        geometries=many[None],
        shells=shells,
        alpha=orbitals,
    )
    assert large.n_atoms == 1152
    assert topology.warning(large).endswith((" s", " minutes"))

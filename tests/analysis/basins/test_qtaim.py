"""Atoms in molecules: closures, symmetry, a second method, and molecules that are hard."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.charges import atomic_charges
from orbitile.analysis.qtaim import AtomicBasins, lattice_about, qtaim_basins
from orbitile.analysis.reports import analysis_named
from orbitile.base.errors import Cancelled

from ...molecules import computed
from ...oracle import basis_functions

gto = pytest.importorskip("pyscf.gto", reason="PySCF (extra scf) is not installed")
scf = pytest.importorskip("pyscf.scf", reason="PySCF (extra scf) is not installed")

WATER = "O 0 0 0.1173; H 0 0.7572 -0.4692; H 0 -0.7572 -0.4692"


@pytest.fixture(scope="module")
def water():
    return computed(WATER, "6-31g*")


def closes(wavefunction, accuracy="normal", electrons=1e-3, laplacian=1e-3):
    found = qtaim_basins(wavefunction, accuracy, "cpu")
    assert np.all(np.abs(found.laplacian) <= found.error)
    assert found.population.sum() == pytest.approx(wavefunction.n_electrons, abs=electrons)
    assert np.abs(found.laplacian).max() < laplacian
    return found


def charges_of(wavefunction):
    return atomic_charges(wavefunction, "qtaim", device="cpu").charges


def test_a_lone_atom_has_all_electrons():
    found = closes(computed("He 0 0 0", "6-31g"), "quick", 1e-6, 1e-5)
    assert found.atom.tolist() == [0]
    assert found.delocalisation == pytest.approx(np.array([[2.0]]), abs=1e-6)


@pytest.mark.slow
def test_hydrogen_atoms_have_one_electron_each_and_share_one():
    found = closes(computed("H 0 0 0; H 0 0 0.74", "cc-pvdz"), electrons=2e-4, laplacian=2e-4)
    assert found.population == pytest.approx(1, abs=1e-4)
    assert found.volume[0] == pytest.approx(found.volume[1], rel=1e-3)
    assert found.delocalisation == pytest.approx(np.array([[0.5, 1.0], [1.0, 0.5]]), abs=3e-4)


@pytest.mark.slow
def test_water_closes_and_its_hydrogen_atoms_are_equal(water):
    found = closes(water)
    charges = charges_of(water)
    assert charges[1] == pytest.approx(charges[2], abs=5e-4)
    assert charges.sum() == pytest.approx(0, abs=1e-3)
    shared = found.delocalisation
    rows = np.diag(shared) + (shared.sum(axis=1) - np.diag(shared)) / 2
    assert rows == pytest.approx(found.population, abs=1e-3)


@pytest.mark.slow
def test_volumes_add_up_to_that_of_the_molecule(water):
    lattice = lattice_about(water, 1e-3, 0.1)
    inside = ob.compute(water, "density", lattice, device="cpu").values > 1e-3
    whole = np.count_nonzero(inside) * lattice.cell_volume
    assert qtaim_basins(water, "normal", "cpu").volume.sum() == pytest.approx(whole, rel=3e-3)


@pytest.mark.slow
def test_carbon_monoxide_agrees_with_the_curve_of_its_border():
    """About an axis the border is a curve: the path of steepest descent from the critical point of the bond."""
    wavefunction = computed("C 0 0 0; O 0 0 1.105", "6-31g*")
    found = closes(wavefunction)
    assert found.population[1] == pytest.approx(electrons_behind_the_curve(wavefunction), abs=1e-3)


@pytest.mark.slow
def test_errors_are_told_where_all_electrons_are_there():
    """Against the curves of both borders to 1e-6; a border that is off takes from one atom what it gives to another."""
    found = qtaim_basins(computed("H 0 0 -1.0655; C 0 0 0; N 0 0 1.1532", "6-31g*"), "quick", "cpu")
    off = np.abs(found.population - [0.755436, 4.794458, 8.450106])
    assert np.all(off < found.error)
    assert np.all(off < 2e-4)
    assert np.all(found.error < 1e-3)


@pytest.mark.slow
def test_lithium_fluoride_closes():
    closes(computed("Li 0 0 0; F 0 0 1.5639", "6-31g*"))


@pytest.mark.slow
def test_spheres_of_hydrogen_atoms_stay_within_their_borders():
    """In this geometry a sphere with too few directions reaches beyond the border, which both atoms then agree on."""
    dimer = "O 0 0 0; H 0.96 0 0; H -0.24 0.93 0; O 2.9 0 0; H 3.2 0.5 0.76; H 3.2 0.5 -0.76"
    found = closes(computed(dimer, "6-31g*"), laplacian=1e-3)
    assert found.population[4] == pytest.approx(found.population[5], abs=3e-4)


@pytest.mark.slow
def test_ethylene_closes_and_its_atoms_are_equal():
    hydrogens = "; ".join(f"H {x} {y} 0" for x in (-1.23, 1.23) for y in (-0.93, 0.93))
    found = closes(computed(f"C -0.665 0 0; C 0.665 0 0; {hydrogens}", "6-31g*"), laplacian=5e-4)
    assert np.ptp(found.population[:2]) < 5e-4
    assert np.ptp(found.population[2:]) < 5e-4


def test_atoms_with_a_large_laplacian_are_named(monkeypatch):
    ones, zeros, laplacian = np.ones(2), np.zeros(2), np.array([2e-3, 0])
    found = AtomicBasins(np.array([0, 1]), np.zeros((2, 3)), ones, ones, laplacian, zeros, np.eye(2), [], zeros)
    monkeypatch.setattr("orbitile.analysis.qtaim.qtaim_basins", lambda *_: found)
    report = ob.basins(computed("H 0 0 0; H 0 0 0.74"), device="cpu")
    remark = next(one for one in report.remarks if "fine" in one)
    assert "H1 " in remark
    assert "H2" not in remark


def electrons_behind_the_curve(wavefunction):
    """Electrons of the second atom of a diatomic on the z axis, by the definition of the orbitals alone."""
    from scipy.integrate import solve_ivp
    from scipy.optimize import brentq

    occupied = wavefunction.alpha.coefficients[:, wavefunction.alpha.occupations > 0]
    first, second = wavefunction.positions[:, 2]

    def density(points):
        return 2 * ((occupied.T @ basis_functions(wavefunction, points)) ** 2).sum(axis=0)

    def slope(x, z, step=1e-4):
        moves = np.array([[step, 0, 0], [-step, 0, 0], [0, 0, step], [0, 0, -step]])
        values = density(np.array([x, 0.0, z]) + moves)
        return np.array([values[0] - values[1], values[2] - values[3]]) / (2 * step)

    lowest = brentq(lambda z: slope(0.0, z)[1], first + 0.4, second - 0.4, xtol=1e-10)

    def down(_, place):
        direction = -slope(*place)
        return direction / np.linalg.norm(direction)

    def fades(_, place):
        return density(np.array([[place[0], 0.0, place[1]]]))[0] - 1e-7

    fades.terminal = True
    curve = solve_ivp(down, (0, 7), [1e-3, lowest], rtol=1e-6, atol=1e-7, max_step=0.1, events=fades).y
    curve = np.concatenate([[[0.0], [lowest]], curve], axis=1)
    angle = np.arctan2(curve[0], -(curve[1] - second))  # from the axis towards the first atom
    radius = np.hypot(curve[0], curve[1] - second)
    widest = angle.max()
    t, w = np.polynomial.legendre.leggauss(60)
    total = 0.0
    for low, high in ((0.0, widest), (widest, np.pi)):
        for theta, weight in zip(low + (high - low) * (1 + t) / 2, (high - low) / 2 * w, strict=True):
            end = np.interp(theta, angle[: angle.argmax() + 1], radius[: angle.argmax() + 1]) if high == widest else 12
            r, of_r = end * ((1 + t) / 2) ** 2, end * (1 + t) / 2 * w
            points = np.stack([r * np.sin(theta), 0 * r, second - r * np.cos(theta)], axis=1)
            total += 2 * np.pi * np.sin(theta) * weight * (of_r * r**2) @ density(points)
    return total


@pytest.mark.slow
def test_a_maximum_between_lithium_atoms_has_a_basin_of_its_own():
    report = ob.basins(computed("Li 0 0 0; Li 0 0 2.67", "6-31g*"), accuracy="quick", device="cpu")
    atoms, elsewhere = report.table("atoms"), report.table("maxima")
    assert len(elsewhere) == 1
    assert 0.5 < elsewhere["population"][0] < 1.5
    assert atoms["charge"].sum() == pytest.approx(elsewhere["population"].sum(), abs=5e-3)
    assert np.array(elsewhere.places[0]) == pytest.approx([0, 0, 2.67 / 2 / 0.529177], abs=0.02)
    assert any("maxima without a nucleus" in remark for remark in report.remarks)


@pytest.mark.slow
def test_a_core_that_is_a_potential_still_has_its_atom():
    from orbitile.scf.engines.pyscf import wavefunction_of

    mol = gto.M(atom="Ag 0 0 0; Cl 0 0 2.28", basis="def2-svp", ecp={"Ag": "def2-svp"}, verbose=0)
    field = scf.RHF(mol).run()
    wavefunction = wavefunction_of(mol, field.mo_coeff, field.mo_occ, field.mo_energy)
    assert wavefunction.core_charges[0] == 19
    closes(wavefunction)
    report = ob.basins(wavefunction, device="cpu")
    assert 0.4 < report.table("atoms")["charge"][0] < 0.9
    assert any("potentials" in remark for remark in report.remarks)


@pytest.mark.slow
def test_spins_of_a_radical_add_up():
    from orbitile.scf.engines.pyscf import wavefunction_of

    atoms = "C 0 0 0; H 0 1.079 0; H 0.93444 -.5395 0; H -.93444 -.5395 0"
    mol = gto.M(atom=atoms, basis="6-31g", spin=1, verbose=0)
    field = scf.UHF(mol).run()
    report = ob.basins(
        wavefunction_of(mol, field.mo_coeff, field.mo_occ, field.mo_energy), accuracy="quick", device="cpu"
    )
    table = report.table("atoms")
    assert table["spin"].sum() == pytest.approx(1, abs=2e-3)
    assert table["spin"][0] > 0.9
    closure = next(one for one in table.closures if one.what == "spins")
    assert closure.expected == 1
    assert abs(closure.error) < 2e-3


@pytest.mark.slow
def test_turning_a_molecule_changes_nothing(water):
    from scipy.spatial.transform import Rotation

    turned = Rotation.from_euler("xyz", [0.3, 0.7, -1.1]).as_matrix()
    atoms = [line.split() for line in WATER.split(";")]
    moved = "; ".join(
        " ".join([symbol, *map(str, turned @ np.array([float(x), float(y), float(z)]))]) for symbol, x, y, z in atoms
    )
    other = computed(moved, "6-31g*")
    assert charges_of(other) == pytest.approx(charges_of(water), abs=1e-3)


def test_a_large_molecule_says_first_that_it_takes_long():
    wavefunction = computed("H 0 0 0; H 0 0 0.74")
    basins = analysis_named("basins")
    assert basins.warning(wavefunction, of="density", accuracy="quick") == ""
    many = 500
    far = replace(
        wavefunction,
        atomic_numbers=np.tile(wavefunction.atomic_numbers, many),
        core_charges=np.ones(2 * many),
        positions=np.concatenate([wavefunction.positions + 10.0 * n for n in range(many)]),
        geometries=np.zeros(0),
    )
    assert "minutes" in basins.warning(far, of="density", accuracy="normal")


def test_basins_can_be_cancelled():
    wavefunction = computed("H 0 0 0; H 0 0 0.74")
    asked = []

    def cancelled():
        asked.append(True)
        return len(asked) > 20

    with pytest.raises(Cancelled):
        ob.basins(wavefunction, device="cpu", cancelled=cancelled)


def test_an_accuracy_that_is_not_known_is_refused(water):
    with pytest.raises(ob.OrbitileError, match="quick"):
        qtaim_basins(water, "best", "cpu")


def test_populations_of_a_molecule_too_large_for_overlaps_are_the_same(monkeypatch):
    molecule = "H 0 0 0; H 0 0 0.74"
    with_overlaps = qtaim_basins(computed(molecule, "sto-3g"), "quick", "cpu")
    monkeypatch.setattr("orbitile.analysis.qtaim._MOST_OVERLAPS", 0)
    without = qtaim_basins(computed(molecule, "sto-3g"), "quick", "cpu")
    assert with_overlaps.delocalisation.size
    assert not without.delocalisation.size
    assert without.population == pytest.approx(with_overlaps.population, abs=1e-6)
    assert without.laplacian == pytest.approx(with_overlaps.laplacian, abs=1e-6)

"""Periodic orbitals and densities at the Gamma point, against PySCF and against what translations ask for."""

import numpy as np
import pytest

import orbitile
from orbitile.base.errors import OrbitileError
from orbitile.gaussians.overlap import own_overlap
from orbitile.gaussians.packing import merged_primitives
from orbitile.model.cell import Cell, cell_of
from orbitile.model.lattice import Lattice

from ..crystals import TRICLINIC, computed, water, write_molden

pytest.importorskip("pyscf.pbc.gto", reason="PySCF (extra scf) is not installed")


@pytest.fixture(scope="module")
def skewed(tmp_path_factory):
    """Water in a skewed cell, as PySCF has it and as it is read."""
    field = water()
    path = write_molden(tmp_path_factory.mktemp("skewed") / "water.molden", field, digits=15)
    return field, orbitile.load(path)


def points_in(wavefunction, n=60, seed=1):
    cell = cell_of(wavefunction)
    return cell.origin + np.random.default_rng(seed).random((n, 3)) @ cell.vectors


def functions(field, points):
    return field.cell.pbc_eval_gto("GTOval_sph", points)


def as_ours(values, reference):
    """A reference with the sign that an orbital has here."""
    return reference * np.sign(values @ reference)


def test_orbitals_are_those_of_pyscf(skewed, device):
    field, wavefunction = skewed
    points = points_in(wavefunction)
    expected = functions(field, points) @ field.mo_coeff
    for n in (0, 3, 4, 22):
        found = orbitile.evaluate(wavefunction, f"mo:{n + 1}", points, device=device, precision="double")
        assert np.abs(found - as_ours(found, expected[:, n])).max() < 1e-10
    single = orbitile.evaluate(wavefunction, "homo", points, device=device)
    assert np.abs(single - as_ours(single, expected[:, 3])).max() < 2e-6


@pytest.mark.slow
def test_the_density_is_that_of_pyscf_and_holds_all_electrons(skewed):
    field, wavefunction = skewed
    lattice = Lattice.around(wavefunction, 0.4)
    volume = orbitile.compute(wavefunction, "density", lattice, device="cpu", precision="double")
    points = lattice.points()
    expected = (functions(field, points) @ field.mo_coeff) ** 2 @ field.mo_occ
    assert np.abs(volume.values.ravel() - expected).max() < 1e-10
    assert lattice.n_points * lattice.cell_volume == pytest.approx(cell_of(wavefunction).volume)
    assert volume.values.sum() * lattice.cell_volume == pytest.approx(8, abs=1e-3)


@pytest.mark.slow
def test_derivatives_are_those_of_pyscf(skewed):
    field, wavefunction = skewed
    points = points_in(wavefunction)
    values = field.cell.pbc_eval_gto("GTOval_sph_deriv2", points) @ field.mo_coeff
    rho = values[0] ** 2 @ field.mo_occ
    gradient = 2 * (values[0] * values[1:4]) @ field.mo_occ
    laplacian = 2 * (values[0] * values[[4, 7, 9]].sum(axis=0) + (values[1:4] ** 2).sum(axis=0)) @ field.mo_occ
    kinetic = 0.5 * (values[1:4] ** 2).sum(axis=0) @ field.mo_occ
    found = orbitile.evaluate(wavefunction, "laplacian", points, device="cpu", precision="double")
    assert np.abs(found - laplacian).max() < 1e-9
    half = rho / 2
    uniform = 0.3 * (6 * np.pi**2) ** (2 / 3) * 2 * half ** (5 / 3)
    excess = kinetic - (gradient**2).sum(axis=0) / (8 * rho)
    elf = 1 / (1 + (excess / uniform) ** 2)
    shown = rho > 0.01
    found = orbitile.evaluate(wavefunction, "elf", points, device="cpu", precision="double")
    assert np.abs(found - elf)[shown].max() < 1e-7


@pytest.mark.slow
def test_spin_densities_are_those_of_pyscf(tmp_path):
    field = computed("O 0 0 0.1; H 0.757 0.587 0.1", tuple(np.diag([4.0, 4.5, 5.0]).ravel().tolist()), spin=1)
    wavefunction = orbitile.load(write_molden(tmp_path / "oh.molden", field, digits=15))
    points = points_in(wavefunction)
    alpha, beta = ((functions(field, points) @ c) ** 2 @ n for c, n in zip(field.mo_coeff, field.mo_occ, strict=True))
    found = orbitile.evaluate(wavefunction, "spin", points, device="cpu", precision="double")
    assert np.abs(found - (alpha - beta)).max() < 1e-10


def test_the_overlap_is_that_of_pyscf(skewed):
    field, wavefunction = skewed
    matrix = field.mo_coeff.T @ field.cell.pbc_intor("int1e_ovlp") @ field.mo_coeff
    c = wavefunction.alpha.coefficients
    assert np.abs(c.T @ own_overlap(wavefunction) @ c - matrix).max() < 1e-9


@pytest.mark.slow
def test_fields_repeat_with_the_cell(skewed):
    _, wavefunction = skewed
    points, vectors = points_in(wavefunction, 20), wavefunction.cell
    for name in ("homo", "density"):
        here = orbitile.evaluate(wavefunction, name, points, device="cpu", precision="double")
        for step in ([1, 0, 0], [0, -2, 1], [3, 3, 3]):
            there = orbitile.evaluate(wavefunction, name, points + step @ vectors, device="cpu", precision="double")
            assert np.abs(here - there).max() < 1e-10


@pytest.mark.slow
def test_lattices_that_leave_the_cell_have_the_values_of_their_points(skewed):
    _, wavefunction = skewed
    lattice = Lattice.box([-9.0, -9, -9], [9, 9, 9], 6.0)
    values = orbitile.compute(wavefunction, "homo", lattice, device="cpu", precision="double").values
    expected = orbitile.evaluate(wavefunction, "homo", lattice.points(), device="cpu", precision="double")
    assert np.abs(values.ravel() - expected).max() < 1e-10


@pytest.mark.slow
def test_a_molecule_in_a_large_cell_is_a_molecule(tmp_path):
    field = water(np.eye(3) * 20.0)
    wavefunction = orbitile.load(write_molden(tmp_path / "box.molden", field, digits=15))
    from dataclasses import replace

    alone = replace(wavefunction, cell=np.empty(0))
    points = wavefunction.positions.mean(axis=0) + np.random.default_rng(3).normal(size=(50, 3))
    for name in ("homo", "density", "elf"):
        one, other = (
            orbitile.evaluate(of, name, points, device="cpu", precision="double") for of in (wavefunction, alone)
        )
        assert np.abs(one - other).max() < 1e-9


@pytest.mark.slow
def test_images_are_few_where_the_cell_is_large(tmp_path):
    small, large = (
        orbitile.load(write_molden(tmp_path / f"{a}.molden", water(np.eye(3) * a), digits=15)) for a in (5.0, 12.0)
    )
    assert len(merged_primitives(large).exponent) < len(merged_primitives(small).exponent) / 2


@pytest.mark.slow
def test_distances_from_a_skewed_cell_are_those_of_a_search():
    cell = Cell(np.array([0.3, -0.2, 0.1]), np.array([[4.0, 0, 0], [2.5, 3, 0], [-1, 1.5, 3]]))
    points = np.random.default_rng(5).normal(size=(30, 3)) * 8
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 81)] * 3, indexing="ij"), -1).reshape(-1, 3)
    within = cell.origin + grid @ cell.vectors
    expected = [np.linalg.norm(within - point, axis=1).min() for point in points]
    assert np.abs(cell.distances(points) - expected).max() < 0.03
    assert np.all(cell.distances(points) <= np.array(expected) + 1e-12)


def test_cells_begin_where_their_atoms_are(skewed):
    _, wavefunction = skewed
    cell = cell_of(wavefunction)
    assert cell.holds(wavefunction.positions)
    assert cell.origin[2] == 0  # along the third vector the atoms lie between 0 and 1 as they are


@pytest.mark.slow
def test_default_isovalues_enclose_their_share(skewed):
    _, wavefunction = skewed
    isovalue = orbitile.default_isovalue(wavefunction, "homo", device="cpu")
    lattice = Lattice.around(wavefunction, 0.2)
    values = orbitile.compute(wavefunction, "homo", lattice, device="cpu").values
    assert (values[np.abs(values) > isovalue] ** 2).sum() * lattice.cell_volume == pytest.approx(0.9, abs=0.005)


@pytest.mark.slow
def test_surfaces_end_at_the_faces_of_the_cell(skewed):
    _, wavefunction = skewed
    cell = cell_of(wavefunction)
    surface = orbitile.compute_surface(wavefunction, "homo", 0.03, device="cpu")
    fractions = cell.fractions(surface.vertices)
    assert fractions.min() > -1e-6
    assert fractions.max() < 1 + 1e-6
    # where it leaves by one face it enters by the opposite one
    low, high = (surface.vertices[np.abs(fractions[:, 0] - end) < 1e-6] for end in (0, 1))
    assert len(low) == len(high) > 0
    apart = np.linalg.norm((low + wavefunction.cell[0])[:, None] - high, axis=2).min(axis=1)
    assert apart.max() < 1e-3
    volume = orbitile.compute(wavefunction, "homo", Lattice.around(wavefunction, 0.3), device="cpu")
    assert cell.fractions(orbitile.isosurface(volume, 0.03).vertices).max() == pytest.approx(1, abs=1e-6)


def test_what_is_of_molecules_is_refused(skewed):
    _, wavefunction = skewed
    with pytest.raises(OrbitileError, match=r"electrostatic potential: not of a periodic system: .*Ewald"):
        orbitile.evaluate(wavefunction, "esp", np.zeros((1, 3)), device="cpu")


@pytest.mark.slow
def test_analyses_of_molecules_are_refused(skewed):
    _, wavefunction = skewed
    for analysis in ("charges", "surface", "topology", "basins", "interactions"):
        with pytest.raises(OrbitileError, match="not of a periodic system: "):
            getattr(orbitile, analysis)(wavefunction, device="cpu")


@pytest.mark.slow
def test_populations_have_the_overlap_of_the_cell(skewed):
    _, wavefunction = skewed
    report = orbitile.charges(wavefunction, scheme="mulliken", device="cpu")
    charges = next(column for column in report.tables[0].columns if column.name == "charge")
    assert sum(charges.values) == pytest.approx(0, abs=1e-9)


def test_cells_that_are_too_small_are_refused(skewed):
    from dataclasses import replace

    _, wavefunction = skewed
    tiny = replace(wavefunction, cell=np.eye(3) * 0.2)
    with pytest.raises(OrbitileError, match=r"cell of 0\.008 bohr"):
        own_overlap(tiny)
    with pytest.raises(OrbitileError, match=r"cell of 0\.008 bohr"):
        merged_primitives(tiny)


@pytest.mark.slow
def test_cubes_hold_each_point_of_the_cell_once(skewed, tmp_path):
    _, wavefunction = skewed
    volume = orbitile.compute(wavefunction, "homo", Lattice.around(wavefunction, points=8), device="cpu")
    orbitile.save(volume, tmp_path / "homo.cube", wavefunction=wavefunction)
    (read,) = orbitile.load_volumes(tmp_path / "homo.cube")
    assert max(read.lattice.shape) == 8
    assert read.lattice.axes * np.array(read.lattice.shape)[:, None] == pytest.approx(wavefunction.cell, abs=1e-4)
    assert np.abs(read.values - volume.values).max() < 1e-5


def test_the_picture_shows_the_cell(skewed):
    from orbitile.scenes.scene import Molecule

    _, wavefunction = skewed
    molecule = Molecule.of(wavefunction)
    assert len(molecule.centres) == 3 + 24
    assert len(molecule.bonds) == 2 + 12
    ends = molecule.centres[molecule.bonds[-12:]]
    lengths = np.sort(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1))
    assert lengths == pytest.approx(np.sort(np.repeat(np.linalg.norm(TRICLINIC, axis=1) / 0.529177210903, 4)))

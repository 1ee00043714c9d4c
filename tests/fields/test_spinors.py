"""Complex and two-component orbitals against PySCF."""

import numpy as np
import pytest
from pyscf import gto

import orbitile as ob
from orbitile.analysis.aromaticity import without_orbitals
from orbitile.analysis.information import as_text
from orbitile.base.errors import FieldError, OrbitileError
from orbitile.evaluation.surfaces import coloured, compute_surface
from orbitile.fields import as_drawn, unavailable
from orbitile.model.lattice import Lattice
from orbitile.model.wavefunction import Orbitals, Spinors
from orbitile.pictures.orbitals import levels_of
from orbitile.scenes import scene_of
from orbitile.surfaces.colour_maps import colours_along
from tests.two_component import POINTS, dumped, orthonormal, spinor_values

N_OCCUPIED = 10


@pytest.fixture(scope="module")
def mol():
    return gto.M(atom="O 0 0 0.1; H 0 0.76 -0.5; H 0 -0.76 -0.5", basis="6-31g", verbose=0)


@pytest.fixture(scope="module")
def orbitals(mol):
    """Over functions of spin up, then down."""
    return orthonormal(mol, 5, both_spins=True)


@pytest.fixture(scope="module")
def wavefunction(mol, orbitals, tmp_path_factory):
    n = orbitals.shape[1]
    energies = np.linspace(-20, 3, n)
    occupations = np.repeat([1.0, 0], [N_OCCUPIED, n - N_OCCUPIED])
    return ob.load(dumped(tmp_path_factory.mktemp("chk"), mol, orbitals, occupations, energies))


@pytest.fixture(scope="module")
def components(mol, orbitals):
    """Values of the components at the points, shape (2, n_points, n_orbitals)."""
    values = mol.eval_gto("GTOval_sph", POINTS)
    return np.array([values @ part for part in np.split(orbitals, 2)])


def at_points(wavefunction, name):
    return ob.evaluate(wavefunction, name, POINTS, precision="double")


def test_magnitudes_and_phases_are_those_of_pyscf(wavefunction, components):
    for n in (0, 9, 15):
        up, down = components[:, :, n]
        found = at_points(wavefunction, f"mo:{n + 1}")
        assert np.abs(found - np.sqrt(np.abs(up) ** 2 + np.abs(down) ** 2)).max() < 1e-10
        larger = np.where(np.abs(down) > 1.001 * np.abs(up), down, up)
        turn = np.exp(1j * at_points(wavefunction, f"phase:mo:{n + 1}")) / (larger / np.abs(larger))
        assert np.abs(turn - turn[0]).max() < 1e-9  # one phase, common to all points


def test_densities_and_magnetisation_are_those_of_pyscf(wavefunction, components):
    up, down = components[:, :, :N_OCCUPIED]
    mixed = 2 * (up.conj() * down).sum(axis=1)
    z = (np.abs(up) ** 2 - np.abs(down) ** 2).sum(axis=1)
    for name, expected in (
        ("density", (np.abs(up) ** 2 + np.abs(down) ** 2).sum(axis=1)),
        ("density:alpha", (np.abs(up) ** 2).sum(axis=1)),
        ("density:homo", (np.abs(up) ** 2 + np.abs(down) ** 2)[:, -1]),
        ("spin", z),
        ("magnetisation:x", mixed.real),
        ("magnetisation:y", mixed.imag),
        ("magnetisation:z", z),
        ("magnetisation", np.sqrt(np.abs(mixed) ** 2 + z**2)),
    ):
        assert np.abs(at_points(wavefunction, name) - expected).max() < 1e-10, name


@pytest.mark.slow
def test_a_phase_common_to_an_orbital_is_not_seen(wavefunction):
    turned = wavefunction.spinors.components * np.exp(1j * np.linspace(0, 6, len(wavefunction.alpha)))
    spinors = Spinors(turned, wavefunction.alpha.occupations, wavefunction.alpha.energies)
    other = ob.Wavefunction(wavefunction.atomic_numbers, wavefunction.positions, wavefunction.shells, spinors)
    for name in ("phase:homo", "homo", "density", "magnetisation:y"):
        assert np.allclose(at_points(other, name), at_points(wavefunction, name), atol=1e-9)


@pytest.mark.slow
def test_real_orbitals_in_disguise_have_two_phases(wavefunction, mol):
    real = orthonormal(mol, 2).real
    spinors = Spinors(real[None] * np.exp(0.7j), np.repeat([2.0, 0], [5, mol.nao - 5]))
    disguised = ob.Wavefunction(wavefunction.atomic_numbers, wavefunction.positions, wavefunction.shells, spinors)
    assert (disguised.kind, disguised.multiplicity, disguised.n_electrons) == ("complex", 1, 10)
    plain = ob.Wavefunction(
        wavefunction.atomic_numbers, wavefunction.positions, wavefunction.shells, Orbitals(real, spinors.occupations)
    )
    assert np.allclose(at_points(disguised, "homo"), np.abs(at_points(plain, "homo")), atol=1e-12)
    assert np.allclose(np.abs(np.cos(at_points(disguised, "phase:homo"))), 1)
    assert np.allclose(at_points(disguised, "density"), at_points(plain, "density"), atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("axes", [np.eye(3) * 0.6, np.array([[0.6, 0, 0], [0.1, 0.6, 0], [0.2, 0.1, 0.5]])])
def test_lattices_have_the_values_at_their_points(wavefunction, axes):
    lattice = Lattice(np.full(3, -2.0), axes, (7, 6, 8))
    values = ob.compute(wavefunction, "homo", lattice, precision="double").values
    points = lattice.points(0, 7).reshape(-1, 3)
    assert np.allclose(values.ravel(), ob.evaluate(wavefunction, "homo", points, precision="double"), atol=1e-10)


@pytest.mark.slow
def test_surfaces_are_coloured_by_the_phase_unless_told_otherwise(wavefunction):
    assert as_drawn("homo", "", wavefunction) == ("homo", "phase:homo")
    assert as_drawn("homo", "esp", wavefunction) == ("homo", "esp")
    assert as_drawn("density", "", wavefunction) == ("density", "")
    assert as_drawn("phase:mo:3", "", wavefunction) == ("mo:3", "phase:mo:3")
    surface = compute_surface(wavefunction, "homo", 0.08, Lattice.box(np.full(3, -4.0), np.full(3, 4.0), 0.4))
    painted = coloured(surface, wavefunction, "phase:homo")
    assert (painted.colouring.low, painted.colouring.high) == (-np.pi, np.pi)
    assert np.ptp(painted.colouring.values) > 3
    mesh = scene_of([painted], wavefunction).meshes[0]
    assert len(np.unique(np.round(mesh.colours[:, :3], 2), axis=0)) > 20


def test_the_colours_of_phases_are_a_circle():
    first, last = colours_along("phase", np.array([0.0, 1.0]))
    assert np.array_equal(first, last)


@pytest.mark.slow
def test_default_isovalues_enclose_their_share(wavefunction):
    isovalue = ob.default_isovalue(wavefunction, "homo")
    volume = ob.compute(wavefunction, "homo", Lattice.box(np.full(3, -9.0), np.full(3, 9.0), 0.15))
    squares = volume.values.astype(float) ** 2
    assert squares.sum() * 0.15**3 == pytest.approx(1, abs=0.01)
    assert squares[volume.values > isovalue].sum() / squares.sum() == pytest.approx(0.9, abs=0.012)


def test_tables_have_occupations_and_energies(wavefunction):
    levels = levels_of(wavefunction)
    assert len(levels) == 1
    assert [level.index for level in levels[0] if level.mark] == [N_OCCUPIED - 1, N_OCCUPIED]
    assert "two-component orbitals" in as_text(wavefunction)


def test_what_holds_for_real_orbitals_only_is_refused(wavefunction):
    for name in ("elf", "lol", "ionisation", "ibo:1"):
        with pytest.raises(OrbitileError, match="these are complex ones"):
            at_points(wavefunction, name)
    for analysis in (ob.bonds, ob.localise, ob.levels):
        with pytest.raises(OrbitileError, match="these are complex ones"):
            analysis(wavefunction)
    assert {"elf", "ionisation", "ibo:N"} <= set(unavailable(wavefunction))


def test_phases_of_real_orbitals_are_refused(benzene):
    for name in ("phase:homo", "magnetisation:x", "magnetisation"):
        with pytest.raises(FieldError, match=r"real|along z only"):
            at_points(benzene, name)
    assert {"phase:homo", "magnetisation:x"} <= set(unavailable(benzene))
    assert as_drawn("homo", "", benzene) == ("homo", "")


@pytest.mark.slow
def test_spins_of_a_triangle_of_hydrogen_lie_in_its_plane(tmp_path):
    from pyscf import scf

    mol = gto.M(atom="H 0 0 0; H 1.8 0 0; H 0.9 1.5588 0", basis="6-31g", spin=1, verbose=0, unit="B")
    mf = scf.GHF(mol)
    start = mf.get_init_guess().astype(complex)
    for atom, angle in enumerate(np.arange(3) * 2 * np.pi / 3):
        rows = slice(2 * atom, 2 * atom + 2)
        start[: mol.nao, mol.nao :][rows, rows] = 0.3 * np.eye(2) * np.exp(-1j * angle)
        start[mol.nao :, : mol.nao][rows, rows] = 0.3 * np.eye(2) * np.exp(1j * angle)
    mf.chkfile, mf.max_cycle = str(tmp_path / "h3.chk"), 200
    mf.kernel(start)
    found = ob.load(mf.chkfile)
    values = mol.eval_gto("GTOval", POINTS)
    up, down = values @ mf.mo_coeff[: mol.nao, :3], values @ mf.mo_coeff[mol.nao :, :3]
    assert np.abs(at_points(found, "magnetisation:x") - 2 * (up.conj() * down).sum(axis=1).real).max() < 1e-10
    with pytest.raises(FieldError, match="no spin points along z"):
        at_points(found, "spin")


@pytest.mark.slow
def test_spinors_of_a_heavy_atom_are_those_of_x2c(tmp_path):
    from pyscf import x2c

    mol = gto.M(atom="I 0 0 0", basis="sto-3g", spin=1, verbose=0)
    mf = x2c.UHF(mol)
    mf.chkfile, mf.max_cycle = str(tmp_path / "iodine.chk"), 20
    mf.kernel()
    found = ob.load(mf.chkfile)
    components = spinor_values(mol, mf.mo_coeff)
    for n in (3, 40, 51):
        magnitude = np.sqrt(sum(np.abs(part[:, n]) ** 2 for part in components))
        assert np.abs(at_points(found, f"mo:{n + 1}") - magnitude).max() < 1e-10


def test_currents_and_tunnelling_say_that_orbitals_are_complex(wavefunction):
    missing = unavailable(wavefunction)
    assert all("complex" in missing[name] for name in ("current", "shielding", "stm:-2"))


def test_aromaticity_of_complex_orbitals_is_told_to_be_of_lengths_alone(wavefunction):
    assert "complex" in without_orbitals(wavefunction)

"""Densities and their derivatives: every sample file of qc-iodata against qc-gbasis, and what must hold of them."""

from pathlib import Path

import numpy as np
import pytest
from iodata import load_one

import orbitile as ob
from orbitile.readers.cube import read_atoms
from orbitile.readers.iodata import dialects_of_iodata
from tests.conftest import SAMPLES, points_near, random_wavefunction, sample_parameters
from tests.oracle import orbital

density = pytest.importorskip("gbasis.evals.density", reason="qc-gbasis has no wheels here")
from_iodata = pytest.importorskip("gbasis.wrappers").from_iodata

AGREEMENT = 1e-9
"""In double precision, as a share of the largest value."""
SINGLE = 3e-6, 2e-5
"""In single precision: share of the largest value at the points, and in atomic units."""

pytestmark = pytest.mark.filterwarnings("ignore::iodata.utils.LoadWarning")


def density_matrices(data) -> np.ndarray:
    """Of the orbitals, or of the correlated method where the file gives that."""
    correlated = (data.one_rdms or {}).get("post_scf_ao")
    if correlated is not None:
        return correlated
    return (data.mo.coeffs * data.mo.occs) @ data.mo.coeffs.T


def references(path, points) -> dict[str, np.ndarray]:
    with dialects_of_iodata(package="iodata"):
        data = load_one(str(path))
    data.atcoords = ob.load(path).positions  # it has another Angstrom, by 7e-10
    matrix = density_matrices(data)

    def evaluated(function, **keywords):
        # a basis of its own for each: derivatives leave repaired contractions with another norm behind
        return function(matrix, from_iodata(data), points, screen_basis=False, **keywords)

    return {
        "density": evaluated(density.evaluate_density, threshold=np.inf),
        "gradient": np.linalg.norm(evaluated(density.evaluate_density_gradient), axis=1),
        "laplacian": evaluated(density.evaluate_density_laplacian),
        "kinetic": evaluated(density.evaluate_posdef_kinetic_energy_density, threshold=np.inf),
    }


LARGER = (
    *("2h-azirine-cc.fchk", "h2_ub3lyp_ccpvtz.wfx", "neon_turbomole_def2-qzvp.molden"),
    *("o2_cc_pvtz_cart.fchk", "o2_uhf_virtual.wfn", "orca_zn_cc_pvqz_pure.molden"),
)
"""One of each kind: a correlated density, open shells, virtual orbitals, functions up to g. What sets the others apart
is how they are read, which their orbitals show (test_against_gbasis.py)."""


@pytest.mark.parametrize("path", sample_parameters(LARGER))
def test_density_gradient_laplacian_and_kinetic_energy(path):
    wavefunction = ob.load(path)
    if not np.any(wavefunction.alpha.occupations):
        # some sample files hold a basis and orbitals only: there is no density to compare
        pytest.skip("no occupied orbitals in this file")
    points = points_near(wavefunction)[::3]
    for name, expected in references(path, points).items():
        scale = np.abs(expected).max()
        double = ob.evaluate(wavefunction, name, points, device="cpu", precision="double")
        assert np.abs(double - expected).max() < AGREEMENT * max(scale, 1.0), name
        single = ob.evaluate(wavefunction, name, points, device="cpu")
        assert np.abs(single - expected).max() < SINGLE[0] * scale + SINGLE[1], name


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize("momenta", [(0, 1, 2), (3, 4), (5,), (6,)])
def test_density_of_high_angular_momenta(device, precision, momenta):
    wavefunction = random_wavefunction(7, momenta, n_atoms=2, n_primitives=2)
    points = np.random.default_rng(2).normal(size=(200, 3)) * 2
    expected = 2 * orbital(wavefunction, 0, points) ** 2
    values = ob.evaluate(wavefunction, "density", points, device=device, precision=precision)
    limit = 1e-11 if precision == "double" else 1e-5
    assert np.abs(values - expected).max() < limit * max(expected.max(), 1)
    lattice = ob.Lattice([-2.0, -1.5, -1.8], np.diag([0.4, 0.35, 0.3]), (11, 9, 13))
    expected = 2 * orbital(wavefunction, 0, lattice.points()).reshape(lattice.shape) ** 2
    volume = ob.compute(wavefunction, "density", lattice, device=device, precision=precision)
    assert np.abs(volume.values - expected).max() < limit * max(expected.max(), 1)


OF_THE_SAME_SUMS = [
    pytest.param(name, marks=pytest.mark.not_in_software) for name in ("gradient", "laplacian", "kinetic", "rdg")
]


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize("field", ["density", "elf", "nci", *OF_THE_SAME_SUMS])
def test_lattices_of_any_kind_agree_with_points(benzene, device, field):
    angle = 0.4
    turned = np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    skewed = np.array([[1, 0.3, 0], [0, 1, 0.2], [0.1, 0, 1]])
    lattices = [
        ob.Lattice([-3.0, -3, -2], axes * [[0.5], [0.6], [0.55]], (12, 10, 9)) for axes in (np.eye(3), turned, skewed)
    ]
    points = np.concatenate([lattice.points() for lattice in lattices])
    expected = ob.evaluate(benzene, field, points, device="cpu", precision="double").reshape(3, -1)
    for lattice, values in zip(lattices, expected, strict=True):
        volume = ob.compute(benzene, field, lattice, device=device, precision="double")
        assert np.abs(volume.values.reshape(-1) - values).max() < 1e-8 * np.abs(values).max()


def test_integrals(benzene):
    """The number of electrons, of all orbitals and of two of them."""
    lattice = ob.Lattice.around(benzene, 0.14, 6.0)
    integral = {
        name: ob.compute(benzene, name, lattice, device="cpu", precision="double").values.sum() * lattice.cell_volume
        for name in ("density", "density:homo-1..homo")
    }
    assert integral["density"] == pytest.approx(42, abs=0.2)  # the cusps of carbon ask for a finer lattice
    assert integral["density:homo-1..homo"] == pytest.approx(4, abs=1e-3)


def test_the_laplacian_integrates_to_nothing():
    wavefunction = random_wavefunction(3, (0, 1, 2))  # without cusps
    lattice = ob.Lattice.around(wavefunction, 0.2, 9.0)
    volume = ob.compute(wavefunction, "laplacian", lattice, device="cpu", precision="double")
    assert abs(volume.values.sum() * lattice.cell_volume) < 1e-6 * np.abs(volume.values).sum() * lattice.cell_volume


def test_spin_densities():
    wavefunction = ob.load(SAMPLES / "h_sto3g.fchk")
    points = points_near(wavefunction)[::4]
    alpha, beta, spin, total = (
        ob.evaluate(wavefunction, name, points, device="cpu", precision="double")
        for name in ("density:alpha", "density", "spin", "density")
    )
    assert alpha == pytest.approx(total)
    assert spin == pytest.approx(beta)
    wavefunction = ob.load(SAMPLES / "ch3_hf_sto3g.fchk")
    lattice = ob.Lattice.around(wavefunction, 0.25, 6.0)
    volume = ob.compute(wavefunction, "spin", lattice, device="cpu")
    assert volume.values.sum(dtype=float) * lattice.cell_volume == pytest.approx(1, abs=5e-3)


def test_localisation_functions_stay_within_their_bounds(benzene):
    lattice = ob.Lattice.around(benzene, 0.4, 4.0)
    for name in ("elf", "lol"):
        values = ob.compute(benzene, name, lattice, device="cpu").values
        assert values.min() >= 0
        assert 0.5 < values.max() <= 1


def test_elf_of_one_electron_pair_is_one():
    wavefunction = random_wavefunction(5, (0, 1), n_orbitals=1)
    points = wavefunction.positions.repeat(9, axis=0) + np.random.default_rng(0).normal(size=(27, 3)) * 0.3
    points = points[ob.evaluate(wavefunction, "density", points, device="cpu") > 1e-3]  # not about the nodes
    assert len(points) == 24
    assert ob.evaluate(wavefunction, "elf", points, device="cpu", precision="double") == pytest.approx(1, abs=1e-6)


def test_signed_density_by_the_eigenvalues(benzene):
    from orbitile.fields.derivatives import hessian_of
    from tests.gaussians.sums import value_at

    points = benzene.positions[0] + np.random.default_rng(1).normal(size=(60, 3)) * 1.5
    xx, yy, zz, xy, xz, yz = (value_at(one, points) for one in hessian_of(benzene))
    matrices = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).transpose(2, 0, 1)
    middle = np.linalg.eigvalsh(matrices)[:, 1]
    rho = ob.evaluate(benzene, "density", points, device="cpu", precision="double")
    values = ob.evaluate(benzene, "nci", points, device="cpu", precision="double")
    clear = np.abs(middle) > 1e-6
    assert clear.sum() > 40
    assert values[clear] == pytest.approx((np.sign(middle) * rho)[clear])


def test_components_of_gradient_and_hessian(benzene):
    points = points_near(benzene)[::7]
    step = 1e-4

    def value(field, at):
        return ob.evaluate(benzene, field, at, device="cpu", precision="double")

    vectors = [value(f"gradient:{axis}", points) for axis in "xyz"]
    assert np.linalg.norm(vectors, axis=0) == pytest.approx(value("gradient", points), rel=1e-9, abs=1e-10)
    trace = sum(value(f"hessian:{axis}{axis}", points) for axis in "xyz")
    assert trace == pytest.approx(value("laplacian", points), rel=1e-8, abs=1e-8)
    shift = step * np.array([0.0, 1.0, 0.0])
    slope = (value("gradient:x", points + shift) - value("gradient:x", points - shift)) / (2 * step)
    assert value("hessian:yx", points) == pytest.approx(slope, rel=1e-4, abs=1e-5)


def test_the_difference_of_a_calculation_and_itself_is_nothing(benzene):
    points = points_near(benzene)[::5]
    values = ob.evaluate(benzene, f"difference:{benzene.source}", points, device="cpu", precision="double")
    assert np.abs(values).max() < 1e-9


def test_fukui_functions_of_frozen_orbitals(benzene, tmp_path):
    """Of orbitals that do not relax they are squares of frontier orbitals."""
    lines = Path(benzene.source).read_text().splitlines()
    places = [n for n, line in enumerate(lines) if line.strip().startswith("Occup")]
    homo = round(benzene.n_electrons / 2) - 1
    files = {}
    for name, changes in (("anion", homo + 1), ("cation", homo)):
        changed = list(lines)
        changed[places[changes]] = " Occup= 1.0"
        files[name] = tmp_path / f"{name}.molden"
        files[name].write_text("\n".join(changed) + "\n")
    points = points_near(benzene)[::5]
    square = {
        name: ob.evaluate(benzene, name, points, device="cpu", precision="double") ** 2 for name in ("homo", "lumo")
    }
    both = f"{files['cation']},{files['anion']}"
    for field, expected in (
        (f"fukui+:{files['anion']}", square["lumo"]),
        (f"fukui-:{files['cation']}", square["homo"]),
        (f"fukui0:{both}", (square["lumo"] + square["homo"]) / 2),
        (f"dual:{both}", square["lumo"] - square["homo"]),
    ):
        values = ob.evaluate(benzene, field, points, device="cpu", precision="double")
        assert np.abs(values - expected).max() < 1e-8
    with pytest.raises(ob.errors.FieldError, match="expected 43 electrons, got 41"):
        ob.evaluate(benzene, f"fukui+:{files['cation']}", points)
    with pytest.raises(ob.errors.FieldError, match=r"2 file\(s\), of N\+1 and N-1 electrons, got 1"):
        ob.evaluate(benzene, f"dual:{files['cation']}", points)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("spin", "no spin density"),
        ("density:homo..", "expected orbitals"),
        ("density:lumo", "empty"),
        ("difference:", "the other file"),
        ("difference:/no/such.molden", "no such file"),
        ("densty", "density"),
    ],
)
def test_wrong_names(benzene, field, message):
    with pytest.raises(ob.errors.OrbitileError, match=message):
        ob.evaluate(benzene, field, np.zeros((1, 3)), device="cpu")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "basis"),
    [
        ("cubegen_h2o_5points.cube", "cc-pvtz"),
        ("cubegen_nh3_7points.cube", "aug-cc-pvdz"),
        ("cubegen_ch4_6points.cube", "aug-cc-pvdz"),
    ],
)
def test_against_published_cubes(tmp_path, file, basis):
    """Cubes that Gaussian's cubegen wrote, of B3LYP densities; the orbitals are computed anew, by PySCF."""
    gto, dft = pytest.importorskip("pyscf.gto"), pytest.importorskip("pyscf.dft")
    from pyscf.tools import molden

    (cube,) = ob.load_volumes(SAMPLES / file)
    numbers, _, positions = read_atoms(SAMPLES / file)
    atoms = list(zip(numbers.tolist(), positions.tolist(), strict=True))
    mean_field = dft.RKS(gto.M(atom=atoms, unit="bohr", basis=basis, verbose=0), xc="b3lyp")
    mean_field.conv_tol = 1e-10
    mean_field.kernel()
    path = tmp_path / "molecule.molden"
    molden.from_scf(mean_field, str(path), ignore_h=False)
    values = ob.compute(ob.load(path), "density", cube.lattice, precision="double").values
    # two programs, two quadratures of the functional: with another one (B3LYP of VWN5) it is four times as much
    inside = cube.values > 1e-4
    assert inside.sum() >= 20
    assert values[inside] == pytest.approx(cube.values[inside], rel=3e-3)

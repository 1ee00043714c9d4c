"""TREXIO files written here from its definitions, read by us."""

import numpy as np
import pytest

import orbitile as ob

trexio = pytest.importorskip("trexio")

ROOT3, ROOT15, ROOT6, ROOT10 = np.sqrt([3, 15, 6, 10])


def harmonics(l, x, y, z):
    """Real solid harmonics from the table of TREXIO's documentation, 0, +1, -1, +2, ..."""
    r2 = x * x + y * y + z * z
    return {
        0: [np.ones_like(x)],
        1: [z, x, y],
        2: [(3 * z * z - r2) / 2, ROOT3 * x * z, ROOT3 * y * z, ROOT3 / 2 * (x * x - y * y), ROOT3 * x * y],
        3: [
            z * (5 * z * z - 3 * r2) / 2,
            ROOT6 / 4 * x * (5 * z * z - r2),
            ROOT6 / 4 * y * (5 * z * z - r2),
            ROOT15 / 2 * z * (x * x - y * y),
            ROOT15 * x * y * z,
            ROOT10 / 4 * x * (x * x - 3 * y * y),
            ROOT10 / 4 * y * (3 * x * x - y * y),
        ],
    }[l]


def monomials(l, x, y, z):
    return [x**i * y**j * z ** (l - i - j) for i in range(l, -1, -1) for j in range(l - i, -1, -1)]


@pytest.mark.parametrize("cartesian", [False, True])
@pytest.mark.parametrize("backend", ["HDF5", "TEXT"])
def test_orbitals_are_those_of_the_definition(tmp_path, cartesian, backend):
    rng = np.random.default_rng(3)
    positions = np.array([[0.0, 0.1, -0.2], [1.5, 0.3, 0.9]])
    momenta, atoms, lengths = [0, 1, 2, 3, 0, 1], [0, 0, 0, 0, 1, 1], [3, 2, 1, 2, 2, 1]
    shell_index = np.repeat(np.arange(6), lengths)
    exponents, coefficients = rng.uniform(0.3, 2, len(shell_index)), rng.normal(size=len(shell_index))
    primitive_factors, shell_factors = rng.uniform(0.5, 2, len(shell_index)), rng.uniform(0.5, 2, 6)
    angular = monomials if cartesian else harmonics
    functions_of = [len(angular(l, *np.ones((3, 1)))) for l in momenta]
    function_shell = np.repeat(np.arange(6), functions_of)
    norms = rng.uniform(0.5, 2, len(function_shell))

    def functions(points):
        values = []
        for s, l in enumerate(momenta):
            d = (points - positions[atoms[s]]).T
            mine = shell_index == s
            radial = (coefficients * primitive_factors)[mine] @ np.exp(-np.outer(exponents[mine], (d**2).sum(axis=0)))
            values += [p * radial * shell_factors[s] for p in angular(l, *d)]
        return np.array(values) * norms[:, None]

    # orthonormal orbitals: by quadrature, since nothing of ours may help
    x = np.arange(-9, 10.5, 0.3)
    grid = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    values = functions(grid)
    overlap = values @ values.T * 0.3**3
    eigenvalues, vectors = np.linalg.eigh(overlap)
    orbitals = (vectors / np.sqrt(eigenvalues)).T[-4:]

    path = tmp_path / "molecule.trexio"
    with trexio.File(str(path), "w", getattr(trexio, f"TREXIO_{backend}")) as file:
        trexio.write_nucleus_num(file, 2)
        trexio.write_nucleus_charge(file, [6.0, 1.0])
        trexio.write_nucleus_coord(file, positions)
        trexio.write_nucleus_label(file, ["C", "H1"])
        trexio.write_electron_up_num(file, 2)
        trexio.write_electron_dn_num(file, 1)
        trexio.write_basis_type(file, "Gaussian")
        trexio.write_basis_shell_num(file, 6)
        trexio.write_basis_prim_num(file, len(exponents))
        trexio.write_basis_nucleus_index(file, atoms)
        trexio.write_basis_shell_ang_mom(file, momenta)
        trexio.write_basis_shell_factor(file, shell_factors)
        trexio.write_basis_r_power(file, [0] * 6)
        trexio.write_basis_shell_index(file, shell_index)
        trexio.write_basis_exponent(file, exponents)
        trexio.write_basis_coefficient(file, coefficients)
        trexio.write_basis_prim_factor(file, primitive_factors)
        trexio.write_ao_cartesian(file, int(cartesian))
        trexio.write_ao_num(file, len(function_shell))
        trexio.write_ao_shell(file, function_shell)
        trexio.write_ao_normalization(file, norms)
        trexio.write_mo_type(file, "HF")
        trexio.write_mo_num(file, 4)
        trexio.write_mo_coefficient(file, orbitals)

    wavefunction = ob.load(path)
    assert wavefunction.method == "HF"
    assert wavefunction.alpha.occupations.tolist() == [2, 1, 0, 0]
    assert wavefunction.atomic_numbers.tolist() == [6, 1]
    points = rng.normal(size=(50, 3)) * 1.5
    for n in range(4):
        expected = orbitals[n] @ functions(points)
        assert ob.evaluate(wavefunction, f"mo:{n + 1}", points, device="cpu", precision="double") == pytest.approx(
            expected, abs=1e-11
        )


def test_damaged_files(tmp_path):
    path = tmp_path / "noise.trexio"
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(ob.OrbitileError, match=r"noise\.trexio"):
        ob.load(path)


def periodic_file(path, k_point=None):
    """A normalised sum of images of one s function in a skewed cell, in a file; cell and exponent."""
    cell, exponent = np.array([[3.0, 0, 0], [0.5, 3.2, 0], [0.2, -0.4, 2.8]]), 0.4
    steps = np.stack(np.meshgrid(*[np.arange(-5, 6)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) @ cell
    overlap = (np.pi / (2 * exponent)) ** 1.5 * np.exp(-exponent / 2 * (steps**2).sum(axis=1)).sum()
    with trexio.File(str(path), "w", trexio.TREXIO_HDF5) as file:
        trexio.write_nucleus_num(file, 1)
        trexio.write_nucleus_charge(file, [1.0])
        trexio.write_nucleus_coord(file, np.zeros((1, 3)))
        trexio.write_nucleus_label(file, ["H"])
        trexio.write_electron_up_num(file, 1)
        trexio.write_electron_dn_num(file, 0)
        trexio.write_pbc_periodic(file, 1)
        for name, vector in zip("abc", cell, strict=True):
            getattr(trexio, f"write_cell_{name}")(file, vector)
        if k_point is not None:
            trexio.write_pbc_k_point_num(file, 1)
            trexio.write_pbc_k_point(file, k_point)
        trexio.write_basis_type(file, "Gaussian")
        trexio.write_basis_shell_num(file, 1)
        trexio.write_basis_prim_num(file, 1)
        for name, value in (("nucleus_index", 0), ("shell_ang_mom", 0), ("shell_factor", 1.0), ("shell_index", 0)):
            getattr(trexio, f"write_basis_{name}")(file, [value])
        for name, value in (("exponent", exponent), ("coefficient", 1.0), ("prim_factor", 1.0)):
            getattr(trexio, f"write_basis_{name}")(file, [value])
        trexio.write_ao_cartesian(file, 0)
        trexio.write_ao_num(file, 1)
        trexio.write_ao_shell(file, [0])
        trexio.write_ao_normalization(file, [1.0])
        trexio.write_mo_num(file, 1)
        trexio.write_mo_coefficient(file, [[overlap**-0.5]])
    return cell, exponent, overlap


def test_cells_and_periodic_orbitals(tmp_path):
    cell, exponent, overlap = periodic_file(tmp_path / "cell.trexio")
    wavefunction = ob.load(tmp_path / "cell.trexio")
    assert wavefunction.cell == pytest.approx(cell)
    point = np.array([[1.1, 0.7, 2.0]])
    steps = np.stack(np.meshgrid(*[np.arange(-5, 6)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) @ cell
    expected = np.exp(-exponent * ((point - steps) ** 2).sum(axis=1)).sum() * overlap**-0.5
    assert ob.evaluate(wavefunction, "mo:1", point, device="cpu", precision="double")[0] == pytest.approx(expected)


def test_orbitals_of_other_k_points_are_refused(tmp_path):
    periodic_file(tmp_path / "k.trexio", [0.0, 0.0, 0.5])
    with pytest.raises(ob.OrbitileError, match="got other k points"):
        ob.load(tmp_path / "k.trexio")

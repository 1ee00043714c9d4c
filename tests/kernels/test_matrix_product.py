"""Small sums in NumPy: against the plain oracle, and without a compiler."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import orbitile as ob
from orbitile.evaluation.requests import field_of
from orbitile.gaussians.kernels import matrix_product
from orbitile.gaussians.kernels._tolerances import tolerances
from orbitile.gaussians.kernels.matrix_product import PLANES
from taichi_kernels.target import Target
from tests.conftest import random_wavefunction
from tests.kernels.test_orbitals import LATTICES, LIMIT, errors
from tests.oracle import orbital

PRECISIONS = pytest.mark.parametrize("precision", ["single", "double"])


def computed(wavefunction, name, lattice, precision="single"):
    return ob.compute(wavefunction, name, lattice, device="cpu", precision=precision, kernel="matrix-product").values


@PRECISIONS
@pytest.mark.parametrize("name", [name for name in LATTICES if name != "skewed"])
def test_lattices_of_every_kind_with_orthogonal_axes(precision, name):
    wavefunction, lattice = random_wavefunction(1), LATTICES[name]
    expected = orbital(wavefunction, 1, lattice.points()).reshape(lattice.shape)
    values = computed(wavefunction, "mo:2", lattice, precision)
    assert values.dtype == np.dtype(precision)
    assert errors(values, expected) < LIMIT[precision] * (10 if name == "one point" else 1)


@PRECISIONS
@pytest.mark.parametrize("momentum", range(9))
def test_every_angular_momentum(precision, momentum):
    wavefunction = random_wavefunction(momentum, momenta=(momentum,), n_atoms=2)
    lattice = LATTICES["orthogonal"]
    expected = orbital(wavefunction, 0, lattice.points())
    assert errors(computed(wavefunction, "mo:1", lattice, precision).ravel(), expected) < LIMIT[precision]
    values = ob.evaluate(
        wavefunction, "mo:1", lattice.points(), device="cpu", precision=precision, kernel="matrix-product"
    )
    assert values.dtype == np.dtype(precision)
    assert errors(values, expected) < LIMIT[precision]


def test_sums_that_cancel_stay_exact_in_single_precision():
    shells = [ob.Shell(0, 0, False, [0.05], [1.0]), ob.Shell(0, 0, False, [0.0501], [1.0])]
    wavefunction = ob.Wavefunction([1], [[0, 0, 0]], shells, ob.Orbitals([[1000.0], [-1000.0]], [1.0]))
    lattice = ob.Lattice.around(wavefunction, 0.5, 6.0)
    expected = orbital(wavefunction, 0, lattice.points()).reshape(lattice.shape)
    assert errors(computed(wavefunction, "homo", lattice), expected) < LIMIT["single"]


def test_a_molecule_far_from_the_origin_is_as_exact():
    far = random_wavefunction(2, at=(900.0, -700.0, 500.0))
    lattice = ob.Lattice(far.positions.mean(axis=0) - 4, np.eye(3) * 0.5, (17, 17, 17))
    expected = orbital(far, 0, lattice.points()).reshape(lattice.shape)
    assert errors(computed(far, "mo:1", lattice), expected) < LIMIT["single"]


def test_what_is_left_out_stays_below_the_tolerance():
    """On planes that a Gaussian hardly reaches it is left out: together that is less than the bound."""
    wavefunction = random_wavefunction(6, n_atoms=12)
    lattice = ob.Lattice([-24.0, -12.0, -12.0], np.eye(3) * 0.75, (65, 33, 33))
    expected = orbital(wavefunction, 0, lattice.points()).reshape(lattice.shape)
    difference = np.abs(computed(wavefunction, "homo", lattice, "double") - expected).max() / np.abs(expected).max()
    assert 0 < difference < 2 * tolerances(np.dtype(np.float64)).orbital


def test_values_do_not_depend_on_slabs(monkeypatch):
    wavefunction = random_wavefunction(4)
    lattice = ob.Lattice([-6.0, -5.5, -6.0], np.eye(3) * 0.3, (41, 37, 35))
    at_once = computed(wavefunction, "homo", lattice)
    monkeypatch.setattr("orbitile.evaluation.slabs.SLAB_POINTS", 1)
    assert np.array_equal(at_once, computed(wavefunction, "homo", lattice))


def test_a_slab_begins_at_a_block_of_planes(benzene):
    lattice = ob.Lattice.around(benzene, 1.0, 1.0)
    evaluate = field_of(benzene, "homo").on_slabs(lattice, Target("cpu", "single"))
    with pytest.raises(ValueError, match=f"multiple of {PLANES}, got 3"):
        evaluate(3, 4, np.empty((1, *lattice.shape[1:]), np.float32))


def test_several_orbitals_at_once(benzene):
    lattice = ob.Lattice.around(benzene, 0.5, 3.0)
    names = ["homo-1", "homo", "lumo"]
    for name, volume in zip(names, ob.compute_many(benzene, names, lattice, device="cpu"), strict=True):
        expected = orbital(benzene, field_of(benzene, name).index, lattice.points()).reshape(lattice.shape)
        assert errors(volume.values, expected) < LIMIT["single"]


def test_auto_takes_it_for_small_sums_alone(benzene, monkeypatch):
    lattice = ob.Lattice.around(benzene, 0.8, 2.0)
    by_matrices = computed(benzene, "homo", lattice)
    by_kernel = ob.compute(benzene, "homo", lattice, device="cpu", kernel="separable").values
    assert np.array_equal(ob.compute(benzene, "homo", lattice, device="cpu").values, by_matrices)
    assert not np.array_equal(by_matrices, by_kernel)
    assert errors(by_matrices, by_kernel) < 2 * LIMIT["single"]
    monkeypatch.setattr(matrix_product, "_MOST", {"single": 1000, "double": 1000})
    assert np.array_equal(ob.compute(benzene, "homo", lattice, device="cpu").values, by_kernel)


def test_tables_are_short():
    """On a line of points they would take as much memory as rows times points."""
    degree, target = np.zeros(100, np.int32), Target("cpu", "single")
    assert matrix_product.is_quick(degree, (100, 100, 100), target)
    assert not matrix_product.is_quick(degree, (1, 1_000_000, 1), target)
    assert not matrix_product.is_quick(degree, (100, 100, 100), Target("vulkan", "single"))


def test_it_computes_on_a_cpu_and_on_orthogonal_lattices(benzene):
    skewed, orthogonal = LATTICES["skewed"], ob.Lattice.around(benzene, 1.0, 1.0)
    with pytest.raises(ob.OrbitileError, match="expected a lattice with orthogonal axes"):
        computed(benzene, "homo", skewed)
    orbital_field = field_of(benzene, "homo").with_kernel("matrix-product")
    for refused in (lambda target: orbital_field.on_slabs(orthogonal, target), orbital_field.at_points):
        with pytest.raises(ob.OrbitileError, match="expected the device cpu, got vulkan"):
            refused(Target("vulkan", "single"))


def test_the_first_orbital_needs_no_compiler():
    """Isovalue, lattice, values and surface of an orbital of a small molecule: no compiler is imported."""
    program = """
        import sys
        from importlib.resources import files

        import orbitile as ob
        from orbitile.evaluation.surfaces import is_cut

        wavefunction = ob.load(files("orbitile") / "data" / "benzene.molden")
        isovalue = ob.default_isovalue(wavefunction, "homo", device="cpu")
        lattice = ob.enclosing_lattice(wavefunction, "homo", isovalue)
        surface = ob.compute_surface(wavefunction, "homo", isovalue, lattice, device="cpu")
        assert not is_cut(surface, wavefunction, "homo", lattice, device="cpu")
        assert len(surface.faces) > 1000
        assert not {"taichi", "quadrants"} & set(sys.modules), "a compiler was imported"
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_command_that_makes_one_result_takes_larger_sums():
    target = Target("cpu", "single")
    degree, shape = np.zeros(1000, np.int32), (100, 100, 100)
    assert not matrix_product.is_quick(degree, shape, target)
    with matrix_product.for_one_result():
        assert matrix_product.is_quick(degree, shape, target)
        assert not matrix_product.is_quick(degree, (300, 300, 300), target)
    assert not matrix_product.is_quick(degree, shape, target)

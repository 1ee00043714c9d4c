"""Every kernel for orbitals against the plain oracle; the errors that approximations are said to have; refusals."""

import json
import os
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

import orbitile as ob
from orbitile.evaluation.requests import field_of
from orbitile.gaussians.kernels import kernel_for, kernel_modules, kernel_names, record, recorded_choice, smooth_cutoff
from orbitile.workers import Worker, Workers
from taichi_kernels._taichi import number, ti
from taichi_kernels.direct_sums import molecule_specific
from taichi_kernels.direct_sums.radial import exact as exact_radial
from taichi_kernels.direct_sums.radial import fast_gaussian, table
from taichi_kernels.direct_sums.radial import smooth_cutoff as ending
from taichi_kernels.launching import launch
from taichi_kernels.session import generation, renew, session
from taichi_kernels.target import Target
from tests.conftest import random_wavefunction
from tests.kernels.test_orbitals import LATTICES, LIMIT, errors
from tests.oracle import orbital

EXACT_ON_ANY_LATTICE = (
    *("direct", "radial-table", "shared-memory"),
    pytest.param("molecule-specific", marks=pytest.mark.slow_on("vulkan")),
)
AT_POINTS = ("direct", "radial-table", "fast-gaussian", "smooth-cutoff")


def skip_where_refused(kernel: str, device: str) -> None:
    if kernel == "shared-memory" and device == "cpu":
        pytest.skip("refused on a CPU, which has no shared memory; that is tested below")


def molecule_for(kernel: str, seed: int, **options):
    """At random; few functions for a kernel that is written out for each molecule, and compiles for as long."""
    few = {"n_atoms": 2, "n_primitives": 1} if kernel == "molecule-specific" else {}
    return random_wavefunction(seed, **few, **options)


def computed(wavefunction, name, lattice, kernel, device, precision="single"):
    """Values of the kernel itself, after what it compiles in the background."""
    values = ob.compute(wavefunction, name, lattice, device=device, precision=precision, kernel=kernel).values
    if kernel == "molecule-specific":
        molecule_specific.wait()
        values = ob.compute(wavefunction, name, lattice, device=device, precision=precision, kernel=kernel).values
    return values.reshape(-1)


@pytest.mark.parametrize("kernel", EXACT_ON_ANY_LATTICE)
@pytest.mark.parametrize("name", ["negative step", "rotated", "skewed", "one point"])
def test_exact_kernels_on_lattices_of_every_kind(device, precision, kernel, name):
    skip_where_refused(kernel, device)
    wavefunction, lattice = molecule_for(kernel, 1), LATTICES[name]
    expected = orbital(wavefunction, 1, lattice.points())
    limit = LIMIT[precision] * (10 if name == "one point" else 1)
    assert errors(computed(wavefunction, "mo:2", lattice, kernel, device, precision), expected) < limit


ALL_MOMENTA = tuple(range(9))


@pytest.mark.parametrize("kernel", ["direct", "radial-table", "shared-memory"])
def test_all_angular_momenta(device, precision, kernel):
    skip_where_refused(kernel, device)
    wavefunction, lattice = random_wavefunction(8, momenta=ALL_MOMENTA, n_atoms=2), LATTICES["skewed"]
    expected = orbital(wavefunction, 0, lattice.points())
    assert errors(computed(wavefunction, "mo:1", lattice, kernel, device, precision), expected) < LIMIT[precision]
    if kernel in AT_POINTS:
        values = ob.evaluate(wavefunction, "mo:1", lattice.points(), device=device, precision=precision, kernel=kernel)
        assert errors(values, expected) < LIMIT[precision]


@pytest.mark.slow
def test_the_molecule_specific_kernel_with_all_angular_momenta(device):
    wavefunction = random_wavefunction(7, momenta=ALL_MOMENTA, n_atoms=1, n_primitives=1)
    lattice = LATTICES["skewed"]
    values = computed(wavefunction, "mo:1", lattice, "molecule-specific", device)
    assert errors(values, orbital(wavefunction, 0, lattice.points())) < LIMIT["single"]


@pytest.mark.parametrize("kernel", ["direct", "radial-table", "shared-memory"])
def test_a_contraction_of_a_hundred_primitives(device, precision, kernel):
    skip_where_refused(kernel, device)
    rng = np.random.default_rng(5)
    shells = [ob.Shell(0, l, False, np.geomspace(1e-1, 1e4, 100), rng.normal(size=100)) for l in (0, 1, 2)]
    wavefunction = ob.Wavefunction([36], [[0, 0, 0]], shells, ob.Orbitals(rng.normal(size=(10, 1)), [2.0]))
    lattice = ob.Lattice([-0.5, -0.4, -0.3], np.eye(3) * 0.05 + 0.01, (20, 18, 17))
    expected = orbital(wavefunction, 0, lattice.points())
    assert errors(computed(wavefunction, "homo", lattice, kernel, device, precision), expected) < LIMIT[precision]


@pytest.mark.parametrize("kernel", EXACT_ON_ANY_LATTICE)
def test_a_molecule_far_from_the_origin_is_as_exact(device, kernel):
    skip_where_refused(kernel, device)
    far = molecule_for(kernel, 2, at=(900.0, -700.0, 500.0))
    lattice = ob.Lattice(far.positions.mean(axis=0) - 4, LATTICES["skewed"].axes, (13, 14, 15))
    expected = orbital(far, 0, lattice.points())
    assert errors(computed(far, "mo:1", lattice, kernel, device), expected) < LIMIT["single"]
    if kernel in AT_POINTS:
        assert errors(ob.evaluate(far, "mo:1", lattice.points(), device=device, kernel=kernel), expected) < 2e-6


@pytest.mark.parametrize("kernel", ["direct", "fast-gaussian", "smooth-cutoff", "radial-table", "shared-memory"])
def test_values_do_not_depend_on_slabs(device, kernel, monkeypatch):
    skip_where_refused(kernel, device)
    wavefunction = random_wavefunction(4)
    lattice = ob.Lattice([-6.0, -5.5, -6.0], np.eye(3) * 0.5, (25, 22, 21))
    at_once = computed(wavefunction, "homo", lattice, kernel, device)
    monkeypatch.setattr("orbitile.evaluation.slabs.SLAB_POINTS", 1)
    assert np.array_equal(at_once, computed(wavefunction, "homo", lattice, kernel, device))


def test_values_of_a_direct_kernel_can_stay_on_the_device(device, benzene):
    lattice = ob.Lattice.around(benzene, 0.8, 3.0)
    left = ob.compute_on_device(benzene, "homo", lattice, device=device, kernel="direct").to_numpy()
    assert np.array_equal(left, ob.compute(benzene, "homo", lattice, device=device, kernel="direct").values)


# The Gaussians themselves, through Taichi


def tabulated(function, arguments: np.ndarray, precision: str) -> np.ndarray:
    """A Taichi function of numbers at many arguments."""
    numbers = ti.types.ndarray(number(precision), 1)

    @ti.kernel
    def evaluate(n: ti.i32, x: numbers, out: numbers):
        for i in range(n):
            out[i] = function(x[i])

    x, out = arguments.astype(precision), np.empty(len(arguments), precision)
    launch(evaluate, n=len(x), x=x, out=out)
    return out.astype(np.float64)


def test_the_fast_gaussian_has_the_errors_of_the_paper(device):
    """At most 0.131 % relative and 7.16e-4 absolute, as printed there, and not much less; nothing below x = -10."""
    x = -np.linspace(0.0, 12.0, 2_000_001)
    with session(device):
        values = tabulated(fast_gaussian.gaussian("single"), -x * 1.4426950408889634, "single")
    inside = x > -10 + 1e-5
    relative = np.abs(values[inside] / np.exp(x[inside]) - 1).max()
    absolute = np.abs(values[inside] - np.exp(x[inside])).max()
    assert relative <= 0.00131
    assert relative == pytest.approx(0.001247, abs=2e-6)
    assert absolute <= 7.16e-4
    assert absolute == pytest.approx(7.155e-4, abs=0.002e-4)
    assert np.all(values[x < -10 - 1e-5] == 0)
    assert values[inside][-1] == pytest.approx(np.exp(-10), rel=0.0014)  # from here it falls to zero at once


def test_the_fast_gaussian_joins_with_a_small_kink():
    """At whole powers of two the value is continuous; the slopes on both sides differ by 3.2 %."""
    blend = np.polynomial.Polynomial(fast_gaussian.blend())
    slope = blend.deriv()
    assert blend(0) == pytest.approx(1, abs=1e-15)
    assert blend(-1) == pytest.approx(0.5, abs=1e-15)
    assert 2 * slope(-1) / slope(0) == pytest.approx(1 - 0.032, abs=0.0005)


def test_exact_powers_of_two(device, precision):
    x = -np.linspace(0.0, 120.0, 400_001).astype(np.float32).astype(np.float64)
    with session(device, precision):
        values = tabulated(exact_radial.power_of_two(precision), x, precision)
    assert np.abs(values / 2.0**x - 1).max() < {"single": 3e-7, "double": 1e-15}[precision]


def smooth_gaussian(t: np.ndarray) -> np.ndarray:
    u = np.minimum(t / ending.CUTOFF, 1)
    return ((1 - u) * np.polynomial.polynomial.polyval(u, ending.COEFFICIENTS)) ** ending.POWER


def test_the_ending_gaussian_is_near_and_falls_steadily(device, precision):
    t = np.linspace(0.0, 40.0, 1_000_001)
    with session(device, precision):
        values = tabulated(ending.gaussian(precision), t / ending.CUTOFF, precision)
    assert np.abs(values - smooth_gaussian(t)).max() < {"single": 1.5e-6, "double": 1e-14}[precision]
    assert np.abs(smooth_gaussian(t) - np.exp(-t)).max() < 1.4e-8
    assert np.all(np.diff(smooth_gaussian(t)) <= 0)
    assert np.all(values[t >= ending.CUTOFF * (1 + 1e-6)] == 0)


def test_the_ending_gaussian_ends_with_its_first_seven_derivatives():
    """The polynomial whose power it is has a simple zero at the end: the eighth power, one of eighth order."""
    root = np.polynomial.Polynomial([1, -1]) * np.polynomial.Polynomial(ending.COEFFICIENTS)
    assert abs(root(1.0)) < 1e-14
    assert abs(root.deriv()(1.0)) > 0.1
    assert ending.POWER == 8
    step = 1e-3  # value and slope just inside the end, as shares of those at the start
    assert root(1 - step) ** 8 < 1e-24 * root(0.0) ** 8
    assert abs(8 * root(1 - step) ** 7 * root.deriv()(1 - step)) < 1e-20 * abs(8 * root(0.0) ** 7 * root.deriv()(0.0))


@pytest.mark.parametrize("momentum", range(5))
def test_an_orbital_of_ending_gaussians_keeps_its_bound(momentum):
    wavefunction = random_wavefunction(20 + momentum, momenta=(momentum,), n_atoms=4)
    points = np.random.default_rng(0).uniform(-14, 14, (4000, 3))
    field = field_of(wavefunction, "mo:1")
    bound = smooth_cutoff.error_bound(
        field._prepared(Target("cpu", "single"))
    )  # what kernels are given, and nobody else
    expected = orbital(wavefunction, 0, points)
    values = ob.evaluate(wavefunction, "mo:1", points, device="cpu", kernel="smooth-cutoff")
    rounding = 2e-6 * np.abs(orbital(wavefunction, 0, np.vstack([points / 7, wavefunction.positions]))).max()
    assert np.abs(values - expected).max() < bound + rounding
    assert bound < 1e-4


def test_whole_shells_vanish_beyond_their_sphere(device):
    """Value and first derivative of an orbital go through the sphere continuously, and are zero beyond it."""
    zeta = 0.3
    wavefunction = ob.Wavefunction(
        [1], [[0, 0, 0]], [ob.Shell(0, 0, False, [zeta], [1.0])], ob.Orbitals([[1.0]], [1.0])
    )
    edge = np.sqrt(ending.CUTOFF / zeta)
    r = edge + np.linspace(-0.2, 0.2, 401)
    points = r[:, None] * np.array([[1.0, 0.0, 0.0]])
    smooth, cut = (
        ob.evaluate(wavefunction, "homo", points, device=device, kernel=kernel).astype(float)
        for kernel in ("smooth-cutoff", "fast-gaussian")
    )
    assert np.all(smooth[r > edge + 1e-4] == 0)
    assert np.all(smooth[r < edge - 0.1] > 0)
    assert np.all(np.diff(smooth) <= 0)
    slope = np.diff(smooth) / np.diff(r)
    assert np.abs(np.diff(slope)).max() < 0.2 * np.abs(slope).max()
    assert np.all(cut == 0)  # that one ended farther inside, where the Gaussian is still 4.5e-5
    edge = np.sqrt(10 / zeta)
    either_side = np.array([[edge - 1e-3, 0, 0], [edge + 1e-3, 0, 0]])
    inside, outside = ob.evaluate(wavefunction, "homo", either_side, device=device, kernel="fast-gaussian")
    assert outside == 0
    assert inside > 4e-5 * (2 * zeta / np.pi) ** 0.75


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("momentum", [0, 2, 5, 8])
def test_radial_tables_keep_the_bound_that_they_were_made_for(precision, momentum):
    rng = np.random.default_rng(momentum)
    shells = SimpleNamespace(
        exponent=np.geomspace(0.05, 3e4, 14),
        contraction=rng.normal(size=14),
        shell_first_primitive=np.array([0, 14], np.int32),
        shell_angular_momentum=np.array([momentum], np.int32),
    )
    _, cubics, (nearest, bits, n) = table.operands(shells, precision)
    square = np.concatenate([np.geomspace(1e-7, 1500, 200_000), rng.uniform(0, 50, 50_000)])
    s = square + nearest
    octave = np.floor(np.log2(s / nearest) + 1e-15)
    width = nearest * 2.0**octave / 2**bits
    inside = np.floor((s - nearest * 2.0**octave) / width)
    interval = np.minimum(octave * 2**bits + inside, n).astype(int)
    x = (s - nearest * 2.0**octave) / width - inside
    c = cubics.reshape(-1, 4)[interval]
    value = c[:, 0] + x * (c[:, 1] + x * (c[:, 2] + x * c[:, 3]))
    terms = np.exp(-np.outer(square, shells.exponent))
    power = square ** (momentum / 2)
    largest = ((terms @ np.abs(shells.contraction)) * power).max()
    error = np.abs(value - terms @ shells.contraction) * power
    assert error.max() < 1.01 * table.SHARE[precision] * largest
    if precision == "single":  # a coarser table would not do: the bound is not met by chance
        assert error.max() > 0.002 * table.SHARE[precision] * largest


# Choice and refusals


def test_auto_goes_by_the_record(device):
    for place in ("orthogonal lattice", "upright lattice", "skewed lattice", "points"):
        times = record()[place].get(device, record()[place]["cpu"])["single"]["seconds"]
        chosen = recorded_choice(place, Target(device, "single"))
        assert times[chosen] == min(times.values())
        assert kernel_for("auto", place, Target(device, "single")) is kernel_modules()[chosen]
        assert all(kernel_modules()[name].EXACT for name in times)


def test_auto_follows_a_record_that_says_otherwise(benzene, monkeypatch):
    lattice = ob.Lattice.around(benzene, 0.8, 2.0)
    table_values = ob.compute(benzene, "homo", lattice, device="cpu", kernel="radial-table").values
    assert not np.array_equal(ob.compute(benzene, "homo", lattice, device="cpu").values, table_values)
    other = json.loads(json.dumps(record()))
    other["orthogonal lattice"]["cpu"]["single"]["seconds"] = {"separable": 2.0, "radial-table": 1.0}
    monkeypatch.setattr("orbitile.gaussians.kernels.record", lambda: other)
    assert np.array_equal(ob.compute(benzene, "homo", lattice, device="cpu").values, table_values)


def test_an_unknown_kernel_is_refused_with_those_there_are(benzene):
    lattice = ob.Lattice.around(benzene, 1.0, 1.0)
    with pytest.raises(ob.OrbitileError, match=r"expected one of auto, direct, .*separable.*got 'fastest'"):
        ob.compute(benzene, "homo", lattice, kernel="fastest")
    assert next(name for name, _ in kernel_names()) == "auto"


@pytest.mark.parametrize("field", ["density", "esp", "laplacian"])
def test_other_fields_have_no_choice_of_kernels(benzene, field):
    with pytest.raises(ob.OrbitileError, match="only orbitals have a choice of kernels"):
        ob.evaluate(benzene, field, [[0.0, 0.0, 0.0]], device="cpu", kernel="direct")
    assert np.isfinite(ob.evaluate(benzene, field, [[0.0, 0.0, 3.0]], device="cpu", kernel="auto")).all()


def test_kernels_refuse_what_they_cannot_do(benzene, monkeypatch):
    orthogonal, skewed = ob.Lattice.around(benzene, 1.0, 1.0), LATTICES["skewed"]
    for lattice, kernel, options, message in (
        (skewed, "separable", {}, "an axis at right angles"),
        (orthogonal, "shared-memory", {}, "expected a GPU"),
        (orthogonal, "fast-gaussian", {"precision": "double"}, "approximates Gaussians"),
        (orthogonal, "smooth-cutoff", {"precision": "double"}, "approximates Gaussians"),
    ):
        with pytest.raises(ob.OrbitileError, match=message):
            ob.compute(benzene, "homo", lattice, device="cpu", kernel=kernel, **options)
    for kernel in ("separable", "shared-memory", "molecule-specific"):
        with pytest.raises(ob.OrbitileError, match="evaluates lattices only"):
            ob.evaluate(benzene, "homo", [[0.0, 0.0, 0.0]], device="cpu", kernel=kernel)
    large = random_wavefunction(3, momenta=tuple(range(6)), n_primitives=12)
    with pytest.raises(ob.OrbitileError, match=r"at most, got \d+, which would take minutes"):
        ob.compute(large, "mo:1", orthogonal, device="cpu", kernel="molecule-specific")


def test_several_devices_at_once_have_no_choice_of_kernels(benzene):
    lattice = ob.Lattice.around(benzene, 1.0, 1.0)
    with pytest.raises(ob.OrbitileError, match="several devices at once compute with auto only"):
        ob.compute(benzene, "homo", lattice, device="cpu,cpu", kernel="direct")


def test_orbitals_by_another_kernel_are_not_computed_together(benzene):
    """`compute_many` shares the tables of the separable kernel, and only its."""
    lattice = ob.Lattice.around(benzene, 1.0, 1.0)
    fields = [field_of(benzene, name).with_kernel("direct") for name in ("homo", "lumo")]
    for field, volume in zip(fields, ob.compute_many(benzene, fields, lattice, device="cpu"), strict=True):
        assert np.array_equal(volume.values, ob.compute(benzene, field, lattice, device="cpu").values)


@pytest.mark.slow
def test_a_generated_kernel_is_taken_up_when_it_is_compiled(device, tmp_path, monkeypatch):
    """First the direct kernel serves; later, in the same process, the generated one, from the cache on disk."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wavefunction, lattice = random_wavefunction(31, momenta=(0, 1), n_atoms=2), LATTICES["orthogonal"]

    def served_by() -> str:
        with session(device) as name:
            field = field_of(wavefunction, "mo:1").with_kernel("molecule-specific")
            evaluate = field.on_slabs(lattice, Target(name, "single"))
        return getattr(evaluate, "evaluate", evaluate).__module__

    assert served_by() == "orbitile.gaussians.kernels._family"
    molecule_specific.wait()
    assert served_by() == "orbitile.gaussians.kernels.molecule_specific"
    assert len(list(molecule_specific.cache_folder().glob("*.py"))) == 1
    values = ob.compute(wavefunction, "mo:1", lattice, device=device, kernel="molecule-specific").values
    assert errors(values.ravel(), orbital(wavefunction, 0, lattice.points())) < LIMIT["single"]


@pytest.mark.parametrize(
    "seconds", [pytest.param(-1e7, id="backwards", marks=pytest.mark.slow), pytest.param(1e7, id="forwards")]
)
def test_a_clock_that_jumps_changes_nothing(seconds, tmp_path, monkeypatch):
    """A kernel that another process compiled is taken up once, whatever time its mark has."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wavefunction = random_wavefunction(34, momenta=(0,), n_atoms=1)

    def is_served() -> bool:
        with session("cpu") as name:
            field = field_of(wavefunction, "mo:1").with_kernel("molecule-specific")
            evaluate = field.on_slabs(LATTICES["orthogonal"], Target(name, "single"))
        return "molecule_specific" in getattr(evaluate, "evaluate", evaluate).__module__

    with session("cpu"):
        assert renew()  # with its cache where the marks are
    assert not is_served()
    before = generation()
    molecule_specific.wait()
    (mark,) = molecule_specific.cache_folder().glob("*.cpu-*")
    os.utime(mark, (mark.stat().st_mtime + seconds,) * 2)
    assert is_served()
    assert generation() == before + 1
    assert is_served()
    assert generation() == before + 1


def test_a_kernel_that_cannot_be_compiled_is_told_of_and_done_without(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    without = Workers([Worker("the compiler", python=shutil.which("false"))])
    monkeypatch.setattr("orbitile.gaussians.kernels.molecule_specific._compilers", without)
    wavefunction, lattice = random_wavefunction(32, momenta=(0, 1), n_atoms=1), LATTICES["orthogonal"]
    expected = orbital(wavefunction, 0, lattice.points())
    ob.compute(wavefunction, "mo:1", lattice, device="cpu", kernel="molecule-specific")
    molecule_specific.wait()
    with pytest.warns(RuntimeWarning, match="exit status 1"):
        volume = ob.compute(wavefunction, "mo:1", lattice, device="cpu", kernel="molecule-specific")
    assert errors(volume.values.ravel(), expected) < LIMIT["single"]


@pytest.mark.slow
def test_marks_belong_to_a_version_of_taichi_and_a_cache(tmp_path, monkeypatch):
    """A kernel that another Taichi has compiled, or for another cache, does not count as compiled."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wavefunction = random_wavefunction(33, momenta=(0,), n_atoms=1)

    def sources() -> set[str]:
        field = field_of(wavefunction, "mo:1").with_kernel("molecule-specific")
        with session("cpu") as name:
            field.on_slabs(LATTICES["orthogonal"], Target(name, "single"))
        molecule_specific.wait()
        return {path.name for path in molecule_specific.cache_folder().glob("*.py")}

    assert len(sources()) == len(sources()) == 1
    with monkeypatch.context() as changed:
        changed.setattr(ti, "__version__", (9, 9, 9))
        assert len(sources()) == 2
    with monkeypatch.context() as changed:
        changed.setenv("TI_OFFLINE_CACHE_FILE_PATH", str(tmp_path / "taichi"))
        with session("cpu"):
            assert renew()
        assert len(sources()) == 3
    with session("cpu"):
        assert renew()


@pytest.mark.linux
def test_source_that_somebody_else_has_put_there_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wavefunction = random_wavefunction(35, momenta=(0,), n_atoms=1)

    def prepare() -> None:
        field = field_of(wavefunction, "mo:1").with_kernel("molecule-specific")
        with session("cpu") as name:
            field.on_slabs(LATTICES["orthogonal"], Target(name, "single"))
        molecule_specific.wait()

    prepare()
    (file,) = molecule_specific.cache_folder().glob("*.py")
    text = file.read_text()
    file.write_text("raise SystemExit('not ours')")
    prepare()
    assert file.read_text() == text
    molecule_specific.cache_folder().chmod(0o777)
    with pytest.raises(ob.OrbitileError, match="others can write to it"):
        prepare()


def test_a_cache_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    small = random_wavefunction(34, momenta=(0,), n_atoms=1)
    with pytest.raises(ob.OrbitileError, match="set XDG_CACHE_HOME to a writable folder"):
        ob.compute(small, "mo:1", LATTICES["orthogonal"], device="cpu", kernel="molecule-specific")


@pytest.mark.slow
def test_taichi_is_not_renewed_while_a_result_is_on_the_device(benzene):
    lattice = ob.Lattice.around(benzene, 1.0, 1.0)
    left = ob.compute_on_device(benzene, "homo", lattice, device="cpu")
    with session("cpu"):
        assert not renew()
    assert np.isfinite(left.to_numpy()).all()
    del left
    with session("cpu"):
        before = generation()
        assert renew()
        assert generation() == before + 1

"""Isosurfaces of functions whose surfaces are known."""

import tracemalloc

import numpy as np
import pytest
from scipy.special import ndtr
from skimage.measure import marching_cubes

import orbitile as ob
from orbitile.base import memory
from orbitile.base.errors import IsovalueError, LatticeError, OrbitileError
from orbitile.model.lattice import Lattice
from orbitile.model.surface import Surface
from orbitile.model.volume import Volume
from orbitile.surfaces.isosurface import _merge_at_lattice_points, isosurface, lobe, working_bytes
from orbitile.surfaces.isovalue import _share_below, enclosing_isovalue, suitable_isovalue

CENTRE = np.array([0.31, -0.22, 0.17])
RADIUS = 1.7
ISOVALUE = float(np.exp(-(RADIUS**2) / 2))


def lattice(axes, n=49):
    """Lattice with the centre near its middle, whatever the direction of its axes."""
    axes = np.asarray(axes, dtype=np.float64)
    return Lattice(CENTRE - (n // 2) * axes.sum(axis=0) + 0.013, axes, (n, n + 2, n + 1))


LATTICES = {
    "orthogonal": np.diag([0.15, 0.15, 0.15]),
    "unequal": np.diag([0.12, 0.15, 0.2]),
    "skewed": [[0.15, 0, 0], [0.06, 0.14, 0], [-0.04, 0.05, 0.15]],
    "left-handed": np.diag([-0.15, 0.15, 0.15]),
    "two axes negative": np.diag([-0.15, -0.15, 0.15]),
    "skewed and left-handed": [[0.15, 0, 0], [0.06, -0.14, 0], [-0.04, 0.05, 0.15]],
    "axes exchanged": [[0, 0.15, 0], [0.15, 0, 0], [0, 0, 0.15]],
}


def volume(grid, function, dtype=np.float64):
    return Volume(function(grid.points() - CENTRE).reshape(grid.shape).astype(dtype), grid, "test", "bohr^-3/2")


def gaussian(r):
    return np.exp(-(r**2).sum(axis=1) / 2)


def p_z(r):
    return r[:, 2] * gaussian(r)


def signed_volume(surface):
    a, b, c = (surface.vertices[surface.faces[:, i]].astype(np.float64) - CENTRE for i in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum()) / 6


def assert_closed(surface):
    """Each edge belongs to two faces, which run through it in opposite directions."""
    edges = np.concatenate([surface.faces[:, [i, j]] for i, j in ((0, 1), (1, 2), (2, 0))])
    n = len(surface.vertices)
    forward, counts = np.unique(edges[:, 0].astype(np.int64) * n + edges[:, 1], return_counts=True)
    backward = np.unique(edges[:, 1].astype(np.int64) * n + edges[:, 0])
    assert counts.max() == 1
    np.testing.assert_array_equal(forward, backward)


@pytest.mark.parametrize("axes", LATTICES.values(), ids=LATTICES.keys())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sphere(axes, dtype):
    surface = isosurface(volume(lattice(axes), gaussian, dtype), ISOVALUE)
    assert surface.vertices.dtype == surface.normals.dtype == np.float32
    assert surface.faces.dtype == np.int32
    assert surface.phases.dtype == np.int8
    assert (surface.quantity, surface.unit, surface.isovalue) == ("test", "bohr^-3/2", ISOVALUE)
    assert np.all(surface.phases == 1)
    radial = surface.vertices - CENTRE
    radii = np.linalg.norm(radial, axis=1)
    np.testing.assert_allclose(radii, RADIUS, atol=0.006)
    np.testing.assert_allclose(np.linalg.norm(surface.normals, axis=1), 1, atol=1e-6)
    assert np.einsum("ij,ij->i", radial / radii[:, None], surface.normals).min() > np.cos(np.radians(1))
    assert signed_volume(surface) == pytest.approx(4 / 3 * np.pi * RADIUS**3, rel=0.005)
    assert_closed(surface)


@pytest.mark.parametrize("axes", LATTICES.values(), ids=LATTICES.keys())
def test_both_phases(axes):
    surface = isosurface(volume(lattice(axes), p_z), 0.2)
    positive, negative = lobe(surface, 1), lobe(surface, -1)
    n = len(positive.vertices)
    np.testing.assert_array_equal(surface.phases, np.r_[np.ones(n), -np.ones(len(negative.vertices))])
    np.testing.assert_array_equal(surface.vertices[:n], positive.vertices)
    assert len(positive.faces) + len(negative.faces) == len(surface.faces)
    assert (positive.vertices - CENTRE)[:, 2].min() > 0 > (negative.vertices - CENTRE)[:, 2].max()
    np.testing.assert_allclose(np.abs(p_z(surface.vertices - CENTRE)), 0.2, atol=0.004)
    for part, side in ((positive, 1), (negative, -1)):
        assert_closed(part)
        assert signed_volume(part) > 0.5
        assert np.all(part.phases == side)
        outside = np.abs(p_z(part.vertices + 0.1 * part.normals - CENTRE))
        inside = np.abs(p_z(part.vertices - 0.1 * part.normals - CENTRE))
        assert np.all(outside < inside)
    assert signed_volume(positive) == pytest.approx(signed_volume(negative), rel=0.01)


def test_purely_negative_field_gives_the_negative_part():
    surface = isosurface(volume(lattice(LATTICES["orthogonal"]), lambda r: -gaussian(r)), ISOVALUE)
    assert np.all(surface.phases == -1)
    assert signed_volume(surface) == pytest.approx(4 / 3 * np.pi * RADIUS**3, rel=0.005)
    assert len(lobe(surface, 1).vertices) == len(lobe(surface, 1).faces) == 0


def test_surface_that_leaves_the_lattice_ends_at_its_faces():
    grid = Lattice(CENTRE - 1.05, np.eye(3) * 0.15, (15, 15, 15))
    surface = isosurface(volume(grid, gaussian), float(np.exp(-(1.3**2) / 2)))
    np.testing.assert_allclose(np.linalg.norm(surface.vertices - CENTRE, axis=1), 1.3, atol=0.006)
    assert np.isfinite(surface.normals).all()
    assert np.abs(surface.vertices - CENTRE).max() == pytest.approx(1.05, abs=1e-5)


def test_lattice_points_exactly_on_the_surface():
    grid = Lattice(np.full(3, -3.0), np.eye(3), (7, 7, 7))
    octahedron = np.maximum(3.0 - np.abs(grid.points()).sum(axis=1).reshape(grid.shape), 0)
    surface = isosurface(Volume(octahedron, grid), 1.0)
    assert signed_volume(surface) == pytest.approx(4 / 3 * 2**3)
    assert np.isfinite(surface.normals).all()
    a, b, c = (surface.vertices[surface.faces[:, i]] for i in range(3))
    assert np.linalg.norm(np.cross(b - a, c - a), axis=1).min() > 0
    assert_closed(surface)


@pytest.mark.parametrize("isovalue", [0, -0.05, float("nan"), float("inf"), "high", None])
def test_isovalue_must_be_positive(isovalue):
    with pytest.raises(IsovalueError, match=r"positive number.*\|value\| goes from .* to 1 bohr"):
        isosurface(volume(lattice(LATTICES["orthogonal"], 21), gaussian), isovalue)


@pytest.mark.parametrize(("shift", "isovalue"), [(0, 2.0), (1, 0.5)])
def test_isovalue_out_of_range(shift, isovalue):
    with pytest.raises(IsovalueError, match=r"isovalue .* of test: .*\|value\| goes from"):
        isosurface(volume(lattice(LATTICES["orthogonal"], 21), lambda r: gaussian(r) + shift), isovalue)


def test_flat_lattices_and_bad_values():
    flat = Lattice(np.zeros(3), np.eye(3), (5, 5, 1))
    with pytest.raises(LatticeError, match="2 or more points"):
        isosurface(Volume(np.ones(flat.shape), flat), 0.5)
    grid = Lattice(np.zeros(3), np.eye(3), (3, 3, 3))
    values = np.ones(grid.shape)
    values[1, 1, 1] = np.nan
    for function in (lambda v: isosurface(v, 0.5), enclosing_isovalue):
        with pytest.raises(LatticeError, match="1 that are NaN"):
            function(Volume(values, grid))
    with pytest.raises(OrbitileError, match=r"\+1 or -1"):
        lobe(isosurface(volume(lattice(LATTICES["orthogonal"], 21), gaussian), 0.5), 0)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_enclosing_isovalue(share):
    """The norm of exp(-r^2/2) inside radius R is erf(R) - 2 R exp(-R^2)/sqrt(pi)."""
    scipy_special = pytest.importorskip("scipy.special")
    isovalue = enclosing_isovalue(volume(lattice(LATTICES["skewed"], 81), gaussian), share)
    radius = np.sqrt(-2 * np.log(isovalue))
    enclosed = scipy_special.erf(radius) - 2 * radius * np.exp(-(radius**2)) / np.sqrt(np.pi)
    assert enclosed == pytest.approx(share, abs=0.002)


def test_enclosing_isovalue_errors():
    grid = Lattice(np.zeros(3), np.eye(3), (3, 3, 3))
    for share in (0, 1, -1, float("nan")):
        with pytest.raises(IsovalueError, match="between 0 and 1"):
            enclosing_isovalue(Volume(np.ones(grid.shape), grid), share)
    with pytest.raises(IsovalueError, match="zero on the whole lattice"):
        enclosing_isovalue(Volume(np.zeros(grid.shape), grid))


def test_a_suitable_isovalue_is_told_by_the_values_alone():
    grid = lattice(LATTICES["skewed"], 81)
    orbital, density = volume(grid, p_z), volume(grid, lambda r: gaussian(r) ** 4)
    assert suitable_isovalue(orbital) == pytest.approx(enclosing_isovalue(orbital), rel=1e-3)
    noisy = Volume(density.values - 1e-4, grid)
    expected = enclosing_isovalue(volume(grid, gaussian), 0.6) ** 4  # the same surface
    assert suitable_isovalue(density) == pytest.approx(expected, rel=1e-3)
    assert suitable_isovalue(noisy) == pytest.approx(expected, rel=0.2)
    assert suitable_isovalue(Volume(-density.values, grid)) == suitable_isovalue(density)


@pytest.mark.parametrize("falls", [lambda r: 1 / (0.1 + np.linalg.norm(r, axis=1)), lambda r: 1 + gaussian(r)])
def test_a_suitable_isovalue_gives_a_whole_surface_where_the_box_is_small(falls):
    field = volume(lattice(LATTICES["orthogonal"], 31), falls)
    assert_closed(isosurface(field, suitable_isovalue(field)))


def test_what_has_no_suitable_isovalue():
    flat = Lattice(np.zeros(3), np.eye(3), (5, 5, 1))
    with pytest.raises(LatticeError, match="2 or more points"):
        suitable_isovalue(Volume(np.ones(flat.shape), flat))
    with pytest.raises(IsovalueError, match="zero on the whole lattice"):
        suitable_isovalue(Volume(np.zeros((3, 3, 3)), Lattice(np.zeros(3), np.eye(3), (3, 3, 3))))


def test_lobe_keeps_the_labels():
    surface = isosurface(volume(lattice(LATTICES["orthogonal"], 21), p_z), 0.2)
    part = lobe(surface, -1)
    assert isinstance(part, Surface)
    assert (part.isovalue, part.quantity, part.unit) == (surface.isovalue, surface.quantity, surface.unit)
    assert part.faces.max() == len(part.vertices) - 1


@pytest.mark.parametrize("kind", ["smooth", "noise", "integers", "thin", "at the border"])
def test_looking_at_crossed_cells_only_changes_nothing(kind):
    """The whole lattice, searched by scikit-image, is the oracle: the same triangles in the same places."""
    rng = np.random.default_rng(5)
    shape = (17, 12, 21)
    values = {
        "smooth": lambda: np.sin(np.indices(shape) * 0.5).prod(axis=0),
        "noise": lambda: rng.normal(size=shape),
        "integers": lambda: rng.integers(-2, 3, shape),
        "thin": lambda: np.where(np.indices(shape)[0] == 8, 1.0, 0.0),
        "at the border": lambda: np.where(np.indices(shape)[2] > 19, 3.0, -3.0),
    }[kind]().astype(np.float32)
    compared = 0
    for isovalue in (0.5, 1.0):
        try:
            found = isosurface(Volume(values, Lattice(np.zeros(3), np.eye(3), shape)), isovalue)
        except IsovalueError:
            assert not ((np.abs(values) > isovalue).any() and (np.abs(values) < isovalue).any())
            continue
        for phase in (1, -1):
            part = lobe(found, phase)
            if not (phase * values > isovalue).any():
                assert len(part.faces) == 0
                continue
            vertices, faces, _, _ = marching_cubes(phase * values, isovalue)
            kept, faces = _merge_at_lattice_points(vertices, faces)  # which the other tests here look at
            assert part.vertices == pytest.approx(vertices[kept], abs=1e-5)
            assert np.array_equal(part.faces, faces[:, ::-1])
            compared += 1
    assert compared > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_takes_no_more_memory_than_is_asked_for(dtype):
    n = 160
    x, y, z = np.ogrid[-1 : 1 : n * 1j, -1 : 1 : n * 1j, -1 : 1 : n * 1j]
    two_lobes = Volume(
        (x * np.exp(-4 * (x**2 + y**2 + z**2))).astype(dtype), Lattice(np.zeros(3), np.eye(3), (n, n, n))
    )
    isosurface(two_lobes, 0.1)  # what is loaded once
    tracemalloc.start()
    try:
        isosurface(two_lobes, 0.1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.1 * working_bytes(np.dtype(dtype)) * n**3


def test_what_would_not_fit_is_refused_before(benzene, monkeypatch):
    large = ob.Lattice.around(benzene, 0.07, 9.0)
    assert large.n_points > 3e7
    monkeypatch.setattr(memory, "available_memory", lambda: 4 * large.n_points + (300 << 20) // 2)
    with pytest.raises(ob.OrbitileError, match=r"points and its isosurface needs 0\.\d GB"):
        ob.compute_surface(benzene, "homo", 0.03, large, device="cpu")
    with pytest.raises(ob.OrbitileError, match=r"^an isosurface on .* points needs 0\.\d GB"):
        isosurface(Volume(np.zeros(large.shape, np.float32), large), 0.03)


def test_the_normal_distribution_is_that_of_scipy_to_its_stated_digits():
    x = np.concatenate([np.linspace(-9, 9, 1801), [-1e100, 1e100]])
    assert np.abs(_share_below(x) - ndtr(x)).max() < 7.5e-8

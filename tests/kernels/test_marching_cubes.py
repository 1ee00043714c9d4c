"""The marching-cubes kernel beside scikit-image on the whole lattice, on every device."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.ndimage import label
from scipy.spatial import cKDTree
from skimage.measure import marching_cubes

import orbitile as ob
from orbitile.base.errors import Cancelled, IsovalueError, LatticeError
from orbitile.model.volume import Volume
from orbitile.surfaces.isosurface import INTERIOR, cube_cases, lobe

CORNERS = [(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 1, 1), (1, 1, 0)]
FACES = ((0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0), (0, 3, 2, 1), (4, 7, 6, 5))


def unit_lattice(shape):
    return ob.Lattice(np.zeros(3), np.eye(3), shape)


def extract(values, isovalue, device):
    return ob.extract_surface(Volume(values, unit_lattice(values.shape)), isovalue, device=device)


def triangles_by_cell(vertices, faces):
    """For each cell, its triangles: corners in steps of 2^-11, in order of rotation, beginning with the least."""
    places = np.rint(np.asarray(vertices, np.float64) * 2048).astype(np.int64)
    keys = ((places[:, 0] << 40) | (places[:, 1] << 20) | places[:, 2])[faces]
    first = keys.argmin(axis=1)
    keys = keys[np.arange(len(keys))[:, None], (first[:, None] + np.arange(3)) % 3]
    cells = np.floor(np.asarray(vertices, np.float64)[faces].mean(axis=1)).astype(int)
    found = {}
    for cell, triangle in zip(map(tuple, cells.tolist()), map(tuple, keys.tolist()), strict=True):
        found.setdefault(cell, set()).add(triangle)
    return found


def differing_cells(values, isovalue, surface):
    """Cells in which a surface of one phase has other triangles than scikit-image finds."""
    vertices, faces, _, _ = marching_cubes(values, isovalue)
    assert len(vertices) == len(surface.vertices)
    places = [np.sort(np.rint(v.astype(float) * 2048) @ [2.0**34, 2.0**17, 1]) for v in (vertices, surface.vertices)]
    assert np.abs(places[0] - places[1]).max() <= 2.0**34 + 2.0**17 + 1  # a step, where rounding falls between two
    expected, found = triangles_by_cell(vertices, faces[:, ::-1]), triangles_by_cell(surface.vertices, surface.faces)
    return {cell for cell in expected.keys() | found.keys() if expected.get(cell) != found.get(cell)}


def corners_of(values, cell):
    return np.array([values[tuple(np.add(cell, corner))] for corner in CORNERS], np.float64)


def two_opposite_below(values, isovalue, cell):
    """Whether two corners at the ends of a diagonal of a cell, and no others, are not above the isovalue."""
    below = np.flatnonzero(corners_of(values, cell) <= isovalue).tolist()
    return below in ([0, 6], [1, 7], [2, 4], [3, 5])


def close_to_undecided(values, isovalue, cell):
    """Whether rounding may decide a test in a cell: products on a face that are equal but for some 1e-6."""
    c = corners_of(values, cell) - isovalue
    return any(
        np.isclose(c[i] * c[k], c[j] * c[m], rtol=1e-6) or min(abs(c)) < 1e-3 * max(abs(c)) for i, j, k, m in FACES
    )


def unmatched_edges(faces):
    """Edges that are not run through as often in one direction as in the other."""
    edges = np.concatenate([faces[:, [i, j]] for i, j in ((0, 1), (1, 2), (2, 0))]).astype(np.int64)
    undirected, which = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    balance = np.bincount(which.ravel(), np.sign(edges[:, 1] - edges[:, 0]))
    return undirected[balance != 0].tolist()


@pytest.mark.slow
@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize(
    ("shape", "isovalue"),
    [
        ((14, 15, 70), 0.5),
        ((14, 15, 33), 0.02),
        ((31, 9, 32), 1.5),
        ((2, 2, 2), 0.5),
        ((2, 9, 65), 0.3),
        ((40, 2, 3), 0.3),
    ],
)
def test_noise(device, shape, isovalue):
    """Every ambiguous case occurs: the triangles are those of scikit-image, but for one case that it misjudges."""
    values = np.random.default_rng(7).normal(size=shape).astype(np.float32)
    surface = extract(values, isovalue, device)
    for phase in (1, -1):
        part, field = lobe(surface, phase), phase * values
        differing = differing_cells(field, isovalue, part)
        unexplained = [
            cell
            for cell in differing
            if not two_opposite_below(field, isovalue, cell) and not close_to_undecided(field, isovalue, cell)
        ]
        # a vertex on the border of a cell may be counted to its neighbour, or rounded to another step
        assert len(unexplained) <= 2e-3 * len(part.faces)
        explained = [cell for cell in differing if two_opposite_below(field, isovalue, cell)]
        assert len(explained) < 0.01 * len(part.faces)


@pytest.mark.slow_on("vulkan")
def test_two_opposite_corners_below(device):
    """Where the kernel and scikit-image differ, the trilinear function sides with the kernel.

    scikit-image joins the two corners by a tunnel wherever a diagonal dominates, also the other one.
    """
    rng = np.random.default_rng(11)
    n = 64
    t = np.linspace(0, 1, n)
    weight = np.stack([1 - t, t])
    differing = n_tried = 0
    while differing < 12:
        n_tried += 1
        assert n_tried <= 150
        excess = np.abs(rng.normal(size=(2, 2, 2)))
        excess[0, 0, 0] *= -1
        excess[1, 1, 1] *= -1
        values = (excess + 4).astype(np.float32)
        tunnel = len(extract(values, 4.0, device).faces) > 2
        if tunnel == (len(marching_cubes(values, 4.0)[1]) > 2):
            continue
        differing += 1
        parts, _ = label(np.einsum("ijk,ix,jy,kz->xyz", excess, weight, weight, weight) <= 0)
        assert tunnel == (parts[0, 0, 0] == parts[-1, -1, -1])


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize("isovalue", [0.5, 1.0, 2.0, 0.3])
def test_undecided_faces_and_values_equal_to_the_isovalue(device, isovalue):
    """No cracks and no triangles without area, where scikit-image leaves holes (isovalues 1 and 2)."""
    values = np.pad(np.random.default_rng(3).integers(-3, 4, (14, 15, 37)), 1).astype(np.float32)
    surface = extract(values, isovalue, device)
    for phase in (1, -1):
        part = lobe(surface, phase)
        assert len(part.faces) > 1000
        assert unmatched_edges(part.faces) == []
        a, b, c = (part.vertices[part.faces[:, i]] for i in range(3))
        assert (np.abs(a - b).max(axis=1) > 0).all()
        assert (np.abs(b - c).max(axis=1) > 0).all()
        assert (np.abs(c - a).max(axis=1) > 0).all()
        on_points = part.vertices[(part.vertices == np.rint(part.vertices)).all(axis=1)]
        assert len(np.unique(on_points, axis=0)) == len(on_points)


AXES = {
    "orthogonal": np.diag([0.15, 0.2, 0.12]),
    "skewed": [[0.15, 0, 0], [0.06, 0.14, 0], [-0.04, 0.05, 0.15]],
    "skewed and left-handed": [[0.15, 0, 0], [0.06, -0.14, 0], [-0.04, 0.05, 0.15]],
}


@pytest.mark.parametrize("axes", AXES.values(), ids=AXES.keys())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_smooth_field_on_any_lattice(device, axes, dtype):
    """The same vertices, faces and normals as from scikit-image, in another order."""
    lattice = ob.Lattice(-0.5 * np.array([45, 46, 35]) @ np.asarray(axes) + 0.013, axes, (45, 46, 35))
    points = lattice.points()
    values = (points[:, 2] * np.exp(-(points**2).sum(axis=1) / 2)).reshape(lattice.shape).astype(dtype)
    volume = Volume(values, lattice, "2p", "bohr^-3/2")
    found, expected = ob.extract_surface(volume, 0.2, device=device), ob.isosurface(volume, 0.2)
    distance, same = cKDTree(expected.vertices).query(found.vertices)
    assert distance.max() < 1e-5
    assert len(np.unique(same)) == len(found.vertices) == len(expected.vertices)
    assert found.normals == pytest.approx(expected.normals[same], abs=1e-4)
    assert np.array_equal(found.phases, expected.phases[same])
    triangles = []
    for faces in (same[found.faces], expected.faces):
        first = faces.argmin(axis=1)[:, None]
        rotated = np.take_along_axis(faces, (first + np.arange(3)) % 3, axis=1)
        triangles.append(rotated[np.lexsort(rotated.T)])
    assert np.array_equal(*triangles)
    assert found.faces.dtype == np.int32
    assert (found.isovalue, found.quantity, found.unit) == (0.2, "2p", "bohr^-3/2")


@pytest.mark.slow_on("vulkan")
def test_orbital(device, precision, benzene):
    lattice = ob.enclosing_lattice(benzene, "homo", 0.03, spacing=0.3)
    found = ob.compute_surface(benzene, "homo", 0.03, lattice, device=device, precision=precision)
    expected = ob.isosurface(ob.compute(benzene, "homo", lattice, device=device, precision=precision), 0.03)
    assert found.quantity == expected.quantity
    assert unmatched_edges(found.faces) == []
    assert len(found.vertices) == len(expected.vertices)
    assert len(found.faces) == len(expected.faces)
    volumes = []
    for surface in (found, expected):
        a, b, c = (surface.vertices[surface.faces[:, i]].astype(np.float64) for i in range(3))
        volumes.append(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)
    assert volumes[0] > 0
    assert volumes[0] == pytest.approx(volumes[1], rel=1e-6)


def test_without_a_lattice_the_surface_is_whole(device, benzene):
    assert unmatched_edges(ob.compute_surface(benzene, "density", 0.01, device=device).faces) == []


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize(
    "field",
    [
        pytest.param("esp", marks=[pytest.mark.slow, pytest.mark.not_in_software]),
        pytest.param("elf", marks=pytest.mark.not_in_software),
        "density",
    ],
)
def test_fields_with_and_without_a_kernel_for_lattices(device, field, benzene):
    lattice = ob.Lattice.around(benzene, 0.8, 2.0)
    volume = ob.compute(benzene, field, lattice, device=device)
    between = np.quantile(np.abs(volume.values), [0.6, 0.8])
    magnitudes = np.unique(np.abs(volume.values).clip(*between))
    gap = np.diff(magnitudes).argmax()  # far from the values on the lattice, which may differ by rounding
    isovalue = float(magnitudes[gap : gap + 2].mean())
    found = ob.compute_surface(benzene, field, isovalue, lattice, device=device)
    expected = ob.isosurface(volume, isovalue)
    distance, same = cKDTree(expected.vertices).query(found.vertices)
    assert distance.max() < 1e-4
    assert len(np.unique(same)) == len(expected.vertices)
    assert np.array_equal(found.phases, expected.phases[same])


def test_the_same_mesh_every_time(device):
    values = np.random.default_rng(1).normal(size=(20, 21, 40)).astype(np.float32)
    first, second = (extract(values, 0.4, device) for _ in range(2))
    assert np.array_equal(first.vertices, second.vertices)
    assert np.array_equal(first.faces, second.faces)


def test_bad_requests(device, benzene):
    values = np.random.default_rng(1).normal(size=(4, 5, 6)).astype(np.float32)
    with pytest.raises(IsovalueError, match=r"nothing has this value.*\|value\| goes from"):
        extract(values, 100.0, device)
    for isovalue in (0, -1, float("nan"), None):
        with pytest.raises(IsovalueError, match="positive number"):
            extract(values, isovalue, device)
        with pytest.raises(IsovalueError, match="positive number"):
            ob.compute_surface(benzene, "homo", isovalue, device=device)
    for bad in (np.nan, np.inf, -np.inf):
        values[1, 2, 3] = bad
        with pytest.raises(LatticeError, match="NaN or infinite"):
            extract(values, 0.5, device)
    with pytest.raises(LatticeError, match="2 or more points"):
        extract(np.ones((5, 5, 1), np.float32), 0.5, device)
    with pytest.raises(Cancelled):
        ob.compute_surface(benzene, "homo", 0.03, device=device, cancelled=lambda: True)


def boundary(triangles):
    """Directed edges of triangles that no other triangle runs through the other way."""
    edges = Counter((t[i], t[(i + 1) % 3]) for t in triangles for i in range(3))
    return {edge for edge, n in edges.items() for _ in range(n - edges.get(edge[::-1], 0))}


def test_no_case_leaves_a_crack():
    """Cells on both sides of a face draw the same line on it, whatever the rest of them looks like; nothing else ends.

    All 256 patterns with all outcomes of all tests.
    """
    cases = cube_cases()
    lines = {}
    for pattern, outcome, inside in product(range(256), range(64), (0, 1)):
        if outcome & ~cases.tests[pattern] & (INTERIOR - 1):
            continue
        entry = cases.tiling[2 * (64 * pattern + outcome) + inside]
        first, n = entry >> 5, entry >> 1 & 15
        codes = cases.corners[first : first + 3 * n].reshape(-1, 3).tolist()
        # a vertex as the doubled coordinates of the middle of its edge; the centre of the cell is (1, 1, 1)
        where = {
            code: tuple(2 * (code >> 4 - a & 1) + (code & 3 in (a, 3)) for a in range(3)) for t in codes for code in t
        }
        triangles = [tuple(where[code] for code in t) for t in codes]
        ends = {
            (a, b) for a in CORNERS for b in CORNERS if np.abs(np.subtract(a, b)).sum() == 1
            and (pattern >> CORNERS.index(a) & 1) > (pattern >> CORNERS.index(b) & 1)
        }  # fmt: skip
        if n == 0 and ends:
            assert cases.tests[pattern] & 63 == 63  # values of eight corners do not have such outcomes
            continue
        assert {tuple(np.add(a, b).tolist()) for a, b in ends} == {v for v in where.values() if v != (1, 1, 1)}
        open_edges = boundary(triangles)
        for start, end in open_edges:
            assert any(start[a] == end[a] != 1 for a in range(3))
        for axis, side in product(range(3), (0, 2)):
            on_face = {edge for edge in open_edges if edge[0][axis] == edge[1][axis] == side}
            flat = {tuple(v[:axis] + v[axis + 1 :] for v in edge) for edge in on_face}
            corners = [c for c in range(8) if 2 * CORNERS[c][axis] == side]
            number = next(f for f in range(6) if set(FACES[f]) == set(corners))
            above = frozenset(CORNERS[c][:axis] + CORNERS[c][axis + 1 :] for c in corners if pattern >> c & 1)
            key = axis, above, outcome >> number & 1
            if side == 0:
                flat = {(b, a) for a, b in flat}
            assert lines.setdefault(key, flat) == flat
    assert len(lines) == 3 * (16 + 2)

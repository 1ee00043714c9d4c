"""What is saved, read back by other people's readers."""

import json
import os
import stat
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orbitile import compute, compute_to_file
from orbitile.base.errors import FileError, LatticeError
from orbitile.exporters import KINDS, exporter_for, exporter_modules, save, suffixes
from orbitile.files.writing import written_atomically
from orbitile.model.lattice import Lattice
from orbitile.model.units import angstrom
from orbitile.model.volume import Volume
from orbitile.model.wavefunction import Orbitals, Shell, Wavefunction
from orbitile.readers import load_geometries, load_volumes
from orbitile.surfaces.isosurface import isosurface, lobe
from tests.conftest import random_wavefunction

SHAPE = (9, 8, 7)
ORIGIN = np.array([-1.25, -0.5, -3.125])
AXES = {
    "orthogonal": np.diag([0.25, 0.375, 0.5]),
    "skewed": np.array([[0.25, 0, 0], [0.125, 0.375, 0], [-0.0625, 0.125, 0.5]]),
    "negative": np.diag([-0.25, 0.375, -0.5]),
    "axes exchanged": np.array([[0, 0.25, 0], [0, 0, -0.375], [0.5, 0, 0]]),
    "turned": np.array([[0.25, 0.125, 0], [0.0, 0.375, 0.125], [-0.0625, 0.125, 0.5]]),
}
FOR_ALL_AXES = pytest.mark.parametrize("axes", AXES.values(), ids=AXES.keys())


def volume_on(axes, dtype=np.float64):
    rng = np.random.default_rng(7)
    values = rng.normal(size=SHAPE) * 10.0 ** rng.integers(-30, 1, SHAPE)
    return Volume(values.astype(dtype), Lattice(ORIGIN, axes, SHAPE), "HOMO (orbital 2)", "bohr^-3/2")


@pytest.fixture
def volume():
    return volume_on(AXES["orthogonal"])


@pytest.fixture
def water():
    shells = tuple(Shell(atom, 0, False, [1.0], [1.0]) for atom in range(3))
    return Wavefunction(
        atomic_numbers=[8, 1, 1],
        core_charges=[6.0, 1.0, 1.0],
        positions=[[0.0, 0.0, 0.25], [0.0, 1.5, -1.0], [0.0, -1.5, -1.0]],
        shells=shells,
        alpha=Orbitals(np.eye(3), [2.0, 0.0, 0.0]),
    )


@pytest.fixture
def surface():
    lattice = Lattice.box([-4, -4, -4], [4, 4, 4], 0.4)
    x = lattice.points()
    values = (x[:, 2] * np.exp(-(x**2).sum(axis=1) / 2)).reshape(lattice.shape)
    return isosurface(Volume(values, lattice, "2p", "bohr^-3/2"), 0.2)


@FOR_ALL_AXES
def test_cube_by_iodata_and_ase(axes, water, tmp_path):
    from ase.io.cube import read_cube
    from ase.units import Bohr
    from iodata import load_one

    volume = volume_on(axes)
    path = tmp_path / "a.cube"
    save(volume, path, wavefunction=water)
    theirs = load_one(path)
    np.testing.assert_allclose(theirs.cube.data, volume.values, rtol=5.1e-6)
    np.testing.assert_array_equal(theirs.cube.axes, axes)
    np.testing.assert_array_equal(theirs.cube.origin, ORIGIN)
    np.testing.assert_array_equal(theirs.atcoords, water.positions)
    np.testing.assert_array_equal(theirs.atnums, water.atomic_numbers)
    np.testing.assert_array_equal(theirs.atcorenums, water.core_charges)
    with path.open() as stream:
        theirs = read_cube(stream)
    np.testing.assert_allclose(theirs["data"], volume.values, rtol=5.1e-6)
    np.testing.assert_allclose(theirs["spacing"], axes * Bohr)
    np.testing.assert_allclose(theirs["origin"], ORIGIN * Bohr)
    np.testing.assert_array_equal(theirs["atoms"].numbers, [8, 1, 1])


def test_cube_by_cclib(volume, water, tmp_path):
    read_from_cube = pytest.importorskip("cclib.method.volume").read_from_cube

    for wavefunction in (water, None):
        path = tmp_path / "a.cube"
        save(volume, path, wavefunction=wavefunction)
        theirs = read_from_cube(path)
        np.testing.assert_allclose(theirs.data, volume.values, rtol=5.1e-6)
        np.testing.assert_allclose(theirs.origin * angstrom, ORIGIN, rtol=1e-6)


def test_cube_without_atoms_has_a_dummy_that_others_accept(volume, tmp_path):
    from ase.io.cube import read_cube
    from iodata import load_one

    path = tmp_path / "a.cube"
    save(volume, path)
    theirs = load_one(path)
    np.testing.assert_array_equal(theirs.atnums, [0])
    np.testing.assert_array_equal(theirs.atcoords[0], ORIGIN + np.diag(AXES["orthogonal"]) * [4, 3.5, 3])
    np.testing.assert_allclose(theirs.cube.data, volume.values, rtol=5.1e-6)
    with path.open() as stream:
        np.testing.assert_allclose(read_cube(stream)["data"], volume.values, rtol=5.1e-6)


def test_cube_layout(volume, water, tmp_path):
    path = tmp_path / "a.cube"
    save(volume, path, wavefunction=water)
    lines = path.read_text().splitlines()
    assert lines[0] == "HOMO (orbital 2) [bohr^-3/2]"
    assert "written by Orbitile" in lines[1]
    assert lines[2] == "    3   -1.250000   -0.500000   -3.125000"
    assert lines[3] == "    9    0.250000    0.000000    0.000000"
    assert lines[6] == "    8    6.000000    0.000000    0.000000    0.250000"
    assert [len(line) for line in lines[9:13]] == [78, 13, 78, 13]  # seven values a row of z
    assert len(lines) == 9 + 9 * 8 * 2


def test_cube_flushes_values_whose_exponent_has_three_digits(tmp_path):
    values = np.array([1e-120, -1e-120, 1e-99, -2.5, 0.0, 1e-300, -1e-98, 3.0]).reshape(2, 2, 2)
    save(Volume(values, Lattice([0, 0, 0], np.eye(3), (2, 2, 2))), tmp_path / "a.cube")
    (found,) = load_volumes(tmp_path / "a.cube")
    np.testing.assert_array_equal(found.values.ravel(), [0, 0, 1e-99, -2.5, 0, 0, -1e-98, 3])


@FOR_ALL_AXES
def test_opendx_by_griddataformats(axes, tmp_path):
    from gridData import OpenDX

    volume = volume_on(axes)
    path = tmp_path / "a.dx"
    save(volume, path)
    theirs = OpenDX.field(0)
    theirs.read(str(path))
    positions = theirs.components["positions"]
    np.testing.assert_array_equal(positions.shape, SHAPE)
    np.testing.assert_allclose(positions.delta * angstrom, axes, rtol=1e-9)
    np.testing.assert_allclose(positions.origin * angstrom, ORIGIN, rtol=1e-9)
    np.testing.assert_allclose(theirs.components["data"].array.reshape(SHAPE), volume.values, rtol=1e-6)


@pytest.mark.parametrize("name", ["orthogonal", "skewed"])
@pytest.mark.parametrize("suffix", ["mrc", "map", "ccp4"])
def test_mrc_by_mrcfile(name, suffix, tmp_path):
    import mrcfile

    volume = volume_on(AXES[name], np.float32)
    path = tmp_path / f"a.{suffix}"
    save(volume, path)
    with mrcfile.open(path) as file:
        assert file.header.mode == 2
        np.testing.assert_array_equal(file.data, volume.values.T)
        np.testing.assert_allclose(file.header.origin.tolist(), ORIGIN / angstrom, rtol=1e-6)
        lengths = volume.lattice.spacings * SHAPE / angstrom
        np.testing.assert_allclose(file.header.cella.tolist(), lengths, rtol=1e-6)
        unit = volume.lattice.axes / volume.lattice.spacings[:, None]
        angles = np.degrees(np.arccos([unit[1] @ unit[2], unit[0] @ unit[2], unit[0] @ unit[1]]))
        np.testing.assert_allclose(file.header.cellb.tolist(), angles, rtol=1e-6)
    if suffix != "ccp4":  # there the header words of the version hold the skew matrix
        assert mrcfile.validate(path)


def test_ccp4_says_the_origin_as_pymol_reads_it(volume, tmp_path):
    save(volume, tmp_path / "a.ccp4")
    header = (tmp_path / "a.ccp4").read_bytes()[:1024]
    flag, *numbers = struct.unpack("=i12f", header[96:148])
    assert flag == 1
    np.testing.assert_array_equal(numbers[:9], np.eye(3).ravel())
    np.testing.assert_allclose(numbers[9:], ORIGIN / angstrom, rtol=1e-6)


@FOR_ALL_AXES
@pytest.mark.parametrize("suffix", ["cube", "dx", "mrc", "ccp4", "npz"])
def test_round_trip(axes, suffix, tmp_path):
    """The set of points with their values survives, whatever the order in which the file holds them."""
    volume = volume_on(axes, np.float32)
    path = tmp_path / f"a.{suffix}"
    if suffix in ("mrc", "ccp4") and axes is AXES["turned"]:
        with pytest.raises(FileError, match="use a cube file"):
            save(volume, path)
        assert list(tmp_path.iterdir()) == []
        return
    save(volume, path)
    (found,) = load_volumes(path)
    assert (found.quantity, found.unit) == (volume.quantity, volume.unit)
    if suffix == "npz":
        np.testing.assert_array_equal(found.values, volume.values)
        assert found.values.dtype == np.float32
    for i, j, k in ((0, 0, 0), (8, 7, 6), (3, 1, 5), (8, 0, 0), (0, 7, 0), (0, 0, 6)):
        point = volume.lattice.origin + np.array([i, j, k]) @ axes
        index = np.linalg.solve(found.lattice.axes.T, point - found.lattice.origin)
        np.testing.assert_allclose(index, np.round(index), atol=1e-4)
        np.testing.assert_allclose(found.values[tuple(np.round(index).astype(int))], volume.values[i, j, k], rtol=6e-6)


def test_npz_holds_the_atoms(volume, water, tmp_path):
    save(volume, tmp_path / "a.npz", wavefunction=water)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["positions"], water.positions)
        np.testing.assert_array_equal(archive["core_charges"], water.core_charges)
        np.testing.assert_array_equal(archive["atomic_numbers"], water.atomic_numbers)


@pytest.mark.parametrize("suffix", ["ply", "obj", "glb"])
def test_meshes_by_trimesh(suffix, surface, tmp_path):
    import trimesh

    path = tmp_path / f"a.{suffix}"
    save(surface, path)
    theirs = trimesh.load(path, process=False)  # not as a mesh: that would compute the normals anew
    (theirs,) = getattr(theirs, "geometry", {"": theirs}).values()
    np.testing.assert_allclose(theirs.vertices * angstrom, surface.vertices, atol=1e-5)
    np.testing.assert_array_equal(theirs.faces, surface.faces)
    np.testing.assert_allclose(theirs.vertex_normals, surface.normals, atol=1e-5)
    assert theirs.is_watertight
    assert theirs.volume * angstrom**3 > 1
    colours = theirs.visual.vertex_attributes["color"] if suffix == "glb" else theirs.visual.vertex_colors
    for phase in (1, -1):
        (colour,) = np.unique(colours[surface.phases == phase], axis=0)
        assert (colour[2] > colour[0]) == (phase > 0)  # blue and red


def test_meshes_say_their_unit(surface, tmp_path):
    for suffix in ("ply", "obj", "glb"):
        save(surface, tmp_path / f"a.{suffix}")
    assert b"comment written by Orbitile; lengths in Angstrom" in (tmp_path / "a.ply").read_bytes()
    assert "lengths in Angstrom\n# 2p at isovalue +/-0.2 bohr^-3/2" in (tmp_path / "a.obj").read_text()
    glb = (tmp_path / "a.glb").read_bytes()
    tree = json.loads(glb[20 : 20 + struct.unpack("<I", glb[12:16])[0]])
    assert tree["meshes"][0]["extras"]["length_unit"] == "angstrom"
    assert tree["meshes"][0]["extras"]["isovalue"] == 0.2


def test_glb_by_pygltflib(surface, tmp_path):
    pygltflib = pytest.importorskip("pygltflib")

    save(surface, tmp_path / "a.glb")
    scene = pygltflib.GLTF2().load(str(tmp_path / "a.glb"))
    (primitive,) = scene.meshes[0].primitives
    assert scene.accessors[primitive.attributes.NORMAL].count == len(surface.vertices)
    assert scene.accessors[primitive.attributes.COLOR_0].count == len(surface.vertices)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "a.cubee"}, "did you mean .cube"),
        ({"path": "a"}, "has no suffix"),
        ({"path": "a.ply"}, "holds a surface, got a volume.*isosurface"),
        ({"path": "a.cube", "format": "cubes"}, "did you mean cube"),
        ({"path": "a.cube", "format": "gltf"}, "holds a surface"),
        ({"path": "missing/a.cube"}, "no folder"),
        ({"path": "folder.cube"}, "is a folder"),
        ({"path": "x" * 300 + ".cube"}, "too long"),
        ({"path": "a\0.cube"}, "not the name of a file"),
        ({"path": 3}, "expected the name of a file"),
        ({"what": "text"}, "expected a Volume, a Surface, a Scene or a Wavefunction"),
    ],
)
def test_refusals(arguments, message, volume, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.cube").mkdir()
    arguments = {"what": volume, "path": "a.cube"} | arguments
    with pytest.raises(FileError, match=message):
        save(arguments.pop("what"), arguments.pop("path"), **arguments)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.cube"]


def test_refusal_of_surfaces(surface, tmp_path):
    with pytest.raises(FileError, match="holds a volume, got a surface"):
        save(surface, tmp_path / "a.cube")
    empty = lobe(lobe(surface, 1), -1)
    with pytest.raises(FileError, match="empty"):
        save(empty, tmp_path / "a.ply")


def test_refusal_of_nan(volume, tmp_path):
    values = volume.values.copy()
    values[1, 2, 3] = np.nan
    with pytest.raises(FileError, match="1 values that are NaN"):
        save(Volume(values, volume.lattice), tmp_path / "a.cube")
    with pytest.raises(FileError, match="float32"):
        save(Volume(np.full(SHAPE, 1e39), volume.lattice), tmp_path / "a.mrc")
    assert list(tmp_path.iterdir()) == []


def test_refusal_before_the_work(tmp_path):
    assert exporter_for(tmp_path / "a.CUBE", "volume").DESCRIPTION == "Gaussian cube file"
    with pytest.raises(FileError, match="holds a volume"):
        exporter_for("a.cube", "mesh")
    with pytest.raises(FileError, match="no folder"):
        exporter_for(tmp_path / "missing" / "a.ply", "mesh")


def test_format_by_name(volume, tmp_path):
    save(volume, tmp_path / "a.txt", format="cube")
    save(volume, tmp_path / "b.txt", format=".DX")
    assert (tmp_path / "a.txt").read_text().startswith("HOMO")
    assert "gridpositions" in (tmp_path / "b.txt").read_text()


@pytest.mark.parametrize("suffix", ["cube", "dx", "mrc", "npz", "ply", "obj", "glb"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError])
def test_interrupted_write_keeps_the_old_file(suffix, error, volume, surface, tmp_path, monkeypatch):
    path = tmp_path / f"a.{suffix}"
    what = surface if suffix in ("ply", "obj", "glb") else volume
    save(what, path)
    before = path.read_bytes()
    (module,) = (m for m in exporter_modules().values() if f"*.{suffix}" in m.PATTERNS)
    write = module.write

    def interrupted(what, temporary, wavefunction):
        write(what, temporary, wavefunction)
        os.truncate(temporary, len(before) // 2)
        raise error

    monkeypatch.setattr(module, "write", interrupted)
    with pytest.raises(error):
        save(what, path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before
    path.unlink()
    with pytest.raises(error):
        save(what, path)
    assert list(tmp_path.iterdir()) == []


def test_disk_full_is_a_file_error(tmp_path):
    with pytest.raises(FileError, match="No space left"), written_atomically(tmp_path / "a"):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.linux
@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_permissions_and_links(volume, tmp_path):
    path, link = tmp_path / "a.npz", tmp_path / "link.npz"
    link.symlink_to(path)
    old = os.umask(0o027)
    try:
        save(volume, link)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert link.is_symlink()
    fifo = tmp_path / "pipe.npz"
    os.mkfifo(fifo)
    with pytest.raises(FileError, match="a device or a pipe"):
        save(volume, fifo)
    loop = tmp_path / "loop.npz"
    loop.symlink_to(loop)
    with pytest.raises(FileError):
        save(volume, loop / "a.npz")


@pytest.mark.linux
@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_folder(volume, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="cannot be written"):
        save(volume, tmp_path / "a.cube")


def test_modules_are_complete():
    modules = exporter_modules()
    assert set(modules) >= {"cube", "opendx", "mrc", "npz", "ply", "obj", "gltf"}
    for module in modules.values():
        assert module.DESCRIPTION
        assert module.KIND in KINDS
        assert all(pattern.startswith("*.") and pattern == pattern.lower() for pattern in module.PATTERNS)


def test_documents_name_the_formats():
    root = Path(__file__).parents[2]
    for document in ("README.md", "docs/pymol.md"):
        text = (root / document).read_text()
        assert suffixes("volume") in text
        assert all(suffix in text for suffix in suffixes("mesh").split(", "))


@pytest.mark.parametrize("suffix", [".cube", ".dx", ".mrc", ".ply", ".obj"])
def test_greek_letters_are_spelled(tmp_path, suffix):
    lattice = Lattice.box(np.full(3, -1.0), np.full(3, 1.0), 0.5)
    distance = np.linalg.norm(lattice.points(), axis=1).reshape(lattice.shape)
    volume = Volume(1 - distance, lattice, "sign(λ₂)ρ", "e bohr^-3")
    path = tmp_path / f"volume{suffix}"
    save(volume if suffix in (".cube", ".dx", ".mrc") else isosurface(volume, 0.5), path)
    assert b"sign(lambda2)rho" in path.read_bytes()


def test_plt_is_what_gopenmol_describes(tmp_path):
    volume = volume_on(AXES["orthogonal"], np.float32)
    save(volume, tmp_path / "a.plt")
    data = (tmp_path / "a.plt").read_bytes()
    assert np.frombuffer(data, np.int32, 5).tolist() == [3, 2, *SHAPE[::-1]]
    ends = np.frombuffer(data, np.float32, 6, 20).reshape(3, 2)[::-1] * angstrom
    np.testing.assert_allclose(ends[:, 0], ORIGIN, rtol=1e-6)
    np.testing.assert_allclose(ends[:, 1], ORIGIN + (np.array(SHAPE) - 1) * np.diag(volume.lattice.axes), rtol=1e-6)
    np.testing.assert_array_equal(np.frombuffer(data, np.float32, -1, 44).reshape(SHAPE, order="F"), volume.values)
    for axes in ("skewed", "negative"):
        with pytest.raises(LatticeError, match="along x, y and z"):
            save(volume_on(AXES[axes]), tmp_path / "b.plt")


def test_geometries_of_a_molecule(water, tmp_path):
    stretched = np.stack([water.positions, 1.1 * water.positions])
    water = replace(water, geometries=stretched, core_charges=[6.0, 0.0, 1.0], title="water\nand a ghost")
    save(water, tmp_path / "a.xyz")
    lines = (tmp_path / "a.xyz").read_text().splitlines()
    assert (lines[:2], len(lines)) == (["3", "water and a ghost"], 10)
    assert [line.split()[0] for line in lines[2:5]] == ["O", "X", "H"]
    frames = load_geometries(tmp_path / "a.xyz")
    assert len(frames) == 2
    np.testing.assert_allclose(frames.read(1).positions, stretched[1], atol=1e-7)
    with pytest.raises(FileError, match=r"holds a volume, got the atoms of a molecule; for the atoms .* use \.xyz"):
        save(water, tmp_path / "a.cube")
    with pytest.raises(FileError, match="is read here"):
        save(replace(water, source=str(tmp_path / "a.xyz")), tmp_path / "a.xyz")


def test_a_format_without_slabs_is_written_as_a_whole(tmp_path):
    wavefunction = random_wavefunction(3)
    lattice = Lattice.around(wavefunction, 0.5, 1.0)
    compute_to_file(wavefunction, "density", lattice, tmp_path / "a.plt", device="cpu")
    save(compute(wavefunction, "density", lattice, device="cpu"), tmp_path / "b.plt")
    assert (tmp_path / "a.plt").read_bytes() == (tmp_path / "b.plt").read_bytes()

"""Volume files of every kind, whole and broken."""

import importlib.resources
import struct

import mrcfile
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orbitile.base.errors import FileError, OrbitileError
from orbitile.exporters import save
from orbitile.model.lattice import Lattice
from orbitile.model.units import angstrom
from orbitile.model.volume import Volume
from orbitile.readers import holds_volumes, load_atoms, load_volumes
from orbitile.readers.cube import read_atoms

CUBES = [entry for entry in importlib.resources.files("iodata.test.data").iterdir() if entry.name.endswith(".cube")]

HEADER = """title
comment
{n_atoms:5d}    1.000000    2.000000    3.000000{n_values}
{nx:5d}    0.500000    0.000000    0.000000
    3    0.000000    0.250000    0.000000
    4    0.000000    0.000000    0.125000
    6    0.000000    1.000000    2.000000    3.000000
    1    1.000000    1.500000    2.000000    3.000000
"""

ATOMS = "".join(HEADER.splitlines(keepends=True)[6:]), ""


def cube_text(*, n_atoms=2, nx=2, n_values="", labels="", values=None, per_line=6):
    values = [f"{n + 0.5:.5E}" for n in range(24)] if values is None else values
    rows = [" ".join(values[n : n + per_line]) for n in range(0, len(values), per_line)]
    return HEADER.format(n_atoms=n_atoms, nx=nx, n_values=n_values) + labels + "\n".join(rows) + "\n"


def load_text(tmp_path, text, suffix="cube"):
    path = tmp_path / f"file.{suffix}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_volumes(path)


def test_atoms_of_files_of_volumes(tmp_path):
    (tmp_path / "file.cube").write_text(cube_text())
    geometry = load_atoms(tmp_path / "file.cube")
    assert geometry.atomic_numbers.tolist() == [6, 1]
    assert geometry.positions.tolist() == [[1, 2, 3], [1.5, 2, 3]]
    (tmp_path / "none.cube").write_text(cube_text(n_atoms=0).replace(*ATOMS))
    assert load_atoms(tmp_path / "none.cube") is None
    save(load_volumes(tmp_path / "file.cube")[0], tmp_path / "file.dx")
    assert load_atoms(tmp_path / "file.dx") is None
    (tmp_path / "odd.cube").write_text(cube_text().replace("    6    0.0", "  600    0.0"))
    with pytest.raises(FileError, match=r"odd\.cube: atomic numbers"):
        load_atoms(tmp_path / "odd.cube")
    assert holds_volumes("A.CUBE.GZ")
    assert not holds_volumes("a.molden")


@pytest.mark.parametrize("cube", CUBES, ids=lambda cube: cube.name)
def test_cubes_of_iodata(cube):
    from iodata import load_one

    theirs = load_one(str(cube))
    (volume,) = load_volumes(cube)
    np.testing.assert_array_equal(volume.values, theirs.cube.data)
    np.testing.assert_array_equal(volume.lattice.axes, theirs.cube.axes)
    np.testing.assert_array_equal(volume.lattice.origin, theirs.cube.origin)
    numbers, charges, positions = read_atoms(cube)
    np.testing.assert_array_equal(numbers, theirs.atnums)
    np.testing.assert_array_equal(charges, theirs.atcorenums)
    np.testing.assert_array_equal(positions, theirs.atcoords)


def test_iodata_has_cubes():
    assert len(CUBES) >= 4


def test_plain_cube(tmp_path):
    (volume,) = load_text(tmp_path, cube_text())
    np.testing.assert_array_equal(volume.values, np.arange(24).reshape(2, 3, 4) + 0.5)
    np.testing.assert_array_equal(volume.lattice.origin, [1, 2, 3])
    np.testing.assert_array_equal(volume.lattice.axes, np.diag([0.5, 0.25, 0.125]))
    assert volume.quantity == "title"
    numbers, charges, positions = read_atoms(tmp_path / "file.cube")
    np.testing.assert_array_equal(numbers, [6, 1])
    np.testing.assert_array_equal(charges, [6.0, 1.0])
    np.testing.assert_array_equal(positions, [[1, 2, 3], [1.5, 2, 3]])


def test_negative_count_means_angstrom_for_the_whole_header(tmp_path):
    (volume,) = load_text(tmp_path, cube_text(nx=-2))
    assert volume.lattice.shape == (2, 3, 4)
    np.testing.assert_allclose(volume.lattice.origin, np.array([1, 2, 3]) * angstrom)
    np.testing.assert_allclose(volume.lattice.axes, np.diag([0.5, 0.25, 0.125]) * angstrom)
    _, _, positions = read_atoms(tmp_path / "file.cube")
    np.testing.assert_allclose(positions, np.array([[1, 2, 3], [1.5, 2, 3]]) * angstrom)


@pytest.mark.parametrize(
    "labels", ["    3   11   12   27\n", "    3   11\n   12   27\n", "    3\n   11\n   12\n   27\n"]
)
@pytest.mark.parametrize("n_values", ["", "    1", "    3"])
@pytest.mark.parametrize("per_line", [6, 5, 1, 72])
def test_orbitals_with_identifiers(labels, n_values, per_line, tmp_path):
    values = [f"{orbital * 100 + point}" for point in range(24) for orbital in (1, 2, 3)]
    volumes = load_text(
        tmp_path, cube_text(n_atoms=-2, n_values=n_values, labels=labels, values=values, per_line=per_line)
    )
    assert [volume.quantity for volume in volumes] == ["orbital 11", "orbital 12", "orbital 27"]
    for orbital, volume in enumerate(volumes, 1):
        np.testing.assert_array_equal(volume.values.ravel(), orbital * 100 + np.arange(24))
    assert len(read_atoms(tmp_path / "file.cube")[0]) == 2


def test_an_identifier_behind_a_positive_number_of_atoms(tmp_path):
    """As Molden writes cubes."""
    path = tmp_path / "molden.cube"
    path.write_text(cube_text())
    (expected,) = load_volumes(path)
    path.write_text(cube_text(labels="    1    1\n"))
    (found,) = load_volumes(path)
    assert np.array_equal(found.values, expected.values)
    path.write_text(cube_text(labels="    2    1\n"))
    with pytest.raises(FileError, match="something follows"):
        load_volumes(path)


def test_data_sets_without_identifiers(tmp_path):
    values = [f"{n * 100 + point}" for point in range(24) for n in (1, 2)]
    volumes = load_text(tmp_path, cube_text(n_values="    2", values=values))
    assert [volume.quantity for volume in volumes] == ["title, data set 1", "title, data set 2"]
    np.testing.assert_array_equal(volumes[1].values.ravel(), 200 + np.arange(24))


def test_multiple_orbitals_as_ase_reads_them(tmp_path):
    from ase.io.cube import read_cube

    values = [f"{orbital * 100 + point}" for point in range(24) for orbital in (1, 2)]
    volumes = load_text(tmp_path, cube_text(n_atoms=-2, n_values="    2", labels="    2   11   12\n", values=values))
    with (tmp_path / "file.cube").open() as stream:
        theirs = read_cube(stream)
    for ours, data in zip(volumes, theirs["datas"], strict=True):
        np.testing.assert_array_equal(ours.values, data)


def test_negative_and_skewed_axes_keep_values_at_their_points(tmp_path):
    text = cube_text().replace("    2    0.500000    0.000000", "    2   -0.500000    0.125000")
    (volume,) = load_text(tmp_path, text)
    points = volume.lattice.points().reshape(2, 3, 4, 3)
    np.testing.assert_allclose(points[1, 2, 3], [1 - 0.5, 2 + 0.125 + 0.5, 3 + 0.375])
    assert volume.values[1, 2, 3] == 23.5
    np.testing.assert_allclose(points[1, 0, 0], [0.5, 2.125, 3])
    assert volume.values[1, 0, 0] == 12.5


def test_fortran_numbers(tmp_path):
    odd = ["1.5D+00", "-2.5d-01", "1.234-100", "-1.234+100", "0.25E+01-0.5E+00", ".5", "5.", "+7", "1e5", "-.5-120"]
    (volume,) = load_text(tmp_path, cube_text(values=odd + ["0.0"] * 13))
    expected = [1.5, -0.25, 1.234e-100, -1.234e100, 2.5, -0.5, 0.5, 5, 7, 1e5, -0.5e-120]
    np.testing.assert_allclose(volume.values.ravel()[:11], expected, rtol=1e-15)


def test_windows_line_ends_and_no_last_one(tmp_path):
    (volume,) = load_text(tmp_path, cube_text().rstrip("\n").replace("\n", "\r\n"))
    assert volume.values[1, 2, 3] == 23.5


PLAIN = cube_text()
BAD_CUBES = {
    "header only": (HEADER.format(n_atoms=2, nx=2, n_values=""), "truncated"),
    "truncated": (PLAIN[:-30], "expected 24 values for 2 x 3 x 4 points, got 2[12]"),
    "truncated in the header": ("\n".join(PLAIN.split("\n")[:5]), "ends after line 5"),
    "one line": ("title", "ends after line 1"),
    "too many values": (PLAIN + "1.0\n", "got 25"),
    "NaN": (PLAIN.replace("1.35000E+01", "NaN"), r"line 11: value 14 is nan"),
    "infinity": (PLAIN.replace("1.35000E+01", "inf"), r"line 11: value 14 is inf"),
    "overflow": (PLAIN.replace("1.35000E+01", "*****"), r"line 11: .*too wide for the format"),
    "text among the values": (PLAIN.replace("1.35000E+01", "hello"), r"line 11: expected numbers, got"),
    "absurd counts": (PLAIN.replace("    2    0.5", "2000000000    0.5"), "promises"),
    "counts beyond all numbers": (PLAIN.replace("    2    0.5", "9" * 400 + "    0.5"), "line 4"),
    "absurd number of atoms": (PLAIN.replace("    2    1.0", "2000000000    1.0"), "promises"),
    "absurd number of identifiers": (cube_text(n_atoms=-2, labels="  1999999999 1\n"), "identifiers"),
    "no points": (PLAIN.replace("    2    0.5", "    0    0.5"), "line 4: expected a positive number"),
    "signs that contradict": (PLAIN.replace("    3    0.0", "   -3    0.0"), "line 5: expected a positive number"),
    "axis of no length": (PLAIN.replace("0.500000", "0.000000"), "independent"),
    "NaN in the header": (PLAIN.replace("0.500000", "nan"), "line 4"),
    "not a cube": ("[Molden Format]\n[Atoms] AU\nC 1 6 0 0 0\n[GTO]\n", "line 3: .*is this a cube file"),
    "a broken atom": (PLAIN.replace("    1    1.0", "    H    1.0"), "line 8: expected atom 2"),
    "binary noise": (np.random.default_rng(0).bytes(2000), "binary|line"),
    "binary after the header": (PLAIN.encode()[:-50] + b"\0" * 50, "binary"),
    "latin-1": ("é".encode("latin-1") * 100 + b"\n", "ends after line 1"),
}


@pytest.mark.parametrize(("text", "message"), BAD_CUBES.values(), ids=BAD_CUBES.keys())
def test_bad_cubes(text, message, tmp_path):
    with pytest.raises(FileError, match=message) as caught:
        load_text(tmp_path, text)
    assert "file.cube" in str(caught.value)
    assert len(str(caught.value)) < 400


DX = """# a comment
object 1 class gridpositions counts 2 3 4
origin 1.0 2.0 3.0
delta 0.5 0.0 0.0
delta 0.1 0.25 0.0
delta 0.0 0.0 -0.125

# another comment
object 2 class gridconnections counts 2 3 4
object 3 class array type double rank 0 items 24 data follows
0.5 1.5 2.5
3.5 4.5 5.5 6.5 7.5 8.5
9.5
10.5 11.5 12.5 13.5 14.5 15.5 16.5 17.5 18.5 19.5 20.5 21.5 22.5 2.35D+1
attribute "dep" string "positions"
object "regular positions regular connections" class field
component "positions" value 1
component "connections" value 2
component "data" value 3
"""


def test_opendx(tmp_path):
    (volume,) = load_text(tmp_path, DX, "dx")
    np.testing.assert_array_equal(volume.values, np.arange(24).reshape(2, 3, 4) + 0.5)
    np.testing.assert_allclose(volume.lattice.origin, np.array([1, 2, 3]) * angstrom)
    axes = [[0.5, 0, 0], [0.1, 0.25, 0], [0, 0, -0.125]]
    np.testing.assert_allclose(volume.lattice.axes, np.array(axes) * angstrom)
    assert volume.quantity == ""


@pytest.mark.parametrize(
    "text",
    [
        DX[: DX.index("attribute")],
        DX[: DX.index("attribute")] + "end\n",
        DX.replace("\n", "\r\n"),
        DX.replace("object", "OBJECT"),
    ],
    ids=["nothing after the values", "end", "windows", "capitals"],
)
def test_opendx_variants(text, tmp_path):
    (volume,) = load_text(tmp_path, text, "dx")
    assert volume.values[1, 2, 3] == 23.5


def test_opendx_of_griddataformats(tmp_path):
    from gridData import Grid

    values = np.random.default_rng(3).normal(size=(4, 5, 6))
    Grid(values, origin=[1.0, -2.0, 0.5], delta=[0.5, 0.25, 0.125]).export(str(tmp_path / "a.dx"), type="double")
    (volume,) = load_volumes(tmp_path / "a.dx")
    np.testing.assert_allclose(volume.values, values, atol=1e-14)
    np.testing.assert_allclose(volume.lattice.origin / angstrom, [1.0, -2.0, 0.5])
    np.testing.assert_allclose(volume.lattice.axes / angstrom, np.diag([0.5, 0.25, 0.125]))


BAD_DX = {
    "truncated": (DX[: DX.index("19.5")], "expected 24 values, got 19"),
    "no values": (DX[: DX.index("0.5 1.5")], "promises 24 values"),
    "no array": (DX[: DX.index("object 3")], "class array"),
    "no positions": (DX[DX.index("object 2") :], "gridpositions"),
    "too few deltas": (DX.replace("delta 0.5 0.0 0.0\n", ""), "three 'delta x y z'"),
    "NaN": (DX.replace("19.5", "nan"), "line 14: value 20 is nan"),
    "text": (DX.replace("19.5", "x"), "line 14: expected numbers"),
    "absurd counts": (DX.replace("2 3 4", "2000000000 2000000000 4"), "points"),
    "absurd items": (DX.replace("items 24", "items 99999999999999999"), "promises"),
    "counts that contradict": (DX.replace("items 24", "items 23"), "same number"),
    "two dimensions": (DX.replace("counts 2 3 4", "counts 6 4"), "line 2: expected three"),
    "binary values": (DX.replace("data follows", "binary data follows"), "line 10"),
    "vectors": (DX.replace("rank 0", "rank 1 shape 3"), "rank 0"),
    "a cube": (PLAIN, "is this an OpenDX file"),
    "binary noise": (np.random.default_rng(1).bytes(2000), "binary|OpenDX"),
}


@pytest.mark.parametrize(("text", "message"), BAD_DX.values(), ids=BAD_DX.keys())
def test_bad_opendx(text, message, tmp_path):
    with pytest.raises(FileError, match=message) as caught:
        load_text(tmp_path, text, "dx")
    assert "file.dx" in str(caught.value)


def write_mrc(path, data, **header):
    with mrcfile.new(str(path), overwrite=True) as file:
        file.set_data(data)
        nz, ny, nx = data.shape
        file.header.cella = (nx * 0.5, ny * 0.5, nz * 0.5)
        for key, value in header.items():
            file.header[key] = value


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.uint16, np.float16])
def test_mrc_modes(dtype, tmp_path):
    data = np.arange(24, dtype=dtype).reshape(4, 3, 2)
    write_mrc(tmp_path / "a.mrc", data)
    (volume,) = load_volumes(tmp_path / "a.mrc")
    assert volume.values.dtype == np.float32
    np.testing.assert_array_equal(volume.values, data.T)
    np.testing.assert_allclose(volume.lattice.axes, np.eye(3) * 0.5 * angstrom)


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 1, 3), (3, 1, 2), (2, 3, 1), (1, 3, 2)])
def test_mrc_axis_order(order, tmp_path):
    """A value stands at the same point whichever of x, y, z columns, rows and sections run along."""
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)  # [x, y, z]
    data = values.transpose([axis - 1 for axis in order[::-1]])
    start = [(10, 20, 30)[axis - 1] for axis in order]
    write_mrc(
        tmp_path / "a.mrc",
        np.ascontiguousarray(data),
        **dict(zip(("mapc", "mapr", "maps"), order, strict=True)),
        **dict(zip(("nxstart", "nystart", "nzstart"), start, strict=True)),
        mx=2,
        my=3,
        mz=4,
        cella=(2 * 0.5, 3 * 0.25, 4 * 0.125),
    )
    (volume,) = load_volumes(tmp_path / "a.mrc")
    np.testing.assert_array_equal(volume.values, values)
    np.testing.assert_allclose(volume.lattice.axes, np.diag([0.5, 0.25, 0.125]) * angstrom)
    np.testing.assert_allclose(volume.lattice.origin, np.array([5, 5, 3.75]) * angstrom)


def test_mrc_origin_goes_before_nstart(tmp_path):
    write_mrc(tmp_path / "a.mrc", np.zeros((2, 2, 2), np.float32), nxstart=7, origin=(1.0, 0.0, -2.0))
    (volume,) = load_volumes(tmp_path / "a.mrc")
    np.testing.assert_allclose(volume.lattice.origin, np.array([1, 0, -2]) * angstrom)


def test_mrc_skewed_cell(tmp_path):
    write_mrc(tmp_path / "a.map", np.zeros((2, 2, 2), np.float32), cellb=(80.0, 100.0, 120.0), cella=(2, 3, 4))
    (volume,) = load_volumes(tmp_path / "a.map")
    a, b, c = volume.lattice.axes / angstrom
    np.testing.assert_allclose([np.linalg.norm(v) for v in (a, b, c)], [1, 1.5, 2], rtol=1e-6)
    cosines = [b @ c / 3, a @ c / 2, a @ b / 1.5]
    np.testing.assert_allclose(np.degrees(np.arccos(cosines)), [80, 100, 120], rtol=1e-6)
    assert a[1] == a[2] == b[2] == 0


def test_mrc_skew_transformation_of_ccp4(tmp_path):
    """As PyMOL writes it: NSTART and the translation add up."""
    path = tmp_path / "a.ccp4"
    write_mrc(path, np.zeros((2, 2, 2), np.float32), nxstart=4, nversion=0)
    data = bytearray(path.read_bytes())
    data[96:148] = struct.pack("=i12f", 1, 0, 1, 0, -1, 0, 0, 0, 0, 1, 1.0, 2.0, 3.0)  # a quarter turn about z
    path.write_bytes(data)
    (volume,) = load_volumes(path)
    # Xo(atoms) = S^-1 Xo(map) + t: x of the map is minus y... turned back, x goes to y.
    np.testing.assert_allclose(volume.lattice.origin, np.array([1, 2 + 2, 3]) * angstrom, rtol=1e-6)
    np.testing.assert_allclose(volume.lattice.axes[0], [0, 0.5 * angstrom, 0], rtol=1e-6)


def test_mrc_of_the_other_byte_order_and_without_machine_stamp(tmp_path):
    path = tmp_path / "a.mrc"
    data = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    write_mrc(path, data)
    content = path.read_bytes()
    swapped = bytearray(np.frombuffer(content, "<u4").astype(">u4").tobytes())
    swapped[208:224] = b"MAP " + b"\x11\x11\0\0" + swapped[216:224]
    for stamp in (b"\x11\x11\0\0", b"MAE "):
        swapped[212:216] = stamp
        path.write_bytes(swapped)
        (volume,) = load_volumes(path)
        np.testing.assert_array_equal(volume.values, data.T)


@pytest.fixture
def mrc_bytes(tmp_path):
    path = tmp_path / "valid.mrc"
    write_mrc(path, np.arange(24, dtype=np.float32).reshape(4, 3, 2))
    return path.read_bytes()


def patched(data, position, code, *values):
    new = bytearray(data)
    struct.pack_into(code, new, position, *values)
    return bytes(new)


BAD_MRC = {
    "truncated": (lambda b: b[:-4], "promises 24 values"),
    "truncated in the header": (lambda b: b[:500], "header of 1024 bytes"),
    "absurd counts": (lambda b: patched(b, 0, "<3i", *[2**31 - 1] * 3), "promises"),
    "negative counts": (lambda b: patched(b, 0, "<i", -2), "positive counts"),
    "absurd extended header": (lambda b: patched(b, 92, "<i", 2**31 - 1), "promises"),
    "negative extended header": (lambda b: patched(b, 92, "<i", -5), "extended header"),
    "complex": (lambda b: patched(b, 12, "<i", 4), "mode 4"),
    "no such mode": (lambda b: patched(b, 12, "<i", 77), "mode 77"),
    "no cell": (lambda b: patched(b, 40, "<3f", 0, 0, 0), "cell lengths"),
    "NaN cell": (lambda b: patched(b, 40, "<3f", 1, float("nan"), 0), "cell lengths"),
    "angles of no cell": (lambda b: patched(b, 52, "<3f", 30, 100, 170), "no cell has the angles"),
    "angles out of range": (lambda b: patched(b, 52, "<3f", 90, 90, 180), "between 0 and 180"),
    "axis order": (lambda b: patched(b, 64, "<3i", 1, 1, 3), "MAPC"),
    "NaN": (lambda b: patched(b, 1024 + 8, "<f", float("nan")), r"point \(0, 1, 0\) is nan"),
    "stack of volumes": (lambda b: patched(b, 88, "<i", 401), "stack of volumes"),
    "a cube": (lambda b: (PLAIN * 3).encode(), "mark 'MAP'"),
    "noise": (lambda b: np.random.default_rng(2).bytes(3000), "mark 'MAP'"),
}


@pytest.mark.parametrize(("change", "message"), BAD_MRC.values(), ids=BAD_MRC.keys())
def test_bad_mrc(change, message, mrc_bytes, tmp_path):
    with pytest.raises(FileError, match=message) as caught:
        load_text(tmp_path, change(mrc_bytes), "mrc")
    assert "file.mrc" in str(caught.value)


def savez(path, **changes):
    arrays = {"values": np.zeros((2, 3, 4)), "origin": np.zeros(3), "axes": np.eye(3), "quantity": "q", "unit": "u"}
    arrays |= changes
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": None}, "expected an array 'values'"),
        ({"values": np.full((2, 2, 2), np.nan)}, "expected a finite number"),
        ({"values": np.zeros((2, 2))}, "three dimensions"),
        ({"values": np.zeros((2, 2, 2), complex)}, "float32 or float64"),
        ({"values": np.array([[["x"]]], dtype=object)}, "not an Orbitile"),
        ({"axes": np.zeros((3, 3))}, "independent"),
        ({"origin": np.zeros(2)}, "origin"),
    ],
)
def test_bad_npz(changes, message, tmp_path):
    savez(tmp_path / "a.npz", **changes)
    with pytest.raises(FileError, match=message):
        load_volumes(tmp_path / "a.npz")


def test_damaged_npz(tmp_path):
    savez(tmp_path / "a.npz")
    data = (tmp_path / "a.npz").read_bytes()
    place = data.index(b"(2, 3, 4)")
    for bad in (data[:-40], data[:50], data[:place] + b"(2, 9,99)" + data[place + 9 :], PLAIN.encode(), b"PK\x03\x04"):
        with pytest.raises(FileError, match=r"file\.npz"):
            load_text(tmp_path, bad, "npz")


@pytest.mark.parametrize("suffix", ["cube", "dx", "mrc", "npz"])
def test_empty_missing_and_folder(suffix, tmp_path):
    with pytest.raises(FileError, match="empty"):
        load_text(tmp_path, b"", suffix)
    with pytest.raises(FileError, match="no such file"):
        load_volumes(tmp_path / f"missing.{suffix}")
    (tmp_path / f"folder.{suffix}").mkdir()
    with pytest.raises(FileError, match="folder"):
        load_volumes(tmp_path / f"folder.{suffix}")


SMALL = Volume(np.linspace(-1, 1, 24).reshape(2, 3, 4), Lattice([0, 1, 2], np.diag([0.5, 0.25, 0.125]), (2, 3, 4)), "q")
JUNK = [
    b"",
    b"\0",
    b"\n",
    b"-",
    b"9",
    b"999999999",
    b"1e308",
    b"nan",
    b"*",
    b"E",
    b" ",
    b"\xff\xff\xff\x7f",
    b"object",
    b"#",
]
MUTATIONS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(JUNK) | st.binary(max_size=6)),
    min_size=1,
    max_size=4,
)


@pytest.fixture(scope="module")
def valid_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("valid")
    for suffix in ("cube", "dx", "mrc", "npz"):
        save(SMALL, folder / f"a.{suffix}")
    return folder, {suffix: (folder / f"a.{suffix}").read_bytes() for suffix in ("cube", "dx", "mrc", "npz")}


@pytest.mark.parametrize("suffix", ["cube", "dx", "mrc", "npz"])
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutations=MUTATIONS)
def test_damaged_files_are_refused_or_valid(suffix, valid_files, mutations):
    folder, contents = valid_files
    data = contents[suffix]
    for where, removed, inserted in mutations:
        place = int(where * len(data))
        data = data[:place] + inserted + data[place + removed :]
    path = folder / f"b.{suffix}"
    path.write_bytes(data)
    volumes, message = (), f"b.{suffix}"
    try:
        volumes = load_volumes(path)
    except OrbitileError as error:
        message = str(error)
    assert f"b.{suffix}" in message
    assert "\n" not in message
    assert len(message) < 500
    for volume in volumes:
        assert volume.values.shape == volume.lattice.shape
        assert np.isfinite(volume.values).all()

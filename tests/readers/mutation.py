"""Damage to files, at random but repeatable, and files of every format to damage."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import orbitile as ob
from orbitile import SeriesWriter, load_charges
from orbitile.exporters import save
from orbitile.readers import load_geometries, load_volumes

SAMPLES = Path(str(files("iodata.test.data") / ""))
LOGS = Path(__file__).parents[1] / "trajectories" / "logs"

NUMBER = re.compile(rb"[-+]?\d+(?:\.\d*)?(?:[EeDd][-+]?\d+)?")
NUMBERS = [
    word.encode()
    for word in (
        "nan NaN inf -Infinity 1e308 -1.0D+308 1e-308 1e999 1e30 0 -1 2 99999 999999999 -999999999 0.0 ***** 1.0D 1.5 "
        "0x10 1_000 ² 1e1 3.7E-05 -0.0 + . abc 118 119"
    ).split()
] + [b"", b"1 2", b"9" * 19, b"9" * 400, b"9" * 5000]


def mutated(data: bytes, random: np.random.Generator) -> bytes:
    """The file with one piece of damage, or with two or three."""
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        data = DAMAGES[random.integers(len(DAMAGES))](data, random)
    return data


def _place(data: bytes, random: np.random.Generator) -> int:
    """Half of all places are within the first kilobytes, where headers are."""
    return int(random.integers(len(data) + 1 if random.random() < 0.5 else min(len(data), 2000) + 1))


def _flip(data, random):
    if not data:
        return data
    place = min(_place(data, random), len(data) - 1)
    return data[:place] + bytes([data[place] ^ (1 << int(random.integers(8)))]) + data[place + 1 :]


def _junk(data, random):
    place = _place(data, random)
    return data[:place] + random.bytes(int(random.integers(1, 9))) + data[place + int(random.integers(9)) :]


def _delete(data, random):
    place = _place(data, random)
    return data[:place] + data[place + int(10 ** random.uniform(0, 3)) :]


def _repeat(data, random):
    place = _place(data, random)
    piece = data[place : place + int(10 ** random.uniform(0, 3))]
    return data[:place] + piece * int(random.integers(2, 5)) + data[place + len(piece) :]


def _truncate(data, random):
    return data[: _place(data, random)]


def _lines(data, random):
    lines = data.split(b"\n")
    i, j = (int(random.integers(len(lines))) for _ in range(2))
    kind = random.integers(4)
    if kind == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 1:
        del lines[i : i + int(random.integers(1, 6))]
    elif kind == 2:
        lines[i:i] = lines[j : j + int(random.integers(1, 6))]
    else:
        lines.insert(i, b"")
    return b"\n".join(lines)


def _number(data, random):
    place = _place(data, random)
    found = NUMBER.search(data, place) or NUMBER.search(data)
    if found is None:
        return data
    old = found[0]
    if random.random() < 0.4:
        new = bytearray(old)
        digit = int(random.integers(len(new)))
        new[digit] = b"0123456789.-+eED "[random.integers(17)]
        replacement = bytes(new)
    else:
        replacement = NUMBERS[random.integers(len(NUMBERS))]
        if random.random() < 0.5:
            replacement = replacement.rjust(len(old))  # columns stay where they are
    return data[: found.start()] + replacement + data[found.end() :]


def _encoding(data, random):
    kind = random.integers(7)
    place = _place(data, random)
    if kind == 0:
        return b"\xef\xbb\xbf" + data
    if kind == 1:
        return data[:place] + "Münster · Å".encode(["utf-8", "utf-16", "cp1252"][random.integers(3)]) + data[place:]
    if kind == 2:
        return data.replace(b"\n", [b"\r", b"\r\n", b"\n\n"][random.integers(3)])
    if kind == 3:
        return data.decode("latin-1").encode("utf-16")
    if kind == 4:
        return data.replace(b" ", b"\t", int(random.integers(1, 100)))
    if kind == 5:
        return b"\n" * int(random.integers(1, 4)) + data
    return data[:place] + b"\0" + data[place:]


DAMAGES = [_flip, _junk, _delete, _repeat, _truncate, _lines, _number, _number, _number, _encoding]


def opened(path: Path) -> object:
    """What a user gets of a file, all frames of it, whatever it is."""
    if path.name.startswith("volume"):
        volumes = load_volumes(path)
        assert all(np.isfinite(volume.values).all() for volume in volumes)
        return volumes
    if path.name.startswith("geometry"):
        geometries = load_geometries(path, path.with_name("topology.pdb"))
        return [geometries.read(n) for n in range(min(len(geometries), 5))]
    if path.name.startswith("charges"):
        return load_charges(path)
    if path.name.startswith("frames"):
        trajectory = ob.load_trajectory(path)
        found = [wavefunction for n in range(min(len(trajectory), 5)) for wavefunction in _sound(trajectory, n)]
        if found:
            assert np.isfinite(trajectory.geometries()).all()
    else:
        found = [ob.load(path)]
    from orbitile.analysis.information import as_text

    for wavefunction in found:
        assert np.isfinite(wavefunction.alpha.coefficients).all()
        assert as_text(wavefunction)
    return found


def _sound(trajectory, index):
    try:
        return [trajectory[index]]
    except ob.OrbitileError:
        return []


def seeds(folder: Path) -> dict[str, Path]:
    """A small file of every format that is read; what is damaged of a folder is one of its files."""
    folder.mkdir(exist_ok=True)
    found: dict[str, Path] = {}

    def put(name: str, content: bytes) -> None:
        (folder / name).write_bytes(content)
        found[name] = folder / name

    for name in (
        "h2o.molden.input h2o_psi4_1.3.2_6-31G_d_cart.molden li2.mkl h2_sto3g.mkl ch3_hf_sto3g.fchk nitrogen-cc.fchk "
        "lih_cation_cisd.wfn be_cisd_321g_psi4_singlet.molden lih_cation_uhf.wfn he_d_orbital.wfn water_sto3g_hf.wfx "
        "ch3_hf_sto3g_fchk_multiwfn3.7.mwfn"
    ).split():
        put(name, (SAMPLES / name).read_bytes())
    molden = (SAMPLES / "h2o.molden.input").read_bytes()
    put("frames.molden", molden * 3)
    for name in ("psi4_water.out", "nwchem_water.out"):
        put(name, (LOGS / name).read_bytes())
        put(f"frames_{name}", (LOGS / name).read_bytes())
    _volumes(folder, found)
    put("geometry.xyz", b"3\nwater\nO 0 0 0\nH 0 0.76 0.59\nH 0 -0.76 0.59\n" * 3)
    put("geometry.extxyz", b"2\nProperties=forces:R:3:species:S:1:pos:R:3\n" + b"0 0 0 O 0 0 1.5\n0 0 0 H 0 0 0\n")
    put("charges.xyzq", b"0 0 0 -0.8\n0 0.76 0.59 0.4\n0 -0.76 0.59 0.4\n")
    put("charges.pqr", b"ATOM 1 O HOH A 1 0.0 0.0 0.0 -0.8 1.5\nATOM 2 H HOH A 1 0.0 0.0 1.0 0.4 1.2\n")
    _dynamics(folder, found)
    _series(folder, found)
    _trexio(folder, found)
    _orca(folder, found)
    return found


def _orca(folder: Path, found: dict[str, Path]) -> None:
    if find_spec("pyscf") is None:
        return
    from tests.readers import orca_files

    made = orca_files.sample("O 0 0 0.1; H 0.1 0.8 -0.5", "sto-3g", spins=2)
    density = sum((c * n) @ c.T for c, n in zip(made.orbitals, made.occupations, strict=True))
    for name, content in (
        ("orca5.gbw", orca_files.gbw_bytes(made, version="5", settings=0)),
        ("orca6.gbw", orca_files.gbw_bytes(made, settings=0)),
        ("orca6.json", orca_files.json_text(made).encode()),
        ("orca6.out", orca_files.log_text(made).encode()),
        *orca_files.densities_files(made, {"scfp": density, "cisp": density}, version=6, name="orca6").items(),
    ):
        (folder / name).write_bytes(content)
        if not name.endswith("densitiesinfo"):
            found[name] = folder / name


def _volumes(folder: Path, found: dict[str, Path]) -> None:
    random = np.random.default_rng(1)
    lattice = ob.Lattice(np.array([-1.0, 0.5, 2.0]), np.diag([0.5, 0.25, 0.75]), (4, 5, 6))
    volume = ob.Volume(random.normal(size=lattice.shape), lattice, "density", "bohr^-3")
    for suffix in ("cube", "dx", "mrc", "npz", *(["zarr"] if find_spec("zarr") else [])):
        path = folder / f"volume.{suffix}"
        save(volume, path)
        found[path.name] = path
    import gzip

    path = folder / "volume.cube.gz"
    path.write_bytes(gzip.compress((folder / "volume.cube").read_bytes()))
    found[path.name] = path


def _dynamics(folder: Path, found: dict[str, Path]) -> None:
    try:
        import mdtraj
    except ImportError:
        return
    topology = mdtraj.Topology()
    residue = topology.add_residue("HOH", topology.add_chain())
    for name, symbol in (("O", "O"), ("H1", "H"), ("H2", "H")):
        topology.add_atom(name, mdtraj.element.get_by_symbol(symbol), residue)
    positions = np.random.default_rng(2).normal(size=(3, 3, 3)).astype(np.float32) * 0.1
    trajectory = mdtraj.Trajectory(positions, topology)
    trajectory[0].save_pdb(str(folder / "topology.pdb"))
    for suffix in ("dcd", "xtc", "trr", "nc", "pdb", "gro"):
        path = folder / f"geometry.{suffix}"
        trajectory.save(str(path))
        found[path.name] = path


def _series(folder: Path, found: dict[str, Path]) -> None:
    try:
        import h5py  # noqa: F401
    except ImportError:
        return
    path = folder / "frames.series.h5"
    with SeriesWriter(path) as writer:
        for _ in range(3):
            writer.append(ob.load(SAMPLES / "h2o_sto3g.fchk"))
    found[path.name] = path


def _trexio(folder: Path, found: dict[str, Path]) -> None:
    try:
        import trexio
    except ImportError:
        return
    for name, backend in (("atom.trexio", trexio.TREXIO_TEXT), ("atom.h5", trexio.TREXIO_HDF5)):
        path = folder / name
        exponents, charges = np.array([1.2, 0.4]), np.array([1.0])
        with trexio.File(str(path), "w", backend) as file:
            trexio.write_nucleus_num(file, 1)
            trexio.write_nucleus_charge(file, charges)
            trexio.write_nucleus_coord(file, np.zeros((1, 3)))
            trexio.write_nucleus_label(file, ["H"])
            trexio.write_electron_up_num(file, 1)
            trexio.write_electron_dn_num(file, 0)
            trexio.write_basis_type(file, "Gaussian")
            trexio.write_basis_shell_num(file, 2)
            trexio.write_basis_prim_num(file, 2)
            trexio.write_basis_nucleus_index(file, [0, 0])
            trexio.write_basis_shell_ang_mom(file, [0, 1])
            trexio.write_basis_shell_index(file, [0, 1])
            trexio.write_basis_exponent(file, exponents)
            trexio.write_basis_coefficient(file, [1.0, 1.0])
            norms = (2 * exponents / np.pi) ** 0.75 * np.array([1.0, 2 * np.sqrt(exponents[1])])
            trexio.write_basis_prim_factor(file, norms)
            trexio.write_ao_cartesian(file, 0)
            trexio.write_ao_num(file, 4)
            trexio.write_ao_shell(file, [0, 1, 1, 1])
            trexio.write_mo_type(file, "RHF")
            trexio.write_mo_num(file, 4)
            trexio.write_mo_coefficient(file, np.eye(4))
            trexio.write_mo_occupation(file, [1.0, 0, 0, 0])
            trexio.write_mo_energy(file, [-0.5, 0.1, 0.1, 0.1])
        found[name] = path

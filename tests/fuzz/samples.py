"""A small file of every format that is read, and what a user gets of it."""

from __future__ import annotations

from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import orbitile as ob
from orbitile import SeriesWriter, load_charges
from orbitile.exporters import save
from orbitile.readers import load_geometries, load_volumes
from orbitile.readers.structures import load_structure

SAMPLES = Path(str(files("iodata.test.data") / ""))
LOGS = Path(__file__).parents[1] / "trajectories" / "logs"

FORMAMIDE = """\
@<TRIPOS>MOLECULE
formamide
 6 5 1 0 0
SMALL
USER_CHARGES

@<TRIPOS>ATOM
 1 C   0.000 0.000 0.000 C.2 1 FOR 0.5
 2 O   1.220 0.000 0.000 O.2 1 FOR -0.5
 3 N  -0.700 1.150 0.000 N.am 1 FOR -0.8
 4 H1 -0.560 -0.950 0.000 H 1 FOR 0.1
 5 H2 -0.200 2.030 0.000 H 1 FOR 0.35
 6 H3 -1.710 1.150 0.000 H 1 FOR 0.35
@<TRIPOS>BOND
 1 1 2 2
 2 1 3 am
 3 1 4 1
 4 3 5 1
 5 3 6 1
"""

GLYCINE = """\
MODEL        1
ATOM      1  N   GLY A  52A      0.000   1.450   0.000  1.00  0.00           N1+
ATOM      2  CA AGLY A  52A      0.000   0.000   0.000  0.40  0.00           C
ATOM      3  CA BGLY A  52A      0.050   0.000   0.000  0.60  0.00           C
ATOM      4  C   GLY A  52A      1.450  -0.500   0.000  1.00  0.00           C
ATOM      5  O   GLY A  52A      2.400   0.280   0.000  1.00  0.00           O
ATOM      6  N   GLY A  53       1.600  -1.820   0.000  1.00  0.00           N
HETATM    7 CA    CA A  60       9.000   0.000   0.000  1.00  0.00
HETATM    8  C1  LIG B   1       0.000   0.000   5.000  1.00  0.00           C
HETATM    9  C2  LIG B   1       0.000   1.800   5.000  1.00  0.00           C
HETATM   10  O   HOH B   2       9.000   2.300   0.000  1.00  0.00
ENDMDL
MODEL        2
ATOM      1  N   GLY A  52A      0.000   1.450   9.000  1.00  0.00           N1+
ENDMDL
CONECT    8    9
END
"""
"""Two models, alternate locations, an insertion code, atoms without elements, a long bond that is stated."""


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
    if path.name.startswith("structure"):
        return load_structure(path)
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
    if find_spec("MDAnalysis") is not None:
        put("structure.mol2", FORMAMIDE.encode())
        put("structure.pqr", (folder / "charges.pqr").read_bytes())
        put("structure.pdb", GLYCINE.encode())
    _dynamics(folder, found)
    _series(folder, found)
    _trexio(folder, found)
    _orca(folder, found)
    return found


def seeds_of_jobs(folder: Path) -> dict[str, Path]:
    """Small folders and archives of calculations, and files of programs that leave several of them."""
    folder.mkdir(exist_ok=True)
    found: dict[str, Path] = {}
    _by_pyscf(folder, found)
    _places(folder, found)
    return found


def inputs(folder: Path) -> list[Path]:
    """Some files for commands to read: wavefunctions, a trajectory, a log, a volume, a geometry; quickly made."""
    folder.mkdir(exist_ok=True)
    contents = {name: (SAMPLES / name).read_bytes() for name in ("h2o.molden.input", "lih_cation_uhf.wfn")}
    contents["frames.molden"] = contents["h2o.molden.input"] * 3
    contents["psi4_water.out"] = (LOGS / "psi4_water.out").read_bytes()
    contents["geometry.xyz"] = b"3\nwater\nO 0 0 0\nH 0 0.76 0.59\nH 0 -0.76 0.59\n" * 3
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    lattice = ob.Lattice(np.zeros(3), np.eye(3), (4, 5, 6))
    volume = ob.Volume(np.random.default_rng(1).normal(size=lattice.shape), lattice, "density", "bohr^-3")
    save(volume, folder / "volume.cube")
    return [*(folder / name for name in contents), folder / "volume.cube"]


def _by_pyscf(folder: Path, found: dict[str, Path]) -> None:
    """Files of NBO, Turbomole, OpenMolcas and PySCF itself, of calculations by PySCF."""
    if find_spec("pyscf") is None or find_spec("h5py") is None:
        return
    from pyscf import lib

    from tests.readers import nbo_files, test_openmolcas, test_turbomole

    with lib.with_omp_threads(1):
        field = test_turbomole.solved(atoms="O 0 0 0.1; H 0.1 0.8 -0.5", spin=1)
        (folder / "turbomole").mkdir(exist_ok=True)
        test_turbomole.written(folder / "turbomole", field)
        (folder / "molcas").mkdir(exist_ok=True)
        molcas = test_openmolcas.solved(test_openmolcas.WATER, "sto-3g")
        (folder / "molcas" / "job.ScfOrb").write_text(
            test_openmolcas.as_inporb(test_openmolcas.written(folder / "molcas" / "job.scf.h5", molcas))
        )
        (folder / "molcas.h5").write_bytes((folder / "molcas" / "job.scf.h5").read_bytes())
        mol, density = molcas.mol, molcas.make_rdm1()
        (folder / "job.47").write_text(nbo_files.archive(mol, density=[density], orbitals=[molcas.mo_coeff]))
        (folder / "nbo").mkdir(exist_ok=True)
        (folder / "nbo" / "job.31").write_text(nbo_files.basis_file(mol))
        (folder / "nbo" / "job.40").write_text(nbo_files.orbital_file(mol, "MO", [molcas.mo_coeff]))
        molcas.chkfile = str(folder / "job.chk")
        molcas.dump_chk(vars(molcas))
    for name in ("turbomole", "molcas", "molcas.h5", "job.47", "nbo", "job.chk"):
        found[name] = folder / name


def _places(folder: Path, found: dict[str, Path]) -> None:
    """A folder of a calculation, and archives of it."""
    import tarfile
    import zipfile

    job = folder / "job"
    job.mkdir(exist_ok=True)
    for name, source in (("a.out", LOGS / "psi4_water.out"), ("z.fchk", SAMPLES / "h2o_sto3g.fchk")):
        (job / name).write_bytes(source.read_bytes())
    (job / "slurm-1.out").write_text("queue 7\n")
    with zipfile.ZipFile(folder / "job.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(job.iterdir()):
            archive.write(file, f"job/{file.name}")
    with tarfile.open(folder / "job.tar.gz", "w:gz") as archive:
        archive.add(job, "job")
    for name in ("job", "job.zip", "job.tar.gz"):
        found[name] = folder / name


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
    for suffix in ("h5", *(["zarr"] if find_spec("zarr") else [])):
        path = folder / f"frames.series.{suffix}"
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

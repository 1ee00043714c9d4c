"""OpenMolcas' HDF5 files, written here from orbitals of PySCF."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FileError
from orbitile.model.conventions import angular_normalization, cartesian_powers
from tests.fuzz.damage import mutated
from tests.molecules import gto, scf, wavefunction_of
from tests.oracle import basis_functions

h5py = pytest.importorskip("h5py", reason="HDF5 files need h5py (extra trajectories)")

WATER = "O 0 0 0.11; H 0 0.76 -0.46; H 0 -0.76 -0.46"
CROOKED = "O 0.1 0.2 0.3; H 1.0 0.1 0.2; F -0.6 0.9 -0.5"


def solved(atoms, basis, method="RHF", **more):
    molecule = gto.M(atom=atoms, basis=basis, verbose=0, **more)
    field = getattr(scf, method)(molecule)
    field.max_cycle = 3
    field.kernel()
    return field


def written(path, field, rng=None, **changes):
    """The file of a calculation; basis functions stand in any order there, since their ids say what they are."""
    w = wavefunction_of(field.mol, field.mo_coeff, field.mo_occ, field.mo_energy)
    ids, factors, taken, primitives, owners = [], [], {}, [], []
    for shell in w.shells:
        l, key = shell.angular_momentum, (shell.atom, shell.angular_momentum)
        number = taken[key] = taken.get(key, 0) + 1
        if shell.pure:
            ms, norms = [0, *(m for n in range(1, l + 1) for m in (n, -n))], [1.0] * (2 * l + 1)
        else:
            powers = cartesian_powers(l)
            ms, norms = ([1, -1, 0] if l == 1 else [n - l for n in range(len(powers))]), [1.0] * len(powers)
            if l > 1:  # xx is as large as a product of different coordinates would be
                norms = [angular_normalization(p) * 2 ** (l / 2) for p in powers]
        ids += [(shell.atom + 1, number, l if shell.pure or l < 2 else -l, m) for m in ms]
        factors += norms
        for exponent, coefficient in zip(shell.exponents, shell.coefficients, strict=True):
            primitives.append((exponent, 2 * coefficient))
            owners.append((shell.atom + 1, l, number))
    order = np.arange(len(ids)) if rng is None else rng.permutation(len(ids))
    adapted = getattr(field.mol, "symm_orb", None) if field.mol.symmetry else None
    with h5py.File(path, "w") as file:
        file.attrs["MOLCAS_MODULE"], file.attrs["MOLCAS_VERSION"] = np.bytes_("SCF"), np.bytes_("v26.02")
        file.attrs["ORBITAL_TYPE"] = np.bytes_("SCF-RHF")
        prefix = ""
        if adapted is None:
            sizes, labels = [len(ids)], ["a"]
        else:
            prefix, sizes, labels = "DESYM_", [block.shape[1] for block in adapted], list(field.mol.irrep_name)
            from orbitile.scf.engines.pyscf import functions_of_pyscf

            rows, scale = functions_of_pyscf(field.mol)
            matrix = (np.hstack(adapted)[rows] * np.asarray(scale)[:, None] * np.array(factors)[:, None])[order]
            file["DESYM_MATRIX"] = matrix.T.ravel()
        file.attrs["NSYM"], file.attrs["NBAS"] = len(sizes), sizes
        file.attrs["IRREP_LABELS"] = np.array(labels, "S3")
        file[f"{prefix}BASIS_FUNCTION_IDS"] = np.array(ids)[order]
        file[f"{prefix}CENTER_ATNUMS"] = w.atomic_numbers
        file[f"{prefix}CENTER_CHARGES"], file[f"{prefix}CENTER_COORDINATES"] = w.core_charges, w.positions
        file["PRIMITIVES"], file["PRIMITIVE_IDS"] = np.array(primitives), np.array(owners)
        spins = {"": w.alpha} if w.beta is None else {"ALPHA_": w.alpha, "BETA_": w.beta}
        for spin, orbitals in spins.items():
            theirs = (orbitals.coefficients * np.array(factors)[:, None])[order]
            n = theirs.shape[1]
            if adapted is None:
                vectors, energies, occupations = theirs.T.ravel(), orbitals.energies, orbitals.occupations
            else:
                within, blocks, first = np.linalg.lstsq(matrix, theirs, rcond=None)[0], [], 0
                chosen = []
                for size in sizes:
                    block = within[first : first + size]
                    mine = np.flatnonzero(np.linalg.norm(block, axis=0) > 1e-6)
                    blocks.append(block[:, mine].T.ravel())
                    chosen += mine.tolist()
                    first += size
                vectors = np.concatenate(blocks)
                energies, occupations = orbitals.energies[chosen], orbitals.occupations[chosen]
            file[f"MO_{spin}VECTORS"], file[f"MO_{spin}ENERGIES"] = vectors, energies
            file[f"MO_{spin}OCCUPATIONS"] = occupations
            file[f"MO_{spin}TYPEINDICES"] = np.where(occupations > 0, b"I", b"S")
            assert n == len(occupations)
        for name, value in changes.items():
            if name in file:
                del file[name]
            if value is not None:
                file[name] = value
    return w


def same(found, expected):
    """In whatever order the shells stand, it is the same wavefunction: orbitals have the same values."""
    for one, other in ((found.alpha, expected.alpha), (found.beta, expected.beta)):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one.occupations, other.occupations)
            np.testing.assert_allclose(one.energies, other.energies, atol=1e-12)
            points = np.random.default_rng(1).uniform(-2, 2, (40, 3))
            values = [o.coefficients.T @ basis_functions(w, points) for w, o in ((found, one), (expected, other))]
            np.testing.assert_allclose(*values, atol=1e-9)


@pytest.mark.parametrize(
    ("atoms", "basis", "method", "more"),
    [
        pytest.param(CROOKED, "sto-3g", "UHF", {"spin": 2}, id="spins"),
        pytest.param(CROOKED, "cc-pvtz", "RHF", {}, id="pure d and f", marks=pytest.mark.slow),
        pytest.param(CROOKED, "6-31g*", "RHF", {"cart": True}, id="Cartesian", marks=pytest.mark.slow),
        pytest.param(WATER, "6-31g**", "RHF", {"symmetry": "C2v"}, id="symmetry"),
    ],
)
def test_wavefunctions_are_those_that_were_written(tmp_path, atoms, basis, method, more):
    path = tmp_path / "any name"
    expected = written(path, solved(atoms, basis, method, **more), np.random.default_rng(2))
    found = ob.load(path)
    same(found, expected)
    assert found.program == "OpenMolcas v26.02"
    if "symmetry" in more:
        assert set(found.alpha.irreps) == {"A1", "A2", "B1", "B2"}


@pytest.fixture(scope="module")
def field():
    return solved(CROOKED, "sto-3g")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"MO_VECTORS": None}, "of module SCF, holds no orbitals"),
        ({"MO_OCCUPATIONS": np.zeros(11)}, "without occupations"),
        ({"BASIS_FUNCTION_IDS": np.ones((11, 4), int)}, "contaminants"),
        ({"MO_VECTORS": np.zeros(7)}, "damaged OpenMolcas file"),
        ({"PRIMITIVE_IDS": np.zeros((3, 3), int)}, "damaged OpenMolcas file"),
        ({"CENTER_COORDINATES": np.full((3, 3), np.nan)}, "NaN"),
    ],
)
def test_what_is_refused(tmp_path, field, changes, message):
    written(tmp_path / "a.scf.h5", field, **changes)
    with pytest.raises(FileError, match=message):
        ob.load(tmp_path / "a.scf.h5")


def test_charges_of_an_environment_are_no_atoms(tmp_path, field):
    expected = written(tmp_path / "a.h5", field)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        for name, more in (("CENTER_ATNUMS", [6]), ("CENTER_CHARGES", [0.0]), ("CENTER_COORDINATES", [[9.0, 9, 9]])):
            values = np.concatenate([file[name][:], more])
            del file[name]
            file[name] = values
    same(ob.load(tmp_path / "a.h5"), expected)


def test_other_hdf5_files_are_told_by_what_they_contain(tmp_path):
    with h5py.File(tmp_path / "orbs.res.h5", "w") as file:
        file["coefficients"], file["eigenvalues"] = np.eye(2), np.zeros(2)
    with pytest.raises(FileError, match="HDF5 file of no known kind, which contains coefficients, eigenvalues"):
        ob.load(tmp_path / "orbs.res.h5")
    with h5py.File(tmp_path / "mean_field.h5", "w") as file:
        file["mol"] = "{}"
    with pytest.raises(FileError, match="of PySCF"):
        ob.load(tmp_path / "mean_field.h5")


@pytest.mark.slow
def test_damaged_files(tmp_path, field):
    written(tmp_path / "whole.h5", field)
    data, random = (tmp_path / "whole.h5").read_bytes(), np.random.default_rng(5)
    for _ in range(150):
        (tmp_path / "a.scf.h5").write_bytes(mutated(data, random))
        try:
            assert ob.load(tmp_path / "a.scf.h5").n_basis > 0
        except ob.OrbitileError:
            continue


def as_inporb(w, n_lines=5):
    """The orbitals of a wavefunction without symmetry as OpenMolcas writes them (version 2.2)."""
    n = w.n_basis
    lines = ["#INPORB 2.2", "#INFO", "* SCF orbitals", "       0       1       0", f"{n:8d}", f"{n:8d}", "#ORB"]
    for k, column in enumerate(w.alpha.coefficients.T):
        lines.append(f"* ORBITAL    1{k + 1:5d}")
        lines += ["".join(f"{x:22.14E}" for x in column[m : m + n_lines]) for m in range(0, n, n_lines)]
    for name, values, width in (("OCC", w.alpha.occupations, "22.14E"), ("ONE", w.alpha.energies, "12.4E")):
        lines += [f"#{name}", "* what they are"]
        lines += ["".join(f"{x:{width}}" for x in values[m : m + 5]) for m in range(0, n, 5)]
    return "\n".join([*lines, "#INDEX", "* 1234567890", "0 iiiiiiiiii", ""])


def test_orbital_files_with_the_basis_set_beside_them(tmp_path, field):
    expected = written(tmp_path / "job.scf.h5", field)
    with h5py.File(tmp_path / "a.h5", "w") as other:
        other["something"] = np.eye(3)
    (tmp_path / "job.ScfOrb").write_text(as_inporb(expected).replace("\n", "\r\n"))
    found = ob.load(tmp_path / "job.ScfOrb")
    np.testing.assert_allclose(
        found.alpha.coefficients, ob.load(tmp_path / "job.scf.h5").alpha.coefficients, atol=1e-12
    )
    np.testing.assert_array_equal(found.alpha.occupations, expected.alpha.occupations)
    assert found.method == "SCF SCF orbitals"
    (tmp_path / "job.ScfOrb").write_text(as_inporb(expected)[:1500])
    with pytest.raises(FileError, match="no section #OCC"):
        ob.load(tmp_path / "job.ScfOrb")
    (tmp_path / "job.ScfOrb").write_text(as_inporb(expected))
    (tmp_path / "job.scf.h5").unlink()
    with pytest.raises(FileError, match=r"expected an HDF5 file .* beside it with its basis set of 11 functions"):
        ob.load(tmp_path / "job.ScfOrb")

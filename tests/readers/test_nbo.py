"""Files of NBO, written here of calculations by PySCF, read by us."""

import gzip
import re
from functools import lru_cache

import numpy as np
import pytest
from pyscf import gto, scf

import orbitile as ob
from orbitile.analysis.information import as_dictionary, as_text
from orbitile.base.errors import FieldError, FileError, OrbitileError
from orbitile.evaluation.requests import field_of
from orbitile.pictures.orbitals import ENERGY_UNITS, columns_of, conditions_of, levels_of, passes
from orbitile.readers.nbo import read_orbitals
from tests.conftest import SAMPLES

from .nbo_files import archive, basis_file, label_lists, labels_of, norms_of, orbital_file, rows_of

POINTS = np.random.default_rng(7).normal(size=(40, 3)) * 1.5
WATER = "O 0 0 0.1; H 0 0.76 -0.5; H 0 -0.76 -0.5"


@lru_cache
def water(cart=False, spin=0, basis="6-31g"):
    mol = gto.M(atom=WATER, basis=basis, cart=cart, spin=spin, charge=spin, verbose=0)
    return mol, (scf.UHF if spin else scf.RHF)(mol).run(conv_tol=1e-11)


@lru_cache
def without_field(cart, basis="cc-pvdz"):
    """Orbitals of the core Hamiltonian: quick, and orthonormal."""
    mol = gto.M(atom=WATER, basis=basis, cart=cart, verbose=0)
    return mol, scf.hf.eig(scf.hf.get_hcore(mol), scf.hf.get_ovlp(mol))[1]


def values_of(mol, coefficients):
    return mol.eval_gto("GTOval_cart" if mol.cart else "GTOval_sph", POINTS) @ coefficients


def assert_same(wavefunction, name, expected, tolerance=2e-7):
    assert np.abs(ob.evaluate(wavefunction, name, POINTS, precision="double") - expected).max() < tolerance


def put(folder, **files):
    for suffix, text in files.items():
        (folder / f"job.{suffix.lstrip('_')}").write_text(text)
    return folder / f"job.{list(files)[-1].lstrip('_')}"


def named(mol, labels=None):
    """Labels such as those of NBOs for all functions, and the lists that say so."""
    n = mol.nao
    found = [("CR", " ", 1, (1, 0, 0)), ("LP", " ", 1, (1, 0, 0)), ("BD", " ", 1, (1, 2, 0)), ("BD", " ", 1, (1, 3, 0))]
    found += [("RY", "*", k, (1, 0, 0)) for k in range(1, n - 5)]
    found += [("BD", "*", 1, (1, 2, 0)), ("BD", "*", 1, (1, 3, 0))]
    place = [*range(3, n + 1), 1, 2]  # the bonds stand first
    return found, place


@pytest.mark.parametrize("cart", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("basis", ["cc-pvdz", pytest.param("cc-pvqz", marks=pytest.mark.slow)])
def test_orbitals_have_the_values_that_the_program_gives_them(tmp_path, cart, basis):
    mol, coefficients = without_field(cart, basis)
    path = put(tmp_path, _31=basis_file(mol), _40=orbital_file(mol, "MO", [coefficients]))
    found = ob.load(path)
    for n in (0, 3, mol.nao - 1):
        assert_same(found, f"mo:{n + 1}", values_of(mol, coefficients[:, n]), 1e-6)


def test_orbitals_have_the_names_and_occupancies_of_the_file(tmp_path):
    mol, coefficients = without_field(False)
    labels, place = named(mol)
    occupations = np.linspace(1.99, 0.001, mol.nao)
    tail = label_lists(labels, mol.atom_charges(), place)
    path = put(
        tmp_path,
        _31=basis_file(mol),
        _37=orbital_file(mol, "NBO", [coefficients], occupations=[occupations], tail=[tail]),
    )
    found = ob.load(path)
    assert found.alpha.labels[:2] == ("BD (1) O 1 - H 2", "BD (1) O 1 - H 3")
    assert found.alpha.labels[-4:] == ("BD*(1) O 1 - H 2", "BD*(1) O 1 - H 3", "CR (1) O 1", "LP (1) O 1")
    assert np.allclose(found.alpha.occupations, occupations, atol=1e-9)
    assert found.method == "natural bond orbitals"
    for name in ("mo:bd (1) o 1 - h 3", "mo:BD(1)O1-H3"):
        assert_same(found, name, values_of(mol, coefficients[:, 1]))
    assert field_of(found, "mo:2").quantity == "orbital 2: BD (1) O 1 - H 3"
    with pytest.raises(FieldError, match="has no orbital of this name"):
        ob.evaluate(found, "mo:BD(9)", POINTS)


def test_names_stand_in_tables_and_are_found_by_filters(tmp_path):
    mol, coefficients = without_field(False)
    labels, place = named(mol)
    tail = label_lists(labels, mol.atom_charges(), place)
    text = orbital_file(mol, "NBO", [coefficients], occupations=[np.linspace(1.99, 0.01, mol.nao)], tail=[tail])
    found = ob.load(put(tmp_path, _31=basis_file(mol), _37=text))
    assert "BD (1) O 1 - H 2" in as_text(found)
    assert as_dictionary(found)["orbitals"][1]["name"] == "BD (1) O 1 - H 3"
    levels, unit = levels_of(found), ENERGY_UNITS["eV"]
    assert "BD (1) O 1 - H 2" in [column.text(levels[0][0]) for column in columns_of(levels, unit)]
    for words, rows in (("bd", {0, 1, mol.nao - 4, mol.nao - 3}), ("o1-h3", {1, mol.nao - 3}), ("cr", {mol.nao - 2})):
        conditions = conditions_of(words, unit)
        assert {row for row in range(mol.nao) if passes(row, levels, conditions)} == rows


def test_files_of_the_job_are_found_whatever_their_case_and_compression(tmp_path):
    mol, coefficients = without_field(False)
    (tmp_path / "JOB.31.gz").write_bytes(gzip.compress(basis_file(mol).encode()))
    (tmp_path / "job.40.gz").write_bytes(gzip.compress(orbital_file(mol, "MO", [coefficients]).encode()))
    assert_same(ob.load(tmp_path / "job.40.gz"), "mo:4", values_of(mol, coefficients[:, 3]))


def test_what_is_not_there_is_said(tmp_path):
    mol, coefficients = without_field(False)
    orbitals = orbital_file(mol, "MO", [coefficients])
    with pytest.raises(FileError, match=r"put the basis set job\.31"):
        ob.load(put(tmp_path, _40=orbitals))
    with pytest.raises(FileError, match=r"holds a basis set; .* beside it are job\.40"):
        ob.load(put(tmp_path, _31=basis_file(mol)))
    smaller = gto.M(atom=WATER, basis="6-31g", verbose=0)
    put(tmp_path, _31=basis_file(smaller))
    with pytest.raises(FileError, match="or of another job"):
        ob.load(tmp_path / "job.40")
    elsewhere = gto.M(atom=WATER.replace("0.76", "0.9"), basis="cc-pvdz", verbose=0)
    put(tmp_path, _31=basis_file(elsewhere, title="another"))
    with pytest.raises(FileError, match=r"another job .'another', not 'a job'"):
        ob.load(tmp_path / "job.40")
    put(tmp_path, _40=orbitals.replace("AO basis", "NAO basis"))
    with pytest.raises(FileError, match="holds MOs in the NAO basis"):
        ob.load(tmp_path / "job.40")


def test_pre_orthogonal_orbitals_may_overlap_and_have_the_names_of_their_parents(tmp_path):
    mol, coefficients = without_field(False)
    labels, place = named(mol)
    overlap = mol.intor("int1e_ovlp")
    mixed = coefficients + 0.1 * np.roll(coefficients, 1, axis=1)
    mixed /= np.sqrt(np.einsum("mi,mn,ni->i", mixed, overlap, mixed))
    occupations = [np.linspace(1.99, 0.001, mol.nao)]
    tail = [label_lists(labels, mol.atom_charges(), place)]
    nbos = orbital_file(mol, "NBO", [coefficients], occupations=occupations, tail=tail)
    found = ob.load(put(tmp_path, _31=basis_file(mol), _37=nbos, _36=orbital_file(mol, "PNBO", [mixed])))
    assert found.overlapping
    assert found.alpha.labels[1] == "BD (1) O 1 - H 3"
    assert np.allclose(found.alpha.occupations, occupations)
    assert_same(found, "mo:5", values_of(mol, mixed[:, 4]))
    with pytest.raises(FileError, match=r"overlap by 0\.099"):
        ob.load(put(tmp_path, _40=orbital_file(mol, "MO", [mixed])))


@pytest.mark.slow
def test_densities_are_those_of_the_job_or_are_refused(tmp_path):
    mol, mf = water()
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(mol.nao, mol.nao)))[0]
    nbos = mf.mo_coeff @ turn
    density = mf.make_rdm1()
    there = nbos.T @ mol.intor("int1e_ovlp")
    occupations = np.diag(there @ density @ there.T)
    text = orbital_file(mol, "NBO", [nbos], occupations=[occupations])
    path = put(tmp_path, _31=basis_file(mol), _37=text)
    with pytest.raises(FieldError, match="do not make the density"):
        ob.evaluate(ob.load(path), "density", POINTS)
    matrix = (density * np.outer(norms_of(mol), norms_of(mol)))[np.tril_indices(mol.nao)]
    put(tmp_path, _41=f"a job\n AO density matrix:\n {79 * '-'}\n{rows_of(matrix)}")
    orbitals = values_of(mol, mf.mo_coeff[:, :5])
    assert_same(ob.load(path), "density", 2 * (orbitals**2).sum(axis=1), 1e-6)
    (tmp_path / "job.41").unlink()
    put(tmp_path, _47=archive(mol, density=[density], fock=[mf.get_fock()]))
    with_energies = ob.load(path)
    assert_same(with_energies, "density", 2 * (orbitals**2).sum(axis=1), 1e-6)
    assert np.allclose(with_energies.alpha.energies, np.diag(nbos.T @ mf.get_fock() @ nbos), atol=1e-6)


@pytest.mark.parametrize("cart", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("upper", "angstrom"), [(True, True), pytest.param(False, False, marks=pytest.mark.slow)])
def test_archives_have_orbitals_energies_and_occupations(tmp_path, cart, upper, angstrom):
    mol, coefficients = without_field(cart)
    overlap = mol.intor("int1e_ovlp")
    energies = np.linspace(-20, 5, mol.nao)
    image = overlap @ coefficients
    occupied = coefficients[:, :5]
    density, fock = 2 * occupied @ occupied.T, (image * energies) @ image.T
    made = archive(mol, density=[density], fock=[fock], orbitals=[coefficients], upper=upper, angstrom=angstrom)
    found = ob.load(put(tmp_path, _47=made))
    assert np.array_equal(found.alpha.occupations, [2.0] * 5 + [0.0] * (mol.nao - 5))
    assert np.allclose(found.alpha.energies, energies, atol=1e-7)
    assert found.charge == 0
    assert_same(found, "homo", values_of(mol, coefficients[:, 4]))
    assert_same(found, "density", (2 * values_of(mol, occupied) ** 2).sum(axis=1))


@pytest.mark.slow
def test_an_archive_without_bond_order_matrix_has_elements_of_the_density(tmp_path):
    mol, mf = water()
    overlap = mol.intor("int1e_ovlp")
    made = archive(
        mol, density=[overlap @ mf.make_rdm1() @ overlap / np.outer(norms_of(mol), norms_of(mol)) ** 2], options=""
    )
    found = ob.load(put(tmp_path, _47=made))
    assert np.array_equal(found.alpha.occupations, [2.0] * 5 + [0.0] * (mol.nao - 5))
    assert found.method == "natural orbitals"
    assert_same(found, "density", (2 * values_of(mol, mf.mo_coeff[:, :5]) ** 2).sum(axis=1), 1e-6)


@pytest.mark.slow
def test_an_archive_without_orbitals_has_those_of_its_fock_matrix(tmp_path):
    mol, mf = water()
    made = archive(mol, density=[mf.make_rdm1()], fock=[mf.get_fock() * 27.211386245988], options="BODM EV")
    found = ob.load(put(tmp_path, _47=made))
    assert np.allclose(found.alpha.energies, mf.mo_energy, atol=1e-6)
    assert np.array_equal(found.alpha.occupations, mf.mo_occ)


@pytest.mark.slow
def test_open_shells_have_two_sets(tmp_path):
    mol, mf = water(spin=1)
    made = archive(mol, density=mf.make_rdm1(), fock=mf.get_fock(), orbitals=mf.mo_coeff, options="BODM OPEN")
    path = put(tmp_path, _47=made)
    found = ob.load(path)
    assert found.kind == "unrestricted"
    assert found.multiplicity == 2
    assert np.allclose(found.beta.energies, mf.mo_energy[1], atol=1e-6)
    text = orbital_file(mol, "NLMO", mf.mo_coeff, occupations=mf.mo_occ)
    found = ob.load(put(tmp_path, _31=basis_file(mol), _39=text))
    assert found.charge == 1
    for spin, of in enumerate(("alpha", "beta")):
        assert_same(found, f"mo:3:{of}", values_of(mol, mf.mo_coeff[spin][:, 2]))
    values = [values_of(mol, mf.mo_coeff[k][:, :n]) ** 2 for k, n in enumerate((5, 4))]
    assert_same(found, "spin", values[0].sum(axis=1) - values[1].sum(axis=1), 1e-6)


def test_overlaps_that_are_not_those_of_the_basis_are_refused(tmp_path):
    mol, mf = water()
    text = archive(mol, density=[mf.make_rdm1()], orbitals=[mf.mo_coeff])
    path = put(tmp_path, _47=text.replace("    101    102    103", "    102    101    103", 1))
    with pytest.raises(FileError, match=r"by \$BASIS and \$CONTRACT, but .* by \$OVERLAP"):
        ob.load(path)
    for was, now, says in (
        ("NBAS=13", "NBAS=999999999", "promises 999999999 NBAS"),
        ("NATOMS=3", "NATOMS=4", "expected 4 atoms"),
        ("$CONTRACT", "$OTHER", r"no \$CONTRACT"),
        ("BODM", "BODM ORTHO", "orthogonal"),
        ("    103", "    777", "777 is no label"),
    ):
        with pytest.raises(FileError, match=says):
            ob.load(put(tmp_path, _47=text.replace(was, now)))


def test_cubic_f_functions_are_refused(tmp_path):
    mol = gto.M(atom="He 0 0 0", basis={"He": [[0, [1.0, 1.0]], [3, [1.0, 1.0]]]}, verbose=0)
    occupied = np.diag([2.0, *np.zeros(7)])
    assert ob.load(put(tmp_path, _47=archive(mol, density=[occupied]))).n_basis == 8
    with pytest.raises(FileError, match="CUBICF"):
        ob.load(put(tmp_path, _47=archive(mol, density=[occupied], options="BODM CUBICF")))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_are_refused_or_right(tmp_path, seed):
    mol, mf = water()
    rng = np.random.default_rng(seed)
    files = {
        "31": basis_file(mol),
        "40": orbital_file(mol, "MO", [mf.mo_coeff]),
        "47": archive(mol, density=[mf.make_rdm1()], fock=[mf.get_fock()], orbitals=[mf.mo_coeff]),
    }
    for _ in range(60):
        suffix = str(rng.choice(list(files)))
        words = files[suffix].split(" ")
        for place in rng.integers(len(words), size=2):
            words[place] = str(rng.choice(["", "NaN", "-1", "999999999", "1e400", "abc", "0", "\n", "\0"]))
        text = " ".join(words)
        text = text[: int(rng.integers(len(text)))] if rng.random() < 0.3 else text
        for other, sound in files.items():
            (tmp_path / f"job.{other}").write_text(text if other == suffix else sound)
        if suffix != "47":
            (tmp_path / "job.47").unlink()
        try:
            found = ob.load(tmp_path / ("job.47" if suffix == "47" else "job.40"))
        except OrbitileError:
            continue
        assert len(found.alpha) <= mol.nao


def test_rows_of_orbitals_without_a_heading_are_read_by_their_name(tmp_path):
    mol, coefficients = without_field(False)
    text = orbital_file(mol, "NAO", [coefficients]).split("\n", 3)[3]
    found = ob.load(put(tmp_path, _31=basis_file(mol), _33=text))
    assert found.method == "natural atomic orbitals"
    assert_same(found, "mo:1", values_of(mol, coefficients[:, 0]))
    assert read_orbitals(tmp_path / "job.33", mol.nao)[0].labels == ()


@pytest.mark.parametrize(("apart", "n"), [(2e-3, 4), (1e-3, 3)])
def test_only_functions_that_depend_on_others_are_left_out_of_an_archive(tmp_path, apart, n):
    """Smallest eigenvalues of the overlap of 2e-7 are those of sound basis sets; here one is 2e-7, or 5e-8."""
    functions = [[0, [1.0, 1]], [0, [1.0 + apart, 1]], [0, [0.2, 1]], [0, [5.0, 1]]]
    mol = gto.M(atom="He", basis={"He": functions}, verbose=0)
    overlap, fock = mol.intor("int1e_ovlp"), scf.hf.get_hcore(mol)
    least = np.linalg.eigvalsh(overlap)[0]
    assert (least > 1e-7) == (n == 4)
    path = put(tmp_path, _47=archive(mol, density=[np.zeros((4, 4))], fock=[fock]))
    assert len(ob.load(path).alpha) == n


def rotated(text, label, turn):
    """A formatted checkpoint file with other orbitals: those of the file, multiplied by a matrix."""
    head = re.search(rf"^{label} .* N= +(\d+)\n", text, re.MULTILINE)
    count, n = int(head[1]), len(turn)
    numbers = re.match(rf"(?:\s*\S+){{{count}}}", text[head.end() :])[0]
    values = np.array(numbers.split(), float).reshape(n, n)
    lines = rows_of(turn.T @ values, 5, "{:16.8E}", indent="").rstrip("\n")
    return text[: head.end()] + lines + text[head.end() + len(numbers) :]


def test_bond_orbitals_saved_in_a_checkpoint_file_have_their_occupations(tmp_path):
    text = (SAMPLES / "h2o_sto3g.fchk").read_text()
    (tmp_path / "sound.fchk").write_text(text)
    sound = ob.load(tmp_path / "sound.fchk")
    n = len(sound.alpha)
    angle = 0.1  # between an occupied orbital and an unoccupied one
    turn = np.eye(n)
    turn[4:6, 4:6] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    (tmp_path / "saved.fchk").write_text(rotated(text, "Alpha MO coefficients", turn))
    saved = ob.load(tmp_path / "saved.fchk")
    expected = [2, 2, 2, 2, 2 * np.cos(angle) ** 2, 2 * np.sin(angle) ** 2, 0]
    assert np.allclose(saved.alpha.occupations, expected, atol=1e-6)
    assert "saved in their place" in "; ".join(saved.remarks)
    density = ob.evaluate(sound, "density", POINTS, precision="double")
    assert_same(saved, "density", density, 1e-6)


def test_the_homo_of_bond_orbitals_is_that_of_their_occupancies_or_none(tmp_path):
    """Never that of their order, by which it would be a core or a Rydberg orbital."""
    mol, coefficients = without_field(False)
    shuffled = np.random.default_rng(3).permutation(mol.nao)
    occupations = np.array([1.9999, 1.97, 1.98, 1.99, 1.995, *np.linspace(0.03, 0, mol.nao - 5)])[shuffled]
    bonds = orbital_file(mol, "NBO", [coefficients], occupations=[occupations])
    path = put(tmp_path, _31=basis_file(mol), _37=bonds)
    assert field_of(ob.load(path), "homo").index == list(shuffled).index(1)
    assert field_of(ob.load(path), "lumo").index == list(shuffled).index(5)
    whole = np.round(occupations / 2) * 2
    put(tmp_path, _37=orbital_file(mol, "NLMO", [coefficients], occupations=[whole]))
    for found in (ob.load(path), ob.load(put(tmp_path, _33=orbital_file(mol, "NAO", [coefficients])))):
        assert {level.mark for level in levels_of(found)[0]} == {""}
        with pytest.raises(FieldError, match="mo:1 to mo:"):
            field_of(found, "lumo")


def test_each_component_may_be_a_shell_and_the_header_may_have_four_numbers(tmp_path):
    """As OpenMolcas writes archives, all shells of one component before those of the next, and NBO 7 basis sets."""
    mol, coefficients = without_field(False)
    text = basis_file(mol)
    shells = labels_of(mol)
    parts = text.split(75 * "-" + "\n")
    rows, places = [], []
    firsts = np.cumsum([0] + [len(labels) for _, _, labels, *_ in shells])
    begins = np.cumsum([1] + [len(zeta) for *_, zeta, _ in shells])
    single = sorted(
        (
            (atom, l, label, int(begin), len(zeta), int(first) + k)
            for (atom, l, labels, zeta, _), begin, first in zip(shells, begins, firsts, strict=False)
            for k, label in enumerate(labels)
        ),
        key=lambda one: one[:3],
    )
    for atom, _, label, begin, count, place in single:
        rows.append(f" {atom:6d}{1:6d}{begin:6d}{count:6d}\n {label:6d}\n")
        places.append(place)
    parts[3] = "".join(rows) + " "
    n_atoms, _, n_primitives = parts[1].split()[:3]
    parts[1] = f" {n_atoms:>6s}{len(single):6d}{n_primitives:>6s}     1\n "
    permuted = orbital_file(mol, "MO", [coefficients], order=places)
    path = put(tmp_path, _31=(75 * "-" + "\n").join(parts), _40=permuted)
    assert_same(ob.load(path), "mo:4", values_of(mol, coefficients[:, 3]))


@pytest.mark.parametrize("archived", [False, True])
def test_signs_of_orca_are_found_out(tmp_path, archived):
    mol, coefficients = without_field(False, "cc-pvtz")
    labels = np.concatenate([labels for _, _, labels, *_ in labels_of(mol)])
    turned = np.where(np.isin(labels, [356, 357]), -1.0, 1.0)
    if archived:
        occupied = coefficients[:, :5]
        made = archive(mol, density=[2 * occupied @ occupied.T], orbitals=[coefficients], signs=turned)
        path = put(tmp_path, _47=made)
    else:
        path = put(tmp_path, _31=basis_file(mol), _40=orbital_file(mol, "MO", [coefficients * turned[:, None]]))
    assert_same(ob.load(path), "mo:5", values_of(mol, coefficients[:, 4]), 1e-6)


LABELS = """  NAO         13
  O 1( 1s ) O 1( 2s ) O 1( 3s ) O 1( 2px) O 1( 3px) O 1( 2py) O 1( 3py) O 1( 2pz)
  O 1( 3pz) H 2( 1s ) H 2( 2s ) H 3( 1s ) H 3( 2s )
  NBO         13
  O 1(cr)   O 1(lp)   O 1(lp)   O 1- H 2  O 1- H 3  O 1- H 2* O 1- H 3* O 1(ry)
  O 1(ry)   O 1(ry)   O 1(ry)   H 2(ry)   H 3(ry)
"""


def test_names_are_in_the_file_of_labels(tmp_path):
    mol = gto.M(atom=WATER, basis="6-31g", verbose=0)
    coefficients = scf.hf.eig(scf.hf.get_hcore(mol), scf.hf.get_ovlp(mol))[1]
    labels = "".join(line[0:1] + line[1:] + "\n" for line in LABELS.split("\n")[:-1])
    text = orbital_file(mol, "NBO", [coefficients], occupations=[np.linspace(1.9, 0.1, mol.nao)])
    found = ob.load(put(tmp_path, _31=basis_file(mol), _46=labels, _37=text))
    assert found.alpha.labels[:4] == ("CR (1) O 1", "LP (1) O 1", "LP (2) O 1", "BD (1) O 1 - H 2")
    assert found.alpha.labels[6:9] == ("BD*(1) O 1 - H 3", "RY (1) O 1", "RY (2) O 1")
    found = ob.load(put(tmp_path, _33=orbital_file(mol, "NAO", [coefficients])))
    assert found.alpha.labels[3] == "O 1 (2px)"


def test_natural_orbitals_and_densities_have_their_places_in_newer_versions(tmp_path):
    mol, coefficients = without_field(False)
    occupied = coefficients[:, :5]
    matrix = 2 * occupied @ occupied.T * np.outer(norms_of(mol), norms_of(mol))
    density = f"a job\n AO density matrix:\n {79 * '-'}\n{rows_of(matrix[np.tril_indices(mol.nao)])}"
    found = ob.load(put(tmp_path, _31=basis_file(mol), _42=density, _41=orbital_file(mol, "NO", [coefficients])))
    assert found.method == "natural orbitals"
    assert np.array_equal(found.alpha.occupations, [2.0] * 5 + [0.0] * (mol.nao - 5))


def test_bytes_that_are_no_text_and_coordinates_beyond_reach(tmp_path):
    mol, coefficients = without_field(False)
    occupied = coefficients[:, :5]
    text = archive(mol, density=[2 * occupied @ occupied.T], orbitals=[coefficients])
    path = put(tmp_path, _47=text)
    path.write_bytes(text.encode().replace(b"of a test", b"\x08\xff\x85", 1))
    assert ob.load(path).n_basis == mol.nao
    start = text.index("$COORD")
    coordinates = re.sub(r"([1-9]\.\d+|0\.0*[1-9]\d*)", r"\1e305", text[start:], count=1)
    path.write_text(text[:start] + coordinates)
    with pytest.raises(FileError, match="coordinates of atoms up to"):
        ob.load(path)

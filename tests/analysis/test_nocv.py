"""Interaction of fragments: against eigenvectors, energies and integrals by NumPy of PySCF's matrices."""

import os
from dataclasses import replace
from shutil import copyfile

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.nocv import axis_through, charge_displacement, isodensity_boundary, orbital_energies
from orbitile.analysis.reports import analysis_named
from orbitile.base.errors import Cancelled, FieldError, OrbitileError
from orbitile.evaluation.requests import FileReferences, field_of
from orbitile.fields import files_in, with_absolute_files
from orbitile.fields.nocv import deformation_of
from orbitile.gaussians.expansion import integrals
from orbitile.gaussians.promolecule import promolecule
from orbitile.model.geometry import Geometry
from tests.molecules import gto, lib, scf

molden = pytest.importorskip("pyscf.tools.molden")
dft = pytest.importorskip("pyscf.dft")

BORANE = [
    ("B", (0, 0, -0.8524)),
    ("H", (1.1808, 0, -1.1621)),
    ("H", (-0.5904, 1.0226, -1.1621)),
    ("H", (-0.5904, -1.0226, -1.1621)),
]
AMMONIA = [
    ("N", (0, 0, 0.805)),
    ("H", (0.479, 0.8296, 1.1779)),
    ("H", (-0.9579, 0, 1.1779)),
    ("H", (0.479, -0.8296, 1.1779)),
]
METHYL = [("C", (0, 0, -0.75)), ("H", (1.01, 0, -1.13)), ("H", (-0.505, 0.875, -1.13)), ("H", (-0.505, -0.875, -1.1))]
OTHER = [(symbol, (-x, y, -z)) for symbol, (x, y, z) in METHYL]
WATER = [("O", (0, 0, 0.117)), ("H", (0, 0.757, -0.469)), ("H", (0, -0.757, -0.469))]
DONOR = [("O", (0.1, 0.9, -2.55)), ("H", (0, 0.3, -3.3)), ("H", (0, 1.75, -3))]


def ghosts(atoms):
    return [(f"ghost-{symbol}", place) for symbol, place in atoms]


def solved(atoms, basis="sto-3g", charge=0, spin=0, xc="", **more):
    """A field of PySCF, restricted where no electron is unpaired."""
    with lib.with_omp_threads(1):
        molecule = gto.M(atom=atoms, basis=basis, charge=charge, spin=spin, verbose=0, **more)
        field = (dft if xc else scf).__dict__[f"{'U' if spin else 'R'}{'KS' if xc else 'HF'}"](molecule)
        if xc:
            field.xc = xc
        field.conv_tol, field.conv_tol_grad = 1e-11, 1e-7
        field.kernel()
        if not field.converged:
            field = field.newton()
            field.kernel()
    assert field.converged
    return field


class Files:
    """Fields of a whole and its fragments, written to files of a folder."""

    def __init__(self, folder, **fields):
        self.folder, self.fields = folder, fields
        self.names = {name: str(folder / f"{name}.molden") for name in fields}
        for name, field in fields.items():
            molden.from_scf(field, self.names[name])
        self.wholes, self.others = self.load("whole"), [self.load(name) for name in fields if name != "whole"]
        self.behind = ",".join(self.names[name] for name in fields if name != "whole")

    def load(self, name):
        return ob.load(self.names[name])


@pytest.fixture(scope="module")
def adduct(tmp_path_factory):
    """Ammonia-borane; the atoms of borane stand in another order than in the whole."""
    fragments = {"borane": solved(BORANE[::-1]), "ammonia": solved(AMMONIA)}
    return Files(tmp_path_factory.mktemp("adduct"), whole=solved(BORANE + AMMONIA), **fragments)


def by_spin(field):
    """Coefficients of occupied orbitals of alpha and of beta electrons."""
    if np.ndim(field.mo_occ) == 2:
        return [c[:, n > 0] for c, n in zip(field.mo_coeff, field.mo_occ, strict=True)]
    return [field.mo_coeff[:, field.mo_occ > limit] for limit in (0, 1)]


def reference(whole, fragments, turned=()):
    """The overlap, and density matrices of the orthogonal fragments and of the whole, of each spin.

    Coefficients of fragments are put where the functions of their atoms stand in the whole.
    """
    molecule, overlap = whole.mol, whole.mol.intor("int1e_ovlp")
    slices, places = molecule.aoslice_by_atom(), molecule.atom_coords()
    matrices = []
    for spin in (0, 1):
        columns = []
        for n, field in enumerate(fragments):
            orbitals = by_spin(field)[1 - spin if n in turned else spin]
            block = np.zeros((molecule.nao, orbitals.shape[1]))
            for atom, own in enumerate(field.mol.aoslice_by_atom()):
                there = int(np.argmin(np.linalg.norm(places - field.mol.atom_coord(atom), axis=1)))
                block[slices[there][2] : slices[there][3]] = orbitals[own[2] : own[3]]
            columns.append(block)
        all_ = np.hstack(columns)
        values, axes = np.linalg.eigh(all_.T @ overlap @ all_)
        orthogonal = all_ @ (axes / np.sqrt(values)) @ axes.T
        own = by_spin(whole)[spin]
        matrices.append((orthogonal @ orthogonal.T, own @ own.T))
    return overlap, np.array(matrices)


def eigenpairs(overlap, change):
    """Eigenvalues from the largest, and eigenvectors, of the change of a density matrix over Loewdin's functions."""
    values, axes = np.linalg.eigh(overlap)
    root, inverse = (axes * np.sqrt(values)) @ axes.T, (axes / np.sqrt(values)) @ axes.T
    found, vectors = np.linalg.eigh(root @ change @ root)
    return found[::-1], (inverse @ vectors)[:, ::-1]


def check_values(files, turned=()):
    """Compare the eigenvalues of all pairs of each spin with those of the matrices; both signs."""
    fragments = [field for name, field in files.fields.items() if name != "whole"]
    overlap, matrices = reference(files.fields["whole"], fragments, turned)
    found = deformation_of(files.wholes, files.others)
    for spin, (before, after) in zip(("alpha", "beta"), matrices, strict=True):
        pairs = found.of_spin(spin)
        expected, _ = eigenpairs(overlap, (after - before) * (3 - len(found.pairs)))
        n = len(pairs.values)
        assert pairs.values == pytest.approx(expected[:n], abs=1e-6)
        assert -pairs.values == pytest.approx(expected[::-1][:n], abs=1e-6)
        assert np.abs(expected[n : len(expected) - n]).max(initial=0) < 1e-5
    return found


def test_pairs_are_eigenvectors_of_the_change_of_the_density_matrix(adduct):
    found = check_values(adduct)
    assert [fragment.atoms for fragment in found.fragments] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    whole = adduct.fields["whole"]
    overlap, matrices = reference(whole, [adduct.fields["borane"], adduct.fields["ammonia"]])
    values, vectors = eigenpairs(overlap, 2 * (matrices[0, 1] - matrices[0, 0]))
    points = np.random.default_rng(1).uniform(-3, 3, (40, 3))
    gains, loses = (whole.mol.eval_gto("GTOval", points) @ vectors[:, [0, -1]]).T
    densities = ob.evaluate(adduct.wholes, f"nocv:1:{adduct.behind}", points, device="cpu", precision="double")
    assert densities == pytest.approx(values[0] * (gains**2 - loses**2), abs=1e-6)
    for side, expected in (("to", gains), ("from", loses)):
        name = f"nocv:1:{side}:{adduct.behind}"
        orbital = ob.evaluate(adduct.wholes, name, points, device="cpu", precision="double")
        assert np.abs(orbital) == pytest.approx(np.abs(expected), abs=1e-6)


@pytest.mark.slow
def test_eigenvalues_are_those_of_another_program(tmp_path):
    """Those that `natorbs --nocv -t 0.02` (natorbs 1.1.1) prints for the same files."""
    fragments = {"one": solved(BORANE, "6-31g"), "other": solved(AMMONIA, "6-31g")}
    files = Files(tmp_path, whole=solved(BORANE + AMMONIA, "6-31g"), **fragments)
    values = deformation_of(files.wholes, files.others).pairs[0].values
    expected = [0.388127, 0.103567, 0.103560, 0.074191, 0.074190, 0.072668, 0.026925]
    assert values[: len(expected)] == pytest.approx(expected, abs=1e-6)
    assert values[len(expected)] < 0.02


def test_an_empty_spin_has_no_pairs(tmp_path):
    one, other = [("H", (0, 0, 0))], [("H", (0, 0, 1.0))]
    whole = solved([*one, *other], "6-31g", charge=1, spin=1)
    files = Files(tmp_path, whole=whole, one=solved(one, "6-31g", spin=1), other=solved(other, "6-31g", spin=1))
    with pytest.raises(OrbitileError, match=r"expected 1 electrons together, .* got 2"):
        deformation_of(files.wholes, files.others)
    triplet = solved([*one, *other], "6-31g", spin=2)
    files = Files(tmp_path, whole=triplet, one=files.fields["one"], other=files.fields["other"])
    found = check_values(files)
    assert [fragment.n_beta for fragment in found.fragments] == [0, 0]
    report = ob.nocv(files.wholes, files=files.behind.split(","), least=0, device="cpu")
    assert set(report.table("pairs")["spin"]) == {"alpha"}


def test_parts_of_the_deformation_add_up_and_hold_no_charge(adduct):
    found = deformation_of(adduct.wholes, adduct.others)
    pairs = found.pairs[0]
    for density in (found.total, found.orbital, *(found.pair("alpha", n + 1) for n in range(len(pairs.values)))):
        assert abs(integrals(density)[0]) < 1e-8
    points = np.random.default_rng(2).uniform(-3, 3, (30, 3))

    def at(name):
        field = f"{name}:{adduct.behind}"
        return ob.evaluate(adduct.wholes, field, points, device="cpu", precision="double")

    of_pairs = sum(at(f"nocv:{n + 1}") for n in range(len(pairs.values)))
    assert of_pairs == pytest.approx(at("deformation"), abs=1e-6)
    assert at("deformation") + at("pauli") == pytest.approx(at("difference"), abs=1e-6)


@pytest.fixture(scope="module")
def hydrogen(tmp_path_factory):
    """Two molecules of hydrogen."""
    one, other = [("H", (0, 0, 0)), ("H", (0.7, 0.2, 0))], [("H", (0.3, 1.5, 1.1)), ("H", (0.3, 1.6, 1.8))]
    folder = tmp_path_factory.mktemp("hydrogen")
    fragments = {"one": solved(one, "6-31g"), "other": solved(other, "6-31g")}
    return Files(folder, whole=solved(one + other, "6-31g"), **fragments)


def check_energies(files):
    """Compare with PySCF's energies and its Fock matrix of the mean density matrix: exact in Hartree-Fock theory."""
    whole = files.fields["whole"]
    overlap, matrices = reference(whole, [field for name, field in files.fields.items() if name != "whole"])
    before, after = 2 * matrices[0]
    with lib.with_omp_threads(1):
        fock = whole.get_fock(dm=(before + after) / 2)
        gained = whole.energy_tot(after) - whole.energy_tot(before)
    values, vectors = eigenpairs(overlap, after - before)
    found = orbital_energies(deformation_of(files.wholes, files.others), "hf", "cpu")
    one = values[0] * (vectors[:, 0] @ fock @ vectors[:, 0] - vectors[:, -1] @ fock @ vectors[:, -1])
    assert found.of_pairs[0][0] == pytest.approx(one, abs=1e-7)
    assert found.total == pytest.approx(gained, abs=1e-8)
    assert found.difference == pytest.approx(gained, abs=1e-8)
    assert found.of_pairs[0].sum() == pytest.approx(found.total, abs=1e-10)
    apart = sum(field.e_tot for name, field in files.fields.items() if name != "whole")
    assert found.interaction == pytest.approx(whole.e_tot - apart, abs=1e-7)


@pytest.mark.slow
def test_energies_of_pairs_are_those_of_the_fock_matrix_between(tmp_path):
    one, other = [("He", (0, 0, 0))], [("He", (0, 0.1, 1.3))]
    whole = solved(one + other, "6-31g")
    check_energies(Files(tmp_path, whole=whole, one=solved(one, "6-31g"), other=solved(other, "6-31g")))


@pytest.mark.slow
def test_energies_of_pairs_of_a_dative_bond(adduct):
    check_energies(adduct)


def test_charge_is_displaced_as_plane_by_plane(hydrogen):
    """By sums over planes, exact for functions so smooth, and Gauss's quadrature from plane to plane; a skew axis."""
    files = hydrogen
    found = deformation_of(files.wholes, files.others)
    axis = axis_through(files.wholes, 1, 2)
    side = np.cross(axis.direction, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side)
    steps = np.arange(-11, 11, 0.22)
    plane = steps[:, None, None] * side + steps[:, None] * np.cross(axis.direction, side) + axis.origin
    nodes, weights = np.polynomial.legendre.leggauss(60)
    height, low = 1.1, -9.0
    across = []
    for node in (nodes + 1) / 2 * (height - low) + low:
        points = (plane + node * axis.direction).reshape(-1, 3)
        density = 0.0
        for name, sign in (("whole", 1), ("one", -1), ("other", -1)):
            occupied = by_spin(files.fields[name])[0]
            orbitals = files.fields[name].mol.eval_gto("GTOval", points) @ occupied
            density += 2 * sign * np.sum(orbitals**2)
        across.append(density * 0.22**2)
    expected = np.array(across) @ weights * (height - low) / 2
    assert abs(expected) > 1e-4
    assert charge_displacement(found.total, axis, np.array([height, 40.0])) == pytest.approx([expected, 0], abs=1e-6)


def test_the_boundary_is_where_fragments_are_as_dense(adduct):
    axis = axis_through(adduct.wholes, 0, 4)
    height = isodensity_boundary(deformation_of(adduct.wholes, adduct.others), axis, "cpu")
    point = [axis.origin + height * axis.direction]
    one, other = (
        np.sum((adduct.fields[name].mol.eval_gto("GTOval", point) @ by_spin(adduct.fields[name])[0]) ** 2)
        for name in ("borane", "ammonia")
    )
    assert one == pytest.approx(other, rel=1e-4)
    backwards = axis_through(adduct.wholes, 4, 0)
    found = isodensity_boundary(deformation_of(adduct.wholes, adduct.others), backwards, "cpu")
    assert found == pytest.approx(axis.length - height, abs=1e-5)


def test_spins_of_radicals_are_turned_around(tmp_path):
    files = Files(tmp_path, whole=solved(METHYL + OTHER), one=solved(METHYL, spin=1), other=solved(OTHER, spin=1))
    found = check_values(files, turned=(1,))
    assert [fragment.flipped for fragment in found.fragments] == [False, True]
    report = ob.nocv(files.wholes, files=files.behind.split(","), least=0.1, device="cpu")
    assert any("other.molden are turned around" in remark for remark in report.remarks)
    pairs = report.table("pairs")
    assert list(pairs["spin"][:2]) == ["alpha", "beta"]
    assert pairs["gain_1"][0] == pytest.approx(-pairs["gain_1"][1], abs=0.01)  # one electron each way
    assert [closure.text for table in report.tables for closure in table.closures if not closure.holds] == []


def test_a_pair_that_moves_a_whole_electron_is_told(tmp_path):
    one, other = [("Li", (0, 0, 0))], [("F", (0, 0, 1.6))]
    files = Files(tmp_path, whole=solved(one + other), one=solved(one, spin=1), other=solved(other, spin=1))
    report = ob.nocv(files.wholes, files=files.behind.split(","), device="cpu")
    assert report.table("pairs")["eigenvalue"][0] > 0.9
    assert any("pair 1 alpha moves a whole electron" in remark for remark in report.remarks)


def test_a_report_can_be_cancelled(adduct):
    with pytest.raises(Cancelled):
        ob.nocv(adduct.wholes, files=adduct.behind.split(","), method="hf", cancelled=lambda: True, device="cpu")


def test_functions_of_ghosts_are_those_of_the_whole(tmp_path):
    one, other = [("He", (0, 0, 0))], [("H", (0, 0, 1.6)), ("H", (0, 0.7, 1.6))]
    files = Files(
        tmp_path,
        whole=solved(one + other, "6-31g"),
        one=solved(one + ghosts(other), "6-31g"),
        other=solved(ghosts(one) + other, "6-31g"),
    )
    check_values(files)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other", "whole", "more", "parts"),
    [
        pytest.param(WATER, DONOR, {}, {"basis": "6-31g*", "cart": True}, ({}, {}), id="cartesian d"),
        pytest.param(
            [("Na", (0, 0, 0))],
            [("Cl", (0, 0, 2.4))],
            {},
            {},
            ({"charge": 1}, {"charge": -1}),
            id="atoms that are ions",
        ),
        pytest.param(
            [("Ag", (0, 0, 0))],
            [("Cl", (0, 0, 2.4))],
            {},
            {"basis": "lanl2dz", "ecp": "lanl2dz"},
            ({"charge": 1}, {"charge": -1}),
            id="effective core potential",
        ),
    ],
)
def test_odd_fragments(tmp_path, one, other, whole, more, parts):
    files = Files(
        tmp_path,
        whole=solved(one + other, **more, **whole),
        one=solved(one, **more, **parts[0]),
        other=solved(other, **more, **parts[1]),
    )
    found = check_values(files)
    assert orbital_energies(found, "hf", "cpu").total < 0


@pytest.mark.slow
def test_energies_of_a_functional_close_to_the_fifth_order(tmp_path):
    more = {"basis": "6-31g*", "xc": "pbe"}
    files = Files(
        tmp_path, whole=solved(BORANE + AMMONIA, **more), one=solved(BORANE, **more), other=solved(AMMONIA, **more)
    )
    found = orbital_energies(deformation_of(files.wholes, files.others), "pbe", "cpu")
    _, matrices = reference(files.fields["whole"], [files.fields["one"], files.fields["other"]])
    before, after = 2 * matrices[0]
    whole = files.fields["whole"]
    with lib.with_omp_threads(1):
        gained = whole.energy_tot(after) - whole.energy_tot(before)
    assert found.difference == pytest.approx(gained, abs=2e-6)
    assert found.total == pytest.approx(found.difference, abs=1e-5)
    with pytest.raises(OrbitileError, match="not those of blyp"):
        orbital_energies(deformation_of(files.wholes, files.others), "blyp", "cpu")


def test_a_report_tells_pairs_and_displaced_charge(adduct):
    report = ob.nocv(adduct.wholes, files=adduct.behind.split(","), device="cpu")
    with pytest.raises(OrbitileError, match=r"two fragments or more, .* got 1"):
        ob.nocv(adduct.wholes, files=[adduct.names["borane"]])
    assert "no energies: the file does not name its method" in " ".join(report.remarks)
    pairs, displaced = report.table("pairs"), report.table("displacement")
    assert pairs.fields[0] == f"nocv:1:{adduct.behind}"
    assert pairs["gain_1"][0] > 0.1  # ammonia gives
    assert dict(zip(displaced["of"], displaced["displaced"], strict=True))["pair 1"] > 0.1
    assert [closure.text for table in report.tables for closure in table.closures if not closure.holds] == []
    assert [curve.name for curve in report.plots[0].curves] == ["all", "orbitals", "pair 1", "pair 2", "pair 3"]


def test_what_are_no_fragments_is_told(adduct, tmp_path):
    whole, (borane, ammonia) = adduct.wholes, adduct.others

    def refused(match, *others):
        with pytest.raises(OrbitileError, match=match):
            deformation_of(whole, others)

    refused("two or more, got 1", borane)
    refused("is in borane.molden and borane.molden", borane, borane)
    moved = replace(ammonia, positions=ammonia.positions + np.array([0.0, 0.3, 0.0]), geometries=np.empty(0))
    refused(r"N1 is 0.15.* Angstrom .*shape of atoms 5 to 8 .* moved or turned", borane, moved)
    other_atoms = replace(ammonia, atomic_numbers=[15, 1, 1, 1], core_charges=[15.0, 1, 1, 1])
    refused("P1 is at the place of N5", borane, other_atoms)
    cored = replace(ammonia, core_charges=[5.0, 1, 1, 1])
    refused("see a charge of 5, and 7 in the whole", borane, cored)
    occupations = ammonia.alpha.occupations.copy()
    occupations[4] = 0
    cation = replace(ammonia, alpha=replace(ammonia.alpha, occupations=occupations))
    refused("expected 18 electrons together, as in whole.molden, got 16", borane, cation)
    occupations[4:6] = 1
    triplet = replace(ammonia, alpha=replace(ammonia.alpha, occupations=occupations))
    refused("expected spins that add up to 9 alpha and 9 beta", borane, triplet)
    occupations[4:6] = 1.5, 0.5
    refused("partly filled", borane, replace(ammonia, alpha=replace(ammonia.alpha, occupations=occupations)))
    larger = Files(tmp_path, whole=solved([("N", AMMONIA[0][1]), *AMMONIA[1:]], "6-31g")).wholes
    refused("the same basis set", borane, larger)
    with pytest.raises(FieldError, match="expected a pair from 1 to 7"):
        field_of(whole, f"nocv:17:{adduct.behind}")
    with pytest.raises(FieldError, match="behind a colon the files"):
        field_of(whole, "nocv:1")


def test_a_fragment_that_has_changed_under_its_name_counts_anew(adduct, tmp_path):
    names = [str(tmp_path / f"{name}.molden") for name in ("one", "two")]
    for name, own in zip(names, ("borane", "ammonia"), strict=True):
        copyfile(adduct.names[own], name)
    references, field = FileReferences(), f"nocv:1:{','.join(names)}"
    first = field_of(adduct.wholes, field, references)
    copyfile(adduct.names["whole"], names[0])
    with pytest.raises(FieldError, match=r"is in one\.molden and two\.molden"):
        field_of(adduct.wholes, field, references)
    copyfile(adduct.names["borane"], names[0])
    os.utime(names[0], ns=(1, 1))
    assert field_of(adduct.wholes, field, references).quantity == first.quantity


def test_files_in_the_names_of_fields():
    assert files_in("nocv:1:to:a.molden,b.molden") == ("a.molden", "b.molden")
    assert files_in("NOCV:12:beta:a.molden, b.molden") == ("a.molden", "b.molden")
    assert files_in("deformation:a.molden,b.molden") == ("a.molden", "b.molden")
    assert files_in("difference:1:a.molden") == ("1:a.molden",)
    absolute = with_absolute_files("nocv:1:beta:from:a.molden,b.molden")
    assert absolute == f"nocv:1:beta:from:{os.path.abspath('a.molden')},{os.path.abspath('b.molden')}"
    assert files_in("nocv:1") == files_in("nocv:1:to:") == ()


def test_what_has_no_determinant_has_none(adduct):
    module, whole = analysis_named("nocv"), adduct.wholes
    assert module.unavailable(whole) == ""
    assert "free atoms" in module.unavailable(promolecule(Geometry(whole.atomic_numbers, whole.positions)))
    matrix = whole.alpha.coefficients @ whole.alpha.coefficients.T
    assert "correlated" in module.unavailable(replace(whole, density_matrix=matrix))
    assert module.unavailable(replace(whole, localised="ibo")) == ""

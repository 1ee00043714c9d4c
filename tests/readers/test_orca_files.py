"""ORCA's JSON and binary files, made here from molecules of PySCF, read by us."""

import gzip
import json
import struct
import time

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import ConventionError, FileError
from tests.oracle import basis_functions, orbital
from tests.readers.orca_files import densities_files, gbw_bytes, json_text, sample

WATER = "O 0 0 0.1; H 0.1 0.8 -0.5; H 0 -0.7 -0.55"
UP_TO_H = {"H": [[0, [1.1, 0.7], [0.4, 0.5]], *([l, [0.9 + 0.1 * l, 0.6], [0.35, 0.5]] for l in range(1, 6))]}
VERSIONS = ("4.2", "5", "6.0", "6.1")


@pytest.fixture(scope="module")
def samples():
    return {
        "restricted": sample(WATER, "cc-pvdz"),  # whose functions on oxygen share their exponents
        "unrestricted": sample("O 0 0 0; H 0.3 0.4 0.8", "6-31g*", spins=2),
        "core potential": sample("I 0 0 0; H 0.2 0.9 1.3", "def2-svp", ecp="def2-svp"),
        "ghost": sample("O 0 0 0; ghost-H 0.3 0.4 0.8", "6-31g"),
        "up to h": sample("H 0 0 0; H 0.7 0.4 0.9", UP_TO_H),
    }


def load(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return ob.load(path)


def agree(wavefunction, made):
    """Orbitals at points are those of PySCF; energies, occupations and atoms those that went in."""
    m = made.molecule
    points = np.random.default_rng(1).uniform(-2, 3, (40, 3))
    values = m.eval_gto("GTOval_sph", points)
    for spin, coefficients, occupations, energies in zip(
        ("alpha", "beta"), made.orbitals, made.occupations, made.energies, strict=False
    ):
        read = wavefunction.orbitals(spin)
        np.testing.assert_array_equal(read.occupations, occupations)
        np.testing.assert_array_equal(read.energies, energies)
        for n in (0, 1, len(energies) // 2, len(energies) - 1):
            expected = values @ coefficients[:, n]
            np.testing.assert_allclose(orbital(wavefunction, n, points, spin), expected, atol=1e-12)
    np.testing.assert_allclose(wavefunction.positions, m.atom_coords(), atol=1e-13)
    np.testing.assert_array_equal(wavefunction.core_charges, m.atom_charges())


@pytest.mark.parametrize("name", ["restricted", "unrestricted", "core potential", "ghost", "up to h"])
def test_orbitals_of_binary_files_are_those_of_pyscf(tmp_path, samples, name):
    for version in VERSIONS:
        wavefunction = load(tmp_path, "job.gbw", gbw_bytes(samples[name], version=version))
        agree(wavefunction, samples[name])
        assert wavefunction.program == f"ORCA {version} gbw"
        assert wavefunction.kind == ("unrestricted" if name == "unrestricted" else "restricted")


@pytest.mark.parametrize("name", ["restricted", "unrestricted", "core potential", "ghost", "up to h"])
def test_orbitals_of_json_are_those_of_pyscf(tmp_path, samples, name):
    for version, unit in ((5, "Bohrs"), (5, "Angs"), (6, "Angs")):
        wavefunction = load(tmp_path, "job.json", json_text(samples[name], version=version, unit=unit))
        agree(wavefunction, samples[name])
        assert wavefunction.program == f"ORCA {version}.0 JSON"
    assert (wavefunction.stated.charge, wavefunction.stated.multiplicity) == (0, 1)


def test_ghosts_and_core_potentials_are_told(tmp_path, samples):
    ghost = load(tmp_path, "a.gbw", gbw_bytes(samples["ghost"]))
    assert ghost.is_ghost.tolist() == [False, True]
    assert "H2 without nuclear charge" in ghost.remarks[0]
    iodide = load(tmp_path, "b.gbw", gbw_bytes(samples["core potential"]))
    assert (iodide.atomic_numbers.tolist(), iodide.core_charges.tolist()) == ([53, 1], [25, 1])


@pytest.mark.parametrize("minus", [(), (3,), (3, 4, 5)])
def test_other_signs_are_refused(tmp_path, samples, minus):
    made = samples["up to h"]
    for name, content in (("a.gbw", gbw_bytes(made, minus=minus)), ("a.json", json_text(made, minus=minus))):
        with pytest.raises(ConventionError, match="expected"):
            load(tmp_path, name, content)


def test_i_functions_are_refused(tmp_path):
    made = sample("H 0 0 0; H 0 0 1", {"H": [[0, [1.0, 1.0]], [6, [1.0, 1.0]]]})
    for name, content in (("a.gbw", gbw_bytes(made)), ("a.json", json_text(made))):
        with pytest.raises(FileError, match="signs of ORCA's i functions are unknown"):
            load(tmp_path, name, content)


@pytest.mark.parametrize("spins", [1, 2])
def test_orbitals_that_linear_dependence_removed_are_left_out(tmp_path, spins):
    """Each of the others keeps its own occupation and energy."""
    made = sample(WATER, "sto-3g", spins=spins)
    kept = np.array([True, True, True, False, True, True, False])
    for orbitals, occupations in zip(made.orbitals, made.occupations, strict=True):
        orbitals[:, ~kept] = 0
        occupations[:] = np.array([2, 1.9, 1.7, 0, 1.5, 0.3, 0]) / spins
    for name, content in (("a.gbw", gbw_bytes(made)), ("a.json", json_text(made))):
        wavefunction = load(tmp_path, name, content)
        assert (wavefunction.n_basis, len(wavefunction.alpha)) == (7, 5)
        for spin, energies, occupations in zip(("alpha", "beta"), made.energies, made.occupations, strict=False):
            np.testing.assert_array_equal(wavefunction.orbitals(spin).energies, energies[kept])
            np.testing.assert_array_equal(wavefunction.orbitals(spin).occupations, occupations[kept])
    made.occupations[0][3] = 0.5
    with pytest.raises(FileError, match="holds electrons"):
        load(tmp_path, "a.gbw", gbw_bytes(made))


def test_other_files_of_the_layout(tmp_path, samples):
    """Known by their beginning, whatever their names; localised and natural orbitals say what they are."""
    made = sample(WATER, "sto-3g")
    made.energies[0][:] = 0
    localised = load(tmp_path, "job.loc", gbw_bytes(made))
    assert localised.localised == "orca_loc"
    assert np.isnan(localised.alpha.energies).all()
    assert not load(tmp_path, "job.something", gbw_bytes(made, version="5")).localised
    made.occupations[0][:6] = [2, 2, 1.9, 1.9, 1.8, 0.4]
    natural = load(tmp_path, "job.mdci.nat", gbw_bytes(made))
    assert (natural.kind, natural.localised) == ("natural", "")


def test_unknown_layouts_are_read_by_orca_2json(tmp_path, samples, monkeypatch):
    made = samples["restricted"]
    content = bytearray(gbw_bytes(made, version="5"))
    place = struct.unpack_from("<q", content, 16)[0]
    content[place] = 3  # as in ORCA 4.0
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileError, match=r"old\.gbw: its basis set has layout 3.*4\.2, 5.*orca_2json.*orca_2mkl old"):
        load(tmp_path, "old.gbw", bytes(content))
    written = tmp_path / "written"
    written.write_text(json_text(made) + "\n")
    program = tmp_path / "orca_2json"
    program.write_text(f'#!/bin/sh\n[ "$2" = -json ] && while read -r l; do echo "$l"; done < {written} > old.json\n')
    program.chmod(0o755)
    read = load(tmp_path, "old.gbw", bytes(content))
    agree(read, made)
    assert read.source == str(tmp_path / "old.gbw")
    program.write_text("#!/bin/sh\necho This file is of another ORCA\n")
    with pytest.raises(FileError, match="This file is of another ORCA"):
        load(tmp_path, "old.gbw", bytes(content))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"CoordinateUnits": "Furlongs"}, "positions in 'Furlongs', expected Angs or Bohrs"),
        ({"MolecularOrbitals": {"EnergyUnit": "eV", "MOs": [{"MOCoefficients": [1]}]}}, "energies in 'eV'"),
        ({"MolecularOrbitals": {"MOs": [{"Occupancy": 1}]}}, 'no orbital coefficients.*"MOCoefficients": true'),
        ({"Atoms": [{"Coords": [0, 0, 0]}]}, 'no basis set.*"Basisset": true'),
        ({"Charge": "much"}, "damaged ORCA JSON"),
        ({"MolecularOrbitals": {"MOs": [{"MOCoefficients": [1]}] * 3}}, "3 orbitals of 1 basis functions"),
        ({"Atoms": 3}, "damaged ORCA JSON"),
    ],
)
def test_json_that_lacks_something(tmp_path, change, message):
    made = sample("He 0 0 0", "sto-3g")
    with pytest.raises(FileError, match=message):
        load(tmp_path, "a.json", json_text(made, **change))


def test_orbitals_of_an_unrestricted_calculation_that_both_spins_share(tmp_path):
    made = sample("O 0 0 0; H 0.3 0.4 0.8", "sto-3g")
    made.occupations[0][:] = [2, 2, 2, 1.8, 1, 0.2]
    natural = load(tmp_path, "a.json", json_text(made, HFTyp="UHF"))
    assert (natural.kind, len(natural.alpha)) == ("natural", 6)


def test_excited_states_without_energies_are_told(tmp_path):
    text = json_text(sample("He 0 0 0", "sto-3g"), **{"TD-DFT": [{"Energy": 0.0, "IRoot": 1, "X": [1.0]}]})
    assert load(tmp_path, "a.json", text).remarks == ("excited states are left out: the file gives them no energies",)


def test_json_of_other_origin(tmp_path):
    for content in ('{"a": 1}', "[1, 2]", '{"ORCA Header": ' + '{"a":' * 5000, '{"Molecule": {"Atoms": NaN}}'):
        with pytest.raises(FileError, match=r"a\.json"):
            load(tmp_path, "a.json", content)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_damaged_binary_files_are_refused_quickly(tmp_path, version):
    content = gbw_bytes(sample("He 0 0 0; H 0.2 0 1", "sto-3g"), version=version)
    messages = []
    start = time.perf_counter()
    for place in range(0, len(content) - 8, 4 if version == "6.1" else 12):
        for number in (-1, 2**31 - 1, 2**62):
            damaged = bytearray(content)
            damaged[place : place + 8] = struct.pack("<q", number)
            try:
                load(tmp_path, "a.gbw", bytes(damaged))
            except ob.OrbitileError as error:
                messages.append(str(error))
    assert len(messages) > 20
    assert not any("\n" in message for message in messages)
    assert time.perf_counter() - start < 60


@pytest.mark.parametrize("version", VERSIONS)
def test_files_that_are_cut_off(tmp_path, version):
    content = gbw_bytes(sample("He 0 0 0; H 0.2 0 1", "sto-3g"), version=version)
    for size in (*range(1, 200, 21), len(content) // 2, len(content) - 1):
        with pytest.raises(FileError, match=r"a\.gbw"):
            load(tmp_path, "a.gbw", content[:size])


def test_numbers_that_are_none(tmp_path):
    made = sample("He 0 0 0", "sto-3g")
    text = json.loads(json_text(made))
    text["Molecule"]["MolecularOrbitals"]["MOs"][0]["OrbitalEnergy"] = 1e999
    with pytest.raises(FileError, match="expected finite numbers"):
        load(tmp_path, "a.json", json.dumps(text))
    for numbers in (made.energies, made.occupations, made.orbitals):
        old, numbers[0].flat[0] = numbers[0].flat[0], np.nan
        with pytest.raises(FileError, match="expected finite numbers"):
            load(tmp_path, "a.gbw", gbw_bytes(made))
        numbers[0].flat[0] = old


# densities ----------------------------------------------------------------------------------------------------------


def beside(tmp_path, made, densities, version):
    (tmp_path / "job.gbw").write_bytes(gbw_bytes(made, version="5" if version == 5 else "6.1"))
    for name, content in densities_files(made, densities, version=version).items():
        (tmp_path / name).write_bytes(content)
    return tmp_path / "job.densities"


def density_of(made, occupations):
    return sum((c * o) @ c.T for c, o in zip(made.orbitals, occupations, strict=True))


@pytest.mark.parametrize("version", [5, 6])
def test_densities_beyond_that_of_the_orbitals(tmp_path, samples, version):
    made = samples["unrestricted"]
    own = density_of(made, made.occupations)
    moved = [np.roll(occupations, 1) for occupations in made.occupations]  # as many electrons elsewhere
    densities = {"scfp": own, "P0.tmp": own * 3, "pmp2re": density_of(made, moved), "rmp2re": own / 7}
    wavefunction = ob.load(beside(tmp_path, made, densities, version))
    agree(wavefunction, made)
    assert "pmp2re of job.densities" in wavefunction.remarks[-1]
    points = np.random.default_rng(1).uniform(-2, 3, (40, 3))
    values = made.molecule.eval_gto("GTOval_sph", points)
    ours = basis_functions(wavefunction, points)
    for found, expected in (
        (wavefunction.density_matrix, densities["pmp2re"]),
        (wavefunction.spin_density_matrix, densities["rmp2re"]),
    ):
        at_points = np.einsum("pm,mn,pn->p", values, expected, values)
        np.testing.assert_allclose(np.einsum("mp,mn,np->p", ours, found, ours), at_points, atol=1e-10)
    alone = ob.load(beside(tmp_path, made, {"scfp": own}, version))
    assert not alone.density_matrix.size
    assert "no density but that of the orbitals" in alone.remarks[-1]


def test_densities_in_json(tmp_path, samples):
    made = samples["unrestricted"]
    own = density_of(made, made.occupations)
    other = density_of(made, [np.roll(occupations, 1) for occupations in made.occupations])
    in_file = {
        name: made.in_orcas_order(made.in_orcas_order(matrix).T).tolist()
        for name, matrix in (("scfp", own), ("cisp", other), ("cisr", other / 3))
    }
    wavefunction = load(tmp_path, "a.json", json_text(made, Densities=in_file))
    assert "cisp of a.json" in wavefunction.remarks[-1]
    np.testing.assert_allclose(wavefunction.density_matrix, wavefunction.spin_density_matrix * 3, atol=1e-12)
    points = np.random.default_rng(1).uniform(-2, 3, (10, 3))
    values, ours = made.molecule.eval_gto("GTOval_sph", points), basis_functions(wavefunction, points)
    found = np.einsum("mp,mn,np->p", ours, wavefunction.density_matrix, ours)
    np.testing.assert_allclose(found, np.einsum("pm,mn,pn->p", values, other, values), atol=1e-10)
    with pytest.raises(FileError, match="different calculations"):
        load(tmp_path, "a.json", json_text(made, Densities={**in_file, "scfp": in_file["cisp"]}))


@pytest.mark.parametrize("version", [5, 6])
def test_densities_that_are_refused(tmp_path, samples, version):
    made = samples["restricted"]
    own = density_of(made, made.occupations)
    path = beside(tmp_path, made, {"scfp": own + 0.1}, version)
    with pytest.raises(FileError, match=r"not that of the orbitals in job\.gbw; damaged, or of different calculations"):
        ob.load(path)
    path = beside(tmp_path, made, {"scfp": own}, version)
    for name in ["job.densities", "job.densitiesinfo"][: version - 4]:
        content = (tmp_path / name).read_bytes()
        for size in (1, 9, 300, len(content) // 2, len(content) - 1):
            (tmp_path / name).write_bytes(content[:size])
            with pytest.raises(FileError, match=r"job\.densities"):
                ob.load(path)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "job.gbw").write_bytes(gbw_bytes(samples["ghost"]))
    with pytest.raises(FileError, match=r"expected a matrix of \d+ by \d+"):
        ob.load(path)
    (tmp_path / "job.gbw").unlink()
    with pytest.raises(FileError, match=r"need the orbitals beside them, job\.gbw"):
        ob.load(path)


def test_densities_that_are_compressed_and_of_a_folder(tmp_path, samples):
    made = samples["restricted"]
    own = density_of(made, made.occupations)
    path = beside(tmp_path, made, {"scfp": own, "cisp": own}, 6)
    folder = ob.load(tmp_path)
    assert folder.source == str(tmp_path / "job.gbw")  # the orbitals come first
    assert not folder.density_matrix.size
    packed = path.with_name("job.densities.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    orbitals = folder.alpha
    expected = (orbitals.coefficients * orbitals.occupations) @ orbitals.coefficients.T
    np.testing.assert_allclose(ob.load(packed).density_matrix, expected, atol=1e-12)

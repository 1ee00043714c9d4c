"""Regions of structures: cuts, charges around them, charges by valences, and what is refused."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import OrbitileError
from orbitile.model.elements import SYMBOLS
from orbitile.model.geometry import find_bonds
from orbitile.model.structure import Residue, Structure
from orbitile.model.units import angstrom
from orbitile.scf.engines import engine_of
from orbitile.scf.valences import protonated_nitrogens

ETHANOL_AND_WATER = """
    C   1.1879 -0.3829  0.0000 -0.18
    C   0.0000  0.5526  0.0000  0.15
    O  -1.1867 -0.2472  0.0000 -0.68
    H  -1.9237  0.3850  0.0000  0.42
    H   2.0985  0.2306  0.0000  0.06
    H   1.1184 -1.0093  0.8869  0.06
    H   1.1184 -1.0093 -0.8869  0.06
    H  -0.0227  1.1812  0.8852  0.05
    H  -0.0227  1.1812 -0.8852  0.06
    O   3.9000  1.9000  0.4000 -0.83
    H   4.6000  1.3000  0.3000  0.42
    H   4.2000  2.7000  0.1000  0.41
"""
METHYL = [0, 4, 5, 6]


def structure(numbers, positions, charges=None, residues=("MOL",), residue_of=None):
    """Atoms with bonds by distance; positions in Angstrom."""
    n = len(numbers)
    positions = np.asarray(positions, np.float64) * angstrom
    bonds = find_bonds(np.asarray(numbers), positions)
    return Structure(
        np.asarray(numbers, np.int64),
        positions,
        tuple(f"{SYMBOLS[number]}{atom + 1}" for atom, number in enumerate(numbers)),
        tuple(Residue("A", str(place + 1), name) for place, name in enumerate(residues)),
        np.zeros(n, np.int64) if residue_of is None else np.array(residue_of),
        bonds,
        np.zeros(len(bonds)),
        np.zeros(n, np.int64),
        np.full(n, np.nan) if charges is None else np.asarray(charges, np.float64),
    )


def alcohol():
    """Ethanol and water, with charges."""
    rows = [line.split() for line in ETHANOL_AND_WATER.strip().splitlines()]
    numbers = [SYMBOLS.index(row[0]) for row in rows]
    values = np.array([row[1:] for row in rows], np.float64)
    return structure(numbers, values[:, :3], values[:, 3], ("ALC", "HOH"), [0] * 9 + [1] * 3)


@pytest.fixture(name="alcohol")
def _alcohol():
    return alcohol()


def molecule(name):
    """Of the set G2, by ASE."""
    atoms = pytest.importorskip("ase.build").molecule(name)
    return structure(atoms.numbers, atoms.positions)


def without_hydrogen(whole, element):
    """A structure without the first hydrogen that is bonded to an element."""
    (pair, *_) = (pair for pair in whole.bonds if sorted(whole.atomic_numbers[pair]) == [1, element])
    kept = np.setdiff1d(np.arange(len(whole.names)), pair[whole.atomic_numbers[pair] == 1])
    return structure(whole.atomic_numbers[kept], whole.positions[kept] / angstrom)


def charge_of(whole, **given):
    return ob.quantum_region(whole, np.ones(len(whole.names), bool), embed=False, **given).charge


def test_a_cut_keeps_charge_and_dipole_moment(alcohol):
    region = ob.quantum_region(alcohol, [*METHYL[:-1], 7])  # hydrogens go with their atoms
    outside = np.setdiff1d(np.arange(12), METHYL)
    assert region.atoms.tolist() == METHYL
    assert region.geometry.atomic_numbers.tolist() == [6, 1, 1, 1, 1]
    bond = alcohol.positions[1] - alcohol.positions[0]
    np.testing.assert_allclose(region.geometry.positions[-1], alcohol.positions[0] + 1.09 / 1.53 * bond)
    external, charges = region.external, alcohol.partial_charges[outside]
    assert external.charges.sum() == pytest.approx(charges.sum(), abs=1e-13)
    np.testing.assert_allclose(external.charges @ external.positions, charges @ alcohol.positions[outside], atol=1e-12)
    assert np.bincount(region.owners, external.charges, 12)[outside] == pytest.approx(charges)
    assert not (np.linalg.norm(external.positions - alcohol.positions[1], axis=1) < 1).any()
    notes = " ".join(region.notes)
    for told in (
        "2 hydrogens were taken or left out",
        "cut, with a hydrogen in place of the outer atom: C1 - C2 of ALC 1",
    ):
        assert told in notes
    assert "The charges of 8 atoms around it sum to +0.000 e" in notes
    assert ob.quantum_region(alcohol, METHYL, embed=False).external is None
    assert ob.quantum_region(alcohol, np.ones(12, bool)).external is None


def test_energies_and_forces_on_the_structure_are_those_of_pyscf(alcohol):
    pyscf = pytest.importorskip("pyscf.qmmm", reason="needs PySCF") and pytest.importorskip(
        "pyscf", reason="PySCF (extra scf) is not installed"
    )
    region = ob.quantum_region(alcohol, METHYL)

    def theirs(of):
        atoms = list(zip((SYMBOLS[z] for z in of.geometry.atomic_numbers), of.geometry.positions, strict=True))
        mol = pyscf.gto.M(atom=atoms, unit="B", basis="sto-3g", verbose=0)
        field = pyscf.qmmm.mm_charge(pyscf.scf.RHF(mol), of.external.positions, of.external.charges, unit="Bohr")
        return field.run(conv_tol=1e-12).e_tot

    calculation = ob.calculation_of(region, "hf", "sto-3g")
    solver = engine_of("pyscf", region.geometry, calculation)
    found = solver.solve(region.geometry, calculation, precision="double")
    assert found.energy == pytest.approx(theirs(region), abs=1e-7)
    inner = -solver.gradient(found.wavefunction, calculation, precision="double")
    forces = ob.to_structure(region, inner, ob.forces_on_charges(found.wavefunction, region.external))
    direction, step = np.random.default_rng(7).normal(size=forces.shape), 5e-3
    direction /= np.linalg.norm(direction)
    ends = [theirs(ob.with_positions(region, alcohol.positions + s * direction)) for s in (step, -step)]
    assert (ends[1] - ends[0]) / (2 * step) == pytest.approx((forces * direction).sum(), abs=1e-6)
    np.testing.assert_allclose(forces.sum(axis=0), 0, atol=1e-6)
    assert not ob.to_structure(region, inner)[9:].any()
    for bad in (inner[1:], inner[:, :2]):
        with pytest.raises(OrbitileError, match="forces: expected those on 4 atoms and 1 link hydrogens"):
            ob.to_structure(region, bad)


@pytest.mark.slow
def test_regions_of_a_protein_are_those_of_pyscf():
    """HIV protease by engine orbitile: a side chain and a molecule; most of the error is that of exchange in vacuum."""
    pyscf = pytest.importorskip("pyscf.qmmm", reason="needs PySCF") and pytest.importorskip(
        "pyscf", reason="PySCF (extra scf) is not installed"
    )
    for package in ("pdb2pqr", "MDAnalysis"):
        pytest.importorskip(package, reason=f"{package} (extra region) is not installed")
    protease = ob.with_charges(ob.load_structure(files("pymol") / "pymol_path/data/tut/1hpv.pdb"), "pdb2pqr")
    for choice in ("chain A and resi 25 and not name N+CA+C+O+H+HA", "resn HOH and resi 201"):
        region = ob.quantum_region(protease, ob.select(protease, choice))
        in_field = ob.calculation_of(region, "hf", "sto-3g")
        atoms = list(zip((SYMBOLS[z] for z in region.geometry.atomic_numbers), region.geometry.positions, strict=True))
        mol = pyscf.gto.M(atom=atoms, unit="B", basis="sto-3g", charge=region.charge, verbose=0)
        external, errors = region.external, []
        for calculation in (replace(in_field, external_charges=None), in_field):
            field = pyscf.scf.RHF(mol)
            if calculation is in_field:
                field = pyscf.qmmm.mm_charge(field, external.positions, external.charges, unit="Bohr")
            field.run(conv_tol=1e-12)
            solver = engine_of("orbitile", region.geometry, calculation)
            found = solver.solve(region.geometry, calculation, precision="double")
            gradient = solver.gradient(found.wavefunction, calculation, precision="double")
            theirs = field.nuc_grad_method().kernel()
            assert found.energy == pytest.approx(field.e_tot, abs=3e-7)
            np.testing.assert_allclose(gradient, theirs, atol=1e-5)
            errors.append((found.energy - field.e_tot, gradient - theirs))
        assert errors[0][0] == pytest.approx(errors[1][0], abs=1e-8)
        np.testing.assert_allclose(errors[0][1], errors[1][1], atol=2e-6)


def test_what_is_cut_elsewhere_is_refused_with_what_would_do(alcohol):
    acetamide = molecule("CH3CONH2")
    nitrogen = acetamide.atomic_numbers == 7
    with pytest.raises(OrbitileError, match=r"not C\d of MOL 1 of chain A - N\d of MOL 1 .*; take O\d, C\d of MOL 1"):
        ob.quantum_region(acetamide, nitrogen)
    choice = ob.complete_choice(acetamide, nitrogen)
    assert sorted(acetamide.atomic_numbers[choice].tolist()) == [1, 1, 6, 7, 8]
    region = ob.quantum_region(acetamide, choice, embed=False)
    assert len(region.links) == 1
    assert region.charge == 0
    with pytest.raises(OrbitileError, match="leave out C2 of ALC 1"):
        ob.quantum_region(alcohol, [*METHYL, 1])
    for name, atoms in (("C2H4", [0]), ("cyclobutane", [0, 1])):
        with pytest.raises(OrbitileError, match="only single bonds between carbons, in no ring"):
            ob.quantum_region(molecule(name), atoms, embed=False)
    propane = molecule("C3H8")
    between_carbons = propane.bonds[(propane.atomic_numbers[propane.bonds] == 6).all(axis=1)]
    methyls = np.flatnonzero(np.bincount(between_carbons.ravel()) == 1)
    with pytest.raises(OrbitileError, match="two hydrogens would stand for"):
        ob.quantum_region(propane, methyls, embed=False)


def test_charges_follow_from_valences():
    collections = pytest.importorskip("ase.collections")
    ase = pytest.importorskip("ase.build")
    ions = {"LiH", "CS", "SiO", "SiH2_s1A1d", "CH2_s1A1d", "Li2", "Na2", "Be"}
    for name in collections.g2.names:
        if not ase.molecule(name).get_initial_magnetic_moments().any() and name not in ions:
            assert charge_of(molecule(name)) == 0, name
    acid, thiol, pyridine = molecule("CH3COOH"), molecule("CH3SH"), molecule("C5H5N")
    assert charge_of(without_hydrogen(acid, 8)) == -1
    assert charge_of(without_hydrogen(thiol, 16)) == -1
    ring, places = pyridine.atomic_numbers, pyridine.positions / angstrom
    away = places[ring == 7][0] - places[ring == 6].mean(axis=0)
    proton = places[ring == 7][0] + away / np.linalg.norm(away)
    assert charge_of(structure([*ring, 1], [*places, proton])) == 1


def test_missing_hydrogens_are_refused_and_ions_and_radicals_asked_for():
    for name, element in (("C2H6", 6), ("C6H6", 6), ("CH3CN", 6), ("CH3CONH2", 7), ("CH3OH", 8)):
        with pytest.raises(OrbitileError, match="h_add"):
            charge_of(without_hydrogen(molecule(name), element))
    methoxide = molecule("CH3O")
    assert charge_of(methoxide, charge=-1) == -1
    assert charge_of(methoxide, charge=0, unpaired=1) == 0
    with pytest.raises(OrbitileError, match="open valence"):
        charge_of(methoxide, charge=1)
    with pytest.raises(OrbitileError, match=r"charge of \+1 leaves 9 electrons, an odd number; .*0 or \+2"):
        charge_of(molecule("H2O"), charge=1)
    assert charge_of(molecule("H2O"), charge=1, unpaired=1) == 1
    assert charge_of(molecule("CH3"), charge=0, unpaired=1) == 0


@pytest.mark.parametrize(
    "dimer", ["Uracil_dimer_stack", "Adenine-thymine_complex_stack", "Indole-benzene_complex_stack"]
)
def test_a_hydrogen_that_a_ring_lacks_is_at_the_nitrogen_of_the_widest_angle(dimer):
    """Of each NH of rings of nucleobases and indole, by geometries of the set S22."""
    atoms = pytest.importorskip("ase.data.s22", reason="ASE (extra optimisation) is not installed").create_s22_system(
        dimer
    )
    whole = structure(atoms.numbers, atoms.positions)
    numbers, tried = whole.atomic_numbers, 0
    for pair in whole.bonds:
        if sorted(numbers[pair]) != [1, 7]:
            continue
        nitrogen, hydrogen = sorted(pair, key=lambda atom: -numbers[atom])
        if sum(numbers[other] == 1 for one in whole.bonds for other in one if nitrogen in one) > 1:
            continue  # of an amine
        kept = np.delete(np.arange(len(numbers)), hydrogen)
        rest = structure(numbers[kept], whole.positions[kept] / angstrom)
        found = protonated_nitrogens(rest, np.ones(len(kept), bool))
        assert [int(kept[site]) for site in found] == [nitrogen]
        with pytest.raises(OrbitileError, match=f"name {rest.names[found[0]]}` and `attach H, 1, 1`"):
            charge_of(rest)
        tried += 1
    assert tried == {"U": 4, "A": 3, "I": 1}[dimer[0]]


def test_metals_have_formal_charges_or_are_asked_for():
    thiolate = molecule("CH3S")
    sulphur = int(np.flatnonzero(thiolate.atomic_numbers == 16)[0])
    carbon = int(np.flatnonzero(thiolate.atomic_numbers == 6)[0])
    axis = thiolate.positions[carbon] - thiolate.positions[sulphur]
    numbers, places = [30], [np.zeros(3)]
    for way in ([1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]):
        way = np.array(way) / np.sqrt(3)
        mirror = axis / np.linalg.norm(axis) - way
        turn = np.eye(3) - 2 * np.outer(mirror, mirror) / (mirror @ mirror)
        numbers += thiolate.atomic_numbers.tolist()
        places += list(2.3 * way + (thiolate.positions - thiolate.positions[sulphur]) @ turn.T / angstrom)
    site = structure(numbers, places)
    assert charge_of(site) == -2
    with pytest.raises(OrbitileError, match="only single bonds"):
        ob.quantum_region(site, [0], embed=False)
    iron = replace(site, atomic_numbers=np.where(site.atomic_numbers == 30, 26, site.atomic_numbers))
    with pytest.raises(OrbitileError, match=r"Zn1 .* has no formal charge; .*usual for Fe: \+2, \+3"):
        charge_of(iron)
    ferrous = replace(iron, formal_charges=np.where(iron.atomic_numbers == 26, 2, 0))
    with pytest.raises(OrbitileError, match=r"may have unpaired electrons; .*Fe\(II\) 4"):
        charge_of(ferrous)
    assert charge_of(ferrous, unpaired=4) == -2


def test_what_is_wrong_with_charges_around_is_told_or_refused(alcohol):
    bare = replace(alcohol, partial_charges=np.where(alcohol.residue_of == 1, np.nan, alcohol.partial_charges))
    assert any("3 atoms of the residues HOH (1)" in note for note in ob.quantum_region(bare, METHYL).notes)
    with pytest.raises(OrbitileError, match=r"none of the 9 atoms around it has a partial charge.*embed=False"):
        ob.quantum_region(replace(alcohol, partial_charges=np.where(alcohol.residue_of == 0, 0.0, 0.4)), [9, 10, 11])
    uneven = replace(alcohol, partial_charges=alcohol.partial_charges + np.where(np.arange(12) == 0, -0.1, 0.01))
    region = ob.quantum_region(uneven, METHYL)
    assert region.external.charges.sum() == pytest.approx(uneven.partial_charges.sum(), abs=1e-13)
    assert any("have -0.070 e by these charges, and 0 here; each outer" in note for note in region.notes)
    odd = replace(alcohol, partial_charges=alcohol.partial_charges + 0.1 * (alcohol.residue_of == 1))
    assert any("no integer: HOH 2 of chain A (+0.300)" in note for note in ob.quantum_region(odd, METHYL).notes)
    near = alcohol.positions.copy()
    near[9:] += near[5] - near[9] + 0.9 * angstrom * np.array([0, 0, 1.0])
    notes = " ".join(ob.quantum_region(replace(alcohol, positions=near), METHYL).notes)
    assert "Charges nearer than 1 Angstrom to atoms that are computed: 1; that of O10" in notes
    assert "At the distance of a bond" in notes
    near[9] = near[0]
    with pytest.raises(OrbitileError, match="at one place"):
        ob.quantum_region(replace(alcohol, positions=near), METHYL)
    for nothing in ([], np.zeros(12, bool), [7]):
        with pytest.raises(OrbitileError, match="expected one or more atoms, got"):
            ob.quantum_region(alcohol, nothing)
    for wrong in ([12], [-1], [0.5], np.ones(3, bool), [[0]]):
        with pytest.raises(OrbitileError, match="region: expected"):
            ob.quantum_region(alcohol, wrong)

"""What a file says twice: nuclei, ghosts, core potentials, electrons, energies; and what is noted or refused."""

import json
import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.charges import atomic_charges
from orbitile.analysis.information import as_dictionary, as_text, notes
from orbitile.base.errors import FileError
from orbitile.commandline import main
from orbitile.gaussians.orthonormality import checked
from orbitile.model.core_potentials import inferred_cores, settled_charges
from orbitile.model.geometry import formula
from orbitile.model.wavefunction import Orbitals, Shell, Wavefunction
from tests.conftest import SAMPLES

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


def edited(tmp_path, sample, *changes, name=None):
    """A sample, or a text, with the first match of each pattern replaced."""
    given = "\n" in sample
    text = sample if given else (SAMPLES / sample).read_text()
    for pattern, replacement in changes:
        text, n = re.subn(pattern, replacement, text, count=1, flags=re.MULTILINE)
        assert n == 1, pattern
    path = tmp_path / (name or ("job.molden" if given else sample))
    path.write_text(text)
    return path


def molden_of(tmp_path, atoms, basis, **keywords):
    """Text of a Molden file by PySCF, and the molecule and mean field."""
    gto, scf, molden = (pytest.importorskip(f"pyscf.{name}") for name in ("gto", "scf", "tools.molden"))
    molecule = gto.M(atom=atoms, basis=basis, verbose=0, **keywords)
    field = scf.RHF(molecule).run()
    molden.from_scf(field, str(tmp_path / "made.molden"))
    return (tmp_path / "made.molden").read_text(), field


# Core potentials --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def silver(tmp_path_factory):
    """AgF with a core potential of 28 electrons, as PySCF writes it, and its potential at a point."""
    folder = tmp_path_factory.mktemp("silver")
    text, field = molden_of(folder, "Ag 0 0 0; F 0 0 1.98", "def2-svp", ecp="def2-svp")
    point = np.array([[1.0, -2.0, 7.0]])
    molecule, density = field.mol, field.make_rdm1()
    with molecule.with_rinv_origin(point[0]):
        electrons = np.einsum("ij,ij", molecule.intor("int1e_rinv"), density)
    nuclei = molecule.atom_charges() / np.linalg.norm(molecule.atom_coords() - point, axis=1)
    return text, point, nuclei.sum() - electrons


BY_SECTION = re.compile(r"^\[core\]\n1 : 28\n", re.MULTILINE)


@pytest.mark.parametrize("column", [19, 47])
@pytest.mark.parametrize(
    ("section", "at_the_end"),
    [
        ("[core]\n1 : 28\n", False),
        ("[CORE]\n1:28\n", True),
        ("[Pseudo]\nAg   1   19\n", False),
        ("[PSEUDO]\nAg 1 19\n", True),
        ("[Nval]\nAg 19\n", False),
        ("[nval]\nag 19\n", True),
        ("", False),
    ],
)
def test_core_potentials_of_molden_files(tmp_path, silver, column, section, at_the_end):
    text, point, potential = silver
    text = BY_SECTION.sub("", text)
    assert "core" not in text
    text = re.sub(r"^Ag   1   19 ", f"Ag   1   {column} ", text, flags=re.MULTILINE)
    text = text + "\n" + section if at_the_end else text.replace("[GTO]", section + "[GTO]")
    path = tmp_path / "agf.molden"
    path.write_text(text)
    w = ob.load(path)
    assert (w.core_charges.tolist(), w.atomic_numbers.tolist()) == ([19, 9], [47, 9])
    assert w.charge == pytest.approx(0)
    assert ob.evaluate(w, "esp", point, device="cpu", precision="double") == pytest.approx(potential, abs=1e-6)
    assumed = not section and column == 47
    assert bool(notes(w)) == assumed
    assert assumed == ("core potentials on Ag (28 electrons) are assumed" in "".join(notes(w)))


def test_a_core_section_of_an_all_electron_file_is_not_believed(tmp_path):
    path = edited(tmp_path, "nh3_psi4_1.0.molden", (r"^\[GTO\]", "[Core]\n1 : 2\n[GTO]"))
    w = ob.load(path)
    assert w.charge == pytest.approx(0)
    assert "as its electrons ask for" in notes(w)[0]


@pytest.mark.parametrize("empty", ["\n", " \t\n", "\r\n\r\n"])
@pytest.mark.parametrize("line", ["[Atoms]", "first orbital", "later orbitals", "beta", "coefficient"])
def test_an_empty_line_ends_no_section_of_a_molden_file(tmp_path, line, empty):
    """What came after it was lost without a word: orbitals, or all of one spin."""
    whole = ob.load(SAMPLES / "F.molden")
    lines = (SAMPLES / "F.molden").read_text().splitlines(keepends=True)
    first = [n for n, one in enumerate(lines) if "Sym=" in one]
    assert len(first) == 60
    places = {
        "[Atoms]": [next(n for n, one in enumerate(lines) if "[Atoms]" in one) + 1],
        "first orbital": first[:1],
        "later orbitals": first[1:],
        "beta": [next(n for n, one in enumerate(lines) if "Beta" in one) - 2],
        "coefficient": [first[5] + 9],
    }[line]
    for place in reversed(places):
        lines.insert(place, empty)
    path = tmp_path / "F.molden"
    path.write_text("".join(lines), newline="")
    w = ob.load(path)
    for one, other in ((w.alpha, whole.alpha), (w.beta, whole.beta)):
        np.testing.assert_array_equal(one.coefficients, other.coefficients)
        np.testing.assert_array_equal(one.energies, other.energies)
    assert not notes(w)


def test_empty_lines_between_the_sections_of_a_wfx_file(tmp_path):
    text = (SAMPLES / "lih_cation_uhf.wfx").read_text()
    whole = ob.load(SAMPLES / "lih_cation_uhf.wfx")
    path = tmp_path / "spaced.wfx"
    path.write_text(re.sub(r"(</.*>\n)", "\\1\n \n", text) + "\n\n")
    w = ob.load(path)
    np.testing.assert_array_equal(w.alpha.coefficients, whole.alpha.coefficients)
    np.testing.assert_array_equal(w.beta.coefficients, whole.beta.coefficients)


def test_alpha_orbitals_alone(tmp_path):
    """An unrestricted calculation of which the beta orbitals are cut off, or were never written."""
    text = (SAMPLES / "F.molden").read_text()
    lines = text.splitlines(keepends=True)
    path = tmp_path / "cut.molden"
    path.write_text("".join(lines[: next(n for n, line in enumerate(lines) if "Beta" in line) - 2]))
    w = ob.load(path)
    assert w.beta is None
    assert "the beta orbitals are missing" in "".join(notes(w))
    assert "the beta orbitals are missing" in "".join(notes(ob.load(SAMPLES / "h2o_ccpvdz_cfour.molden")))


@pytest.mark.parametrize("number", [1e308, -1e200, 1e20])
def test_absurd_coefficients_are_said_once(capfd, number):
    """LAPACK would write a line of its own."""
    w = ob.load(SAMPLES / "h2o_sto3g.fchk")
    coefficients = w.alpha.coefficients.copy()
    coefficients[2, 3] = number
    with pytest.raises(ob.OrbitileError, match="too large"):
        checked(replace(w, alpha=replace(w.alpha, coefficients=coefficients)))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("section", ["[Core]\n9 : 28\n", "[Core]\n1 : many\n", "[Pseudo]\n1 99\n"])
def test_damaged_core_sections(tmp_path, section):
    with pytest.raises(FileError, match=r"core|pseudo|expected"):
        ob.load(edited(tmp_path, "nh3_psi4_1.0.molden", (r"^\[GTO\]", section + "[GTO]")))


def test_core_potentials_in_molekel_files(tmp_path):
    """The format says nothing of cores: the total charge tells, here of a hydrogen made into silver."""
    sample = (SAMPLES / "h2_sto3g.mkl").read_text()
    w = ob.load(edited(tmp_path, sample, (r"^\s*1(\s+0\.71)", r"47\1"), (r"^ *0 +1$", "18 1"), name="a.mkl"))
    assert w.charge == pytest.approx(18)
    assert w.core_charges.sum() == 20
    assert "core potentials on Ag (28 electrons) are assumed" in notes(w)[0]


@pytest.mark.parametrize(
    ("sample", "pattern", "replacement", "charges", "note"),
    [
        # LiH- with a core potential, for all that is said
        ("lih_cation_uhf.wfn", r"CHARGE =  3\.0", "CHARGE =  1.0", [1, 1], ""),
        # the net charge is stated
        ("lih_cation_uhf.wfx", r"3\.0+E\+000?", "1.0E+00", [3, 1], "as its electrons ask for"),
    ],
)
def test_nuclear_charges_of_wfn_and_wfx_files(tmp_path, sample, pattern, replacement, charges, note):
    """A lithium of charge 1, as with a core potential: the charge of the molecule goes with it."""
    w = ob.load(edited(tmp_path, sample, (pattern, replacement)))
    assert w.core_charges.tolist() == charges
    assert note in "".join(notes(w))


def test_which_cores_fit():
    numbers = np.array([53, 1, 79, 17])
    np.testing.assert_array_equal(inferred_cores(numbers, 88), [28, 0, 60, 0])
    assert inferred_cores(numbers, 3) is None
    charges, remarks = settled_charges(numbers, [numbers.astype(float)], float(numbers.sum() - 88))
    assert (charges.tolist(), len(remarks)) == ([25, 1, 19, 17], 1)
    chloroaurate = np.array([79, 17, 17])
    charges, remarks = settled_charges(chloroaurate, [chloroaurate.astype(float)], 54.0)
    assert charges.tolist() == [19, 17, 17]
    assert "a total charge of -1" in remarks[0]
    anion = np.array([9, 1])  # a fluoride beside the functions of a hydrogen: the neutral alternative is no reason
    charges, remarks = settled_charges(anion, [np.array([9.0, 0.0])], 10.0)
    assert (charges.tolist(), remarks) == ([9, 0], ())


# Ghosts -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counterpoise(tmp_path_factory):
    """Water with the functions of another one, as PySCF writes it."""
    folder = tmp_path_factory.mktemp("counterpoise")
    atoms = "O 0 0 .11; H 0 .76 -.48; H 0 -.76 -.48; GHOST-O .02 .01 3; GHOST-H 0 .76 2.4"
    return molden_of(folder, atoms, "6-31g")[0]


@pytest.mark.parametrize(
    "name", ["GHOST-O", "Bq", "BQ-O", "X", "Gh", "Gh(O)", "Q", "Du", "Xx", "O-Bq", "@O", "O:", "O"]
)
@pytest.mark.parametrize("charge", ["0", "8"])
def test_ghosts(tmp_path, counterpoise, name, charge):
    if name == "O" and charge == "8":
        pytest.skip("an atom")
    text = re.sub(r"^\S+( +4 +)\S+", rf"{name}\g<1>{charge}", counterpoise, flags=re.MULTILINE)
    path = tmp_path / "water.molden"
    path.write_text(text)
    w = ob.load(path)
    assert w.atomic_numbers.tolist() == [8, 1, 1, 0, 0]
    assert w.core_charges.tolist() == [8, 1, 1, 0, 0]
    assert (w.charge, w.n_electrons, formula(w)) == (pytest.approx(0), 10, "H2O")
    assert {shell.atom for shell in w.shells} == set(range(5))
    assert "3 atoms and 2 ghosts" in as_text(w)


def test_elements_are_no_ghosts(tmp_path):
    """Xenon begins as X does; labels behind a symbol are no part of it."""
    w = ob.load(edited(tmp_path, "nh3_psi4_1.0.molden", (r"^ *H( +2)", r"H_a\1"), (r"^ *H( +3)", r"h12\1")))
    assert formula(w) == "H3N"
    text, _ = molden_of(tmp_path, "Xe 0 0 0", "def2-svp", ecp="def2-svp")
    assert formula(ob.load(edited(tmp_path, text))) == "Xe"


def test_ghosts_have_no_charge_of_their_own(tmp_path, counterpoise):
    path = tmp_path / "water.molden"
    path.write_text(counterpoise)
    alone = tmp_path / "alone.molden"
    alone.write_text(molden_of(tmp_path, "O 0 0 .11; H 0 .76 -.48; H 0 -.76 -.48", "6-31g")[0])
    charges = atomic_charges(ob.load(path), "hirshfeld", device="cpu").charges
    expected = atomic_charges(ob.load(alone), "hirshfeld", device="cpu").charges
    assert charges[3:].tolist() == [0, 0]
    assert charges[:3] == pytest.approx(expected, abs=0.02)


def test_ghosts_of_other_formats(tmp_path):
    w = ob.load(SAMPLES / "water_dimer_ghost.fchk")
    assert (formula(w), sorted(w.atomic_numbers.tolist())) == ("H2O", [0, 0, 0, 1, 1, 8])
    wfn = edited(tmp_path, "lih_cation_uhf.wfn", (r"^H2 ", "Bq2"), (r"CHARGE =  1\.0", "CHARGE =  0.0"))
    assert formula(ob.load(wfn)) == "Li"
    centre = (r"^( +4) H    1   1\.0", r"\1 Bq   0   0.0")
    mwfn = edited(tmp_path, "ch3_hf_sto3g_fchk_multiwfn3.7.mwfn", centre, (r"^Charge= +0", "Charge= -1"))
    assert formula(ob.load(mwfn)) == "CH2"


# Shells sp, multiplicity ------------------------------------------------------------------------------------------


def test_sp_shells(tmp_path):
    """The 2s and 2p shells of STO-3G share their exponents."""
    text, _ = molden_of(tmp_path, "O 0 0 .11; H 0 .76 -.48; H 0 -.76 -.48", "sto-3g")
    plain = ob.load(tmp_path / "made.molden")
    shells = re.search(
        r"^ s    3 1\.00\n((?:.*\n){3}) s    3 1\.00\n((?:.*\n){3}) p    3 1\.00\n((?:.*\n){3})", text, re.M
    )
    rows = [f"{one} {p.split()[1]}" for one, p in zip(shells[2].splitlines(), shells[3].splitlines(), strict=True)]
    joined = " s    3 1.00\n" + shells[1] + " SP   3 1.00\n" + "\n".join(rows) + "\n"
    path = tmp_path / "sp.molden"
    path.write_text(text.replace(shells[0], joined))
    w = ob.load(path)
    points = np.random.default_rng(1).normal(size=(20, 3))
    assert ob.evaluate(w, "homo", points, device="cpu") == pytest.approx(
        ob.evaluate(plain, "homo", points, device="cpu"), abs=1e-9
    )
    broken = tmp_path / "broken.molden"
    broken.write_text(text.replace(shells[0], joined.replace(rows[1], rows[1].rpartition(" ")[0])))
    with pytest.raises(FileError, match="shell sp"):
        ob.load(broken)


def test_multiplicity_of_natural_orbitals_is_not_made_up(tmp_path):
    """Occupations of a triplet CASSCF: those of both spins together do not tell it from a singlet."""
    path = edited(tmp_path, "be_cisd_321g_psi4_singlet.molden")
    w = ob.load(path)
    assert (w.kind, w.multiplicity) == ("natural", None)
    assert "multiplicity not stated" in as_text(w)
    assert as_dictionary(w)["multiplicity"] is None
    assert ob.load(BENZENE).multiplicity == 1


# Electrons, energies, orbitals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "pattern", "replacement", "words"),
    [
        ("water_sto3g_hf_g03.fchk", r"^(Number of alpha electrons +I +)5", r"\g<1>15", "contradict each other"),
        ("water_sto3g_hf_g03.fchk", r"^(Number of electrons +I +)10", r"\g<1>12", "contradict each other"),
        ("water_hfs_321g.fchk", r"-8\.29412411E-01", "-8.29412\u2028411E-01", "Alpha Orbital Energies"),
        ("water_hfs_321g.fchk", r"-8\.29412411E-01", "-8.29412 411E-01", "Alpha Orbital Energies"),
        ("li_h_3-21G_hf_g09.fchk", r"^Beta Orbital Energies .*\n", "", "Alpha Orbital Energies"),
        ("li_h_3-21G_hf_g09.fchk", r"^Beta Orbital Energies", "Beta_Orbital Energies", "unrestricted|beta"),
        ("li_h_3-21G_hf_g09.fchk", r"^Beta MO coefficients ", "Bexa MO coefficients ", "beta orbitals are missing"),
    ],
)
def test_damaged_checkpoint_files(tmp_path, sample, pattern, replacement, words):
    with pytest.raises(FileError, match=words):
        ob.load(edited(tmp_path, sample, (pattern, replacement)))


WATER = "h2o.molden.input"


@pytest.mark.parametrize(
    ("sample", "changes", "words"),
    [
        # an energy that makes another orbital the HOMO, or the LUMO an occupied one
        ("kra", [(r"Ene= *-1\.\d+", "Ene= -0.10")], "out of the order of energies"),
        (WATER, [(r"Ene= *-5\.\S+", "Ene= 3.0")], "orbital|order"),
        # an occupation
        (WATER, [(r"Occup= *2\.0+", "Occup= 0.0")], "orbital 1 is empty and lies below"),
        (WATER, [(r"Occup= *2\.0+", "Occup= 1.0")], "holds 1 electrons|singly"),
        (WATER, [(r"Occup= *2\.0+", "Occup= 1.3")], "is the only one whose occupation"),
        (WATER, [(r"Occup= *2\.0+", "Occup= 2.06")], "outside 0 to 2"),
        ("be_cisd_321g_psi4_singlet.molden", [(r"Occup= *1\.9\d*", "Occup= 1.0")], "out of the order of occupations"),
        (
            "lih_cation_uhf.wfn",
            [(r"(MO +2 .*OCC NO = +)1\.0+", r"\g<1>0.00000001")],
            "is the only one whose occupation",
        ),
        # an energy by which alpha and beta orbitals of a wfn file are told apart
        ("o2_uhf.wfn", [(r"^(MO +7 .*ENERGY = +)-", r"\1 ")], "more beta than alpha electrons"),
        # a nuclear charge
        (WATER, [(r"^(O +1 +)8", r"\g<1>3")], "as its electrons ask for"),
        ("water_sto3g_hf_g03.fchk", [(r"^ +8\.00000000E\+00", "  7.00000000E+00")], "as its electrons ask for"),
        # what is stated
        ("water_sto3g_hf_g03.fchk", [(r"^(Multiplicity +I +)1", r"\g<1>3")], "states a multiplicity of 3"),
        ("water_sto3g_hf_g03.fchk", [(r"^(Charge +I +)0", r"\g<1>4")], "states a charge of .4"),
        ("lih_cation_uhf.wfx", [(r"<Net Charge>\n *1", "<Net Charge>\n 3")], "states a charge of .3"),
        ("lih_cation_uhf.wfx", [(r"<Number of Alpha Electrons>\n *2", "<Number of Alpha Electrons>\n 3")], "3 alpha"),
    ],
)
def test_what_is_said_twice_is_noted(tmp_path, sample, changes, words):
    if sample == "kra":
        sample, _ = molden_of(tmp_path, "Ar 0 0 0", "6-31g")
    assert not re.search(words, "; ".join(notes(ob.load(edited(tmp_path, sample)))))
    assert re.search(words, "; ".join(notes(ob.load(edited(tmp_path, sample, *changes)))))


def test_atoms_of_one_element_have_the_same_functions(tmp_path):
    """A number that is changed too little for the norms differs from those of the other atoms."""
    path = edited(tmp_path, "nh3_molden_pure.molden", (r"0\.1301000000D\+02", "0.1301001000D+02"))
    told = "; ".join(notes(ob.load(path)))
    assert "basis functions of H2 and H3 are the same but for those of shell 1" in told


@pytest.mark.parametrize("occupation", ["20.0", "-2.0", "3"])
def test_impossible_occupations_are_refused(tmp_path, occupation):
    with pytest.raises(FileError, match=r"expected 0 to 2"):
        ob.load(edited(tmp_path, WATER, (r"Occup= *2\.0+", f"Occup= {occupation}")))


def test_density_matrices_are_compared_with_the_orbitals(tmp_path):
    text = (SAMPLES / "2h-azirine-mp2.fchk").read_text()
    first = re.search(r"^Total SCF Density .*\n +(\S+)", text, re.MULTILINE)[1]
    w = ob.load(edited(tmp_path, text, (rf"(?<=\n)( +){re.escape(first)}", r"\1 1.00000000E-01"), name="scf.fchk"))
    assert "do not give the density matrix" in notes(w)[0]
    damaged = re.sub(r"^(Total MP2 Density .*\n +)(\S+)", r"\1 9.00000000E+00", text, flags=re.MULTILINE)
    with pytest.raises(FileError, match="its density matrix holds"):
        ob.load(edited(tmp_path, damaged, name="mp2.fchk"))


def cut(text, n_orbitals):
    starts = [found.start() for found in re.finditer(r"^ *Sym=", text, re.MULTILINE)]
    return text[: starts[n_orbitals]]


@pytest.mark.parametrize(("n_orbitals", "words"), [(1, "charge of .8"), (4, "no unoccupied one"), (5, "no unoccupied")])
def test_a_file_cut_between_orbitals(tmp_path, n_orbitals, words):
    text = cut((SAMPLES / WATER).read_text(), n_orbitals)
    assert re.search(words, "; ".join(notes(ob.load(edited(tmp_path, text)))))


def two_heliums(distance):
    """The second one without functions, so that its place does not touch the orbital."""
    shell = Shell(0, 0, False, np.array([1.0]), np.array([1.0]))
    positions = np.array([[0, 0, 0], [0, 0, distance]])
    return Wavefunction(np.array([2, 2]), positions, (shell,), Orbitals(np.eye(1), np.array([2.0])))


def test_atoms_on_each_other_and_odd_charges(tmp_path):
    w = ob.load(BENZENE)
    positions = w.positions.copy()
    positions[3] = positions[4] + [0.3, 0, 0]
    assert "0.16 Angstrom apart" in "".join(notes(replace(w, positions=positions, geometries=positions[None])))
    positions[3] = positions[4]
    with pytest.raises(FileError, match="atoms 1 and 2 are at one place"):
        checked(two_heliums(0.0))
    charges = w.core_charges.copy()
    charges[0] = 3
    assert "usual core potential" in "".join(notes(replace(w, core_charges=charges)))


@pytest.mark.parametrize(
    "sample",
    [
        "ch3_rohf_sto3g_g03.fchk",
        "ch3_hf_sto3g.fchk",
        "F.molden",
        "li2.mkl",
        "li2.molden.input",
        "li2_g09_nbasis_indep.fchk",  # functions that depend on each other were left out
        "lif_fci.wfn",
        "lih_cation_fci.wfn",
        "lih_cation_rohf.wfx",
        "monosilicic_acid_hf_lan.fchk",  # core potentials
        "neon_turbomole_def2-qzvp.molden",  # pure orbitals in Cartesian functions
        "nh3_molpro2012.molden",
        "nitrogen-cc.fchk",
        "o2_uhf.wfn",
        "water_hf_sto3g_qchem5.2.fchk",
        "be_cisd_321g_psi4_singlet.molden",
    ],
)
def test_sound_files_have_no_notes(sample):
    assert notes(ob.load(SAMPLES / sample)) == ()


@pytest.mark.parametrize("change", ["anion", "dication", "localised", "smeared", "virtuals", "no energies"])
def test_unusual_calculations_have_no_notes(change):
    w = ob.load(SAMPLES / "nh3_psi4_1.0.molden")
    orbitals = w.alpha
    occupations, energies = orbitals.occupations.copy(), orbitals.energies.copy()
    if change == "anion":
        occupations[5] = 2
    elif change == "dication":
        occupations[4] = 0
    elif change == "localised":
        energies[:5] = [-12.1, -1.3, -12.1, -0.9, -1.2]
    elif change == "smeared":
        occupations[4:6] = [1.7, 0.3]
    elif change == "no energies":
        energies[:] = 0
    kept = slice(0, 12) if change == "virtuals" else slice(None)
    alpha = replace(
        orbitals,
        coefficients=orbitals.coefficients[:, kept],
        occupations=occupations[kept],
        energies=energies[kept],
        irreps=orbitals.irreps[kept],
        labels=orbitals.labels[kept],
    )
    assert notes(replace(w, alpha=alpha, natural=change == "smeared")) == ()


# Where they are told ----------------------------------------------------------------------------------------------


def test_notes_are_told_wherever_a_molecule_is_shown(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    path = edited(tmp_path, cut((SAMPLES / WATER).read_text(), 1))
    assert main(["info", str(path)]) == 0
    page = capsys.readouterr()
    assert "note      its nuclei" in page.out
    assert page.err == ""
    assert main(["info", "--json", str(path)]) == 0
    assert "charge of +8" in json.loads(capsys.readouterr().out)["notes"][0]
    out = str(tmp_path / "homo.cube")
    assert main(["volume", str(path), "homo", "-o", out, "--quality", "coarse"]) == 0
    told = capsys.readouterr()
    assert told.err.startswith("orbitile: job.molden: note: its nuclei")
    assert told.out.strip() == out
    assert main(["volume", "-q", str(path), "homo", "-o", str(tmp_path / "b.cube"), "--quality", "coarse"]) == 0
    assert capsys.readouterr().err == ""

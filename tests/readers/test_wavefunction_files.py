"""Wavefunction files: what is read, what is repaired, what is refused."""

import re
import shutil

import numpy as np
import pytest

import orbitile as ob
from orbitile.errors import ConventionError, FileError
from tests.conftest import SAMPLES, WITHOUT_ORBITALS, sample_parameters


@pytest.mark.parametrize("path", sample_parameters())
def test_orbitals_of_every_sample_are_orthonormal(path):
    """The check at the gate, done once more by hand with qc-iodata's own overlap for the smaller ones."""
    wavefunction = ob.load(path)
    for orbitals in filter(None, (wavefunction.alpha, wavefunction.beta)):
        c = orbitals.coefficients
        assert np.abs(c.T @ (ob.overlap_matrix(wavefunction) @ c) - np.eye(len(orbitals))).max() < 1e-4


@pytest.mark.parametrize("name", WITHOUT_ORBITALS)
def test_files_without_orbitals_are_refused(name):
    with pytest.raises(FileError, match=re.escape(name)):
        ob.load(SAMPLES / name)


@pytest.mark.parametrize(
    ("name", "repair"),
    [
        ("nh3_orca.molden", "ORCA"),
        ("nh3_turbomole.molden", "Turbomole"),
        ("nh3_psi4_1.0.molden", "unnormalized contractions"),
        ("nh3_psi4_1.3.2_aug_cc_pvqz_cart.molden", "PSI4 <= 1.3.2"),
        ("h2o_ccpvdz_cfour.molden", "CFOUR"),
        ("ethanol.mkl", "ORCA"),
    ],
)
def test_repairs_are_made_and_told(name, repair):
    assert repair in ob.load(SAMPLES / name).program


def test_the_same_molecule_from_seven_programs():
    """Ammonia in one basis: the density at points is the same, whatever the dialect (all computed at one geometry)."""
    rng = np.random.default_rng(0)
    names = ["molden_pure", "molpro2012", "orca", "psi4", "turbomole"]
    first = ob.load(SAMPLES / "nh3_molden_pure.molden")
    points = first.positions[rng.integers(0, 4, 40)] + rng.normal(size=(40, 3))
    densities = []
    for name in names:
        wavefunction = ob.load(SAMPLES / f"nh3_{name}.molden")
        assert wavefunction.positions == pytest.approx(first.positions, abs=2e-3)
        homo = int(wavefunction.alpha.occupations.sum() / 2)
        values = [
            ob.evaluate(wavefunction, f"mo:{n + 1}", points, device="cpu", precision="double") for n in range(homo)
        ]
        densities.append(2 * np.sum(np.square(values), axis=0))
    for density in densities[1:]:
        assert density == pytest.approx(densities[0], rel=0.02, abs=2e-4)


def test_kinds_of_orbitals():
    kinds = {
        "h2o_sto3g.fchk": "restricted",
        "ch3_hf_sto3g.fchk": "unrestricted",
        "ch3_rohf_sto3g_g03.fchk": "restricted open-shell",
        "lif_fci.wfn": "natural",
    }
    for name, kind in kinds.items():
        assert ob.load(SAMPLES / name).kind == kind
    methyl = ob.load(SAMPLES / "ch3_hf_sto3g.fchk")
    assert (methyl.charge, methyl.multiplicity, methyl.n_electrons) == (pytest.approx(0), 2, 9)
    assert ob.load(SAMPLES / "ch3_rohf_sto3g_g03.fchk").multiplicity == 2


def test_energies_and_title():
    water = ob.load(SAMPLES / "water_sto3g_hf_g03.fchk")
    assert water.alpha.energies[:5] == pytest.approx([-20.2433, -1.2633, -0.6135, -0.4536, -0.3932], abs=2e-2)
    assert water.method == "RHF/STO-3G"


def test_effective_core_potentials_are_noted():
    acid = ob.load(SAMPLES / "monosilicic_acid_hf_lan.fchk")
    silicon = int(np.flatnonzero(acid.atomic_numbers == 14)[0])
    assert acid.core_charges[silicon] == 4
    assert acid.charge == pytest.approx(0)


def test_frontier_orbitals_go_by_energy_not_by_order():
    shells = [ob.Shell(0, 0, False, [1.0], [1.0])]
    several = ob.Orbitals(np.ones((1, 5)), [2, 0, 2, 0, 2], [-0.4, 0.3, -9.0, 0.1, -0.2])
    wavefunction = ob.Wavefunction([2], [[0, 0, 0]], shells, several)
    from orbitile.evaluation.requests import field_of

    index = {
        name: field_of(wavefunction, name).index for name in ("homo", "homo-1", "homo-2", "lumo", "lumo+1", "homo+1")
    }
    assert index == {"homo": 4, "homo-1": 0, "homo-2": 2, "lumo": 3, "lumo+1": 1, "homo+1": 3}


def test_singly_occupied_orbitals():
    methyl = ob.load(SAMPLES / "ch3_rohf_sto3g_g03.fchk")
    from orbitile.evaluation.requests import field_of

    somo = int(np.flatnonzero(methyl.alpha.occupations == 1)[0])
    assert field_of(methyl, "homo").index == somo
    assert field_of(methyl, "lumo:beta").index == somo
    assert field_of(methyl, "homo:beta").index == somo - 1


def test_the_format_is_found_by_content(tmp_path):
    for name in ("nh3_orca.molden", "h2o_sto3g.fchk", "ethanol.mkl", "o2_uhf.wfn", "water_sto3g_hf.wfx"):
        shutil.copy(SAMPLES / name, tmp_path / "renamed.txt")
        assert ob.load(tmp_path / "renamed.txt").n_basis == ob.load(SAMPLES / name).n_basis


def edited(tmp_path, name, edit):
    target = tmp_path / name
    target.write_text(edit((SAMPLES / name).read_text()))
    return target


def test_a_wrong_order_of_components_is_refused(tmp_path):
    """The pure f functions of an ORCA file with two of them exchanged fit no dialect."""

    def exchange(text):
        head, orbitals = text.split("[MO]")
        lines = orbitals.splitlines()
        swapped = []
        for line in lines:
            words = line.split()
            if len(words) == 2 and words[0] in ("4", "7"):
                line = f" {'7' if words[0] == '4' else '4'} {words[1]}"
            swapped.append(line)
        ordered, block = [], []
        for line in swapped:
            words = line.split()
            if len(words) == 2 and words[0].isdigit():
                block.append((int(words[0]), line))
            else:
                ordered += [text for _, text in sorted(block)] + [line]
                block = []
        ordered += [text for _, text in sorted(block)]
        return head + "[MO]" + "\n".join(ordered)

    with pytest.raises(ConventionError):
        ob.load(edited(tmp_path, "nh3_molden_pure.molden", exchange))


def test_pure_functions_called_cartesian_are_refused(tmp_path):
    with pytest.raises(FileError):
        ob.load(edited(tmp_path, "nh3_molden_pure.molden", lambda text: text.replace("[5D10F]", "")))


def test_scaled_coefficients_are_refused(tmp_path):
    """As after a conversion that forgot a normalisation; says which functions are to blame."""

    path = tmp_path / "scaled.fchk"
    text = (SAMPLES / "o2_cc_pvtz_cart.fchk").read_text()
    begin = text.index("Alpha MO coefficients")
    end = text.index("\n", begin)
    path.write_text(text[:end] + text[end:].replace("E-01", "E+00", 400))
    with pytest.raises(ConventionError, match="functions"):
        ob.load(path)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.molden", b"", "empty"),
        ("noise.fchk", bytes(range(256)) * 40, "binary"),
        ("noise.log", bytes(range(256)) * 40, "binary"),
        ("letter.molden", b"Dear editor,\nplease find enclosed\n", "Molden header"),
        ("letter.txt", b"Dear editor,\nplease find enclosed\n", "not recognised"),
        ("checkpoint.chk", b"\0\1\2" * 99, "formchk"),
    ],
)
def test_files_that_are_no_wavefunctions(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileError, match=words) as caught:
        ob.load(path)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_missing_files_and_folders(tmp_path):
    (tmp_path / "benzene.molden").write_text("")
    with pytest.raises(FileError, match=r"Did you mean benzene\.molden"):
        ob.load(tmp_path / "benzne.molden")
    with pytest.raises(FileError, match="folder"):
        ob.load(tmp_path)
    with pytest.raises(FileError):
        ob.load("a\0b.molden")


@pytest.mark.parametrize(
    "name", ["nh3_molden_pure.molden", "h2o_sto3g.fchk", "ethanol.mkl", "o2_uhf.wfn", "water_sto3g_hf.wfx"]
)
@pytest.mark.parametrize("share", [0.02, 0.3, 0.6])
def test_truncated_files(tmp_path, name, share):
    text = (SAMPLES / name).read_text()
    path = tmp_path / name
    path.write_text(text[: int(len(text) * share)])
    with pytest.raises(FileError) as caught:
        ob.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["nh3_molden_pure.molden", "h2o_sto3g.fchk"])
def test_a_coefficient_that_is_not_a_number(tmp_path, name):
    text = (SAMPLES / name).read_text()
    begin = text.index("[MO]") if "[MO]" in text else text.index("Alpha MO coefficients")
    number = re.compile(r"(?<=\s)-?\d\.\d+(?:E[+-]\d+)?(?=\s)").search(text, begin + 200)
    path = tmp_path / name
    path.write_text(text[: number.start()] + "NaN" + text[number.end() :])
    with pytest.raises(ob.OrbitileError):
        ob.load(path)


def test_our_overlap_stands_in_for_that_of_iodata(monkeypatch):
    """And only while a file is read."""
    from iodata.formats import molden

    from orbitile.readers import iodata

    calls = []
    original = molden._is_normalized_properly
    monkeypatch.setattr(iodata, "orbital_norms", lambda *arguments: calls.append(1) or np.ones(1))
    monkeypatch.setattr(molden, "compute_overlap", lambda *arguments: pytest.fail("the slow overlap was computed"))
    with pytest.raises(ConventionError):  # as written it is not normalised, and our stand-in said that it was
        ob.load(SAMPLES / "nh3_orca.molden")
    assert calls
    assert molden._is_normalized_properly is original


def test_openmolcas_states_a_unit_above_its_basis_set(tmp_path):
    """`[GTO] (AU)`, and no scale factors behind the numbers of primitives."""
    text = (SAMPLES / "h2o.molden.input").read_text()
    heading = "\n[GTO]\n"
    assert heading in text
    (tmp_path / "a.molden").write_text(text.replace(heading, "\n[GTO] (AU)\n").replace(" 1.0 \n", "\n"))
    one, other = ob.load(SAMPLES / "h2o.molden.input"), ob.load(tmp_path / "a.molden")
    np.testing.assert_array_equal(one.alpha.coefficients, other.alpha.coefficients)
    (tmp_path / "a.molden").write_text(text.replace(heading, "\n[GTO] (Angs)\n"))
    with pytest.raises(FileError):
        ob.load(tmp_path / "a.molden")


# Molden files of one spin, or several in one --------------------------------------------------------------------------


def half(text, sym="X"):
    """The file with one electron in each orbital, as Q-Chem writes that of a closed shell."""
    text = re.sub(r"(?i)( *ene=)", rf" Sym={sym}\n\1", text)
    return re.sub(r"(?i)occup=\s*2\.0*", "Occup= 1.0", text)


def test_orbitals_of_q_chem_hold_two_electrons(tmp_path):
    whole = ob.load(SAMPLES / "nh3_molden_pure.molden")
    found = ob.load(edited(tmp_path, "nh3_molden_pure.molden", half))
    assert (found.kind, found.n_electrons, found.charge) == ("restricted", 10, 0)
    assert np.array_equal(found.core_charges, whole.core_charges)
    assert any("two are taken" in remark for remark in found.remarks)


def test_orbitals_of_spin_beta_alone_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"pure\.molden: its orbitals are those of spin beta alone"):
        ob.load(edited(tmp_path, "nh3_molden_pure.molden", lambda text: half(text).replace("Alpha", "Beta")))


def test_a_file_for_each_spin_in_one(tmp_path):
    """As Molpro writes them; whatever else follows one another is refused."""

    def both(text):
        text = half(text, "1.1")
        return text + text.replace("Alpha", "Beta")

    found = ob.load(edited(tmp_path, "nh3_molden_pure.molden", both))
    assert (found.kind, found.n_electrons, found.charge) == ("unrestricted", 10, 0)
    assert np.array_equal(found.alpha.coefficients, found.beta.coefficients)
    with pytest.raises(FileError, match="it is 3 Molden files one after another"):
        ob.load(edited(tmp_path, "nh3_molden_pure.molden", lambda text: 3 * text))


def test_exponents_with_a_small_d(tmp_path):
    def small(text):
        head, basis = text.split("[GTO]")
        basis, rest = basis.split("[MO]")
        return head + "[GTO]" + re.sub(r"(\d\.\d+)(\s)", r"\1d+00\2", basis) + "[MO]" + rest

    found = ob.load(edited(tmp_path, "nh3_molden_pure.molden", small))
    whole = ob.load(SAMPLES / "nh3_molden_pure.molden")
    assert np.array_equal(found.shells[1].exponents, whole.shells[1].exponents)


def test_messages_name_the_file_and_not_a_copy_of_it(tmp_path):
    with pytest.raises(FileError) as caught:
        ob.load(edited(tmp_path, "nh3_molden_pure.molden", lambda text: text.replace("Ene=", "\nEne= x", 1)))
    assert "orbitile-" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_orbitals_of_gaussian_that_mix_spins_are_refused(tmp_path):
    def mixed(text):
        return re.sub(r"(Alpha MO coefficients\s+R\s+N=\s+)\d+", r"\g<1>392", text)

    with pytest.raises(FileError, match="complex or mix the spins"):
        ob.load(edited(tmp_path, "h2o_sto3g.fchk", mixed))

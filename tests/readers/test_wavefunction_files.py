"""Wavefunction files: what is read, what is repaired, what is refused."""

import re
import shutil
from importlib import import_module

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.information import as_text, notes
from orbitile.base.errors import ConventionError, FieldError, FileError
from orbitile.commandline import main
from orbitile.evaluation.requests import field_of
from orbitile.fields.orbital import orbital_range
from orbitile.model.wavefunction import DAMAGED
from orbitile.pictures.orbitals import levels_of
from orbitile.readers import load_trajectory
from orbitile.readers._qc_iodata.utils import LineIterator
from orbitile.readers.iodata import _orbitals_at_once
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


POINTS = np.random.default_rng(1).normal(size=(20, 3))


def assert_same_orbitals(path, sample, orbitals=("mo:1", "mo:4", "mo:9")):
    found, known = ob.load(path), ob.load(SAMPLES / sample)
    for name in orbitals:
        values, expected = (ob.evaluate(one, name, POINTS, precision="double") for one in (found, known))
        assert np.abs(np.abs(values) - np.abs(expected)).max() < 1e-6
    return found


@pytest.mark.parametrize("name", ["li2.molden.input", "nh3_psi4.molden", "F.molden", "h2o.molden.input"])
@pytest.mark.parametrize("end", ["", "\n\n[FREQ]\n 1.0\n"])
def test_orbitals_read_at_once_are_those_read_line_by_line(tmp_path, name, end):
    path = tmp_path / name
    path.write_text((SAMPLES / name).read_text(encoding="utf-8").rstrip() + end, encoding="utf-8")
    results = []
    line_by_line = import_module("orbitile.readers._qc_iodata.formats.molden")._load_helper_coeffs
    for reader in (_orbitals_at_once, line_by_line):
        lines = LineIterator(path.name, path.read_bytes())
        next(line for line in lines if line.strip().lower() == "[mo]")
        spins = reader(lines)
        results.append([np.asarray(part) for spin in spins for part in spin if part is not None])
        results[-1].append([line for line in lines if line.strip()])
        results[-1].append(lines.lineno if end else 0)  # at the end of a file it is counted on
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("sample", "edit"),
    [
        ("nh3_molden_pure.molden", lambda text: text.replace("[Molden Format]", "[MOLDEN FORMAT]")),
        ("nh3_molden_pure.molden", lambda text: f"\n written by a program\n{text}"),
        ("nh3_molden_pure.molden", lambda text: text.replace(" This title was manually added for the tests\n", "")),
        ("nh3_molden_pure.molden", lambda text: text.replace("[5D10F]", "")),
        ("nh3_molden_pure.molden", lambda text: text.replace("[5D10F]", "[5D7F9G]")),
        ("nh3_molden_cart.molden", lambda text: text.replace("[GTO]", "[5D]\n[9G]\n[GTO]")),
    ],
)
def test_headings_of_molden_files_may_be_otherwise_or_missing(tmp_path, sample, edit):
    """Which functions are pure, the number of coefficients says."""
    assert_same_orbitals(edited(tmp_path, sample, edit), sample)


def contractions(text, change):
    """A Molden file with other contraction coefficients: `change` takes l, exponents and coefficients of a shell."""
    lines, n = text.splitlines(), 0
    while n < len(lines):
        shell = re.fullmatch(r"\s*([spdfg])\s+(\d+)\s+\S+\s*", lines[n])
        n += 1
        if shell:
            rows = np.array([lines[n + k].replace("D", "E").split()[:2] for k in range(int(shell[2]))], float)
            for k, value in enumerate(change("spdfg".index(shell[1]), *rows.T)):
                lines[n + k] = f"{rows[k, 0]:.12E} {value:.12E}"
            n += len(rows)
    return "\n".join(lines) + "\n"


def with_norms(l, exponents, coefficients):
    """Coefficients of primitives that are not normalised, by the integral of (x^l exp(-a r^2))^2."""
    double = np.prod(np.arange(2 * l - 1, 0, -2.0))
    return coefficients * (2 * exponents / np.pi) ** 0.75 * np.sqrt((4 * exponents) ** l / double)


@pytest.mark.parametrize(
    ("sample", "change", "repair"),
    [
        ("nh3_molden_cart.molden", with_norms, "norms of primitives"),
        ("h2o_ccpvdz_cfour.molden", lambda l, zeta, c: (0.8 + l) * c, "CFOUR errors and unnormalised"),
    ],
)
def test_more_dialects_of_molden_files(tmp_path, sample, change, repair):
    path = edited(tmp_path, sample, lambda text: contractions(text, change))
    assert repair in assert_same_orbitals(path, sample).program


@pytest.mark.parametrize("sample", ["nh3_molden_cart.molden", "nh3_orca.molden", "h2o_ccpvdz_cfour.molden"])
@pytest.mark.parametrize("known", [True, False])
def test_no_dialect_hides_a_damaged_contraction(tmp_path, sample, known):
    changed = []

    def change(l, exponents, coefficients):
        if len(exponents) > 3 and not changed:
            changed.append(True)
            coefficients = coefficients * np.where(np.arange(len(exponents)) == 1, -1.1, 1)
        return coefficients if known else with_norms(l, exponents, coefficients)

    with pytest.raises(ConventionError):
        ob.load(edited(tmp_path, sample, lambda text: contractions(text, change)))
    assert changed


def test_energies_of_an_uncontracted_basis_set_may_be_large(tmp_path):
    path = edited(tmp_path, "nh3_molden_pure.molden", lambda text: re.sub(r"Ene= +2\.\S+", "Ene= 5529080.0", text))
    assert ob.load(path).alpha.energies.max() == 5529080.0
    path = edited(tmp_path, "nh3_molden_pure.molden", lambda text: re.sub(r"Ene= +-1\S+", "Ene= -5529080.0", text))
    with pytest.raises(FileError, match="orbital energies"):
        ob.load(path)


def test_a_method_of_two_words_in_a_checkpoint_file(tmp_path):
    """As of time-dependent calculations with Gaussian 16."""
    path = edited(tmp_path, "h2o_sto3g.fchk", lambda text: text.replace(" RHF      ", " RHF TD-FC", 1))
    assert assert_same_orbitals(path, "h2o_sto3g.fchk", ("homo", "lumo")).method == "RHF-TD-FC/STO-3G"


def test_a_periodic_checkpoint_file_is_called_that(tmp_path):
    def edit(text):
        return re.sub(r"(Number of translation vectors +I +)0", r"\g<1>3", text)

    with pytest.raises(FileError, match="it is periodic"):
        ob.load(edited(tmp_path, "h2o_sto3g.fchk", edit))


def test_a_checkpoint_file_without_orbitals_is_called_that(tmp_path):
    """As Q-Chem writes it where a calculation does not converge."""

    def edit(text):
        return text[: text.index("Alpha Orbital Energies")] + text[text.index("Total SCF Density") :]

    with pytest.raises(FileError, match="did not converge"):
        ob.load(edited(tmp_path, "h2o_sto3g.fchk", edit))


def with_energies(text, label, values):
    """A checkpoint file with other numbers in place of energies."""
    head = re.search(rf"^{label} Orbital Energies +R   N= +(\d+)\n((?:[ \d.E+-]+\n)+)", text, re.MULTILINE)
    assert int(head[1]) == len(values)
    rows = [values[n : n + 5] for n in range(0, len(values), 5)]
    lines = "".join("".join(f"{value:16.8E}" for value in row) + "\n" for row in rows)
    return text[: head.start(2)] + lines + text[head.end(2) :]


@pytest.mark.parametrize(
    ("occupations", "homo"),
    [
        ([2, 2, 1.98, 1.97, 1.93, 0.09, 0.03], 5),
        ([0.03, 2, 2, 1.93, 1.98, 1.97, 0.09], 4),
        ([2.003, 2, 2, 2, 1.999, -0.001, -0.001], 5),
        ([2, 2, 2, 2, 2, 0, 0], 5),
    ],
)
def test_occupations_in_place_of_energies(tmp_path, occupations, homo):
    """Gaussian, MOKIT and Multiwfn write those of natural orbitals where a checkpoint file has energies."""
    path = edited(tmp_path, "h2o_sto3g.fchk", lambda text: with_energies(text, "Alpha", occupations))
    found = ob.load(path)
    assert np.allclose(found.alpha.occupations, occupations)
    assert np.all(np.isnan(found.alpha.energies))
    assert field_of(found, "homo").index == homo - 1
    assert [note for note in notes(found) if "kinetic" in note] == []
    assert "occupations" in "; ".join(notes(found))


def test_occupations_of_each_spin_in_place_of_energies(tmp_path):
    alpha, beta = [1, 1, 1, 0.99, 0.98, 0.02, 0.01, 0], [1, 1, 0.99, 0.98, 0.02, 0.01, 0, 0]

    def edit(text):
        return with_energies(with_energies(text, "Alpha", alpha), "Beta", beta)

    found = ob.load(edited(tmp_path, "ch3_hf_sto3g.fchk", edit))
    assert found.kind == "unrestricted natural"
    assert [field_of(found, f"homo:{spin}").index for spin in ("alpha", "beta")] == [4, 3]


@pytest.mark.parametrize("values", [[0] * 7, [0.4, 0.1, 0, 0, 0.4, 0.1, 0], [-1, 1, 0.1, -0.1, 0, 0, 0]])
def test_neither_energies_nor_occupations_in_a_checkpoint_file(tmp_path, values):
    """Zeros, eigenvalues of natural transition orbitals, or of a spin density: the density matrix tells the filling."""
    path = edited(tmp_path, "h2o_sto3g.fchk", lambda text: with_energies(text, "Alpha", values))
    found = ob.load(path)
    assert np.all(np.isnan(found.alpha.energies))
    assert found.alpha.occupations.tolist() == [2, 2, 2, 2, 2, 0, 0]
    assert "neither energies nor occupations" in "; ".join(notes(found))
    for name in ("homo", "lumo+1"):
        with pytest.raises(FieldError, match="no HOMO"):
            field_of(found, name)
    assert {level.mark for level in levels_of(found)[0]} == {""}
    assert "HOMO" not in as_text(found).replace("the HOMO is unknown", "")


@pytest.mark.parametrize(
    "sample",
    ["hf_sto3g.fchk", "li_h_3-21G_hf_g09.fchk", "monosilicic_acid_hf_lan.fchk", "h_sto3g.fchk", "he_spd_orbital.fchk"],
)
def test_energies_are_no_occupations(sample):
    assert np.all(np.isfinite(ob.load(SAMPLES / sample).alpha.energies))


def test_wfx_files_with_a_banner_and_a_density_of_cores(tmp_path):
    core = "Additional Electron Density Function (EDF)"
    part = f"<{core}>\n<Number of EDF Primitives>\n 1\n</Number of EDF Primitives>\n</{core}>\n"

    def edit(text):
        text = text.replace("<Molecular Orbital Occupation", f"{part}<Molecular Orbital Occupation", 1)
        text = re.sub(r"\n</Primitive Exponents>", " </Primitive Exponents> ", text)
        return f"   ####\n   # WFX of a program #\n\nWarning: in test.\n{text}"

    assert_same_orbitals(edited(tmp_path, "water_sto3g_hf.wfx", edit), "water_sto3g_hf.wfx", ("homo", "mo:1"))


def test_wfn_files_with_other_columns_and_without_an_energy(tmp_path):
    def edit(text):
        text = re.sub(r"^ +(\S+) +(\d+) +(\(CENTRE.*)$", r"\1\2      \2  \3", text, flags=re.MULTILINE)
        return text[: text.index("END DATA")] + "END DATA\n"

    found = assert_same_orbitals(edited(tmp_path, "h2o_sto3g.wfn", edit), "h2o_sto3g.wfn", ("homo", "mo:1"))
    assert np.allclose(found.positions, ob.load(SAMPLES / "h2o_sto3g.wfn").positions)


def test_a_wfn_file_within_what_gamess_punches(tmp_path):
    line = "----- {} INPUT FILE FOR BADER'S AIMPAC PROGRAM -----\n"
    path = edited(
        tmp_path, "h2o_sto3g.wfn", lambda text: " $DATA\nwater\n" + line.format("TOP OF") + text + line.format("END OF")
    )
    assert_same_orbitals(path, "h2o_sto3g.wfn", ("homo", "mo:1"))


def test_spins_of_a_wfn_file_whatever_the_numbers_of_its_orbitals(tmp_path):
    """Some number those of spin beta on from where they like; their overlaps with those of spin alpha tell."""
    path = edited(
        tmp_path,
        "o2_uhf.wfn",
        lambda text: re.sub(r"^MO +(\d+)", lambda n: f"MO{2 * int(n[1]) % 97:5d}", text, flags=re.MULTILINE),
    )
    found, known = ob.load(path), ob.load(SAMPLES / "o2_uhf.wfn")
    assert (len(found.alpha), len(found.beta)) == (len(known.alpha), len(known.beta)) == (9, 7)


def test_a_wfn_file_of_an_atom_averaged_over_its_spins(tmp_path):
    """Orbitals that overlap, and together make the density of a neutral atom; no HOMO among them."""
    text = (SAMPLES / "li_sp_orbital.wfn").read_text()
    head, *orbitals = re.split(r"^(?=MO )", text[: text.index("END DATA")], flags=re.MULTILINE)
    averaged = "".join(
        re.sub(r"OCC NO = +\S+", f"OCC NO =    {occupation:.7f}", orbitals[0]) for occupation in (1.4, 1.0, 0.6)
    )
    path = tmp_path / "atom.wfn"
    path.write_text(re.sub(r"\d+ MOL", "3 MOL", head) + averaged + text[text.index("END DATA") :])
    found = ob.load(path)
    assert found.n_electrons == pytest.approx(3)
    assert "overlap" in "; ".join(notes(found))
    with pytest.raises(FieldError, match="no HOMO"):
        field_of(found, "homo")
    path.write_text(path.read_text().replace("1.4000000", "1.3000000"))  # no neutral atom
    with pytest.raises(ConventionError):
        ob.load(path)


@pytest.fixture
def stretched(tmp_path):
    """A Molden file whose geometry is not that of its orbitals."""

    def edit(text):
        head, atoms, rest = re.split(r"(?<=\[Atoms\] Angs\n)|(?=\[5D10F\])", text)
        rows = [line.split() for line in atoms.splitlines()]
        lines = [" ".join([*row[:3], *(f"{1.003 * float(x):.6f}" for x in row[3:])]) for row in rows]
        return "\n".join([head.rstrip(), *lines, rest])

    return edited(tmp_path, "nh3_molden_pure.molden", edit)


def test_damaged_files_are_opened_on_request_and_say_so_wherever_they_are_shown(stretched, tmp_path, capsys):
    with pytest.raises(ConventionError, match=r"norms .* off by .*distances multiplied by 0\.99.*--accept-damaged"):
        ob.load(stretched)
    found = ob.load(stretched, accept_damaged=True)
    assert found.damaged
    assert DAMAGED in found.title
    assert "DAMAGED" in notes(found)[0]
    for named in (f"{stretched}!accept-damaged", f"{stretched.parent}/*.molden!accept-damaged"):
        assert load_trajectory(named)[0].damaged == found.damaged
    assert ob.load(f"{stretched}!accept-damaged").damaged == found.damaged
    for name in ("homo", "mo:3", "density", "homo-1..homo"):
        assert all(DAMAGED in one.quantity for one in orbital_range(found, name) or [field_of(found, name)])
    plain = ob.render(ob.compute_surface(ob.load(SAMPLES / "nh3_molden_pure.molden"), "homo", 0.05), size=(300, 200))
    warned = ob.render(ob.compute_surface(found, "homo", 0.05), size=(300, 200))
    assert np.any(warned[-25:, :150] != plain[-25:, :150])  # its legend, which nobody asked for
    picture = tmp_path / "nh3.html"
    assert main(["render", str(stretched), "homo", "-o", str(picture), "--accept-damaged", "--quality", "coarse"]) == 0
    assert DAMAGED in picture.read_text()
    assert "DAMAGED" in capsys.readouterr().err
    assert main(["info", str(stretched)]) == 2


def test_sound_files_and_those_of_no_known_dialect_are_read_as_without_the_request(tmp_path):
    sound = ob.load(SAMPLES / "nh3_molden_pure.molden", accept_damaged=True)
    assert not sound.damaged
    assert field_of(sound, "homo").quantity == "HOMO (orbital 5)"
    path = edited(tmp_path, "nh3_molden_pure.molden", lambda text: contractions(text, lambda l, zeta, c: c**3))
    with pytest.raises(ConventionError, match="in the closest dialect") as caught:
        ob.load(path, accept_damaged=True)
    assert "--accept-damaged" not in str(caught.value)


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
    """And only while a file is read, and never in qc-iodata itself."""
    import iodata.formats.molden

    from orbitile.readers import iodata as reader

    molden = import_module("orbitile.readers._qc_iodata.formats.molden")
    assert molden is not iodata.formats.molden
    assert molden.__file__ == iodata.formats.molden.__file__
    calls = []
    original = molden._is_normalized_properly
    monkeypatch.setattr(reader, "orbital_norms", lambda *arguments: calls.append(1) or np.ones(1))
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

"""Turbomole's folders, written here from orbitals of PySCF in the order and signs that `infsao` of `define` prints."""

import gzip

import numpy as np
import pytest
from pyscf.hessian import thermo

import orbitile as ob
from orbitile.analysis.information import notes
from orbitile.base.errors import FileError
from orbitile.gaussians.overlap import kinetic_energy
from orbitile.model.conventions import component_names
from orbitile.readers.turbomole import modes_in
from orbitile.session.source import content_of
from tests.fuzz.damage import mutated
from tests.molecules import gto, scf, wavefunction_of

# d0, d1a = xz, d1b = yz, d2a = xy, d2b; f3b = yyy - 3 xxy; g2b and g3b opposite to ours
ORDER = {
    0: "1",
    1: "x y z",
    2: "c0 c1 s1 s2 c2",
    3: "c0 c1 s1 s2 c2 c3 -s3",
    4: "c0 c1 s1 s2 -c2 c3 -s3 s4 c4",
    5: "c0 c1 s1 s2 c2 c3 s3 s4 c4 c5 s5",
}
CROOKED = "O 0.1 0.2 0.3; H 1.0 0.1 0.2; F -0.6 0.9 -0.5"


def solved(basis="sto-3g", spin=0, charge=0, atoms=CROOKED, method="UHF", **more):
    molecule = gto.M(atom=atoms, basis=basis, spin=spin, charge=charge, verbose=0, **more)
    field = getattr(scf, method if spin else "RHF")(molecule)
    field.max_cycle = 3  # the orbitals are orthonormal from the first cycle on
    field.kernel()
    return field


def written(folder, field, *, ecp=""):
    """The folder of a calculation as Turbomole leaves it; and the wavefunction that it holds."""
    w = wavefunction_of(field.mol, field.mo_coeff, field.mo_occ, field.mo_energy)
    symbols = [field.mol.atom_pure_symbol(n).lower() for n in range(field.mol.natm)]
    lines = [" ".join(f"{x:.14f}" for x in p) + f" {s}" for p, s in zip(w.positions, symbols, strict=True)]
    folder.mkdir(exist_ok=True)
    (folder / "coord").write_text("\n".join(["$coord", *lines, "$user-defined bonds", "$end", ""]))
    blocks, atoms = [], []
    for n, symbol in enumerate(symbols):
        if symbol not in symbols[:n]:
            places = ",".join(str(m + 1) for m in range(len(symbols)) if symbols[m] == symbol)
            potential = [f"   ecp   ={symbol} ecp \\"] if ecp and symbol == ecp else []
            atoms += [f"{symbol}  {places} \\", f"   basis ={symbol} own  \\", *potential]
            blocks += [f"{symbol} own", "# a comment", "*"]
            for shell in (s for s in w.shells if s.atom == n):
                blocks.append(f" {len(shell.exponents)}  {'spdfgh'[shell.angular_momentum]}")
                blocks += [f"{a:.14E} {3 * c:.14E}" for a, c in zip(shell.exponents, shell.coefficients, strict=True)]
            blocks.append("*")
    text = ["$basis", "*", *blocks]
    if ecp:
        text += ["$ecp", "*", f"{ecp} ecp", "*", " ncore =  10  lmax = 2", "f", " 1.0 2 1.0", "*"]
    (folder / "basis").write_text("\n".join([*text, "$end", ""]))
    spins = [w.alpha] if w.beta is None else [w.alpha, w.beta]
    groups = [("scfmo", "mos")] if w.beta is None else [("uhfmo_alpha", "alpha"), ("uhfmo_beta", "beta")]
    for orbitals, (name, file) in zip(spins, groups, strict=True):
        (folder / file).write_text(as_mos(name, w, orbitals))
    control = ["$title", "$symmetry c1", "$coord    file=coord", "$atoms", *atoms, "$basis    file=basis"]
    control += ["$ecp  file=basis"] if ecp else []
    control += [f"${name}  file={file}" for name, file in groups]
    n_double = int(np.sum(w.alpha.occupations > 1.5))
    if w.beta is not None:
        counts = [int(o.occupations.sum()) for o in spins]
        control += ["$alpha shells", f" a 1-{counts[0]} ( 1 )", "$beta shells", f" a 1-{counts[1]} ( 1 )"]
    else:
        control += ["$closed shells", f" a       1-{n_double}          ( 2 )"]
        n_single = int(w.n_electrons) - 2 * n_double
        control += ["$open shells type=1", f" a {n_double + 1}-{n_double + n_single} ( 1 )"] if n_single else []
    (folder / "control").write_text("\n".join([*control, "$dft", "   functional b3-lyp", "$end", ""]))
    return w


def as_mos(name, w, orbitals):
    rows, signs, first = [], [], 0
    for shell in w.shells:
        ours = component_names(shell.angular_momentum, True)
        for label in ORDER[shell.angular_momentum].split():
            rows.append(first + ours.index(label.lstrip("-")))
            signs.append(-1.0 if label.startswith("-") else 1.0)
        first += shell.n_functions
    lines = [f"${name}    scfconv=7   format(4d20.14)", "# SCF total energy is 0 a.u.", "#"]
    for n, (energy, column) in enumerate(
        zip(orbitals.energies, (orbitals.coefficients.T)[:, rows] * signs, strict=True)
    ):
        lines.append(f"{n + 1:6d}  a      eigenvalue={fortran(energy)}   nsaos={len(rows)}")
        lines += ["".join(map(fortran, column[k : k + 4])) for k in range(0, len(rows), 4)]
    return "\n".join([*lines, "$end", ""])


def fortran(value):
    """As d20.14 writes it: 0.12345678901234D+01, and -.12345678901234D+01."""
    mantissa, exponent = f"{value:.13E}".split("E")
    digits = mantissa.replace("-", "").replace(".", "")
    power = int(exponent) + (1 if float(mantissa) else 0)
    return f"{'-' if value < 0 else '0'}.{digits}D{power:+03d}"


def same(found, expected):
    for one, other in ((found.alpha, expected.alpha), (found.beta, expected.beta)):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one.coefficients, other.coefficients, atol=2e-13)
            np.testing.assert_allclose(one.energies, other.energies, atol=1e-12)
            np.testing.assert_array_equal(one.occupations, other.occupations)
    np.testing.assert_allclose(found.positions, expected.positions, atol=1e-13)
    np.testing.assert_array_equal(found.core_charges, expected.core_charges)


@pytest.fixture(scope="module")
def water(tmp_path_factory):
    folder = tmp_path_factory.mktemp("turbomole") / "job"
    return folder, written(folder, solved())


@pytest.mark.parametrize("basis", ["def2-svp", pytest.param("cc-pvqz", marks=pytest.mark.slow)])
def test_all_shells_up_to_g(tmp_path, basis):
    expected = written(tmp_path / "job", solved(basis))
    same(ob.load(tmp_path / "job" / "control"), expected)


def test_a_folder_and_its_files_are_one_calculation(water):
    folder, expected = water
    for path in (folder, folder / "control", folder / "mos"):
        found = ob.load(path)
        same(found, expected)
        assert (found.program, found.method) == ("Turbomole", "b3-lyp")
    assert "control was taken from job" in ob.load(folder).remarks[-1]


def test_spins_and_open_shells(tmp_path):
    expected = written(tmp_path / "uhf", solved(spin=2))
    same(ob.load(tmp_path / "uhf"), expected)
    expected = written(tmp_path / "rohf", solved(spin=2, method="ROHF"))
    found = ob.load(tmp_path / "rohf" / "control")
    same(found, expected)
    assert found.kind == "restricted open-shell"


def test_core_potentials(tmp_path):
    atoms = "Cl 0 0 0.1; H 0 0.2 1.4"
    expected = written(tmp_path / "job", solved(atoms=atoms, basis="lanl2dz", ecp={"Cl": "lanl2dz"}), ecp="cl")
    found = ob.load(tmp_path / "job")
    same(found, expected)
    assert found.core_charges.tolist() == [7, 1]


def test_shells_of_a_basis_set_in_any_order(water, tmp_path):
    """In `mos` those of an atom stand by angular momentum."""
    folder, expected = water
    for name in ("control", "coord", "mos"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    text = (folder / "basis").read_text()
    shells = text.split(" 3  ")
    assert shells[3].startswith("p")
    (tmp_path / "basis").write_text(" 3  ".join([shells[0], shells[1], shells[3].split("*")[0], shells[2] + "*"
                                                 + shells[3].split("*", 1)[1], *shells[4:]]))  # fmt: skip
    same(ob.load(tmp_path), expected)


def test_line_ends_compression_and_archives(water, tmp_path):
    folder, expected = water
    for name in ("control", "coord", "basis", "mos"):
        (tmp_path / name).write_bytes((folder / name).read_bytes().replace(b"\n", b"\r\n"))
    same(ob.load(tmp_path), expected)
    (tmp_path / "mos").write_bytes(gzip.compress((folder / "mos").read_bytes()))
    same(ob.load(tmp_path / "control"), expected)


def test_a_change_in_any_of_its_files_is_seen(water, tmp_path):
    folder, _ = water
    for name in ("control", "coord", "basis", "mos"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    before = content_of(str(tmp_path)), content_of(str(tmp_path / "control"))
    (tmp_path / "mos").write_text((folder / "mos").read_text().replace("scfconv=7", "scfconv=8"))
    after = content_of(str(tmp_path)), content_of(str(tmp_path / "control"))
    assert all(old and old != new for old, new in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("mos", " a      eig", " b1     eig", "irrep b1 over 11 symmetry-adapted functions.*tm2molden"),
        ("control", "file=mos", "file=../mos", r"\$scfmo is in \.\./mos, expected a file of this folder"),
        ("control", "file=mos", "file=/etc/passwd", "expected a file of this folder"),
        ("control", "file=mos", "file=none", r"no \$scfmo in it"),
        ("control", "$closed shells", "$closed", r"has no \$closed shells"),
        ("control", "1-9 ", "1-99", "occupies orbital 99, but there are 11"),
        ("control", "$symmetry", "$periodic 3\n$symmetry", "periodic"),
        ("control", "o  1", "o  7", "7 atoms, and .coord 3"),
        ("control", "o  1", "o  1-999999999", "damaged"),
        ("control", "( 2 )", "( 2", "expected orbitals and electrons .* got 'a       1-9"),
        ("control", " a       1-9", " a'      1-9", "expected orbitals and electrons"),
        ("control", "$closed shells", "$open shells\n a 3 ( 1 )\n$closed shells", "orbital 3 .* two occupations"),
        ("control", "basis =", "bsais  ", "expected 'c 1-2,4'"),
        ("mos", "     1  a      eigenvalue", "     1  a      eigenvaleu", "expected an orbital"),
        ("mos", "     2  a      eig", "     3  a      eig", "expected orbital 2"),
        ("basis", "o own", "o other", "no basis set 'o own' there"),
        ("basis", " 3  p", " 3  h", "signs of Turbomole's h functions are not known"),
        ("basis", " 3  p", " 300000000  p", "expected 300000000 p functions, got 3"),
        ("coord", " o\n", " qq\n", "symbol of an element, got 'qq'"),
        ("mos", "format(4d20.14)", "", "expected 'format"),
        ("mos", "scfconv=7", "expanded", "starting orbitals only"),
        ("coord", "0.18", "0.58", "run dscf or ridft again"),
    ],
)
def test_what_is_refused(water, tmp_path, file, old, new, message):
    for name in ("control", "coord", "basis", "mos"):
        text = (water[0] / name).read_text()
        assert file != name or old in text
        (tmp_path / name).write_text(text.replace(old, new) if file == name else text)
    with pytest.raises(FileError, match=message):
        ob.load(tmp_path / "control")


def test_charge_and_kinetic_energy_are_compared_with_the_orbitals(water, tmp_path):
    folder, expected = water
    for name in ("coord", "basis", "mos"):
        (tmp_path / name).write_text((folder / name).read_text())
    energies = "$energy SCF SCFKIN SCFPOT\n 1 -75.0 74.0 -149.0\n 2 -75.1 {:.10f} -150.0\n$end\n"
    (tmp_path / "energy").write_text(energies.format(kinetic_energy(expected)))
    more = "$charge from dscf\n   0.000 (not to be modified here)\n$energy file=energy\n$symmetry"
    control = (folder / "control").read_text().replace("$symmetry", more)
    (tmp_path / "control").write_text(control)
    assert notes(ob.load(tmp_path / "control")) == ()
    (tmp_path / "control").write_text(control.replace("1-9 ", "1-8 "))
    told = "; ".join(notes(ob.load(tmp_path / "control")))
    assert "states a charge of +0" in told
    assert "kinetic energy" in told


def test_orbitals_without_the_rest(water, tmp_path):
    (tmp_path / "mos").write_bytes((water[0] / "mos").read_bytes())
    with pytest.raises(FileError, match="need the file control"):
        ob.load(tmp_path / "mos")


@pytest.mark.slow
def test_damaged_folders(water, tmp_path):
    """Whatever happens to a file, it is a wavefunction or an error of ours."""
    folder, expected = water
    random = np.random.default_rng(3)
    for n in range(200):
        names = ("control", "coord", "basis", "mos")
        for name in names:
            data = (folder / name).read_bytes()
            (tmp_path / name).write_bytes(mutated(data, random) if name == names[n % 4] else data)
        try:
            found = ob.load(tmp_path / "control")
        except ob.OrbitileError:
            continue
        assert found.n_basis == expected.n_basis


def test_modes_beside_control_are_those_of_pyscf(tmp_path):
    """Modes in a file of their own and the spectrum in `control`, as `aoforce` leaves them."""
    field = scf.RHF(gto.M(atom="O 0 0 0; H 0.3 0.9 0; H 0.3 -0.3 0.9", basis="sto-3g", verbose=0)).run()
    hessian = field.Hessian().kernel()
    found = thermo.harmonic_analysis(field.mol, hessian, imaginary_freq=False)
    values, modes = [0.0] * 6 + list(found["freq_wavenumber"]), np.zeros((9, 9))
    modes[:, 6:] = found["norm_mode"].reshape(3, 9).T
    matrix = hessian.transpose(0, 2, 1, 3).reshape(9, 9)

    def rows(numbers):
        return "".join(
            f"{row:3d}{block + 1:2d}" + "".join(f"{x:15.10f}" for x in line[5 * block : 5 * block + 5]) + "\n"
            for row, line in enumerate(numbers, 1)
            for block in range(2)
        )

    atoms = "".join(
        "".join(f"{x:20.12f}" for x in field.mol.atom_coord(n)) + f"  {field.mol.atom_pure_symbol(n).lower()}\n"
        for n in range(3)
    )
    lines = "".join(
        f"{n:6d}  {'a' if n > 6 else '':8s} {value:12.2f} {float(n):14.5f}  YES YES\n"
        for n, value in enumerate(values, 1)
    )
    (tmp_path / "vib_normal_modes").write_text(f"$vibrational normal modes\n{rows(modes)}$end\n")
    (tmp_path / "control").write_text(
        f"$title\n$coord\n{atoms}$vibrational normal modes file=vib_normal_modes\n$vibrational spectrum\n"
        f"#  mode   symmetry  wave number\n{lines}$hessian (projected)\n{rows(matrix)}$end\n"
    )
    for name in ("control", "vib_normal_modes"):
        read = modes_in(tmp_path / name)
        np.testing.assert_allclose(read.wavenumbers, values, atol=0.006)
        np.testing.assert_allclose(read.displacements[6:], found["norm_mode"].reshape(3, 9), atol=1e-9)
        np.testing.assert_allclose(read.hessian, matrix, atol=1e-9)
        np.testing.assert_allclose(read.positions, field.mol.atom_coords(), atol=1e-9)
        assert read.symmetries == ("",) * 6 + ("a",) * 3
        assert read.infrared.tolist() == list(range(1, 10))
    (tmp_path / "control").unlink()
    with pytest.raises(FileError, match="need the file control"):
        modes_in(tmp_path / "vib_normal_modes")

"""Logs of quantum-chemistry programs: whole logs where there are some, and what cclib makes of them, made up here."""

import itertools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import ConventionError, FileError
from orbitile.gaussians.orthonormality import checked
from orbitile.readers import cclib as reader
from orbitile.readers._logs import PROGRAMS
from orbitile.readers.cclib import nwchem_basis
from tests.conftest import SAMPLES
from tests.oracle import basis_functions, orbital

LOGS = Path(__file__).parents[3] / "shared" / "data" / "logs"
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason="logs of whole calculations are not kept with the package")
HARTREE, ANGSTROM = 27.211386245988, 1 / 0.529177210903

# HOMO as printed in the log, in hartree or eV; unit in the last printed digit
PRINTED = {
    "gamess_us2018_dvb_sp.out": (-0.1494, 1e-4),
    "gaussian16_dvb_sp.out": (-0.15308, 1e-5),
    "molpro2012_dvb_sphf.out": (-0.2133, 1e-4),
    "orca5_dvb_sp.out": (-0.149394, 1e-6),
    "psi4_1.7_dvb_sp_rhf.out": (-0.222179, 1e-6),
    "qchem54_dvb_sp.out": (-0.1600, 1e-4),
}


@pytest.fixture(scope="module")
def logs() -> dict[str, ob.Wavefunction]:
    return {name: reader.read(LOGS / name) for name in PRINTED}


def independent_overlap(wavefunction):
    """Overlap of our basis functions by PySCF, in its order, and our rows in that order."""
    gto = pytest.importorskip("pyscf.gto")
    basis = {}
    for atom in range(wavefunction.n_atoms):
        mine = [s for s in wavefunction.shells if s.atom == atom]
        basis[f"H{atom}"] = [
            [s.angular_momentum, *zip(s.exponents.tolist(), s.coefficients.tolist(), strict=True)] for s in mine
        ]
    molecule = gto.M(
        atom=[(f"H{n}", position) for n, position in enumerate(wavefunction.positions)],
        unit="Bohr",
        basis=basis,
        spin=None,
        verbose=0,
    )
    place, first = {}, 0
    for s in wavefunction.shells:
        place.setdefault((s.atom, s.angular_momentum), []).append(first)
        first += s.n_functions
    # PySCF sorts the shells of an atom by angular momentum, and keeps their order otherwise
    order = []
    for atom in range(wavefunction.n_atoms):
        for l in sorted({s.angular_momentum for s in wavefunction.shells if s.atom == atom}):
            for start in place[atom, l]:
                assert l < 2
                order += range(start, start + 2 * l + 1)
    return molecule.intor("int1e_ovlp_sph"), order


@needs_logs
@pytest.mark.parametrize("name", PRINTED)
def test_orbitals_of_logs_are_orthonormal_by_another_overlap(logs, name):
    w = logs[name]
    overlap, order = independent_overlap(w)
    coefficients = w.alpha.coefficients[order]
    np.testing.assert_allclose(coefficients.T @ overlap @ coefficients, np.eye(len(w.alpha)), atol=1e-4)
    assert checked(w) is w


@needs_logs
@pytest.mark.parametrize("name", PRINTED)
def test_electrons_and_energies_of_logs(logs, name):
    w = logs[name]
    homo = int(np.flatnonzero(w.alpha.occupations)[-1])
    energy, unit = PRINTED[name]
    assert w.n_electrons == 70 == w.core_charges.sum()
    assert w.kind == "restricted"
    assert w.alpha.energies[homo] == pytest.approx(energy, abs=0.6 * unit)
    assert len(w.alpha) == w.n_basis == 60
    assert w.method.upper() == ("HF" if "hf" in name else "B3LYP") + "/STO-3G"
    if "molpro" not in name:
        assert w.alpha.irreps[homo].lower() == "bg"


@needs_logs
def test_logs_are_recognised_by_their_beginning(tmp_path):
    for name in PRINTED:
        head = (LOGS / name).read_text(errors="replace")[:4096]
        if "molpro" not in name:  # it prints its options first
            assert reader.recognises(head), name
    other_name = tmp_path / "calculation.txt"
    other_name.write_bytes((LOGS / "psi4_1.7_dvb_sp_rhf.out").read_bytes())
    assert ob.load(other_name).program.startswith("Psi4")
    assert not reader.recognises(
        "[Molden Format]\n[Title]\n Psi4: An Open-Source Ab Initio Electronic Structure Package"
    )


def density(wavefunction, points):
    values = wavefunction.alpha.coefficients.T @ basis_functions(wavefunction, points)
    return wavefunction.alpha.occupations @ values**2


def internal_points(wavefunction):
    """Points fixed to the molecule, whatever its frame: on nuclei and bonds, and above the plane of the molecule."""
    r = wavefunction.positions
    normal = np.linalg.svd(r - r.mean(axis=0))[2][2]
    pairs = [(a, b) for a, b in itertools.combinations(range(len(r)), 2) if np.linalg.norm(r[a] - r[b]) < 3]
    middle = np.array([(r[a] + r[b]) / 2 for a, b in pairs])
    return np.vstack([r, middle, r + 0.9 * normal, middle + 0.9 * normal])


@needs_logs
def test_programs_agree_about_the_density(logs):
    gamess, orca = logs["gamess_us2018_dvb_sp.out"], logs["orca5_dvb_sp.out"]  # the same functional
    a, b = (density(w, internal_points(w)) for w in (gamess, orca))
    np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-6)
    psi4 = logs["psi4_1.7_dvb_sp_rhf.out"]  # Hartree-Fock at the same geometry
    np.testing.assert_allclose(density(psi4, internal_points(psi4)), b, rtol=0.05, atol=2e-3)


@needs_logs
@pytest.mark.parametrize("name", ["orca5_dvb_sp.out", "psi4_1.7_dvb_sp_rhf.out", "qchem54_dvb_sp.out"])
def test_orbitals_of_logs_at_points_are_those_of_pyscf(logs, name):
    gto = pytest.importorskip("pyscf.gto")
    w = logs[name]
    molecule = gto.M(
        atom=list(zip(w.atomic_numbers.tolist(), w.positions.tolist(), strict=True)),
        unit="Bohr",
        basis="sto-3g",
        verbose=0,
    )
    points = np.random.default_rng(1).uniform(-8, 8, (200, 3))
    values = molecule.eval_gto("GTOval_sph", points) @ w.alpha.coefficients  # both s, s, p by atom
    for index in (0, 12, 34, 35, 59):
        np.testing.assert_allclose(orbital(w, index, points), values[:, index], atol=2e-6)


@needs_logs
def test_truncated_logs_are_refused_in_one_line(tmp_path):
    rng, refused = np.random.default_rng(5), 0
    for name in ("orca5_dvb_sp.out", "gaussian16_dvb_sp.out", "psi4_1.7_dvb_sp_rhf.out"):
        content = (LOGS / name).read_bytes()
        for cut in (200, 3000, *(int(x) for x in rng.uniform(0.05, 0.5, 2) * len(content))):
            path = tmp_path / f"{cut}.log"
            path.write_bytes(content[:cut])
            message = refusal(path)
            if message is not None:
                refused += 1
                assert path.name in message
                assert "\n" not in message
    assert refused > 6  # of twelve


def refusal(path):
    try:
        w = ob.load(path)
    except FileError as error:
        return str(error)
    return None if w.n_electrons == 70 else f"{w.n_electrons} electrons"


# what cclib makes of a log -----------------------------------------------------------------------------------------


def cc_data(numbers, positions, gbasis, coefficients, occupied, labels, **more):
    """Attributes as cclib has them: Angstrom, eV, orbitals in rows."""
    return SimpleNamespace(
        atomnos=np.asarray(numbers),
        atomcoords=np.asarray(positions, float)[None] / ANGSTROM,
        gbasis=gbasis,
        mocoeffs=[np.asarray(coefficients).T],
        homos=[occupied - 1],
        aonames=labels,
        metadata={},
        **more,
    )


GAUSSIAN = {
    (0, False): ["S"],
    (1, False): ["PX", "PY", "PZ"],
    (2, True): ["D 0", "D+1", "D-1", "D+2", "D-2"],
    (3, True): ["F 0", "F+1", "F-1", "F+2", "F-2", "F+3", "F-3"],
    (2, False): ["XX", "YY", "ZZ", "XY", "XZ", "YZ"],
    (3, False): ["XXX", "YYY", "ZZZ", "XYY", "XXY", "XXZ", "XZZ", "YZZ", "YYZ", "XYZ"],
}
ORCA = {
    (0, False): ["S"],
    (1, False): ["PX", "PY", "PZ"],
    (2, True): ["DZ2", "DXZ", "DYZ", "DX2Y2", "DXY"],
    (3, True): ["F0", "F+1", "F-1", "F+2", "F-2", "F+3", "F-3"],
    (4, True): ["G0", "G+1", "G-1", "G+2", "G-2", "G+3", "G-3", "G+4", "G-4"],
    (5, True): ["H0", "H+1", "H-1", "H+2", "H-2", "H+3", "H-3", "H+4", "H-4", "H+5", "H-5"],
}


@pytest.mark.parametrize(
    ("file", "program", "names"),
    [
        ("o2_cc_pvtz_pure.fchk", "Gaussian", GAUSSIAN),
        ("o2_cc_pvtz_cart.fchk", "Gaussian", GAUSSIAN),
        ("water_ccpvdz_pure_hf_g03.fchk", "Gaussian", GAUSSIAN),
        ("water_hfs_321g.fchk", "Gaussian", GAUSSIAN),
        ("nh3_orca.molden", "ORCA", ORCA),
        pytest.param("orca_cuh_cc_pvqz_pure.molden", "ORCA", ORCA, marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_coefficients_as_the_program_printed_them(file, program, names):
    """Coefficients of fchk and Molden files have the order and signs of the logs of the same program."""
    from iodata.api import load_one

    theirs, expected = load_one(str(SAMPLES / file)), ob.load(SAMPLES / file)
    labels, gbasis = [], [[] for _ in theirs.atnums]
    for general in theirs.obasis.shells:
        for l, kind, column in zip(general.angmoms, general.kinds, general.coeffs.T, strict=True):
            pure = kind == "p"
            # as in a log, contractions are those of the input, and not normalised
            contraction = list(zip(general.exponents.tolist(), (0.7 * column).tolist(), strict=True))
            gbasis[general.icenter].append(("SPDFGH"[l], contraction))
            labels += [f"X{general.icenter + 1}_{len(labels)}{name}" for name in names[int(l), pure]]
    data = cc_data(
        theirs.atnums, theirs.atcoords, gbasis, theirs.mo.coeffs.round(6), int(theirs.mo.occs.sum()) // 2, labels
    )
    w = checked(reader.wavefunction_from(data, PROGRAMS[program], Path("some.log")))
    points = np.random.default_rng(2).normal(size=(60, 3)) + w.positions[0]
    values, reference = (x.alpha.coefficients.T @ basis_functions(x, points) for x in (w, expected))
    np.testing.assert_allclose(values, reference, atol=1e-4)


# polynomials of the components in the order of the log; a factor of each is fixed by its norm
def _r2(x, y, z):
    return x * x + y * y + z * z


HARMONICS = {
    "z2": lambda x, y, z: 3 * z * z - _r2(x, y, z),
    "xz": lambda x, y, z: x * z,
    "yz": lambda x, y, z: y * z,
    "x2-y2": lambda x, y, z: x * x - y * y,
    "xy": lambda x, y, z: x * y,
    "-xz": lambda x, y, z: -x * z,
    "z3": lambda x, y, z: z * (5 * z * z - 3 * _r2(x, y, z)),
    "xz2": lambda x, y, z: x * (5 * z * z - _r2(x, y, z)),
    "yz2": lambda x, y, z: y * (5 * z * z - _r2(x, y, z)),
    "z(x2-y2)": lambda x, y, z: z * (x * x - y * y),
    "xyz": lambda x, y, z: x * y * z,
    "x(x2-3y2)": lambda x, y, z: x * (x * x - 3 * y * y),
    "y(3x2-y2)": lambda x, y, z: y * (3 * x * x - y * y),
    "-xz2": lambda x, y, z: -x * (5 * z * z - _r2(x, y, z)),
    "-x(x2-3y2)": lambda x, y, z: -x * (x * x - 3 * y * y),
    "-y(3x2-y2)": lambda x, y, z: -y * (3 * x * x - y * y),
    **{
        m: (lambda powers: lambda x, y, z: x ** powers.count("x") * y ** powers.count("y") * z ** powers.count("z"))(m)
        for l in (2, 3)
        for m in ("".join(c) for c in itertools.combinations_with_replacement("xyz", l))
        if m not in ("xy", "xz", "yz", "xyz")
    },
}
ASCENDING_D = "xy yz z2 xz x2-y2"
CASES = [
    ("Gaussian", "D 0/D+1/D-1/D+2/D-2", "z2 xz yz x2-y2 xy"),
    ("Gaussian", "XX/YY/ZZ/XY/XZ/YZ", "xx yy zz xy xz yz"),
    ("Gaussian", "XXX/YYY/ZZZ/XYY/XXY/XXZ/XZZ/YZZ/YYZ/XYZ", "xxx yyy zzz xyy xxy xxz xzz yzz yyz xyz"),
    ("GAMESS", "XX/YY/ZZ/XY/XZ/YZ", "xx yy zz xy xz yz"),
    ("GAMESS", "XXX/YYY/ZZZ/XXY/XXZ/YYX/YYZ/ZZX/ZZY/XYZ", "xxx yyy zzz xxy xxz xyy yyz xzz yzz xyz"),
    ("ORCA", "DZ2/DXZ/DYZ/DX2Y2/DXY", "z2 xz yz x2-y2 xy"),
    ("ORCA", "F0/F+1/F-1/F+2/F-2/F+3/F-3", "z3 xz2 yz2 z(x2-y2) xyz -x(x2-3y2) -y(3x2-y2)"),
    ("QChem", "D 1/D 2/D 3/D 4/D 5", ASCENDING_D),
    ("QChem", "DXX/DXY/DYY/DXZ/DYZ/DZZ", "xx xy yy xz yz zz"),
    ("QChem", "F 1/F 2/F 3/F 4/F 5/F 6/F 7", "y(3x2-y2) xyz yz2 z3 xz2 z(x2-y2) x(x2-3y2)"),
    ("Molpro", "d0/d2-/d1+/d2+/d1-", "z2 xy xz x2-y2 yz"),
    ("Molpro", "f1+/f1-/f0/f3+/f2-/f3-/f2+", "xz2 yz2 z3 x(x2-3y2) xyz y(3x2-y2) z(x2-y2)"),
    ("Molpro", "xx/yy/zz/xy/xz/yz", "xx yy zz xy xz yz"),
    ("NWChem", "", "xy yz z2 -xz x2-y2"),
    ("NWChem", "", "y(3x2-y2) xyz yz2 z3 -xz2 z(x2-y2) -x(x2-3y2)"),
    ("NWChem", "", "xx xy xz yy yz zz"),
    ("Psi4", "", "z2 xz yz x2-y2 xy"),
    ("Psi4", "", "z3 xz2 yz2 z(x2-y2) xyz x(x2-3y2) y(3x2-y2)"),
]


@pytest.mark.parametrize(("program", "labels", "polynomials"), CASES, ids=lambda value: value[:24])
def test_components_of_d_and_f_shells(program, labels, polynomials):
    functions = [HARMONICS[name] for name in polynomials.split()]
    n = len(functions)
    letter = "D" if n in (5, 6) else "F"
    names = [f"O1_3{label}" for label in labels.split("/")] if labels else ["O1_wrong"] * n
    data = cc_data([8], [[0, 0, 0]], [[(letter, [(0.8, 1.0)])]], np.eye(n), n, names)
    w = reader.wavefunction_from(data, PROGRAMS[program], Path("some.log"))
    x = np.arange(-6, 6.1, 0.4)
    points = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    for index, function in enumerate(functions):
        values = function(*points.T) * np.exp(-0.8 * np.sum(points**2, axis=1))
        values /= np.sqrt(np.sum(values**2) * 0.4**3)
        np.testing.assert_allclose(orbital(w, index, points), values, atol=1e-6)


def test_psi4_prints_pure_p_shells_as_z_x_y():
    """Where counts do not tell pure from Cartesian, the overlap does: both orders of p functions are read."""
    ours = ob.load(SAMPLES / "monosilicic_acid_hf_lan.fchk")
    starts = np.cumsum([0, *(s.n_functions for s in ours.shells)])
    gbasis = [[] for _ in range(ours.n_atoms)]
    for s in ours.shells:
        gbasis[s.atom].append(
            ("SP"[s.angular_momentum], list(zip(s.exponents.tolist(), s.coefficients.tolist(), strict=True)))
        )
    for permutation in ([2, 0, 1], [0, 1, 2]):
        rows = np.concatenate(
            [
                start + (np.array(permutation) if s.angular_momentum == 1 else np.array([0]))
                for start, s in zip(starts, ours.shells, strict=False)
            ]
        )
        occupied = int(ours.n_electrons) // 2
        data = cc_data(ours.atomic_numbers, ours.positions, gbasis, ours.alpha.coefficients[rows], occupied, [])
        w = checked(reader.wavefunction_from(data, PROGRAMS["Psi4"], Path("some.log")))
        np.testing.assert_allclose(w.alpha.coefficients, ours.alpha.coefficients)


def test_cartesian_functions_that_share_a_norm():
    """Psi4 gives xy the norm of xx: its coefficients of xy are larger by sqrt(3) and read as such."""
    coefficients = np.diag([1, 3**0.5, 3**0.5, 1, 3**0.5, 1])
    data = cc_data([8], [[0, 0, 0]], [[("D", [(0.8, 1.0)])]], coefficients, 1, [])
    w = reader.wavefunction_from(data, PROGRAMS["Psi4"], Path("some.log"))
    np.testing.assert_allclose(w.alpha.coefficients, np.eye(6))
    assert "norm of x^l" in w.program


def test_pure_and_cartesian_shells_mix():
    """Cartesian d with pure f, as in many basis sets of Gaussian."""
    labels = [f"C1_{n}{name}" for n, name in enumerate([*GAUSSIAN[2, False], *GAUSSIAN[3, True]])]
    gbasis = [[("D", [(0.8, 1.0)]), ("F", [(0.9, 1.0)])]]
    data = cc_data([6], [[0, 0, 0]], gbasis, np.eye(13), 3, labels)
    w = reader.wavefunction_from(data, PROGRAMS["Gaussian"], Path("some.log"))
    assert [shell.pure for shell in w.shells] == [False, True]


def helium(**more):
    basis = [[("S", [(0.5, 1.0)]), ("P", [(0.4, 1.0)])]]
    labels = ["He1_1S", "He1_2PX", "He1_2PY", "He1_2PZ"]
    data = cc_data([2], [[0, 0, 0]], basis, np.eye(4), 1, labels)
    vars(data).update(more)
    return data


def convert(data, program="Gaussian"):
    return reader.wavefunction_from(data, PROGRAMS[program], Path("some.log"))


def test_occupations_and_energies():
    from cclib.parser.utils import convertor

    w = convert(helium(moenergies=[np.array([convertor(x, "hartree", "eV") for x in (-0.9, 0.1, 0.1)])]))
    np.testing.assert_array_equal(w.alpha.occupations, [2, 0, 0, 0])
    np.testing.assert_allclose(w.alpha.energies, [-0.9, 0.1, 0.1, np.nan], rtol=1e-14)
    open_shell = convert(helium(homos=[1, 0]))
    np.testing.assert_array_equal(open_shell.alpha.occupations, [2, 1, 0, 0])
    assert open_shell.kind == "restricted open-shell"
    unrestricted = convert(helium(homos=[0, -1], mocoeffs=[np.eye(4), np.eye(4)], mosyms=[list("abcd")] * 2))
    assert (unrestricted.kind, unrestricted.n_electrons) == ("unrestricted", 1)
    assert unrestricted.beta.irreps == tuple("abcd")


def test_electrons_of_effective_core_potentials():
    data = helium(atomnos=np.array([30]), coreelectrons=np.array([28]), homos=[14], charge=0, mult=1)
    w = convert(data)
    assert (w.core_charges.tolist(), w.n_electrons, w.charge) == ([2], 2, 0)
    assert "charge and multiplicity" in w.program


def test_core_potentials_that_the_parser_does_not_know():
    """Without them the electrons would be filled up to those of bare nuclei, and another orbital be the HOMO."""
    w = convert(helium(atomnos=np.array([30]), homos=[0], charge=0, mult=1))
    assert (w.core_charges.tolist(), w.n_electrons, w.charge) == ([2], 2, 0)
    assert "core potentials on Zn (28 electrons) are assumed" in w.remarks[0]
    np.testing.assert_array_equal(w.alpha.occupations, [2, 0, 0, 0])


def test_an_energy_of_zero_is_none():
    """GAMESS prints it where the iterations did not converge."""
    assert convert(helium(scfenergies=[0.0])).stated.energy is None


def test_gamess_orbitals_over_orthogonal_functions_are_passed_over():
    """NPRINT=9 prints them below the orbitals, under the same heading between dashes."""
    from orbitile.readers._logs import _orthogonal_basis

    parser, dashes = SimpleNamespace(), 10 * " " + 41 * "-"
    lines = [
        "          ------------",
        "          EIGENVECTORS",
        "          ------------",
        "",
        dashes,
        "          EIGENVECTORS",
        dashes,
    ]
    assert [n for n, line in enumerate(lines) if _orthogonal_basis(parser, line)] == [5]


@pytest.mark.filterwarnings("ignore")
def test_contractions_that_jaguar_prints_in_pieces():
    """Two primitives normalised by themselves, and a third as if it were alone: their ratio is that of the orbitals."""
    ours = ob.load(SAMPLES / "water_sto3g_hf_g03.fchk")
    gbasis, labels = [[] for _ in range(3)], []
    for shell in ours.shells:
        pieces = shell.coefficients.copy()
        if shell.atom == 0 and len(gbasis[0]):  # valence of oxygen
            pieces[:-1] /= 1.7 * pieces[-1]
            pieces[-1] = 1.0
        letters = "S" if shell.angular_momentum == 0 else "P"
        gbasis[shell.atom].append((letters, list(zip(shell.exponents.tolist(), pieces.tolist(), strict=True))))
        labels += [f"X{shell.atom + 1}_{name}" for name in (["S"] if letters == "S" else ["X", "Y", "Z"])]
    data = cc_data(ours.atomic_numbers, ours.positions, gbasis, ours.alpha.coefficients.round(5), 5, labels)
    w = checked(convert(data, "Jaguar"))
    for found, expected in zip(w.shells, ours.shells, strict=True):
        np.testing.assert_allclose(found.coefficients, expected.coefficients, atol=2e-4)
    assert any("put together" in remark for remark in w.remarks)
    data.mocoeffs = [1.3 * ours.alpha.coefficients.T]
    with pytest.raises(ConventionError, match="off by more than its digits explain"):
        convert(data, "Jaguar")


def test_natural_orbitals():
    data = helium(nocoeffs=np.eye(4), nooccnos=np.array([1.9, 0.06, 0.03, 0.01]))
    del data.mocoeffs
    w = convert(data)
    assert w.kind == "natural"
    np.testing.assert_allclose(w.alpha.occupations, [1.9, 0.06, 0.03, 0.01])


def test_incomplete_orbitals_are_left_out():
    coefficients = np.eye(4)
    coefficients[2] = np.nan  # orbitals that are not printed
    coefficients[3] = 0
    w = convert(helium(mocoeffs=[coefficients], mosyms=[["A", "B", "C", "D"]]))
    assert w.alpha.irreps == ("A", "B")
    np.testing.assert_array_equal(w.alpha.occupations, [2, 0])


def test_the_geometry_is_the_one_of_the_orbitals():
    """The last one, or the one at which the orbitals are normalised."""
    labels, basis = ["H1_1S", "H2_1S"], [[("S", [(0.5, 1.0)])]] * 2
    distances = [1.2, 1.4, 1.6]
    overlap = np.exp(-0.25 * 1.4**2)
    orbitals = np.array([[1, 1], [1, -1]]).T / np.sqrt([2 + 2 * overlap, 2 - 2 * overlap])
    data = cc_data([1, 1], np.zeros((2, 3)), basis, orbitals, 1, labels)
    for order, program in (([0, 2, 1], "Gaussian 1 log"), ([0, 1, 2], "geometry 2 of 3")):
        data.atomcoords = np.array([[[0, 0, 0], [0, 0, distances[n]]] for n in order]) / ANGSTROM
        data.metadata = {"package_version": "1+A", "success": True}
        w = convert(data)
        assert w.positions[1, 2] == pytest.approx(1.4, abs=1e-7)
        assert program in w.program


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"gbasis": None}, FileError, "prints no basis set; run it again with gfinput"),
        ({"mocoeffs": []}, FileError, "prints no orbital coefficients; run it again with pop=full"),
        ({"mocoeffs": [np.zeros((4, 4))]}, FileError, "prints no orbital coefficients"),
        ({"metadata": {"success": False}, "gbasis": None}, FileError, "does not end as a finished calculation"),
        (
            {"aonames": ["He1_1S", "He1_2PX", "He1_2PY", "He1_odd"]},
            ConventionError,
            "'He1_odd': not the label of a known basis function",
        ),
        ({"aonames": ["He1_1S", "He1_2PX", "He1_2PY"]}, ConventionError, "3 labelled basis functions, expected 4"),
        ({"aonames": ["He1_1S", "He1_2PX", "He1_2PY", "He1_2S"]}, ConventionError, "do not cover p shell 1 of atom 1"),
        ({"mocoeffs": [2 * np.eye(4)]}, ConventionError, "off by more than its digits explain"),
        ({"gbasis": [[("S", [(0.5, 1.0)])]] * 2}, FileError, "expected a basis set of 1 atoms, got 2"),
        ({"gbasis": [[("S", [(0.5, 0.0)])]]}, FileError, "a function without coefficients on atom 1"),
        ({"moenergies": [np.zeros(4)] * 2, "homos": [0, 0]}, FileError, "energies of two spins, but orbitals of one"),
    ],
)
def test_what_is_missing_is_said(change, error, message):
    with pytest.raises(error, match=message) as caught:
        convert(helium(**change))
    assert "some.log" in str(caught.value)


def test_psi4_basis_sets_that_do_not_fit():
    with pytest.raises(ConventionError, match="neither with pure nor with Cartesian"):
        convert(helium(gbasis=[[("S", [(0.5, 1.0)])]]), "Psi4")


NWCHEM = """\
                      Basis "ao basis" -> "ao basis" (spherical)
                      -----
  O (Oxygen)
  ----------
            Exponent  Coefficients
       -------------- ---------------------------------------------------------
  1 S  1.30709320E+02  0.154329
  1 S  2.38088610E+01  0.535328

  2 D  1.20000000E+00  1.000000

  H2 (Hydrogen)
  -------------
            Exponent  Coefficients
       -------------- ---------------------------------------------------------
  1 S  3.42525091E+00  1.000000



 Summary of "ao basis" -> "ao basis" (spherical)
"""


def test_pure_basis_sets_of_nwchem(tmp_path):
    """They are in the log, but cclib passes over them."""
    geometry = "    1 O                    8.0000     0.00000000     0.00000000    -0.12345678\n"
    geometry += "    2 H2                   1.0000     0.00000000    -0.75000000     0.50000000\n"
    path = tmp_path / "some.out"
    path.write_text(geometry + "\n" + NWCHEM)
    basis = nwchem_basis(path, SimpleNamespace(atomnos=[8, 1]))
    assert [[(letter, len(primitives)) for letter, primitives in atom] for atom in basis] == [
        [("S", 2), ("D", 1)],
        [("S", 1)],
    ]
    assert basis[0][0][1][1] == (23.808861, 0.535328)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("water_orca.out", "ORCA log prints no basis set; run it again with ! PrintBasis"),
        ("water_hf_ccpvtz_freq_qchem.out", "Q-Chem log prints no basis set"),
        ("atom_si.cp2k.out", "a log of CP2K; its Molden file"),
    ],
)
def test_logs_without_orbitals(file, message, capfd):
    with pytest.raises(FileError, match=message) as caught:
        ob.load(SAMPLES / file)
    assert str(caught.value).startswith(file)
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize(
    "content", [b"", b"nothing\n", b"\x00\x01\x02" * 100, b"* O   R   C   A *\n", b"\xff\xfe" * 50]
)
def test_files_that_are_no_logs(tmp_path, content, capfd):
    path = tmp_path / "some.log"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"some\.log"):
        ob.load(path)
    with pytest.raises(FileError, match=r"some\.log"):
        reader.read(path)
    assert "".join(capfd.readouterr()) == ""


def test_occupied_orbitals_that_are_not_read_are_no_density():
    coefficients = np.eye(4)
    coefficients[0] = np.nan
    with pytest.raises(FileError, match="no orbitals of 2 electrons in this Gaussian log"):
        convert(helium(mocoeffs=[coefficients]))


@pytest.mark.parametrize("n_decimals", [3, 4, 5])
def test_orbitals_of_few_digits_are_made_orthonormal_within_these(n_decimals):
    """GAMESS-UK and OpenMolcas print four."""
    angles = np.linspace(0.3, 1.2, 40)
    basis = [[("S", [(0.5, 1.0)])]] * 40
    positions = [[4.0 * n, np.sin(n), 0] for n in range(40)]
    overlap = np.exp(-0.25 * np.sum((np.array(positions)[:, None] - np.array(positions)) ** 2, axis=2))
    values, vectors = np.linalg.eigh(overlap)
    exact = vectors / np.sqrt(values) @ np.linalg.qr(np.cos(np.outer(np.arange(40), angles)))[0]
    printed = np.round(exact, n_decimals)
    labels = [f"H{n + 1}_1S" for n in range(40)]
    data = cc_data([1] * 40, positions, basis, printed, 20, labels)
    w = checked(convert(data, "GAMESSUK"))
    assert np.abs(w.alpha.coefficients - exact).max() < 10.0**-n_decimals
    assert any(f"printed with {n_decimals} decimals" in remark for remark in w.remarks) == (n_decimals < 5)
    data.mocoeffs = [1.01 * printed.T]
    with pytest.raises(ConventionError, match="off by more than its digits explain"):
        convert(data, "GAMESSUK")


def test_functions_that_openmolcas_does_not_count():
    """Of shells beyond the first ones it prints a star for their number."""
    basis = [[("S", [(0.5, 1.0)]), ("S", [(0.1, 1.0)]), ("P", [(0.4, 1.0)]), ("D", [(0.4, 1.0)])]]
    labels = ["C1_1s", "C1_*s", "C1_2px", "C1_2py", "C1_2pz", "C1_*d2-", "C1_*d1-", "C1_*d0", "C1_*d1+", "C1_*d2+"]
    data = cc_data([6], [[0, 0, 0]], basis, np.eye(10), 3, labels)
    rows = np.argmax(np.abs(convert_unchecked(data, "Molcas")), axis=1)
    assert rows.tolist() == [0, 1, 2, 3, 4, 7, 8, 6, 9, 5]


def convert_unchecked(data, program):
    """Coefficients in our order, whose functions overlap here."""
    from orbitile.readers.cclib import _by_label, basis_of, decoded

    functions = [decoded(label, PROGRAMS[program]) for label in data.aonames]
    basis = basis_of(data, PROGRAMS[program], Path("some.log"))
    return next(_by_label(functions, basis, len(functions))).applied(np.eye(len(functions)))


@pytest.mark.parametrize(
    ("head", "program"),
    [
        ("\n **********************************\n **** GAMESS-UK Input Data Set ****\n", "GAMESSUK"),
        ("Job a started\n\n  |  Jaguar version 8.3, release 13   |\n", "Jaguar"),
        ("   This run of MOLCAS is using the pymolcas driver\n", "Molcas"),
    ],
)
def test_banners(head, program):
    assert reader.recognises(head)
    assert any(banner in head for banner in PROGRAMS[program].banner)


def test_another_program_named_in_a_log(tmp_path):
    """In the echo of the input above the banner, as the name of a basis set, and far below it."""
    log = Path(__file__).parents[1] / "trajectories" / "logs" / "nwchem_water.out"
    text = log.read_text().replace("argument  1 = water.nw", "argument  1 = turbomole.nw", 1)
    path = tmp_path / "job.out"
    path.write_text(text.replace("sto-3g", "Turbomole TZV", 1) + "\n Converted for TURBOMOLE and Gaussian, Inc.\n")
    assert ob.load(path).program.startswith("NWChem 7")


def test_programs_whose_orbitals_are_elsewhere(tmp_path):
    (tmp_path / "dscf.out").write_text("                              TURBOMOLE V7.5\n   text\n" * 3)
    with pytest.raises(FileError, match="a log of Turbomole; its orbitals are in the folder of the calculation"):
        ob.load(tmp_path / "dscf.out")

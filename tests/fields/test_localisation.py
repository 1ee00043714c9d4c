"""Fields made of ratios: against formulas in NumPy on PySCF's basis functions, and where they end."""

from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.evaluation.requests import field_of
from orbitile.evaluation.surfaces import is_cut
from orbitile.fields import as_drawn
from orbitile.fields.density import density_of
from orbitile.gaussians.expansion import concatenated, merged
from orbitile.model.units import angstrom
from orbitile.surfaces.isovalue import reaches_faces
from tests.conftest import SAMPLES
from tests.gaussians.sums import value_at

gto = pytest.importorskip("pyscf.gto")

MOLECULES = {
    "formaldehyde": ("C 0 0 0; O 0 0 1.2; H 0.94 0 -.58; H -.94 0 -.58", 0, 0, "RHF"),
    "methyl": ("C 0 0 0; H 1.08 0 0; H -.54 .935 0; H -.54 -.935 0", 0, 1, "UHF"),
    "oxygen": ("O 0 0 0; O 0 0 1.21", 0, 2, "ROHF"),
    "hydrogen atom": ("H 0 0 0", 0, 1, "UHF"),
    "cation": ("C 0 0 0; O 0 0 1.2; H 0.94 0 -.58; H -.94 0 -.58", 1, 1, "UHF"),
    "anion": ("C 0 0 0; O 0 0 1.2; H 0.94 0 -.58; H -.94 0 -.58", -1, 1, "UHF"),
    "carbon monoxide": ("C 0 0 0; O 0 0 1.2", 0, 0, "RHF"),
    "hydrogens": ("H 0.94 0 -.58; H -.94 0 -.58", 0, 0, "RHF"),
    "fluoride": ("F 0 0 0", -1, 0, "RHF"),
    "lithium hydride": ("Li 0 0 0; H 0 0 1.6", 0, 0, "RHF"),
}


@pytest.fixture(scope="module")
def calculated(tmp_path_factory):
    """A converged calculation and the wavefunction in its Molden file, by the name of the molecule."""
    from pyscf import scf
    from pyscf.tools import molden

    folder, known = tmp_path_factory.mktemp("molecules"), {}

    def get(name):
        if name not in known:
            atoms, charge, spin, method = MOLECULES[name]
            molecule = gto.M(atom=atoms, basis="6-31g", charge=charge, spin=spin, verbose=0)
            mean_field = getattr(scf, method)(molecule).run()
            path = folder / f"{name.replace(' ', '-')}.molden"
            molden.from_scf(mean_field, str(path))
            known[name] = mean_field, ob.load(path)
        return known[name]

    return get


def reference(mean_field, points) -> dict[str, np.ndarray]:
    """The fields at points, by their formulas, from orbitals of each spin."""
    basis = mean_field.mol.eval_gto("GTOval_sph_deriv2", points)
    coefficients, energies = mean_field.mo_coeff, np.asarray(mean_field.mo_energy)
    occupations = np.asarray(mean_field.mo_occ)
    if coefficients[0].ndim == 1:
        sets = [(coefficients, 1.0 * (occupations > 0), energies), (coefficients, 1.0 * (occupations > 1), energies)]
    else:
        sets = [(coefficients[s], occupations[s], energies[s]) for s in (0, 1)]
    rho, weizsaecker, tau, fermi, weighted = (np.zeros(len(points)) for _ in range(5))
    gradient, hessian = np.zeros((3, len(points))), np.zeros((len(points), 3, 3))
    for one, n, energy in sets:
        psi = np.einsum("xpm,mi->xpi", basis, one[:, n > 0])
        density, slope = (psi[0] ** 2).sum(axis=1), 2 * np.einsum("pi,xpi->xp", psi[0], psi[1:4])
        rho, gradient = rho + density, gradient + slope
        tau += 0.5 * (psi[1:4] ** 2).sum(axis=(0, 2))
        weizsaecker += (slope**2).sum(axis=0) / (8 * np.maximum(density, 1e-300))
        fermi += 0.3 * (6 * np.pi**2) ** (2 / 3) * density ** (5 / 3)
        weighted += psi[0] ** 2 @ np.abs(energy[n > 0])
        for second, (a, b) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), start=4):
            part = 2 * np.einsum("pi,pi->p", psi[1 + a], psi[1 + b]) + 2 * np.einsum("pi,pi->p", psi[0], psi[second])
            hessian[:, a, b] += part
            hessian[:, b, a] += part * (a != b)
    middle = np.linalg.eigvalsh(hessian)[:, 1]
    return {
        "density": rho,
        "elf": 1 / (1 + ((tau - weizsaecker) / fermi) ** 2),
        "lol": fermi / (fermi + tau),
        "rdg": np.linalg.norm(gradient, axis=0) / (2 * (3 * np.pi**2) ** (1 / 3) * rho ** (4 / 3)),
        "nci": np.where(np.abs(middle) > 1e-7, np.sign(middle) * rho, np.nan),
        "ionisation": weighted / rho,
    }


def around(wavefunction, n: int, spread: float = 1.6) -> np.ndarray:
    rng = np.random.default_rng(0)
    return wavefunction.positions[rng.integers(len(wavefunction.positions), size=n)] + rng.normal(size=(n, 3)) * spread


@pytest.mark.parametrize("name", ["formaldehyde", "methyl", "oxygen", "hydrogen atom", "lithium hydride"])
def test_against_the_formulas(calculated, name):
    mean_field, wavefunction = calculated(name)
    points = around(wavefunction, 1500)
    expected = reference(mean_field, points)
    rho = expected["density"]
    for field, low, high in (
        ("elf", 1e-3, np.inf),
        ("lol", 1e-3, np.inf),
        ("rdg", 1e-3, 0.05),
        ("nci", 1e-7, np.inf),
        ("ionisation", 1e-4, np.inf),
    ):
        where = (rho > low * 1.001) & (rho < high) & ~np.isnan(expected[field])
        if field == "nci":  # the exact eigenvalue is needed where it is nearly 0
            where &= rho < 5
        assert where.sum() > 200
        wanted = np.minimum(expected[field], 2) if field == "rdg" else expected[field]
        scale = max(1.0, float(np.abs(wanted[where]).max()))
        values = ob.evaluate(wavefunction, field, points, device="cpu", precision="double")
        assert np.abs(values - wanted)[where].max() < 1e-9 * scale, field
        single = ob.evaluate(wavefunction, field, points, device="cpu")
        assert np.abs(single - wanted)[where].max() < 5e-5 * scale, field


def test_unpaired_electrons_are_told_apart(calculated):
    """By the formula of closed shells the ELF of methyl would be off by 0.2, that of a hydrogen atom would not be 1."""
    _, atom = calculated("hydrogen atom")
    values = ob.evaluate(atom, "elf", [[0.3, 0, 0], [0, 1.0, 0], [0, 0, 2.0]], device="cpu", precision="double")
    assert values == pytest.approx(1, abs=1e-6)
    assert len(field_of(calculated("methyl")[1], "elf").parts) == 9
    assert len(field_of(calculated("formaldehyde")[1], "elf").parts) == 5


def unmatched_edges(faces) -> int:
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    return int((np.unique(edges, axis=0, return_counts=True)[1] != 2).sum())


@pytest.mark.parametrize("quality", ["coarse", "medium"])
@pytest.mark.parametrize(
    ("name", "field", "least"),
    [
        ("formaldehyde", "elf", 4e-4),
        ("formaldehyde", "lol", 3e-4),
        ("formaldehyde", "ionisation", 1.5e-5),
        ("methyl", "elf", 4e-4),
        ("fluoride", "elf", 4e-4),
    ],
)
def test_surfaces_are_closed_and_end_along_the_density(calculated, name, field, least, quality):
    _, wavefunction = calculated(name)
    found = field_of(wavefunction, field)
    lattice = ob.enclosing_lattice(wavefunction, found, found.isovalue, quality=quality)
    surface = ob.compute_surface(wavefunction, found, found.isovalue, lattice, device="cpu")
    assert unmatched_edges(surface.faces) == 0
    assert not is_cut(surface, wavefunction, found, lattice, device="cpu")
    density = ob.evaluate(wavefunction, "density", surface.vertices, device="cpu")
    assert density.min() > least


def test_the_ends_are_smooth(calculated):
    """Edges of a staircase turn by tens of degrees: the normals of a smooth end follow its faces."""
    _, wavefunction = calculated("formaldehyde")
    surface = ob.compute_surface(wavefunction, "ionisation", 0.5, device="cpu")
    a, b, c = (surface.vertices[surface.faces[:, n]] for n in range(3))
    across = np.cross(b - a, c - a)
    area = np.linalg.norm(across, axis=1)
    normals = surface.normals[surface.faces].mean(axis=1)
    cosine = np.einsum("nd,nd->n", across, normals) / np.maximum(area * np.linalg.norm(normals, axis=1), 1e-30)
    density = ob.evaluate(wavefunction, "density", (a + b + c) / 3, device="cpu")
    outer = (density < 1e-3) & (area > 0.1 * np.median(area))
    assert outer.sum() > 1000
    assert (cosine[outer] < 0.9).mean() < 0.01


@pytest.mark.parametrize("far", [9.0, 12.0, 25.0])
def test_the_reduced_gradient_is_large_in_vacuum(benzene, device, precision, far):
    points = far * np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-0.6, 0.6, 0.5]]) + 3.0
    assert ob.evaluate(benzene, "rdg", points, device=device, precision=precision) == pytest.approx(2)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_small_reduced_gradients_are_true(benzene, precision):
    lattice = ob.Lattice.around(benzene, 0.35, 6.0)
    values = ob.compute(benzene, "rdg", lattice, device="cpu", precision=precision).values
    rho, slope = (
        ob.compute(benzene, name, lattice, device="cpu", precision="double").values for name in ("density", "gradient")
    )
    known = rho > 1e-9
    s = np.full(rho.shape, np.inf)
    s[known] = slope[known] / (2 * (3 * np.pi**2) ** (1 / 3) * rho[known] ** (4 / 3))
    small = (s < 0.5) & (rho < 0.05) & (rho > 5e-4)
    assert small.sum() > 5
    assert np.array_equal(values < 0.5, small)


def test_the_surface_of_weak_interactions_ends_at_its_densities(calculated):
    """Formaldehyde twice, 3 Angstrom apart: closed, and within the densities that are stated."""
    from pyscf import scf
    from pyscf.tools import molden

    atoms = MOLECULES["formaldehyde"][0]
    second = "; ".join(f"{s} {x} {float(y) + 3.0} {z}" for s, x, y, z in (one.split() for one in atoms.split(";")))
    molecule = gto.M(atom=f"{atoms}; {second}", basis="sto-3g", verbose=0)
    path = Path(calculated("formaldehyde")[1].source).with_name("two.molden")
    molden.from_scf(scf.RHF(molecule).run(), str(path))
    wavefunction = ob.load(path)
    surface = ob.compute_surface(wavefunction, "rdg", 0.5, device="cpu")
    assert unmatched_edges(surface.faces) == 0
    density = ob.evaluate(wavefunction, "density", surface.vertices, device="cpu")
    assert density.min() > 4.5e-4
    assert density.max() < 0.075
    between = np.abs(surface.vertices[:, 1] - 1.5 * angstrom) < 1.0
    assert between.any()


def made(tmp_path, atoms, basis="sto-3g", charge=0):
    from pyscf import scf
    from pyscf.tools import molden

    path = tmp_path / "made.molden"
    molden.from_scf(scf.RHF(gto.M(atom=atoms, basis=basis, charge=charge, verbose=0)).run(), str(path))
    return ob.load(path)


def test_a_strong_hydrogen_bond_is_a_disc(tmp_path):
    """A water dimer at H...O of 1.55 Angstrom: the density within the disc is above 0.05, and it has no hole."""
    dimer = "O 0 0 0; H 0.965 0 0; H -0.24 0.93 0; O 2.515 0 0; H 2.965 -0.4 0.76; H 2.965 -0.4 -0.76"
    wavefunction = made(tmp_path, dimer)
    surface = ob.compute_surface(wavefunction, "rdg", 0.5, device="cpu")
    middle = ob.evaluate(wavefunction, "density", surface.vertices.mean(axis=0, keepdims=True), device="cpu")
    assert 0.05 < middle[0] < 0.07
    assert unmatched_edges(surface.faces) == 0
    edges = np.unique(np.sort(surface.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    assert len(surface.vertices) - len(edges) + len(surface.faces) == 2  # Euler: a ring has 0


@pytest.mark.parametrize("quality", ["coarse", "medium"])
def test_the_end_of_the_ionisation_energy_of_an_atom_is_round(tmp_path, quality):
    argon = made(tmp_path, "Ar 0 0 0", "6-31g")
    lattice = ob.enclosing_lattice(argon, "ionisation", 0.5, quality=quality)
    radii = np.linalg.norm(ob.compute_surface(argon, "ionisation", 0.5, lattice, device="cpu").vertices, axis=1)
    outer = radii[radii > 3]
    assert np.ptp(outer) < 0.006 * outer.mean()


def test_what_is_about_a_single_small_atom_is_found(tmp_path):
    lithium = made(tmp_path, "Li 0 0 0", charge=1)
    lattice = ob.enclosing_lattice(lithium, "lol", 0.55, quality="coarse")
    assert len(ob.compute_surface(lithium, "lol", 0.55, lattice, device="cpu").faces) > 20


def test_interactions_are_coloured_as_is_usual(calculated):
    _, wavefunction = calculated("formaldehyde")
    found = field_of(wavefunction, "nci")
    assert (found.colour_range, found.colour_map, found.quantity) == (0.04, "interaction", "sign(λ₂)ρ")
    assert as_drawn("NCI ") == ("rdg", "nci")
    assert as_drawn("nci", "esp") == ("rdg", "esp")
    assert as_drawn("ionisation") == ("density", "ionisation")
    assert as_drawn("density", "esp") == ("density", "esp")
    assert as_drawn("homo") == ("homo", "")


@pytest.mark.slow
def test_nci_is_drawn_on_the_reduced_gradient(benzene, tmp_path):
    from orbitile.commandline import main

    options = ["--device", "cpu", "--spacing", "0.15", "-o"]
    assert main(["mesh", str(benzene.source), "nci", *options, str(tmp_path / "a.ply")]) == 0
    assert main(["mesh", str(benzene.source), "rdg", "--color-by", "nci", *options, str(tmp_path / "b.ply")]) == 0
    assert (tmp_path / "a.ply").read_bytes() == (tmp_path / "b.ply").read_bytes()


def test_where_nothing_interacts_weakly_that_is_said(calculated, tmp_path, capsys):
    """Not at an isovalue that is smaller than the usual one, where there may be a surface at that."""
    from orbitile.commandline import main

    _, wavefunction = calculated("hydrogen atom")
    with pytest.raises(ob.errors.NoSurface, match=r"no weak interactions here: .* from 0.0005 to 0.07 .* below 0.5"):
        ob.compute_surface(wavefunction, "rdg", 0.5, device="cpu")
    with pytest.raises(ob.errors.NoSurface, match="nothing has this value"):
        ob.compute_surface(wavefunction, "rdg", 0.4, device="cpu")
    assert main(["mesh", str(wavefunction.source), "nci", "--device", "cpu", "-o", str(tmp_path / "a.ply")]) == 2
    assert "there are no weak interactions here" in capsys.readouterr().err


def test_the_ionisation_energy_is_drawn_on_the_surface_of_the_molecule(benzene, tmp_path):
    from orbitile.commandline import main

    options = ["--device", "cpu", "--quality", "coarse", "-o"]
    assert main(["mesh", str(benzene.source), "ionisation", *options, str(tmp_path / "a.ply")]) == 0
    named = ["density", "--isovalue", "0.001", "--color-by", "ionisation"]
    assert main(["mesh", str(benzene.source), *named, *options, str(tmp_path / "b.ply")]) == 0
    assert (tmp_path / "a.ply").read_bytes() == (tmp_path / "b.ply").read_bytes()


def test_the_potential_of_an_ion_is_shown_close_to_it(calculated):
    for name, isovalue in (("formaldehyde", 0.05), ("fluoride", 0.2), ("cation", 0.2)):
        _, wavefunction = calculated(name)
        assert ob.default_isovalue(wavefunction, "esp") == isovalue
    _, wavefunction = calculated("fluoride")
    surface = ob.compute_surface(wavefunction, "esp", 0.2, device="cpu")
    assert np.linalg.norm(surface.vertices, axis=1).max() == pytest.approx(5.0, abs=0.2)


def test_films_say_that_they_have_no_second_field(benzene):
    from orbitile.pictures.films import over_isovalues

    with pytest.raises(ob.errors.OrbitileError, match="use rdg"):
        over_isovalues(benzene, "nci", [0.5])


def test_the_volumes_of_surface_and_colours_have_one_lattice(benzene):
    surface, colours = (ob.enclosing_lattice(benzene, *one) for one in (("rdg", 0.5), ("nci", 0.02)))
    assert surface.shape == colours.shape
    assert surface.origin == pytest.approx(colours.origin)


def test_thin_surfaces_get_a_finer_lattice_while_it_is_small(benzene):
    def spacing(field, isovalue, **choices):
        return ob.enclosing_lattice(benzene, field, isovalue, **choices).spacings[0]

    assert spacing("density", 0.02) == pytest.approx(spacing("homo", 0.02))
    assert spacing("rdg", 0.5, quality="coarse") == pytest.approx(0.25 * angstrom / 3)
    assert 0.25 * angstrom / 3 < spacing("elf", 0.8, quality="coarse") < 0.25 * angstrom / 1.5
    assert spacing("rdg", 0.5, spacing=0.3) == pytest.approx(0.3)
    assert spacing("rdg", 0.5, quality="fine") > 1.2 * 0.075 * angstrom / 3
    assert ob.enclosing_lattice(benzene, "rdg", 0.5, quality="fine").n_points < 1.2 * 2**21


DIFFERENCES = {
    "fukui+:{anion}": 1e-5,
    "fukui-:{cation}": 1e-5,
    "dual:{anion},{cation}": 1e-5,
    "difference:{cation}": 1e-5,
    "difference:{carbon monoxide},{hydrogens}": 1e-5,
}


@pytest.mark.parametrize("field", DIFFERENCES)
def test_differences_keep_their_digits_in_single_precision(calculated, field):
    """At values that are drawn, a thousandth of the densities: they were off by 5e-4 of them."""
    _, wavefunction = calculated("formaldehyde")
    name = field.format(**{other: calculated(other)[1].source for other in MOLECULES if "{" + other + "}" in field})
    lattice = ob.Lattice.around(wavefunction, 0.4, 4.0)
    exact = ob.compute(wavefunction, name, lattice, device="cpu", precision="double").values
    for values in (
        ob.compute(wavefunction, name, lattice, device="cpu").values,
        ob.evaluate(wavefunction, name, lattice.points(), device="cpu").reshape(lattice.shape),
    ):
        drawn = (np.abs(exact) > 0.001) & (np.abs(exact) < 0.01)
        assert drawn.sum() > 100
        assert np.abs(values / np.where(drawn, exact, 1) - 1)[drawn].max() < DIFFERENCES[field]
        assert np.abs(values - exact).max() < 2e-6 * np.abs(exact).max()


def test_a_difference_is_one_sum(calculated):
    densities = [density_of(calculated(name)[1]) for name in ("formaldehyde", "anion", "carbon monoxide")]
    parts = [densities[0], densities[1].scaled(-1.0), densities[2].scaled(0.5)]
    points = around(calculated("formaldehyde")[1], 30)
    one = merged(parts)
    assert len(one) == len(densities[0])
    assert value_at(one, points) == pytest.approx(value_at(concatenated(parts), points), abs=1e-13)


def test_the_outer_sheet_of_an_ion(calculated):
    _, wavefunction = calculated("fluoride")
    lattice = ob.enclosing_lattice(wavefunction, "esp", 0.05, spacing=0.8)
    surface = ob.compute_surface(wavefunction, "esp", 0.05, lattice, device="cpu")
    negative = surface.phases < 0
    assert np.linalg.norm(surface.vertices[negative], axis=1).max() == pytest.approx(20, abs=0.1)
    assert unmatched_edges(surface.faces) == 0
    assert not is_cut(surface, wavefunction, "esp", lattice, device="cpu")


@pytest.mark.parametrize(
    ("field", "isovalue", "margin", "cut"),
    [
        ("rdg", 0.5, 6.0, False),  # large on the faces, and everywhere beyond
        ("density", 0.001, 6.0, False),
        ("density", 0.001, 1.5, True),
        ("esp", 0.05, 6.0, False),
        ("esp", 1e-5, 6.0, True),
        ("elf", 0.8, 6.0, False),
    ],
)
def test_a_volume_shows_whether_its_surface_is_whole(calculated, field, isovalue, margin, cut):
    _, wavefunction = calculated("formaldehyde")
    lattice = ob.Lattice.around(wavefunction, 0.5, margin)
    assert reaches_faces(ob.compute(wavefunction, field, lattice, device="cpu"), isovalue) == cut


def test_a_sheet_beyond_the_lattice(calculated):
    """The potential of an anion is below -0.05 on all faces of a box of 10 bohr, and the outer sheet at 20."""
    _, wavefunction = calculated("fluoride")
    volume = ob.compute(wavefunction, "esp", ob.Lattice.around(wavefunction, 0.8, 10.0), device="cpu")
    assert reaches_faces(volume, 0.05)


def test_a_cut_is_stated(calculated, tmp_path, capsys):
    from orbitile.commandline import main

    _, wavefunction = calculated("fluoride")
    command = ["mesh", str(wavefunction.source), "esp", "--device", "cpu", "-o", str(tmp_path / "a.ply")]
    assert main([*command, "--isovalue", "0.01", "--spacing", "0.5"]) == 0
    assert "the surface is cut at the faces of the box" in capsys.readouterr().err
    assert main([*command, "--isovalue", "0.3", "--spacing", "0.5"]) == 0
    assert "cut" not in capsys.readouterr().err
    density = [*command[:2], "density", *command[3:], "--isovalue", "0.001", "--spacing", "0.3"]
    assert main([*density, "--margin", "1.4"]) == 0
    assert "the surface is cut at the faces of the box" in capsys.readouterr().err
    assert main(density) == 0
    assert "cut" not in capsys.readouterr().err


def test_the_ionisation_energy_beside_a_correlated_density():
    """It is of the orbitals that have energies, as many as those are."""
    wavefunction = next(
        one
        for one in map(ob.load, sorted(SAMPLES.glob("*mp2*.fchk")))
        if one.density_matrix.size and one.density_matrix.shape[0] < 60
    )
    values = ob.evaluate(wavefunction, "ionisation", wavefunction.positions[:1] + 1.0, device="cpu")
    energies = wavefunction.alpha.energies[wavefunction.alpha.occupations > 0]
    assert 0.9 * np.abs(energies).min() < values[0] < np.abs(energies).max()


def test_the_guide_states_the_isovalues(benzene):
    guide = Path(__file__).parents[2] / "docs" / "guide.md"
    elf, lol = (ob.default_isovalue(benzene, name) for name in ("elf", "lol"))
    assert f"isovalues {elf:g} and {lol:g}" in guide.read_text(encoding="utf-8")

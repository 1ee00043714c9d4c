"""The isovalue that is taken where none is given, against quadratures about the atoms."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.evaluation import default_isovalue
from orbitile.evaluation.boxes import resolving_spacing
from orbitile.evaluation.requests import field_of
from orbitile.gaussians.extent import directions
from orbitile.model.lattice import QUALITIES
from orbitile.model.units import angstrom
from orbitile.model.wavefunction import Orbitals
from orbitile.surfaces.isovalue import enclosure, enclosure_along_rays
from tests.conftest import random_wavefunction


def slater_share(isovalue):
    """Share of exp(-r)/sqrt(pi) inside the surface of an isovalue, analytic."""
    radius = -np.log(isovalue * np.sqrt(np.pi))
    return 1 - np.exp(-2 * radius) * (1 + 2 * radius + 2 * radius**2)


def test_enclosure_on_a_lattice_of_a_slater_function():
    """A cusp at the nucleus and few points to the surface: the norm by adding up points is off by per cent."""
    for spacing in (0.5, 0.6, 0.7):
        axis = (np.arange(2 * int(9 / spacing)) + 0.37) * spacing - 9
        x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
        values = np.exp(-np.sqrt(x * x + y * y + z * z)) / np.sqrt(np.pi)
        found = enclosure(values, spacing**3, 0.9, 1.0)
        assert slater_share(found.isovalue) == pytest.approx(0.9, abs=0.003)
        assert found.missing < 1e-3
    assert enclosure(np.full((9, 9, 9), 1e-6), 1.0, 0.9, 1.0) is None


def test_enclosure_along_rays():
    radii = np.geomspace(0.01, 12, 40)
    values = np.repeat(np.exp(-radii)[:, None] / np.sqrt(np.pi), 8, axis=1)
    assert slater_share(enclosure_along_rays([(radii, values)], 0.9)) == pytest.approx(0.9, abs=5e-4)
    # a d function has the same isovalue however it is turned
    found = []
    for seed in range(4):
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
        x, y, _ = np.moveaxis(radii[:, None, None] * (directions(256) @ turn), 2, 0)
        norm = 4 * np.pi / 15 * 720 / 2**7
        values = x * y * np.exp(-radii[:, None]) / np.sqrt(norm)
        found.append(enclosure_along_rays([(radii, values)], 0.9))
    assert max(found) / min(found) < 1.01


def shares(wavefunction, isovalues, n_radii=1200, n_rays=120):
    """Share of each orbital inside its isovalue, by adding up points about the atoms, in double precision."""
    exponents = np.concatenate([shell.exponents for shell in wavefunction.shells])
    radii = np.geomspace(0.01 / np.sqrt(exponents.max()), 9 / np.sqrt(exponents.min()), n_radii)
    weights = np.repeat(4 * np.pi / n_rays * radii**3 * np.log(radii[1] / radii[0]), n_rays)
    offsets = (radii[:, None, None] * directions(n_rays)).reshape(-1, 3)
    positions = wavefunction.positions
    totals, inside = np.zeros((2, len(isovalues)))
    for atom, centre in enumerate(positions):
        points = centre + offsets
        distances = np.linalg.norm(points[:, None] - positions, axis=2)
        cells = np.exp(-2 * distances) / distances**3
        part = weights * cells[:, atom] / cells.sum(axis=1)
        counts = part > 1e-12
        for n, (name, isovalue) in enumerate(isovalues.items()):
            values = ob.evaluate(wavefunction, name, points[counts], device="cpu", precision="double")
            square = part[counts] * values**2
            totals[n] += square.sum()
            inside[n] += square[np.abs(values) >= isovalue].sum()
    assert totals == pytest.approx(1, abs=3e-3)
    return inside / totals


def molecule(folder, atoms, basis, **options):
    gto, scf = pytest.importorskip("pyscf.gto"), pytest.importorskip("pyscf.scf")
    from pyscf.tools import molden

    mean_field = scf.RHF(gto.M(atom=atoms, basis=basis, verbose=0, **options)).run()
    molden.from_scf(mean_field, str(folder / "m.molden"), ignore_h=False)
    return ob.load(folder / "m.molden")


@pytest.mark.parametrize(
    ("atoms", "basis", "options", "names"),
    [
        ("O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587", "sto-3g", {}, [f"mo:{n}" for n in range(1, 8)]),
        ("Kr 0 0 0", "def2-svp", {}, ["mo:1", "mo:2", "mo:6", "mo:10", "mo:15", "homo", "lumo", "lumo+4"]),
        ("O 0 0 0; H 0 0 0.97", "aug-cc-pvdz", {"charge": -1}, ["mo:1", "mo:2", "homo", "lumo", "lumo+3"]),
        ("N 0 0 0; N 0 0 1.1", "6-31g*", {}, ["mo:1", "mo:2", "mo:3", "homo", "lumo"]),
        ("Cu 0 0 0; H 0 0 1.46", "def2-svp", {}, ["mo:1", "mo:14", "homo", "mo:36"]),
    ],
    ids=["water", "krypton", "hydroxide", "nitrogen", "copper hydride"],
)
def test_default_isovalues_enclose_90_per_cent(tmp_path, atoms, basis, options, names):
    wavefunction = molecule(tmp_path, atoms, basis, **options)
    isovalues = {name: ob.default_isovalue(wavefunction, name, device="cpu") for name in names}
    found = shares(wavefunction, isovalues)
    assert dict(zip(names, found, strict=True)) == pytest.approx(dict.fromkeys(names, 0.9), abs=0.005)
    for name, isovalue in isovalues.items():
        # and the lattice on which it is shown by default has the surface
        ob.isosurface(ob.compute(wavefunction, name, ob.enclosing_lattice(wavefunction, name, isovalue)), isovalue)


def test_isovalues_of_degenerate_orbitals(tmp_path, benzene):
    """They agree and enclose 90 % all the same, whichever is asked for first."""
    zinc = molecule(tmp_path, "Zn 0 0 0", "def2-svp")
    for numbers in (range(10, 15), range(7, 10)):  # of d(z2), d(xy) and what is between them; and p
        names = [f"mo:{n}" for n in numbers]
        isovalues = {name: ob.default_isovalue(zinc, name, device="cpu") for name in names}
        assert max(isovalues.values()) / min(isovalues.values()) < 1.01
        assert shares(zinc, isovalues, 1200, 500) == pytest.approx(0.9, abs=0.005)
        again = ob.load(tmp_path / "m.molden")
        assert {name: ob.default_isovalue(again, name, device="cpu") for name in names[::-1]} == isovalues
    # the nodal plane of one passes through two atoms, that of the other between
    isovalues = {name: ob.default_isovalue(benzene, name, device="cpu") for name in ("homo", "homo-1")}
    assert max(isovalues.values()) / min(isovalues.values()) < 1.01
    assert shares(benzene, isovalues, 200) == pytest.approx(0.9, abs=0.005)


def test_isovalues_are_found_once_for_a_degenerate_set_and_a_share(benzene, monkeypatch):
    wavefunction, asked = replace(benzene), []
    original = default_isovalue.compute_many
    monkeypatch.setattr(default_isovalue, "compute_many", lambda *a, **k: asked.append(1) or original(*a, **k))

    def number_of_lattices(name, share=0.9, **given):
        before = len(asked)
        found = ob.default_isovalue(wavefunction, name, share, device="cpu", **given)
        assert found == ob.default_isovalue(replace(benzene), name, share, device="cpu", **given)
        return len(asked) - before

    first = {name: number_of_lattices(name) for name in ("homo", "lumo", "mo:7")}
    assert min(first.values()) > 0
    for name in ("homo", "homo-1", "mo:21", "lumo+1", "mo:7"):  # others in between do not push them out
        before = len(asked)
        ob.default_isovalue(wavefunction, name, device="cpu")
        assert len(asked) == before
    assert number_of_lattices("homo", 0.5) > 0
    before = len(asked)
    assert ob.default_isovalue(wavefunction, "homo", 0.5, device="cpu") > ob.default_isovalue(
        wavefunction, "homo", device="cpu"
    )
    assert len(asked) == before


def test_the_isovalue_of_an_orbital_on_one_atom_is_found_by_one_of_several_devices():
    atom = random_wavefunction(5, momenta=(0, 1), n_atoms=1)
    assert ob.default_isovalue(replace(atom), "mo:1", device="cpu,cpu") == ob.default_isovalue(
        atom, "mo:1", device="cpu"
    )


def test_what_is_degenerate(tmp_path):
    """Orbitals of one energy by accident keep their isovalues, and natural ones and those without energies theirs."""
    water = molecule(tmp_path, "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587", "sto-3g")
    own = {f"mo:{n}": ob.default_isovalue(water, f"mo:{n}", device="cpu") for n in range(1, 8)}
    assert not any(len(field_of(water, name).degenerate) > 1 for name in own)
    energies = water.alpha.energies.copy()
    energies[:5] = -1.0
    energies[3] = -1.00005
    alike = replace(water, alpha=Orbitals(water.alpha.coefficients, water.alpha.occupations, energies))
    assert field_of(alike, "mo:1").degenerate == (3, 0, 1, 2, 4)
    found = {name: ob.default_isovalue(alike, name, device="cpu") for name in own}
    assert found == pytest.approx(own, rel=0.02)
    for other in (
        replace(alike, natural=True),
        replace(water, alpha=Orbitals(water.alpha.coefficients, water.alpha.occupations, np.zeros(7))),
        replace(water, alpha=Orbitals(water.alpha.coefficients, water.alpha.occupations)),
    ):
        assert field_of(other, "mo:1").degenerate == (0,)
    # an occupied and an empty orbital are no set, however close
    energies[:] = -1.0
    energies[6] = -1.5
    alike = replace(water, alpha=Orbitals(water.alpha.coefficients, water.alpha.occupations, energies))
    assert field_of(alike, "mo:6").degenerate == (5,)


def test_a_spacing_resolves_what_is_compact(benzene):
    medium = QUALITIES["medium"]
    assert resolving_spacing(benzene, "homo", 0.02, "medium") == medium
    assert resolving_spacing(benzene, "density", 0.001, "medium") == medium
    core = ob.default_isovalue(benzene, "mo:1", device="cpu")
    assert resolving_spacing(benzene, "mo:1", core, "medium") == medium / 4
    assert ob.enclosing_lattice(benzene, "mo:1", core).spacings == pytest.approx(medium / 4)
    assert ob.enclosing_lattice(benzene, "mo:1", core, spacing=0.3).spacings == pytest.approx(0.3)
    # a spacing of one's own is kept, and where the surface is lost between its points the message says so
    volume = ob.compute(benzene, "mo:1", ob.Lattice.around(benzene, 1.5, 2.0), device="cpu")
    with pytest.raises(ob.errors.OrbitileError, match=f"a spacing below {1.5 / angstrom:.3g} Angstrom"):
        ob.isosurface(volume, 5.0)


def test_density_of_an_orbital_that_one_spin_lacks(tmp_path):
    water = molecule(tmp_path, "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587", "sto-3g")
    coefficients, n = water.alpha.coefficients, np.array([1.0, 1, 1, 1, 1, 0, 0])
    cation = replace(
        water,
        alpha=Orbitals(coefficients, n, water.alpha.energies),
        beta=Orbitals(coefficients[:, :4], n[:4], water.alpha.energies[:4]),
    )
    points = np.array([[0.5, 0.4, 0.3]])
    orbital = ob.evaluate(cation, "homo", points, device="cpu", precision="double")
    found = ob.evaluate(cation, "density:homo", points, device="cpu", precision="double")
    assert found == pytest.approx(orbital**2, abs=1e-8)
    with pytest.raises(ob.errors.FieldError, match="are empty"):
        ob.evaluate(cation, "density:lumo", points)

"""Hirshfeld surfaces and contacts; figures of the crystal by CrystalExplorer's engine, occpy through chmpy 1.5.0."""

import pickle

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.contacts import by_atoms, by_elements, contacts_of, fingerprint
from orbitile.base.errors import FieldError, OrbitileError
from orbitile.commandline import main
from orbitile.evaluation.points import evaluate
from orbitile.evaluation.requests import field_of
from orbitile.fields import as_drawn
from orbitile.fields.hirshfeld_surface import FLOOR, curvatures, neighbours_of, share_at
from orbitile.gaussians.promolecule import promolecular_density, promolecular_derivatives, promolecule
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from tests.crystals import UREA

WATER = np.array([[0.0, 0, 0], [0.757, 0.586, 0], [-0.757, 0.586, 0]])
DIMER = np.concatenate([WATER, WATER @ np.diag([1.0, -1, 1]) + [0.3, 2.9, 1.2]])
NUMBERS = np.array([8, 1, 1, 8, 1, 1])


def dimer(*more: tuple[int, tuple[float, float, float]]) -> ob.Wavefunction:
    numbers = np.array([*NUMBERS, *(number for number, _ in more)], np.int64)
    return promolecule(Geometry(numbers, np.concatenate([DIMER, *([place] for _, place in more)]) * angstrom))


def test_a_sphere_has_the_curvatures_of_a_sphere():
    helium = promolecule(Geometry(np.array([2, 2], np.int64), np.array([[0.0, 0, 0], [0, 0, 60.0]])))
    points = 2.5 * np.array([[1.0, 0, 0], [0, -1, 0], [0.6, 0, 0.8]])
    share = share_at(helium, neighbours_of(helium, "", "1"), points)
    mean, gaussian = curvatures(share.slope, share.bend)
    assert share.is_open.all()
    assert mean == pytest.approx(1 / 2.5, abs=1e-6)
    assert gaussian == pytest.approx(1 / 2.5**2, abs=1e-6)
    assert evaluate(helium, "shapeindex:1", points) == pytest.approx(1, abs=1e-3)
    assert evaluate(helium, "curvedness:1", points) == pytest.approx(2 / np.pi * np.log(1 / 2.5), abs=1e-6)


def test_derivatives_of_free_atoms_are_those_of_differences_and_of_the_kernels():
    molecule = dimer()
    points = np.array([[0.5, 1.9, 1.0], [2.0, 1.0, -2.0]]) * 1.3
    atoms = np.arange(3)
    found = promolecular_derivatives(molecule, atoms, points)
    step = 1e-3

    def at(shift):
        return promolecular_derivatives(molecule, atoms, points + shift)

    assert found[0] == pytest.approx(
        ob.evaluate(molecule, "density", points, precision="double")
        - promolecular_derivatives(molecule, np.arange(3, 6), points)[0],
        rel=1e-5,
    )
    for axis in range(3):
        shift = step * np.eye(3)[axis]
        assert (at(shift) - at(-shift))[0] / (2 * step) == pytest.approx(found[1 + axis], rel=1e-4, abs=1e-9)
        for other, row in enumerate(((4, 7, 8), (7, 5, 9), (8, 9, 6))[axis]):
            assert (at(shift) - at(-shift))[1 + other] / (2 * step) == pytest.approx(found[row], rel=1e-4, abs=1e-9)
    assert len(promolecular_density(molecule, atoms)) > 3


def test_the_surface_is_where_both_sides_have_half_and_closes_where_nothing_is():
    molecule = dimer()
    contacts = contacts_of(molecule, (0, 1, 2))
    points = contacts.surface.points
    one, other = (promolecular_derivatives(molecule, np.arange(*atoms), points)[0] for atoms in ((0, 3), (3, 6)))
    assert one == pytest.approx(np.maximum(other, FLOOR), rel=2e-3)
    assert contacts.surface.is_whole
    assert 0.5 < contacts.surface.weights[contacts.is_open].sum() / contacts.surface.area < 0.95
    distances = np.linalg.norm(points[:, None] - DIMER * angstrom, axis=2)
    assert contacts.inside == pytest.approx(distances[:, :3].min(axis=1))
    assert contacts.outside == pytest.approx(distances[:, 3:].min(axis=1))
    radii = angstrom * np.array([1.52, 1.09, 1.09])
    closeness = [(distances[:, some] / radii - 1).min(axis=1) for some in (slice(3), slice(3, 6))]
    assert contacts.closeness == pytest.approx(sum(closeness))


def test_parts_add_up_to_the_surface():
    contacts = contacts_of(dimer((10, (-2.6, -1.2, 0.4))), (0, 1, 2))
    elements = by_elements(contacts)
    assert sum(contact.share for contact in elements) == pytest.approx(1)
    assert {contact.outside for contact in elements} == {1, 8, 10}
    assert sum(contact.area for contact in by_atoms(contacts)) == pytest.approx(contacts.surface.area)
    x, y, shares = fingerprint(contacts)
    assert shares.sum() == pytest.approx(1)
    assert shares @ x == pytest.approx(contacts.mean(contacts.inside) / angstrom, rel=2e-3)
    assert shares @ y == pytest.approx(contacts.mean(contacts.outside) / angstrom, rel=2e-3)
    both = {(contact.inside, contact.outside): contact for contact in elements}
    chance = (
        sum(contact.share for contact in elements if contact.inside == 1) / 2
        + sum(contact.share for contact in elements if contact.outside == 1) / 2
    )
    assert both[1, 1].enrichment == pytest.approx(both[1, 1].share / chance**2)


def test_its_fields_are_colours_of_the_surface():
    assert as_drawn("dnorm:1-3") == ("hirshfeld:1-3", "dnorm:1-3")
    assert as_drawn("contact:1-3:H-O") == ("hirshfeld:1-3:h-o", "contact:1-3:h-o")
    molecule = dimer()
    surface = ob.compute_surface(molecule, "hirshfeld:1-3:h-o", 0.5)
    points = surface.vertices.astype(float)
    met = ob.evaluate(molecule, "contact:1-3:h-o", points)
    assert all(field_of(molecule, name).jumps for name in ("contact:1-3:h-o", "fingerprint:1-3:1.1,1.4"))
    inside, outside = (ob.evaluate(molecule, f"{side}:1-3", points) for side in ("di", "de"))
    assert set(np.unique(met)) == {0.0, 1.0}
    marked = ob.evaluate(molecule, f"fingerprint:1-3:{inside[0]:.3f},{outside[0]:.3f}", points) == 1
    assert marked[0]
    assert np.abs(inside[marked] - inside[0]).max() < 0.051
    copies = [pickle.loads(pickle.dumps(field_of(molecule, name))) for name in ("dnorm", "contact::H-O", "shapeindex")]
    names = ("dnorm:1-3", "contact:1-3:h-o", "shapeindex:1-3")
    for copy, name in zip(copies, names, strict=True):
        assert np.array_equal(ob.evaluate(molecule, copy, points), ob.evaluate(molecule, name, points))
    for wrong in ("contact:1-3", "contact:1-3:H", "fingerprint:1-3:far", "dnorm:1-6", "dnorm:7"):
        with pytest.raises(FieldError):
            ob.evaluate(molecule, wrong, points)


def test_the_report_names_its_molecule_or_asks_for_it():
    report = ob.contacts(dimer())
    assert "1-3" in report.title
    assert report.surfaces[0].color_by == "dnorm:1-3"
    assert "open space" in report.remarks[0]
    assert report.table("surface").closures[0].holds
    assert report.table("elements").fields[0].startswith("contact:1-3:")
    assert "atoms 4-6" in ob.contacts(dimer((10, (9.0, 0, 0))), atoms="4-6").title
    water = promolecule(Geometry(NUMBERS[:3], WATER * angstrom))
    with pytest.raises(OrbitileError, match="there is one molecule"):
        ob.contacts(water)


def test_the_contacts_of_a_crystal_are_those_of_crystal_explorer(tmp_path, capsys):
    pytest.importorskip("gemmi", reason="gemmi (extra crystals) is not installed")
    (tmp_path / "urea.cif").write_text(UREA)
    report = ob.contacts(ob.load(tmp_path / "urea.cif"))
    surface = report.table("surface")
    values = dict(zip(surface["quantity"], surface["value"], strict=True))
    assert values["area"] == pytest.approx(90.78, rel=0.025)  # free atoms by another method
    assert values["volume"] == pytest.approx(69.39, rel=0.03)
    assert values["least dnorm"] == pytest.approx(-0.4759, abs=5e-3)
    assert values["mean dnorm"] == pytest.approx(0.3856, abs=0.01)
    elements = report.table("elements")
    shares = {
        f"{one}-{other}": share
        for one, other, share in zip(elements["inside"], elements["outside"], elements["share"], strict=True)
    }
    reference = {"H-H": 42.7, "O-H": 19.5, "H-O": 17.1, "N-H": 7.8, "C-H": 5.5, "H-N": 4.3, "H-C": 3.1}
    assert shares == pytest.approx(reference, abs=1.2)
    assert main(["contacts", str(tmp_path / "urea.cif"), "--json"]) == 0
    assert '"enrichment"' in capsys.readouterr().out


def test_distances_at_points_are_those_of_crystal_explorer(tmp_path):
    """Points of its surface, with its di, de and d_norm."""
    pytest.importorskip("gemmi", reason="gemmi (extra crystals) is not installed")
    (tmp_path / "urea.cif").write_text(UREA)
    crystal = ob.load(tmp_path / "urea.cif")
    points, reference = np.split(POINTS, 2, axis=1)
    for column, name in enumerate(("di", "de", "dnorm")):
        found = ob.evaluate(crystal, f"{name}:1-8", points * angstrom, precision="double")
        assert found == pytest.approx(reference[:, column], abs=2e-4)


POINTS = np.array(
    [
        [-0.86227, 1.24104, -1.362, 1.39412, 1.84509, 0.49289],
        [0.19692, 2.13405, -0.66313, 1.11936, 1.40652, -0.04772],
        [-0.49147, 4.45123, 0.06637, 1.57663, 1.52579, 0.25141],
        [2.5978, 2.53265, 0.81156, 2.07773, 1.94244, 0.77751],
        [0.2289, 0.15696, 1.58164, 2.06164, 1.94566, 0.93833],
        [0.76553, 1.30259, 2.28121, 1.74166, 1.23348, 0.20748],
        [-0.32181, 4.17253, 2.97244, 1.43862, 1.09904, -0.04525],
        [-0.28469, 3.16439, 4.07479, 1.37176, 1.24091, 0.04092],
    ]
)

"""What a page computes orbitals from: its packed arrays, summed as the shader sums them, are the orbital."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.gaussians.expansion import polynomial_powers
from orbitile.gaussians.promolecule import promolecule
from orbitile.model.geometry import Geometry
from orbitile.model.wavefunction import Spinors
from orbitile.pictures import computing as rules
from orbitile.pictures.pages import bare_slide, document_of, slide_of, with_computing
from orbitile.scenes.web import packed
from tests.web.unpacking import unpacked


def computing_in(wavefunction) -> dict:
    (given,) = computing_of_frames([wavefunction])
    return given


def computing_of_frames(frames) -> list[dict]:
    slides = [replace(bare_slide(one), frame=n) for n, one in enumerate(frames)]
    document = with_computing(document_of(slides, frames[0], len(frames)), frames)
    return [given | {"middle": document.middle} for given in unpacked(packed(document))["computing"]]


def coefficients_in(given: dict, field: str) -> np.ndarray:
    row, size = given["orbitals"].index(field), len(given["unit"])
    folded = sum(
        plane.reshape(-1, size)[row].astype(np.int64) << 8 * place for place, plane in enumerate(given["planes"])
    )
    return np.where(folded % 2, -(folded + 1) // 2, folded // 2)


def values(given: dict, field: str, points: np.ndarray) -> np.ndarray:
    """An orbital at some points, by the arrays of a page in float32 and the factors of x, y and z."""
    coefficients = given["unit"] * coefficients_in(given, field)
    term_of = np.repeat(np.arange(len(given["counts"])), given["counts"])
    products = given["matrix"] * coefficients[given["columns"]]
    terms = np.bincount(term_of, products, len(given["counts"])).astype(np.float32)
    found = np.zeros(len(points), np.float32)
    begin = 0
    for centre, exponent, degree in zip(
        given["centre"].reshape(-1, 3), given["exponent"], given["degree"], strict=True
    ):
        away = (points - given["middle"] - centre).astype(np.float32)
        radial = np.exp(-exponent * away**2).prod(axis=1)
        powers = polynomial_powers(int(degree))
        for term, (i, j, k) in zip(terms[begin:], powers, strict=False):
            found += term * away[:, 0] ** i * away[:, 1] ** j * away[:, 2] ** k * radial
        begin += len(powers)
    return found


def points_about(wavefunction, rng) -> np.ndarray:
    atoms = wavefunction.positions
    return atoms[rng.integers(len(atoms), size=200)] + rng.normal(size=(200, 3))


@pytest.mark.parametrize("field", ["mo:1", "mo:21", "mo:22"])
def test_the_arrays_of_a_page_are_the_orbital(benzene, field):
    points = points_about(benzene, np.random.default_rng(4))
    expected = ob.evaluate(benzene, field, points)
    assert np.abs(values(computing_in(benzene), field, points) - expected).max() < 3e-5


def test_each_frame_has_its_own_orbitals_and_shares_the_basis_set(water):
    found = computing_of_frames(water)
    rng = np.random.default_rng(5)
    for given, wavefunction in zip(found, water, strict=True):
        points = points_about(wavefunction, rng)
        assert np.abs(values(given, "mo:4", points) - ob.evaluate(wavefunction, "mo:4", points)).max() < 3e-5
    assert len({id(given["exponent"]) for given in found}) == 1
    assert len({id(given["centre"]) for given in found}) == len(water)


def test_a_page_has_the_energies_of_each_frame(water):
    slides = [replace(bare_slide(one), frame=n) for n, one in enumerate(water)]
    found = unpacked(packed(with_computing(document_of(slides, water[0], len(water)), water)))
    at = {choice["field"]: n for n, choice in enumerate(found["choices"])}
    for (energies, occupations), wavefunction in zip(found["levels"], water, strict=True):
        for n, (energy, occupation) in enumerate(
            zip(wavefunction.alpha.energies, wavefunction.alpha.occupations, strict=True), 1
        ):
            assert energies[at[f"mo:{n}"]] == pytest.approx(energy, rel=1e-6)
            assert occupations[at[f"mo:{n}"]] == occupation
        assert np.isnan(energies[at["density"]])
    assert len({tuple(energies.tolist()) for energies, _ in found["levels"]}) == len(water)


def test_frames_share_what_a_page_may_carry(water, monkeypatch):
    monkeypatch.setattr(rules, "MOST_COEFFICIENTS", 2 * len(water) * water[0].n_basis)
    assert [given["orbitals"] for given in computing_of_frames(water)] == [["mo:5", "mo:6"]] * len(water)
    monkeypatch.setattr(rules, "MOST_COEFFICIENTS", len(water) * water[0].n_basis - 1)
    assert computing_of_frames(water) == []
    assert "too long" in rules.why_not_computed(water)


def test_coefficients_are_off_by_half_a_step_at_most(benzene):
    given = computing_in(benzene)
    steps = coefficients_in(given, "mo:21")
    assert np.abs(steps - benzene.alpha.coefficients[:, 20] / given["unit"]).max() <= 0.5


def test_densities_are_sums_over_occupied_orbitals(benzene):
    (density,) = computing_in(benzene)["sums"]
    assert density["field"] == "density"
    assert density["weights"] == [2.0] * 21
    assert not density["signed"]


def test_what_is_too_much_is_left_out(benzene, monkeypatch):
    monkeypatch.setattr(rules, "MOST_COEFFICIENTS", 3 * benzene.n_basis)
    given = computing_in(benzene)
    assert given["orbitals"][:2] in (["mo:21", "mo:22"], ["mo:22", "mo:21"])
    assert len(given["orbitals"]) == 3
    assert given["sums"] == []  # not all of the occupied ones are there


def test_computed_orbitals_have_one_slide(benzene):
    slide = slide_of(ob.compute_surface(benzene, "homo", 0.04), benzene, "homo")
    slides = [slide, replace(slide, isovalue=0.02), replace(slide, field="elf"), replace(slide, field="elf")]
    document = with_computing(document_of(slides, benzene), [benzene])
    assert [one.field for one in document.slides] == ["mo:21", "elf", "elf"]


def test_complex_orbitals_and_free_atoms_are_not_computed(benzene):
    alpha = benzene.alpha
    spinors = replace(benzene, alpha=Spinors(alpha.coefficients[None] * 1j, alpha.occupations, alpha.energies))
    atoms = promolecule(Geometry(np.array([1, 1]), np.array([[0, 0, 0], [0, 0, 1.4]])))
    for one, sentence in ((spinors, "Complex orbitals are not computed"), (atoms, "Free atoms have no orbitals")):
        document = with_computing(document_of([bare_slide(one)], one), [one])
        assert document.computing == ()
        assert sentence in document.note

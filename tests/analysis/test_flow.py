"""Electron flow: what is known of reactions, and paths that are none."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.flow import flow
from orbitile.base.errors import OrbitileError
from tests.localised.test_localised_orbitals import iao_charges
from tests.molecules import shuffled, trajectory_of

gto = pytest.importorskip("pyscf.gto")


def frames_of(geometries, charge, spin=0, basis="6-31g"):
    """Hartree-Fock of PySCF, geometry by geometry from the density of the one before; atoms in Angstrom."""
    from pyscf import lib, scf

    from orbitile.scf.engines.pyscf import wavefunction_of

    frames, start = [], None
    for atoms in geometries:
        mol = gto.M(atom=atoms, basis=basis, charge=charge, spin=spin, verbose=0)
        field = (scf.UHF if spin else scf.RHF)(mol)
        with lib.with_omp_threads(1):  # threads take longer to meet than these molecules to compute
            field.kernel(start)
        assert field.converged
        start = field.make_rdm1()
        frames.append(wavefunction_of(mol, field.mo_coeff, field.mo_occ, field.mo_energy))
    return frames


@pytest.fixture(scope="module")
def transfer():
    """The proton of FHF- goes from one fluorine to the other."""
    return frames_of([f"F 0 0 0; H 0 0 {z}; F 0 0 2.5" for z in (0.95, 1.1, 1.25, 1.4, 1.55)], -1)


@pytest.fixture(scope="module")
def substitution():
    """Walden inversion of CH3F by F-, along a straight path."""
    ways = [
        (far, near, height)
        for far, near, height in (
            (2.6, 1.4, 0.33),
            (2.2, 1.5, 0.2),
            (1.85, 1.85, 0.0),
            (1.5, 2.2, -0.2),
            (1.4, 2.6, -0.33),
        )
    ]
    ring = [(1.04 * np.cos(a), 1.04 * np.sin(a)) for a in np.radians([0, 120, 240])]
    return frames_of(
        (
            f"C 0 0 0; F 0 0 {-far}; F 0 0 {near}; " + "; ".join(f"H {x} {y} {-height}" for x, y in ring)
            for far, near, height in ways
        ),
        -1,
    )


def becomes(found):
    """What each orbital is at the start and at the end, of those that change most."""
    table = found.table("orbitals")
    return list(zip(table["at_start"].tolist(), table["at_end"].tolist(), strict=True))


def test_a_proton_is_transferred(transfer):
    found = ob.flow(trajectory_of(transfer))
    assert set(becomes(found)[:2]) == {("F1-H2 sigma", "F1 lone pair"), ("F3 lone pair", "H2-F3 sigma")}
    table = found.table("orbitals")
    assert table["change"][:2].min() > 0.3
    assert table["change"][2:].max() < 0.1
    assert all(closure.holds for one in found.tables for closure in one.closures)
    assert table.fields[0] in [surface.field for surface in found.surfaces]
    assert [plot.name for plot in found.plots] == ["change", "distance"]
    assert len(found.plots[0].curves) == 2
    assert found.plots[0].curves[0].y[-1] == pytest.approx(table["change"][0])
    # a symmetric path: what one loses the other gains
    assert table["change"][0] == pytest.approx(table["change"][1], abs=1e-3)


@pytest.mark.slow
def test_charges_are_those_of_each_frame(transfer):
    found = flow(trajectory_of(transfer))
    assert found.charges == pytest.approx(np.array([iao_charges(frame) for frame in transfer]), abs=1e-8)
    assert found.length[-1] == pytest.approx(0.6 / 0.529177, rel=0.1)  # of the proton; the others are brought to rest
    assert found.spins[0].change[0] == pytest.approx(0)
    assert found.missed == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
def test_substitution(substitution):
    found = ob.flow(trajectory_of(substitution))
    assert set(becomes(found)[:2]) == {("C1-F3 sigma", "F3 lone pair"), ("F2 lone pair", "C1-F2 sigma")}
    (arrows, charges) = found.drawings
    assert (arrows.heads, charges.name) == (True, "charge_gained")
    assert sum(charges.values) == pytest.approx(0, abs=1e-6)
    assert charges.values[1] == pytest.approx(-charges.values[2], abs=2e-3)
    assert found.table("orbitals")["confidence"].min() > 0.9


@pytest.mark.slow
def test_order_and_signs_of_canonical_orbitals_do_not_matter(substitution):
    rng = np.random.default_rng(0)
    plain = flow(trajectory_of(substitution))
    spoilt = flow(trajectory_of([substitution[0], *(shuffled(frame, rng) for frame in substitution[1:])]))
    assert spoilt.spins[0].names[0] == plain.spins[0].names[0]
    assert spoilt.spins[0].change.max(axis=0) == pytest.approx(plain.spins[0].change.max(axis=0), abs=1e-4)


@pytest.mark.slow
def test_a_radical_has_two_spins():
    """H + H2: the electron that is alone goes one way, the one of other spin the other."""
    frames = frames_of([f"H 0 0 0; H 0 0 {z}; H 0 0 1.9" for z in (0.75, 0.85, 0.95, 1.05, 1.15)], 0, 1)
    found = ob.flow(trajectory_of(frames))
    ends = dict(zip(found.table("orbitals").fields, becomes(found), strict=True))
    assert len(ends) == 3
    assert ends["ibo:1:beta"] == ("H1-H2 sigma", "H2-H3 sigma")
    assert all(field.endswith((":alpha", ":beta")) for field in ends)
    assert all(closure.holds for one in found.tables for closure in one.closures)


def test_paths_that_are_none(transfer):
    with pytest.raises(OrbitileError, match="path of at least two"):
        ob.flow(trajectory_of(transfer[:1]))
    still = ob.flow(trajectory_of([transfer[0], transfer[0]]))
    assert "no bond is made or broken" in still.remarks[0]
    natural = [replace(one, alpha=replace(one.alpha, occupations=0.97 * one.alpha.occupations)) for one in transfer]
    with pytest.raises(OrbitileError, match=r"got 0 .*fractional occupations"):
        ob.flow(trajectory_of(natural))
    occupations = np.where(np.arange(len(transfer[0].alpha)) < 9, 2.0, 0.0)
    cation = replace(transfer[3], alpha=replace(transfer[3].alpha, occupations=occupations))
    found = ob.flow(trajectory_of([*transfer[:3], cation, *transfer[4:]]))
    assert found.remarks == (
        "made, by the distance of the atoms: H2-F3",
        "broken, by the distance of the atoms: F1-H2",
        "frame 4 was left out: it has 9 localised alpha orbitals instead of 10: other electrons",
    )
    assert set(becomes(found)[:2]) == {("F1-H2 sigma", "F1 lone pair"), ("F3 lone pair", "H2-F3 sigma")}


@pytest.mark.slow
def test_atoms_that_exchange_their_numbers(substitution):
    """Hydrogens renumbered on the way: elements and functions fit, and only the way that they go tells."""

    def renumbered(frame):
        order = [0, 1, 2, 4, 3, 5]
        mine = np.repeat([shell.atom for shell in frame.shells], [shell.n_functions for shell in frame.shells])
        rows = np.concatenate([np.flatnonzero(mine == atom) for atom in order])
        coefficients = frame.alpha.coefficients[rows]
        positions = frame.positions[order]
        return replace(
            frame, positions=positions, geometries=np.empty(0), alpha=replace(frame.alpha, coefficients=coefficients)
        )

    found = ob.flow(trajectory_of([*substitution[:2], *map(renumbered, substitution[2:])]))
    assert any("frame 3 H4, H5 seem to have exchanged their numbers" in remark for remark in found.remarks)
    assert not any("exchanged" in remark for remark in ob.flow(trajectory_of(substitution)).remarks)


@pytest.mark.slow
def test_a_bond_that_is_made_takes_part_however_little_its_electrons_move():
    """F- adds to SiH4: the lone pair gives silicon a sixth of an electron."""

    def geometry(distance, height):
        ring = ((1.48 * np.cos(a), 1.48 * np.sin(a)) for a in np.radians([0, 120, 240]))
        return f"Si 0 0 0; F 0 0 {distance}; H 0 0 -1.5; " + "; ".join(f"H {x} {y} {height}" for x, y in ring)

    path = frames_of(
        [geometry(d, h) for d, h in ((3.2, 0.4), (2.6, 0.3), (2.1, 0.15), (1.75, 0.05))], -1, basis="sto-3g"
    )
    found = ob.flow(trajectory_of(path), least=0.9)
    table = found.table("orbitals")
    assert "F2" in table["at_start"][0]
    assert table["largest"][0] < 0.9
    field = table["orbital"][0]
    assert field in [surface.field for surface in found.surfaces]
    assert all(any(curve.fields[0] == field for curve in plot.curves) for plot in found.plots)
    assert any("made, by the distance of the atoms: Si1-F2" in remark for remark in found.remarks)
    assert not any("no bond" in remark for remark in found.remarks)

"""Structures of what PyMOL shows, and regions of them that are computed in their surroundings."""

import numpy as np
import pytest

import orbitile as ob
from orbitile import OrbitileError
from orbitile.model.report import ResidueValues
from orbitile.model.structure import Residue
from orbitile.model.units import angstrom, kilocalorie_per_mole
from orbitile.scf.optimisation import LARGEST_FORCE
from orbitile.scf.region import complete_choice, quantum_region
from orbitile.session import commands
from orbitile.session.analysing import order_of
from orbitile.session.presets import preset_named, surfaces_of
from orbitile.session.region import found_again

pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")

from orbitile.hosts.pymol.commands import state_of

PDB = """\
ATOM      1  N  AALA A  52A      0.000   0.000   0.000  0.40  0.00           N
ATOM      2  N  BALA A  52A      0.100   0.000   0.000  0.60  0.00           N
ATOM      3  CA  ALA A  52A      1.450   0.000   0.000  1.00  0.00           C
ATOM      4  C   ALA A  52A      2.000   1.400   0.000  1.00  0.00           C
ATOM      5  O   ALA A  52A      1.300   2.400   0.000  1.00  0.00           O
HETATM    6  O   HOH B   7       6.000   0.000   0.000  1.00  0.00           O
HETATM    7  H1  HOH B   7       6.600   0.760   0.000  1.00  0.00           H
HETATM    8  H2  HOH B   7       6.600  -0.760   0.000  1.00  0.00           H
HETATM    9 ZN    ZN C   1       9.000   0.000   0.000  1.00  0.00          ZN2+
END
"""


def test_structure_is_what_pymol_knows(cmd):
    cmd.read_pdbstr(PDB, "complex")
    cmd.alter("resn HOH and elem O", "partial_charge = -0.8")
    cmd.alter("resn HOH and elem H", "partial_charge = 0.4")
    cmd.fragment("methanol")
    structure, chosen = state_of(cmd).host.structure("resn HOH")
    assert structure.residues[:3] == (Residue("A", "52A", "ALA"), Residue("B", "7", "HOH"), Residue("C", "1", "ZN"))
    assert structure.names[:8] == ("N", "CA", "C", "O", "O", "H1", "H2", "ZN")
    assert structure.atomic_numbers[:8].tolist() == [7, 6, 6, 8, 8, 1, 1, 30]
    np.testing.assert_allclose(structure.positions[0], [0.1 * angstrom, 0, 0], atol=1e-6)
    assert chosen.tolist() == [4, 5, 6]
    assert structure.formal_charges[7] == 2
    np.testing.assert_allclose(structure.partial_charges[4:7], [-0.8, 0.4, 0.4], atol=1e-6)
    assert np.isnan(np.delete(structure.partial_charges, chosen)).all()
    orders = {tuple(pair): order for pair, order in zip(structure.bonds.tolist(), structure.orders, strict=True)}
    assert orders[2, 3] == 2  # of a residue that PyMOL knows
    assert orders[4, 5] == 0  # of water it does not say
    assert len(structure.names) == 8 + cmd.count_atoms("methanol")
    assert structure.notes == (
        "of the alternate locations in complex those of the highest occupancy are taken: ALA 52A (B)",
    )
    only, chosen = state_of(cmd).host.structure("resn ZN", "resn HOH")
    assert (only.names, chosen.tolist()) == (("O", "H1", "H2", "ZN"), [3])
    cmd.disable("methanol")
    assert len(state_of(cmd).host.structure("resn HOH")[0].names) == 8
    with pytest.raises(OrbitileError, match="selects no atom"):
        state_of(cmd).host.structure("resn XYZ")


def test_regions_are_offered_as_they_are_called(cmd):
    cmd.read_pdbstr(PDB, "complex")
    cmd.fragment("benzene")
    cmd.alter("benzene", "resn, resi, chain = 'BNZ', '4', 'L'")
    cmd.select("near", "resn HOH")
    offered = state_of(cmd).host.regions()
    assert list(offered) == ["(near), 3 atoms", "BNZ 4 of chain L in benzene, 12 atoms"]
    assert [cmd.count_atoms(selection) for selection in offered.values()] == [3, 12]


def test_what_is_missing_is_said_with_the_remedy(cmd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cmd.read_pdbstr(PDB, "complex")
    session = state_of(cmd)
    for arguments, reason in (
        (["x", "resn ALA"], "h_add"),
        (["x", "resn HOH", 1], "electrons"),
        (["complex", "resn HOH", "", "", "", "", 0], "complex is taken"),
    ):
        with pytest.raises(OrbitileError, match=reason):
            commands.orb_region.run(session, arguments)
    monkeypatch.setattr("orbitile.session.region.find_spec", lambda name: None)
    monkeypatch.delenv("ORBITILE_PYTHON", raising=False)
    with pytest.raises(OrbitileError, match=r"nothing around the region has partial charges.*embed=0"):
        commands.orb_region.run(session, ["x", "resn HOH"])
    (tmp_path / "x.h5").write_text("something else")
    with pytest.raises(OrbitileError, match=r"x.h5: is there already"):
        commands.orb_region.run(session, ["x", "resn HOH"], {"embed": 0})
    assert session.calculation is None
    assert [path.name for path in tmp_path.iterdir()] == ["x.h5"]


def test_atoms_that_were_missing_go_with_what_they_are_bonded_to(cmd):
    cmd.fragment("ile")
    now = state_of(cmd).host.structure("ile")[0]
    side = {"CB", "CG1", "CG2", "CD1"}
    hydrogens = [n for n, z in enumerate(now.atomic_numbers) if z == 1]
    bonded = {one for pair in now.bonds.tolist() if {now.names[n] for n in pair} & side for one in pair}
    expected = {n for n, name in enumerate(now.names) if name in side} | (bonded & set(hydrogens))
    cmd.alter("name CD1", "name = 'CD'")  # as CHARMM calls it
    for _ in range(2):
        before, chosen = state_of(cmd).host.structure("name CB+CG1+CG2+CD")
        assert set(found_again(before, chosen, now).tolist()) == expected
        cmd.remove("name CD or hydro")


@pytest.mark.slow
def test_region_is_in_place_and_polarised(cmd, monkeypatch, tmp_path):
    gto, scf, qmmm = (pytest.importorskip(f"pyscf.{name}") for name in ("gto", "scf", "qmmm"))
    monkeypatch.chdir(tmp_path)
    cmd.read_pdbstr(PDB, "complex")
    cmd.remove("not resn HOH+ZN")
    cmd.alter("resn ZN", "partial_charge = 2.0")
    assert cmd.orb_region("water", "resn HOH", method="hf", basis="sto-3g") == "water"
    session = state_of(cmd)
    np.testing.assert_allclose(cmd.get_coords("water"), cmd.get_coords("complex and resn HOH"), atol=1e-5)
    atoms = list(zip("OHH", cmd.get_coords("water").tolist(), strict=True))
    vacuum = scf.RHF(gto.M(atom=atoms, basis="sto-3g", verbose=0))
    embedded = qmmm.mm_charge(vacuum.copy(), cmd.get_coords("complex and resn ZN"), [2.0])
    for calculation, path in ((embedded, "water.h5"), (vacuum, "water-vacuum.h5")):
        calculation.run(conv_tol=1e-10)
        np.testing.assert_allclose(ob.load_trajectory(path)[0].alpha.energies, calculation.mo_energy, atol=2e-5)
    assert session.surroundings("water")["external_charges"].charges.tolist() == [2.0]
    table = session.computing.report(order_of(session.host, "residues", "water", {}, "cpu")).tables[0]
    assert table.residues == (Residue("C", "1", "ZN"),)
    assert all(closure.holds for closure in table.closures)
    cmd.edit("water and index 2", "water and index 1")  # the field turns with the order in which atoms are picked
    orders = [order_of(session.host, "residues", "water", {"atoms": atoms}, "cpu") for atoms in ("1,2", "pk1 pk2")]
    found = [session.computing.report(order).tables[0] for order in orders]
    assert found[0]["field"][0] == pytest.approx(-found[1]["field"][0])
    assert [table.title.split("positive ")[1] for table in found] == ["from O to H1", "from H1 to O"]
    cmd.orb_live("water")
    for _ in range(2):  # first where it was computed, then at a minimum in the field, held off by Lennard-Jones terms
        session.live.settle()
        live = session.wavefunction("water")
        report = session.computing.report(order_of(session.host, "residues", "water", {}, "cpu"))
        assert all(closure.holds for closure in report.tables[0].closures)
        at_zinc = cmd.get_coords("complex and resn ZN").astype(float) * angstrom
        energy = 2.0 * ob.evaluate(live, "esp", at_zinc)[0]
        column = next(one for one in report.tables[0].columns if one.name == "energy")
        assert column.values[0] * kilocalorie_per_mole == pytest.approx(energy, abs=1e-5)
        assert "Lennard-Jones" in session.live.now.found.parts
        cmd.orb_relax()
    assert session.live.now.found.largest_force < LARGEST_FORCE
    cmd.orb_live()
    surfaces = surfaces_of(preset_named("surroundings"), session.wavefunction("water"))
    assert [surface.field for surface in surfaces] == ["homo", "polarisation", "density"]
    cmd.delete("water")
    cmd.orb_region("water", "resn HOH", method="hf", basis="sto-3g", charges="none")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["water.h5", "water.region"]
    assert "field" not in session.wavefunction("water").method


def test_residues_are_coloured_while_they_are_drawn(cmd):
    cmd.read_pdbstr(PDB, "complex")
    cmd.fragment("methane")
    host = state_of(cmd).host
    host.adopt("methane", "source")
    water, zinc = Residue("B", "7", "HOH"), Residue("C", "1", "ZN")
    values = ResidueValues("share", (zinc, water), np.zeros((2, 3)), np.array([-10.0, 4.0]), "kcal/mol")

    def seen():
        found = []
        cmd.iterate("complex", "found.append((resn, color, label, partial_charge))", space={"found": found})
        return found

    before = seen()
    host.put_drawings("methane", "residues", (values,))
    assert [one for one in seen() if one[0] == "ALA"] == [one for one in before if one[0] == "ALA"]
    red, _, blue = cmd.get_color_tuple({color for name, color, *_ in seen() if name == "ZN"}.pop())
    assert red > blue
    red, _, blue = cmd.get_color_tuple({color for name, color, *_ in seen() if name == "HOH"}.pop())
    assert blue > red
    assert [label for _, _, label, _ in seen() if label] == ["HOH 7", "ZN 1"]
    assert "methane_residues_scale" in cmd.get_names()
    assert host.show_residue(water)
    assert cmd.count_atoms("sele") == cmd.count_atoms("sele and resn HOH") == 3
    assert not host.show_residue(Residue("B", "-8", "HOH"))
    cmd.set_name("complex", "other")
    cmd.set_name("other", "complex")
    host.put_drawings("methane", "residues", ())
    assert seen() == before
    assert "methane_residues_scale" not in cmd.get_names()


def test_order_of_a_bond_is_that_in_which_its_atoms_are_named(cmd):
    cmd.fragment("methanol")
    host = state_of(cmd).host
    carbon, oxygen = (host.atoms("methanol", f"elem {element}")[0] for element in "CO")
    cmd.select("one", "elem O")
    cmd.select("other", "elem C")
    assert host.atoms("methanol", "one or other") == host.atoms("methanol", "one other") == (oxygen, carbon)
    cmd.delete("one other")
    cmd.edit("elem O", "elem C")
    assert host.atoms("methanol", "pk1 pk2") == host.selected("methanol") == (oxygen, carbon)
    assert host.atoms("methanol", "elem O or elem C") == tuple(sorted((oxygen, carbon)))


def test_hydrogens_of_a_residue_in_a_chain_are_there_where_it_is_completed(cmd):
    cmd.fab("AVA", "peptide")
    cmd.remove("hydro")
    host = state_of(cmd).host
    host.add_hydrogens("peptide and resi 2")
    structure, chosen = host.structure("peptide and resi 2")
    region = quantum_region(structure, complete_choice(structure, chosen), embed=False)
    assert (region.charge, len(region.links)) == (0, 3)

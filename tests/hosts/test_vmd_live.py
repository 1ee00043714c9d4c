"""A live molecule in VMD's Tcl: atoms that are moved are told, and the surface follows them in place.

The real server, a real Tcl, and a stand-in for VMD's own commands: there is no VMD that could be passed on.
"""

import re
import shutil

import numpy as np
import pytest

from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile.scf.calculation import Calculation
from orbitile.scf.engines import engine_of
from tests.hosts.test_vmd import WISH, in_vmd, screen

pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
pytestmark = pytest.mark.skipif(shutil.which("tclsh") is None, reason="tclsh is not installed")

WATER = "3\nwater\nO 0 0 0\nH 0.96 0 0\nH -0.24 0.93 0\n"

LIVE = """
        proc bgerror {problem} { puts "$problem: $::errorInfo" }
        proc until {condition} {
            set end [expr {[clock seconds] + 60}]
            while {![uplevel 1 [list expr $condition]]} {
                if {[clock seconds] > $end} { error "waited in vain for $condition" }
                after 10 {set ::tick 1}
                vwait ::tick
            }
        }
        proc stage {} { dict get $orbitile::live_told stage }
        proc drag {molid n place} { # as the mouse does
            set atoms [atomselect $molid all]
            set places [$atoms get {x y z}]
            lset places $n $place
            $atoms set {x y z} $places
            $atoms delete
        }
        mol new WATER type xyz waitfor all
        molinfo 0 set rotate_matrix turned
"""


def live(tmp_path, script, *program):
    file = tmp_path / "water.xyz"
    file.write_text(WATER)
    return in_vmd(tmp_path, LIVE.replace("WATER", f"{{{file}}}") + f"cd {{{tmp_path}}}" + script, *program)


def energy(places):
    """Of water at these places in Angstrom."""
    water = Geometry(np.array([8, 1, 1]), np.array(places) * angstrom)
    calculation = Calculation("pbe", "sto-3g")
    return engine_of("auto", water, calculation).solve(water, calculation, (), "cpu", "single").energy


@pytest.mark.slow
def test_atoms_that_are_dragged_take_the_surface_along_in_its_place(tmp_path):
    out = live(
        tmp_path,
        """
        puts [orb_live water.xyz]
        until {[stage] eq "converged"}
        puts [report]
        puts "$vmd(0,drawn) $vmd(1,drawn) $vmd(1,rotate_matrix) $vmd(top)"
        until {$vmd(2,drawn) && ![catch {orb_settle}]}
        set before [lindex $vmd(2,volumes) 0]
        drag 1 1 {1.06 0 0}
        until {[stage] eq "converging"}
        until {[stage] eq "converged"}
        orb_settle
        puts [report]
        puts [expr {[lindex $vmd(2,volumes) 0] ne $before}]
        foreach rep $vmd(2,reps) { puts [dict get $rep material] }
        puts [dict get $orbitile::live_told energy]
        puts [llength [glob -directory $orbitile::folder *]]
        puts [orb_live]
        puts "live: $orbitile::live"
        """,
    )
    assert out[0] == "water"
    assert out[1] == "water.xyz 1 0 1 water 1 0 1 water_mo5 0 1 2"
    assert out[2] == "0 1 turned 1"
    assert out[3:7] == [out[1], "1", "Orbitile035", "Orbitile035"]
    assert float(out[7]) == pytest.approx(energy([[0, 0, 0], [1.06, 0, 0], [-0.24, 0.93, 0]]), abs=2e-7)
    assert out[8:] == ["1", "water", "live: "]


@pytest.mark.slow
def test_scripts_move_atoms_and_wait_and_what_the_server_moves_is_there(tmp_path):
    out = live(
        tmp_path,
        """
        orb_live top -method hf
        puts [orb_settle]
        drag 1 1 {1.06 0 0}
        puts [orb_settle]
        drag 1 1 {0 0 0}
        puts [catch {orb_settle} problem]
        drag 1 1 {0.96 0 0}
        puts [orb_settle]
        puts [dict get $orbitile::live_told text]
        orb_undo
        orb_settle
        puts [lindex $vmd(1,places) 1 0]
        orb_relax on 1
        orb_settle
        puts [join $vmd(1,places)]
        orb_color yellow lime 0.5
        save_state state.vmd
        foreach molid [molinfo list] { mol delete $molid }
        update
        until {$orbitile::live eq ""}
        source state.vmd
        puts [report]
        foreach rep $vmd([lindex $vmd(order) end],reps) { puts [dict get $rep color] }
        """,
    )
    assert out[0] == out[3]
    assert float(out[1]) > float(out[0])
    assert out[2] == "1"
    assert float(out[5]) == pytest.approx(1.06)
    oxygen, one, other = np.array(out[6].split(), float).reshape(3, 3)
    bonds = np.array([one - oxygen, other - oxygen])
    lengths = np.linalg.norm(bonds, axis=1)
    assert lengths == pytest.approx([0.9894, 0.9894], abs=2e-3)  # HF/STO-3G: Hehre, Stewart, Pople 1969 and since
    assert np.degrees(np.arccos(bonds[0] @ bonds[1] / lengths.prod())) == pytest.approx(100.03, abs=0.3)
    assert out[7:] == ["water.xyz 1 0 1 water 1 0 1 water_mo5 0 1 2", "ColorID 4", "ColorID 7"]


@screen
@pytest.mark.slow
def test_in_the_window_a_molecule_is_made_live_and_ended(tmp_path):
    out = live(
        tmp_path,
        """
        wm withdraw .
        set f [[lindex $vmd(menu) 1]].inside.live
        update
        puts "[winfo ismapped $f] [winfo ismapped $f.status] [$f.first.relax instate disabled]"
        proc choose {n} { # from the menu, as when it is opened
            set menu $::f.first.molecules.menu
            uplevel #0 [$menu cget -postcommand]
            $menu invoke $n
        }
        choose 0
        update
        puts "[winfo ismapped $f.status] [$f.first.relax instate disabled] [stage]"
        until {[stage] eq "converged"}
        puts [$f.status cget -text]
        drag 1 1 {1.06 0 0}
        until {[llength $orbitile::panel::energies] == 2}
        puts [llength [$f.energies find all]]
        orb_scan 1-2 0.9 1.1 3
        update
        puts [$f.scan.value cget -text]
        $f.scan.slider set 2
        until {$orbitile::panel::scan_due eq ""}
        until {[dict get $orbitile::live_told scan index] == 2}
        puts "[$f.scan.value cget -text] [lindex $vmd(1,places) 1]"
        uplevel #0 [$f.first.molecules.menu cget -postcommand]
        puts "[$f.first.molecules.menu index end] $orbitile::panel::live_molid" ;# the copy, a line, and the path
        choose 0
        update
        puts "[winfo ismapped $f.status] live: $orbitile::live; $orbitile::panel::status"
        """,
        WISH,
    )
    assert out[:2] == ["1 0 1", "1 0 starting"]
    assert re.fullmatch(r"water, pbe/sto-3g.*: -75\.\d{7} hartree, \d+ iterations in \d+\.\d\d s", out[2])
    assert out[3] == "2"
    assert out[4].startswith("distance 1-2: ")
    *words, x, y, z = out[5].split()
    assert words == ["distance", "1-2:", "1.100", "Angstrom"]
    assert [float(x), float(y), float(z)] == pytest.approx([1.1, 0, 0], abs=1e-5)
    assert out[6] == "2 1"
    assert out[7] == "0 live: ; water is no longer live"


@screen
@pytest.mark.slow
def test_in_the_window_it_is_computed_by_gfn2(tmp_path):
    tblite = pytest.importorskip("tblite.interface", reason="tblite (extra xtb) is not installed")
    out = live(
        tmp_path,
        """
        wm withdraw .
        set f [[lindex $vmd(menu) 1]].inside.live
        $f.first.method set gfn2
        set menu $f.first.molecules.menu
        uplevel #0 [$menu cget -postcommand]
        $menu invoke 0
        until {[stage] eq "converged"}
        puts [$f.status cget -text]
        drag 1 1 {1.06 0 0}
        until {[llength $orbitile::panel::energies] > 1 && [stage] eq "converged"}
        orb_settle
        puts [dict get $orbitile::live_told energy]
        puts [report]
        """,
        WISH,
    )
    assert out[0].startswith("water, gfn2, charge 0, unpaired electrons 0: -5.070")
    calculator = tblite.Calculator(
        "GFN2-xTB", np.array([8, 1, 1]), np.array([[0, 0, 0], [1.06, 0, 0], [-0.24, 0.93, 0]]) * angstrom
    )
    calculator.set("verbosity", 0)
    assert float(out[1]) == pytest.approx(calculator.singlepoint().get("energy"), abs=1e-6)
    assert "water_mo4 0 1 2" in out[2]

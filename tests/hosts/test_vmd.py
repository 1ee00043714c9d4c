"""The commands in VMD's Tcl: the real server, a real Tcl, and a stand-in for VMD's own commands.

VMD cannot be passed on; the stand-in takes the arguments that VMD's sources take, and refuses all others.
"""

import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from orbitile.session.commands import COMMANDS

pytestmark = pytest.mark.skipif(shutil.which("tclsh") is None, reason="tclsh is not installed")

BENZENE = str(files("orbitile") / "data" / "benzene.molden")
STAND_IN = Path(__file__).with_name("vmd_stand_in.tcl")


def install(home, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "orbitile.cli", "install", "vmd", *arguments],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout + done.stderr


def in_vmd(home, script, program=("tclsh",)):
    """What a script prints, after VMD's start-up file has been read."""
    install(home)
    file = home / "script.tcl"
    startup = f"source {{{STAND_IN}}}\nsource {{{home / '.vmdrc'}}}\n"
    file.write_text(f"{startup}set benzene {{{BENZENE}}}\n{script}\norbitile::stop\nexit\n")
    done = subprocess.run(
        [*program, str(file)],
        env={**os.environ, "ORBITILE_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "stand-in" not in done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith("Orbitile)")]


def test_an_orbital_is_two_isosurfaces_of_a_volume(tmp_path):
    out = in_vmd(
        tmp_path,
        """
        puts [orb_load $benzene]
        puts [orb_mo benzene lumo 0.03 coarse]
        puts [report]
        puts [lindex $vmd(1,reps) 0]
        puts [lindex $vmd(1,reps) 1]
        puts [expr [join $vmd(1,shape) *]]=$vmd(1,values)
        puts $vmd(1,center_matrix)
        puts $vmd(top)
        puts $vmd(Orbitile035,opacity)
        puts [glob -nocomplain -directory $orbitile::folder *]
        """,
    )
    assert out[:2] == ["benzene", "benzene_lumo"]
    assert out[2] == "benzene xyz 1 0 benzene_lumo ccp4 2 0"
    assert out[3] == "style {Isosurface 0.03 0 0 0 1 1} color {ColorID 23} material Orbitile035"
    assert out[4].startswith("style {Isosurface -0.03 ")
    assert "ColorID 30" in out[4]
    shape, values = out[5].split("=")
    assert shape == values
    assert out[6:8] == ["centre0", "0"]  # seen as the molecule is, which stays on top
    assert float(out[8]) == pytest.approx(0.65)
    assert out[9] == ""  # files that were read are gone


def test_walking_replaces_and_deleting_is_noticed(tmp_path):
    out = in_vmd(
        tmp_path,
        """
        orb_load $benzene
        orb_mo benzene -quality coarse
        puts [orb_next]
        puts [report]
        orb_iso 0.05
        puts [dict get [lindex $vmd([lindex $vmd(order) end],reps) 0] style]
        orb_color yellow lime 0.5
        puts [dict get [lindex $vmd([lindex $vmd(order) end],reps) 0] color]
        puts [dict get [lindex $vmd([lindex $vmd(order) end],reps) 1] color]
        mol delete [lindex $vmd(order) end]
        puts [catch {orb_next} problem]$problem
        """,
    )
    assert out[:2] == ["benzene_mo22", "benzene xyz 1 0 benzene_mo22 ccp4 2 0"]
    assert out[2] == "Isosurface 0.05 0 0 0 1 1"
    assert out[3:5] == ["ColorID 4", "ColorID 7"]
    assert out[5].startswith("1no orbital is shown")


def test_a_coloured_surface_is_drawn(tmp_path):
    out = in_vmd(
        tmp_path,
        """
        orb_load $benzene
        orb_field benzene density 0.001 coarse esp
        puts $vmd(1,graphics)
        puts $vmd(scale)
        set sorted [lsort -integer $vmd(1,shades)]
        puts "[lindex $sorted 0] [lindex $sorted end]"
        """,
    )
    assert int(out[0]) > 1000
    assert out[1] == "RWB"
    low, high = map(int, out[2].split())
    assert low < 300  # red above the ring
    assert high > 700  # blue at the hydrogens


def test_errors_are_errors_of_tcl_and_the_next_command_works(tmp_path):
    out = in_vmd(
        tmp_path,
        """
        puts [catch {orb_load nofile.fchk} problem]$problem
        puts [catch {orb_mo -nonsense 3} problem]$problem
        puts [catch {orb_mo benzene -quality} problem]$problem
        puts [catch {orb_load {a "name" with \\\\ and \\[brackets\\] µ}} problem]$problem
        puts [orb_device]
        set first [lindex [exec ps -o pid= --ppid [pid]] 0]
        exec kill -9 $first
        puts [catch {orb_load $benzene} problem]$problem
        puts [orb_load $benzene]
        """,
    )
    assert "no such file" in out[0]
    assert "unknown" in out[1]
    assert "-name value" in out[2]
    assert "brackets" in out[3]
    assert "no such file" in out[3]
    assert out[4] == "cpu"
    assert out[5].startswith("1orbitile has ended")
    assert out[6] == "benzene"


def test_json_is_read_as_it_is_meant(tmp_path):
    out = in_vmd(
        tmp_path,
        r"""
        set read [orbitile::from_json { {"a": [1, -2.5e3, true, null, "x\"\\\u00b5\n"], "b": {}, "c": []} }]
        puts [llength [dict get $read a]]
        puts [lindex [dict get $read a] 1]
        puts [string equal [lindex [dict get $read a] 4] "x\"\\\u00b5\n"]
        puts [dict get $read b][dict get $read c]
        foreach text [list "a\"b" "\\" "\u00b5\n\t" {} "\{"] {
            puts [string equal $text [orbitile::from_json [orbitile::text_json $text]]]
        }
        foreach wrong [list "" "\{" "\{\"a\" 1\}" {[1 2]} {"open}] {
            puts [catch {orbitile::from_json $wrong}]
        }
        """,
    )
    assert out == ["5", "-2.5e3", "1", "", *["1"] * 10]


def test_installing_touches_nothing_else(tmp_path):
    startup = tmp_path / ".vmdrc"
    startup.write_text("menu main on\nset mine 1\n")
    assert f"wrote {startup}" in install(tmp_path)
    once = startup.read_text()
    assert once.startswith("menu main on\nset mine 1\n")
    assert once.count("menu main on") == 1
    assert all(command.name in once for command in COMMANDS)
    install(tmp_path)
    assert startup.read_text() == once
    assert "removed" in install(tmp_path, "--uninstall")
    assert startup.read_text() == "menu main on\nset mine 1\n"
    assert "nothing to remove" in install(tmp_path, "--uninstall")


def test_the_menu_has_an_entry(tmp_path):
    (out,) = in_vmd(tmp_path, "puts $vmd(menu)")
    assert out == "Visualization/Orbitile orbitile::window"


@pytest.mark.skipif(
    shutil.which("wish") is None or shutil.which("xvfb-run") is None, reason="wish or xvfb-run is not installed"
)
def test_the_window(tmp_path):
    out = in_vmd(
        tmp_path,
        """
        orbitile::window
        proc tk_getOpenFile args { return $::benzene }
        .orbitile.inside.open invoke
        set orbitile::window_quality coarse
        .orbitile.inside.buttons.show invoke
        puts [report]
        .orbitile.inside.buttons.next invoke
        puts [report]
        set orbitile::window_field hommo
        .orbitile.inside.buttons.show invoke
        puts $orbitile::window_status
        """,
        ("xvfb-run", "-a", "wish"),
    )
    assert out[0] == "benzene xyz 1 0 benzene_homo ccp4 2 0"
    assert out[1] == "benzene xyz 1 0 benzene_mo22 ccp4 2 0"
    assert "Nearest match" in out[2]


def test_vmds_python_has_the_same_commands(tmp_path):
    tkinter = pytest.importorskip("tkinter", reason="this Python was built without Tcl")
    from orbitile.hosts.vmd.console import commands

    install(tmp_path)
    tcl = tkinter.Tcl()
    tcl.eval(f"source {{{STAND_IN}}}")
    tcl.eval(f"source {{{tmp_path / '.vmdrc'}}}")
    found = commands(tcl.eval)
    try:
        assert list(found) == [command.name for command in COMMANDS]
        assert found["orb_load"](BENZENE) == "benzene"
        assert found["orb_mo"]("benzene", quality="coarse", orbital="lumo") == "benzene_lumo"
        assert tcl.eval("report") == "benzene xyz 1 0 benzene_lumo ccp4 2 0"
        with pytest.raises(tkinter.TclError, match="no such file"):
            found["orb_load"]('a "quoted" [name] with $signs and {braces} \\')
    finally:
        tcl.eval("orbitile::stop")

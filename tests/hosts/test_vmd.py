"""The commands in VMD's Tcl: the real server, a real Tcl, and a stand-in for VMD's own commands.

VMD cannot be passed on; the stand-in takes the arguments that VMD's sources take, and refuses all others.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from orbitile.session.commands import COMMANDS
from tests.conftest import SAMPLES

pytestmark = pytest.mark.skipif(shutil.which("tclsh") is None, reason="tclsh is not installed")

BENZENE = str(files("orbitile") / "data" / "benzene.molden")
STAND_IN = Path(__file__).with_name("vmd_stand_in.tcl")


def install(home, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "orbitile", "install", "vmd", "--no-kernels", *arguments],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout + done.stderr


@cache
def startup_lines():
    """What is written into the start-up file: the same in every home, so it is made once."""
    with TemporaryDirectory() as home:
        said = install(home)
        assert "wrote" in said, said
        return (Path(home) / ".vmdrc").read_text()


def in_vmd(home, script, program=("tclsh",)):
    """What a script prints, after VMD's start-up file has been read."""
    (home / ".vmdrc").write_text(startup_lines())
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
    assert "stand-in" not in done.stdout + done.stderr, done.stdout[-3000:] + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith("Orbitile)")]


def test_an_orbital_is_two_isosurfaces_of_a_volume(tmp_path):
    out = in_vmd(
        tmp_path,
        """
        puts [orb_load $benzene]
        molinfo 0 set rotate_matrix turned
        puts [orb_mo benzene lumo 0.03 coarse]
        puts [report]
        foreach rep $vmd(1,reps) { puts $rep }
        puts [expr [join [dict get [lindex $vmd(1,volumes) 0] shape] *]]
        puts "$vmd(0,rotate_matrix) $vmd(1,rotate_matrix) $vmd(top)"
        puts $vmd(Orbitile035,opacity)
        puts [glob -nocomplain -directory $orbitile::folder *]
        """,
    )
    assert out[:2] == ["benzene", "benzene_lumo"]
    assert out[2] == "benzene 1 0 1 benzene_lumo 0 1 2"
    positive, negative = out[3:5]
    assert (
        positive
        == "style {Isosurface 0.03 0 0 0 1 1} color {ColorID 23} selection all material Orbitile035 scale {0.0 0.0}"
    )
    assert (
        negative
        == "style {Isosurface -0.03 0 0 0 1 1} color {ColorID 31} selection all material Orbitile035 scale {0.0 0.0}"
    )
    assert int(out[5]) > 1000
    assert out[6] == "turned turned 0"  # the view stays, and so does the molecule that is on top
    assert float(out[7]) == pytest.approx(0.65)
    assert out[8] == ""  # files that were read are gone


@pytest.mark.slow
def test_fields_go_with_their_molecule_and_files_of_one_name_are_molecules_of_their_own(tmp_path):
    (tmp_path / "other").mkdir()
    for name in ("benzene.molden", "scan.1", "scan.2", "other/benzene.molden"):
        shutil.copy(BENZENE, tmp_path / name)
    out = in_vmd(
        tmp_path,
        f"""
        cd {{{tmp_path}}}
        foreach file {{benzene.molden other/benzene.molden scan.1 scan.2}} {{ puts [orb_load $file] }}
        orb_mo benzene homo -quality coarse
        orb_mo benzene_2 homo -quality coarse
        puts [lsort [orbitile::present]]
        mol delete $orbitile::molecules(benzene)
        update
        puts [lsort [orbitile::present]]
        mol delete $orbitile::molecules(benzene_2)
        puts [catch {{orb_iso 0.05}} problem]$problem
        puts [lsort [orbitile::present]]
        """,
    )
    assert out[:4] == ["benzene", "benzene_2", "scan_1", "scan_2"]
    assert out[4] == "benzene benzene_2 benzene_2_homo benzene_homo scan_1 scan_2"
    assert out[5] == "benzene_2 benzene_2_homo scan_1 scan_2"
    assert out[6].startswith("1no orbital is shown")
    assert out[7] == "scan_1 scan_2"


@pytest.mark.slow
def test_a_file_that_changes_is_refused_until_it_is_opened_again(tmp_path):
    shutil.copy(BENZENE, tmp_path / "job.molden")
    other = SAMPLES / "neon_turbomole_def2-qzvp.molden"
    out = in_vmd(
        tmp_path,
        f"""
        orb_load {{{tmp_path / "job.molden"}}}
        orb_mo job homo -quality coarse
        file copy -force {{{other}}} {{{tmp_path / "job.molden"}}}
        puts [catch {{orb_mo job lumo -quality coarse}} problem]$problem
        puts [lsort [orbitile::present]]
        puts [orb_load {{{tmp_path / "job.molden"}}}]
        puts [lsort [orbitile::present]]
        puts [orb_mo job homo -quality coarse]
        """,
    )
    assert out[0].startswith("1")
    assert "job.molden: has changed since it was loaded" in out[0]
    assert out[1:] == ["job job_homo", "job", "job", "job_homo"]


@pytest.mark.slow
def test_walking_replaces_and_deleting_is_noticed(tmp_path):
    out = in_vmd(
        tmp_path,
        """
        orb_load $benzene
        orb_mo benzene -quality coarse
        puts [orb_next]
        puts [report]
        set molid [lindex $vmd(order) end]
        orb_iso 0.05
        puts [dict get [lindex $vmd($molid,reps) 0] style]
        orb_color yellow lime 0.5
        puts [dict get [lindex $vmd($molid,reps) 0] color]
        puts [dict get [lindex $vmd($molid,reps) 1] color]
        puts [expr {$molid == [lindex $vmd(order) end]}]
        mol delete $molid
        puts [catch {orb_next} problem]$problem
        puts [orb_mo benzene -quality coarse]
        puts [report]
        puts "[array size orbitile::molecules] [array size orbitile::sources] [array size orbitile::looks]"
        """,
    )
    assert out[:2] == ["benzene_mo22", "benzene 1 0 1 benzene_mo22 0 1 2"]
    assert out[2] == "Isosurface 0.05 0 0 0 1 1"
    assert out[3:5] == ["ColorID 4", "ColorID 7"]
    assert out[5] == "1"  # the volume was not read again
    assert out[6].startswith("1no orbital is shown")
    assert out[7:9] == ["benzene_homo", "benzene 1 0 1 benzene_homo 0 1 2"]
    assert out[9] == "2 2 1"


@pytest.mark.slow
def test_many_orbitals_leave_nothing_behind(tmp_path):
    out = in_vmd(
        tmp_path,
        """
        orb_load $benzene
        orb_mo benzene 1 0.05 coarse
        for {set n 2} {$n <= 21} {incr n} { orb_next }
        puts [report]
        foreach name {molecules sources looks replies} { puts [array size orbitile::$name] }
        puts [llength $vmd(materials)]
        """,
    )
    assert out == ["benzene 1 0 1 benzene_mo21 0 1 2", "2", "2", "1", "0", "3"]


@pytest.mark.slow
def test_what_stands_side_by_side_is_moved_aside_with_its_atoms_and_back(tmp_path):
    out = in_vmd(
        tmp_path,
        """
        proc place {molid} {
            list [lindex $::vmd($molid,global_matrix) 0 3] [lindex $::vmd($molid,scale_matrix) 0 0]
        }
        orb_load $benzene
        puts [orb_preset benzene -quality coarse]
        puts [report]
        foreach molid [molinfo list] { puts [place $molid] }
        puts $vmd(top)
        orb_iso 0.001 benzene_lumo
        puts [place $orbitile::molecules(benzene_lumo)]
        orb_delete benzene_homo
        puts [report]
        foreach molid [molinfo list] { puts [place $molid] }
        """,
    )
    assert out[:2] == ["benzene_lumo", "benzene 1 0 1 benzene_homo 0 1 2 benzene_lumo 0 1 2 benzene 1 0 1"]
    assert [tuple(map(float, line.split())) for line in out[2:6]] == [(-0.95, 0.75)] * 2 + [(0.95, 0.75)] * 2
    assert out[6] == "0"
    assert tuple(map(float, out[7].split())) == (0.95, 0.75)
    assert out[8] == "benzene 1 0 1 benzene_lumo 0 1 2"
    assert [tuple(map(float, line.split())) for line in out[9:]] == [(0.0, 1.0)] * 2


@pytest.mark.slow
def test_surfaces_are_hidden_drawn_as_meshes_and_kept(tmp_path):
    state = tmp_path / "state.vmd"
    shown = """
        foreach molid [molinfo list] {
            puts [list [molinfo $molid get drawn] [dict get [lindex $vmd($molid,reps) 0] style]]
        }
        orb_surfaces
        puts $orbitile::told
        """
    out = in_vmd(
        tmp_path,
        f"""
        orb_load $benzene
        orb_mo benzene homo 0.04 coarse
        orb_style mesh
        orb_keep
        orb_mo benzene lumo 0.03 coarse
        orb_style dots
        orb_hide
        orb_iso 0.02
        save_state {{{state}}}
        {shown}
        orb_unhide
        puts $vmd(2,drawn)
        mol off 1
        orb_surfaces
        puts $orbitile::told
        """,
    )
    assert out[1:3] == ["1 {Isosurface 0.04 0 0 1 1 1}", "0 {Isosurface 0.02 0 0 2 1 1}"]
    assert out[3].endswith("mesh, kept")
    assert out[4].endswith("dots, hidden")
    assert out[5] == "1"
    assert out[6].endswith("mesh, hidden, kept")  # the user's own click is seen
    assert out[7].endswith("dots")
    assert in_vmd(tmp_path, f"source {{{state}}}\n{shown}") == out[:5]


@pytest.mark.slow
def test_a_second_field_colours_a_surface(tmp_path):
    out = in_vmd(
        tmp_path,
        """
        orb_load $benzene
        orb_field benzene density 0.001 coarse esp
        puts [report]
        set rep [lindex $vmd(1,reps) 0]
        puts [dict get $rep style]
        puts [dict get $rep color]
        puts [dict get $rep scale]
        puts "[dict get [lindex $vmd(1,volumes) 1] least] [dict get [lindex $vmd(1,volumes) 1] most]"
        puts $vmd(scale)
        orb_color {} {} 0.2
        puts [dict get [lindex $vmd([lindex $vmd(order) end],reps) 0] material]
        orb_field benzene density 0.001 coarse
        puts [report]
        puts [dict get [lindex $vmd([lindex $vmd(order) end],reps) 0] color]
        """,
    )
    assert out[:3] == ["benzene 1 0 1 benzene_density 0 2 1", "Isosurface 0.001 0 0 0 1 1", "Volume 1"]
    low, high = map(float, out[3].split())
    least, most = map(float, out[4].split())
    assert low == -high
    assert -0.04 < least < -0.01  # above the ring
    assert 0.01 < most < 0.06  # at the hydrogens
    assert out[5] == "RWB"
    assert out[6] == "OrbitileMatte020"
    assert out[7].startswith("benzene 1 0 1 benzene_density 0 ")
    assert out[8] == "ColorID 23"


@pytest.mark.slow
def test_a_saved_state_brings_all_back(tmp_path):
    state = tmp_path / "state.vmd"
    out = in_vmd(
        tmp_path,
        f"""
        orb_load $benzene
        orb_mo benzene homo 0.04 coarse
        orb_field benzene density 0.001 coarse esp
        save_state {{{state}}}
        puts [report]
        foreach molid [molinfo list] {{ foreach rep $vmd($molid,reps) {{ puts $rep }} }}
        puts [lindex $vmd(1,volumes) 0]
        """,
    )
    again = in_vmd(
        tmp_path,
        f"""
        source {{{state}}}
        puts [report]
        foreach molid [molinfo list] {{ foreach rep $vmd($molid,reps) {{ puts $rep }} }}
        puts [lindex $vmd(1,volumes) 0]
        foreach molid [molinfo list] {{ foreach file $vmd($molid,files) {{ puts [file exists $file] }} }}
        orb_iso 0.05 benzene_homo
        puts [dict get [lindex $vmd(1,reps) 0] style]
        puts [orb_mo benzene lumo -quality coarse]
        """,
    )
    assert again[: len(out)] == out
    assert again[len(out) :] == ["0", "0", "0", "0", "Isosurface 0.05 0 0 0 1 1", "benzene_lumo"]


@pytest.mark.slow
def test_a_state_is_loaded_in_the_session_that_saved_it(tmp_path):
    out = in_vmd(
        tmp_path,
        f"""
        orb_load $benzene
        orb_mo benzene homo 0.04 coarse
        save_state {{{tmp_path}/state.vmd}}
        foreach again {{1 2}} {{
            source {{{tmp_path}/state.vmd}}
            puts [file isdirectory $orbitile::folder]
            puts [orb_mo benzene lumo -quality coarse]
        }}
        """,
    )
    assert out == ["1", "benzene_lumo"] * 2


def test_what_a_command_tells_can_be_typed_in_vmd(tmp_path):
    out = in_vmd(
        tmp_path,
        """
        orb_load $benzene {two words}
        regexp {orb_mo .* homo} $orbitile::told line
        puts $line
        puts [eval "$line -quality coarse"]
        foreach command [dict get $orbitile::offered commands] {
            if {[dict get $command name] eq "orb_field"} { puts [dict get $command help] }
        }
        """,
    )
    assert out[:2] == ['orb_mo "two words" homo', "two_words_homo"]
    assert "    orb_field benzene density 0.001 -color_by esp" in out


@pytest.mark.slow
def test_a_state_whose_file_is_gone_says_so(tmp_path):
    moved = tmp_path / "moved.molden"
    shutil.copy(BENZENE, moved)
    state = tmp_path / "state.vmd"
    in_vmd(tmp_path, f"orb_load {{{moved}}}\nsave_state {{{state}}}")
    moved.unlink()
    install(tmp_path)
    script = tmp_path / "again.tcl"
    script.write_text(f"source {{{STAND_IN}}}\nsource {{{tmp_path / '.vmdrc'}}}\ncatch {{source {{{state}}}}}\nexit\n")
    done = subprocess.run(["tclsh", str(script)], capture_output=True, text=True, check=False, timeout=60)
    assert "no such file" in done.stdout


@pytest.mark.slow
def test_geometries_are_frames_and_the_orbital_belongs_to_one(tmp_path):
    iodata = pytest.importorskip("iodata.test.data", reason="the files of iodata's tests are not installed")
    source = files(iodata) / "peroxide_opt.fchk"
    out = in_vmd(
        tmp_path,
        f"""
        orb_load {{{source}}} peroxide
        puts [report]
        puts $vmd(0,frame)
        orb_mo peroxide -quality coarse
        foreach frame {{3 4}} {{
            animate goto $frame
            puts "$vmd(0,drawn) $vmd(1,drawn)"
        }}
        mol delete 0
        orbitile::present
        animate goto 0
        puts [trace info variable vmd_frame(0)]
        """,
    )
    assert out == ["peroxide 5 0 1", "4", "1 0", "1 1", ""]


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_vmd_refuses_is_an_error_and_its_python_is_not_ours(tmp_path):
    out = in_vmd(
        tmp_path,
        """
        set env(PYTHONHOME) /opt/vmd/python
        orb_load $benzene
        puts $env(PYTHONHOME)
        rename mol mol_that_works
        proc mol {verb args} { if {$verb eq "new"} { error "no room" } else { mol_that_works $verb {*}$args } }
        puts [catch {orb_mo benzene -quality coarse} problem]$problem
        rename mol ""
        rename mol_that_works mol
        puts [orb_mo benzene -quality coarse]
        puts [report]
        """,
    )
    assert out == ["/opt/vmd/python", "1VMD: no room", "benzene_homo", "benzene 1 0 1 benzene_homo 0 1 2"]


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_example_of_a_script_without_a_window(tmp_path):
    install(tmp_path)
    shutil.copy(BENZENE, tmp_path)
    example = Path(__file__).parents[2] / "docs" / "gallery" / "viewers" / "vmd_walk.tcl"
    script = tmp_path / "start.tcl"
    script.write_text(f"source {{{STAND_IN}}}\nsource {{{tmp_path / '.vmdrc'}}}\nsource {{{example}}}\n")
    done = subprocess.run(
        ["tclsh", str(script)], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name, orbital in (("homo-1.dat", "homo_m1"), ("homo.dat", "mo21")):
        shown, _, *views = (tmp_path / name).read_text().splitlines()
        assert shown == f"benzene 1 0 1 benzene_{orbital} 0 1 2"
        assert views[0] == views[1] != "first rotate"


@pytest.mark.slow
def test_pictures_are_seen_from_where_vmd_looks(tmp_path):
    out = in_vmd(
        tmp_path,
        f"""
        orb_load $benzene
        molinfo 0 set rotate_matrix {{{{{{0 1 0 0}} {{0 0 1 0}} {{1 0 0 0}} {{0 0 0 1}}}}}}
        puts [orbitile::directions]
        orb_picture {{{tmp_path}/one.png}} 80 60
        orb_picture {{{tmp_path}/same.png}} 80 60
        molinfo 0 set rotate_matrix {{{{{{1 0 0 0}} {{0 1 0 0}} {{0 0 1 0}} {{0 0 0 1}}}}}}
        orb_picture {{{tmp_path}/other.png}} 80 60
        """,
    )
    assert out[0] == "0 1 0 0 0 1 1 0 0"
    one, same, other = ((tmp_path / f"{name}.png").read_bytes() for name in ("one", "same", "other"))
    assert one == same != other  # from where it is seen is told before each picture


def test_there_is_no_menu_without_a_screen(tmp_path):
    assert in_vmd(tmp_path, "puts $vmd(menu)") == [""]


screen = pytest.mark.skipif(
    shutil.which("wish") is None or shutil.which("xvfb-run") is None, reason="wish or xvfb-run is not installed"
)
WISH = ("xvfb-run", "-a", "wish")


@pytest.mark.slow
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
        assert tcl.eval("report") == "benzene 1 0 1 benzene_lumo 0 1 2"
        with pytest.raises(tkinter.TclError, match="no such file"):
            found["orb_load"]('a "quoted" [name] with $signs and {braces} \\')
    finally:
        tcl.eval("orbitile::stop")

"""Trajectories in VMD's Tcl: surfaces follow the frames. The real server, a real Tcl, a stand-in for VMD's commands."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.model.units import angstrom
from tests.hosts.conftest import N
from tests.hosts.test_vmd import STAND_IN, WISH, in_vmd, install, screen

pytestmark = pytest.mark.skipif(shutil.which("tclsh") is None, reason="tclsh is not installed")

BEGIN = """
        proc until {condition} {
            set end [expr {[clock seconds] + 60}]
            while {![uplevel 1 [list expr $condition]]} {
                if {[clock seconds] > $end} { error "waited in vain for $condition" }
                after 10 {set ::tick 1}
                vwait ::tick
            }
        }
        # What is seen: the frame, whether the surface is drawn, and of which frame its volume is.
        proc seen {field} {
            return [list [molinfo $orbitile::molecules(water) get frame] \\
                [molinfo $orbitile::molecules($field) get drawn] $orbitile::at($field)]
        }
        # Of the volume: its shape, its ends, and every 97th value.
        proc tell_volume {field} {
            set volume [lindex $::vmd($orbitile::molecules($field),volumes) 0]
            set values {}
            set n 0
            foreach value [dict get $volume values] { if {[incr n] % 97 == 1} { lappend values $value } }
            puts "VOLUME [seen $field] / [dict get $volume shape] / [dict get $volume ends] / $values"
        }
        puts [orb_load {SERIES}]
"""


def volumes(out):
    """Of each volume that was told: what is seen, the points in bohr and the values there."""
    for line in out:
        if line.startswith("VOLUME"):
            seen, shape, ends, values = ([float(word) for word in part.split()] for part in line[7:].split("/"))
            shape = [int(n) for n in shape]
            axes = [np.linspace(*pair, n) for pair, n in zip(np.reshape(ends, (3, 2))[::-1], shape, strict=True)]
            points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
            points = points.transpose(2, 1, 0, 3).reshape(-1, 3)[::97]  # x fastest
            yield [int(n) for n in seen], points * angstrom, np.array(values)


def begin(series):
    return BEGIN.replace("SERIES", str(series))


@pytest.mark.slow
@pytest.mark.parametrize("track", [1, 0])
def test_at_each_frame_vmd_holds_the_orbital_of_that_frame(tmp_path, series, track):
    out = in_vmd(
        tmp_path,
        begin(series)
        + f"""
        orb_load {{{series}}} water {track}
        set field [orb_mo water homo 0.1 coarse]
        set molid $orbitile::molecules($field)
        orb_frames
        foreach frame {{5 0 3 1 2 4}} {{
            animate goto $frame
            tell_volume $field
        }}
        puts [report]
        puts [expr {{$molid == $orbitile::molecules($field)}}]
        puts $vmd(level)
        """,
    )
    told = list(volumes(out))
    assert [seen for seen, _, _ in told] == [[frame, 1, frame] for frame in (5, 0, 3, 1, 2, 4)]
    trajectory = ob.load_trajectory(series)
    frames = ob.follow(trajectory) if track else trajectory
    for (frame, _, _), points, values in told:
        field = "mo:5" if track else "homo"
        assert np.abs(values - ob.evaluate(frames[frame], field, points, device="cpu")).max() < 5e-6
    assert out[-3:] == ["water 6 0 1 water_homo 0 1 2", "1", "all"]


@pytest.mark.slow
def test_a_frame_is_hidden_until_its_surface_is_there(tmp_path, series):
    out = in_vmd(
        tmp_path,
        begin(series)
        + """
        set field [orb_mo water homo 0.1 coarse]
        animate goto 4
        puts [seen $field]
        until {$orbitile::at($field) eq 4}
        puts [seen $field]
        until {[dict size $orbitile::kept($field)] == 6}
        animate goto 2
        puts [seen $field]
        mol off $orbitile::molecules($field)
        animate goto 3
        puts [seen $field]
        """,
    )
    assert out == ["water", "4 0 0", "4 1 4", "2 1 2", "3 0 3"]  # what the user hides stays hidden


@pytest.mark.slow
def test_playing_shows_each_frame_with_its_surface_whatever_is_changed_meanwhile(tmp_path, series):
    out = in_vmd(
        tmp_path,
        begin(series)
        + """
        set field [orb_mo water homo 0.1 coarse]
        rename orbitile::frame_changed orbitile::frame_changed_first
        set wrong 0
        set frames {}
        proc orbitile::frame_changed {name args} { # and what a redraw would show then
            frame_changed_first $name
            lappend ::frames [lindex [seen $::field] 0]
            lassign [seen $::field] frame drawn at
            if {$drawn && $at ne $frame} { incr ::wrong }
            if {!$drawn} { lappend ::missing $frame }
        }
        set missing {}
        puts [orb_play 100]
        until {[llength $frames] > 12}
        puts [lrange $frames 0 11]
        puts "missing $missing"
        orb_iso 0.05
        set frames {}
        until {[llength $frames] > 7}
        puts [dict get [lindex $vmd($orbitile::molecules($field),reps) 1] style]
        set field [orb_next]
        set frames {}
        until {[llength $frames] > 7}
        puts [lsort [array names orbitile::molecules]]
        puts [orb_play 0]
        until {[dict size $orbitile::kept($field)] == 6}
        tell_volume $field
        puts "wrong $wrong"
        """,
    )
    assert out[1:4] == ["100", "1 2 3 4 5 0 1 2 3 4 5 0", "missing "]
    assert out[4:7] == ["Isosurface -0.05 0 0 0 1 1", "water water_mo6", "0"]
    ((frame, drawn, at), points, values) = next(volumes(out))
    assert (drawn, at) == (1, frame)
    expected = ob.evaluate(ob.follow(ob.load_trajectory(series))[frame], "mo:6", points, device="cpu")
    assert np.abs(values - expected).max() < 5e-6
    assert out[-1] == "wrong 0"


@pytest.mark.slow
def test_what_is_deleted_stays_away_and_leaves_no_files(tmp_path, series):
    out = in_vmd(
        tmp_path,
        begin(series)
        + """
        set field [orb_mo water homo 0.1 coarse]
        mol delete $orbitile::molecules($field)
        set heard 0
        rename orbitile::on_volume orbitile::on_volume_first
        proc orbitile::on_volume {message} { incr ::heard; on_volume_first $message }
        until {$heard}
        after 500 {set later 1}
        vwait later
        puts [report]
        puts [llength [glob -nocomplain -directory $orbitile::folder *]]
        puts [orb_mo water homo 0.1 coarse]
        until {[dict size $orbitile::kept($field)] == 6}
        orbitile::on_drop [list name $field frame 3]
        animate goto 3
        puts [seen $field]
        puts [llength [glob -nocomplain -directory $orbitile::folder *]]
        orb_load $benzene water
        puts [report]
        puts "[llength [glob -nocomplain -directory $orbitile::folder *]] [array size orbitile::kept]"
        """,
    )
    assert out[1:4] == ["water 6 0 1", "0", "water_homo"]
    assert out[4:6] == ["3 0 0", "5"]
    assert out[6:] == ["water 1 0 1", "0 0"]  # another molecule of that name has no surface yet


@pytest.mark.slow
def test_colours_by_a_second_field_follow_too(tmp_path, series):
    out = in_vmd(
        tmp_path,
        begin(series)
        + """
        set field [orb_field water density 0.01 coarse esp]
        set scale [dict get [lindex $vmd($orbitile::molecules($field),reps) 0] scale]
        orb_frames 1 3
        animate goto 2
        puts "[seen $field] [llength $vmd($orbitile::molecules($field),volumes)]"
        set shades [lindex $vmd($orbitile::molecules($field),volumes) 1]
        puts [expr {[dict get $shades least] < 0 && [dict get $shades most] > 0}]
        puts [expr {$shades eq $vmd($orbitile::molecules($field),texture)}]
        puts [expr {$scale eq [dict get [lindex $vmd($orbitile::molecules($field),reps) 0] scale]}]
        """,
    )
    assert out[1:] == ["2 1 2 2", "1", "1", "1"]


@pytest.mark.slow
def test_a_saved_state_brings_the_film_back_at_its_frame(tmp_path, series):
    state = tmp_path / "state.vmd"
    out = in_vmd(
        tmp_path,
        begin(series)
        + f"""
        set field [orb_mo water homo 0.1 coarse]
        orb_frames
        foreach frame {{1 2 3}} {{ animate goto $frame }}
        mol modmaterial 0 $orbitile::molecules($field) Transparent
        save_state {{{state}}}
        puts [report]
        foreach rep $vmd($orbitile::molecules($field),reps) {{ puts $rep }}
        tell_volume $field
        """,
    )
    again = in_vmd(
        tmp_path,
        begin(series).replace("puts [orb_load", "# [")
        + f"""
        source {{{state}}}
        puts [report]
        set field water_homo
        foreach rep $vmd($orbitile::molecules($field),reps) {{ puts $rep }}
        tell_volume $field
        animate goto 5
        until {{$orbitile::at($field) eq 5}}
        puts [seen $field]
        """,
    )
    assert out[1:4] == again[:3]
    assert "material Transparent" in out[2]
    assert out[4] == again[3]
    assert again[4:] == ["5 1 5"]


@pytest.mark.slow
def test_the_example_of_a_film(tmp_path, series):
    install(tmp_path)
    shutil.copy(series, tmp_path / "path.h5")
    example = Path(__file__).parents[2] / "docs" / "examples" / "film.tcl"
    script = tmp_path / "start.tcl"
    script.write_text(f"source {{{STAND_IN}}}\nsource {{{tmp_path / '.vmdrc'}}}\nsource {{{example}}}\n")
    done = subprocess.run(
        ["tclsh", str(script)], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    scenes = sorted(tmp_path.glob("film*.dat"))
    assert [scene.name for scene in scenes] == [f"film{frame:03d}.dat" for frame in range(N)]
    for frame, scene in enumerate(scenes):
        assert scene.read_text().splitlines()[:2] == ["path 6 0 1 path_homo 0 1 2", f"{frame} 1 -1 1"]


@pytest.mark.slow
@screen
def test_the_window_plays_films_and_nothing_else(tmp_path, series):
    out = in_vmd(
        tmp_path,
        begin(series)
        + """
        lassign $vmd(menu) place opens
        set frames [$opens].inside.frames
        set button $frames.play
        until {[dict get $orbitile::panel::playback n_frames] > 1}
        update
        puts "[winfo ismapped $button] [$button cget -text]"
        orbitile::panel::tell quality coarse
        orbitile::panel::tell field homo
        until {[dict get $orbitile::panel::playback state] eq "surface shown"}
        $frames.next invoke
        until {[string match "2 of 6: surface shown*" [$frames.state cget -text]]}
        $button invoke
        until {[$button cget -text] eq "Pause"}
        until {[molinfo $orbitile::molecules(water) get frame] > 2}
        $button invoke
        until {[$button cget -text] eq "Play"}
        $frames.slider set 5
        until {[molinfo $orbitile::molecules(water) get frame] == 5}
        orb_load $benzene
        orbitile::panel::tell molecule benzene
        until {![winfo ismapped $button]}
        """,
        WISH,
    )
    assert out[-1] == "1 Play"

"""The window in VMD: the real server, a real Tk with clicks and keys, and a stand-in for VMD's own commands."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from orbitile.model.lattice import QUALITIES
from orbitile.pictures.look import STYLES
from orbitile.pictures.words import plain_fields
from tests.conftest import SAMPLES
from tests.hosts.test_vmd import BENZENE, WISH, in_vmd, screen

pytestmark = screen

IN_WINDOW = """
        wm withdraw .
        lassign $vmd(menu) place opens
        set w [$opens]
        puts "$place [winfo exists $w]"
        set f $w.inside
        set table $f.table.orbitals
        set list $f.list.surfaces
        proc tk_getOpenFile args { return [list $::benzene] }
        proc bgerror {problem} { puts "$problem: $::errorInfo" }
        proc settle {{quiet 4}} { # until everything that was asked for is shown
            set n 0
            while {$n < $quiet} {
                after 60 {set ::woken 1}
                vwait ::woken
                set n [expr {$orbitile::panel::busy || [llength $orbitile::panel::asked] ? 0 : $n + 1}]
            }
        }
        proc click {widget x y} {
            event generate $widget <Enter>
            event generate $widget <Motion> -x $x -y $y
            event generate $widget <ButtonPress-1> -x $x -y $y
            event generate $widget <ButtonRelease-1> -x $x -y $y
            event generate $widget <Leave>
            settle
        }
        proc press {widget} { update; click $widget 5 5 }
        proc cell {table item column} { # as a user clicks it
            $table see $item
            update
            lassign [$table bbox $item $column] x y width height
            click $table [expr {$x + $width / 2}] [expr {$y + $height / 2}]
        }
        proc row {n} { cell $::table [lindex [$::table children {}] $n] energy }
        proc key {name} { event generate [focus] <Key-$name>; event generate [focus] <KeyRelease-$name>; settle }
        proc selected {} { $::table item [$::table selection] -values }
        proc current_rep {what} { dict get [lindex $::vmd([lindex $::vmd(order) end],reps) 0] $what }
        settle
        orbitile::panel::tell quality coarse
        press $f.file.open
"""


@pytest.mark.slow
def test_a_file_that_is_opened_shows_its_homo_and_the_keys_walk(tmp_path):
    out = in_vmd(
        tmp_path,
        IN_WINDOW
        + """
        puts [llength [$table children {}]]
        puts [selected]
        puts [report]
        puts [string equal [focus] $table]
        key Down
        puts [selected]
        puts [report]
        row 18
        puts [report]
        key Home
        puts [selected]
        puts [$f.table.summary cget -text]
        set orbitile::panel::field hommo
        press $f.field.show
        puts $orbitile::panel::status
        foreach box {look.colours.second look.quality.quality look.style.style} {
            uplevel #0 [$f.$box cget -postcommand]
            puts [$f.$box cget -values]
        }
        """,
        WISH,
    )
    assert out[:5] == [
        "Visualization/Orbitile 1",
        "31",
        "21 -8.952 HOMO A 2",
        "benzene 1 0 1 benzene_mo21 0 1 2",
        "1",
    ]
    assert out[5:8] == [
        "22 3.993 LUMO A 0",
        "benzene 1 0 1 benzene_mo22 0 1 2",
        "benzene 1 0 1 benzene_mo19 0 1 2",
    ]
    assert out[8].startswith("1 -305.")
    assert out[9].startswith("C6H6, restricted")
    assert "Nearest match" in out[10]
    assert out[11] == f"{{two colours}} {' '.join(plain_fields())}"
    assert out[12].split() == list(QUALITIES)
    assert out[13].split() == list(STYLES)


@pytest.mark.slow
def test_a_filter_and_another_unit_change_nothing_of_what_is_shown(tmp_path):
    out = in_vmd(
        tmp_path,
        IN_WINDOW
        + """
        focus -force $f.table.filter.words
        update
        foreach letter {7 minus 9} { key $letter }
        puts [$table children {}]
        puts [report]
        orbitile::panel::other_unit
        settle
        puts "[$table children {}] [$table heading energy -text] [$table set mo:7 energy]"
        focus -force $f.table.filter.words
        key Escape
        puts "[llength [$table children {}]] [lindex [selected] 0]"
        puts [report]
        """,
        WISH,
    )
    assert out[1] == "mo:7 mo:8 mo:9"
    assert out[2] == out[5] == "benzene 1 0 1 benzene_mo21 0 1 2"
    assert re.fullmatch(r"mo:7 mo:8 mo:9 E / hartree -\d\.\d{5}", out[3])
    assert out[4] == "31 21"


@pytest.mark.slow
def test_the_list_of_what_is_shown_hides_keeps_deletes_and_chooses(tmp_path):
    out = in_vmd(
        tmp_path,
        IN_WINDOW
        + """
        cell $list benzene_mo21 kept
        key Down
        puts [report]
        cell $list benzene_mo21 seen
        puts "[molinfo 1 get drawn] [molinfo 2 get drawn] [$list set benzene_mo21 seen]"
        puts [orb_surfaces]
        cell $list benzene_mo21 name
        orbitile::panel::tell style mesh
        settle
        puts [dict get [lindex $vmd(1,reps) 0] style]
        puts [molinfo 1 get drawn]
        puts [lindex [selected] 0]
        mol on 1
        after 700 {set waited 1}
        vwait waited
        settle
        puts [$list set benzene_mo21 seen]
        cell $list benzene_mo22 delete
        puts [report]
        orb_hide benzene_mo21
        settle 12
        puts "[molinfo 1 get drawn] [$list set benzene_mo21 seen]"
        mol delete 0
        update
        settle 12
        puts "[report][$list children {}][$table children {}]"
        """,
        WISH,
    )
    assert out[1] == "benzene 1 0 1 benzene_mo21 0 1 2 benzene_mo22 0 1 2"
    assert out[2] == "0 1 ○"
    assert out[3:5] == ["benzene_mo21", "benzene_mo22"]
    assert re.fullmatch(r"Isosurface 0\.0\d+ 0 0 1 1 1", out[5])
    assert out[6:9] == ["0", "21", "◉"]  # it stays hidden, until the user shows it in VMD's own window
    assert out[9] == "benzene 1 0 1 benzene_mo21 0 1 2"
    assert out[10] == "0 ○"
    assert out[11] == ""


@pytest.mark.slow
def test_the_slider_moves_the_surface_and_keeps_its_volume(tmp_path):
    out = in_vmd(
        tmp_path,
        IN_WINDOW
        + """
        set slider $f.look.isovalue.slider
        set molid [lindex $vmd(order) end]
        puts [current_rep style]
        event generate $slider <ButtonPress-1> -x 1 -y 1
        $slider set -1.0
        puts [current_rep style]
        event generate $slider <ButtonRelease-1> -x 1 -y 1
        settle
        puts [dict get $orbitile::looks(benzene_mo21) isovalue]
        puts [expr {$molid == [lindex $vmd(order) end]}]
        puts $orbitile::panel::automatic
        key Down
        puts [current_rep style]
        orbitile::panel::show_preset potential 0
        settle
        puts "[current_rep style] [$f.look.isovalue.automatic instate disabled] [winfo ismapped $f.look.scale]"
        $f.look.scale.high delete 0 end
        $f.look.scale.high insert 0 0.05
        focus -force $f.look.scale.high
        key Return
        puts "[current_rep scale] [$f.look.scale.low get]"
        """,
        WISH,
    )
    assert re.fullmatch(r"Isosurface 0\.02[78]\d* 0 0 0 1 1", out[1])  # encloses 90 percent
    assert out[2] == "Isosurface 0.1 0 0 0 1 1"
    assert out[3:6] == ["0.1", "1", "0"]
    assert out[6] == out[2]  # it stays with orbitals, and with them alone
    assert out[7] == "Isosurface 0.001 0 0 0 1 1 1 1"
    assert out[8] == "-0.05 0.05 -0.05"


@pytest.mark.slow
def test_every_field_is_in_the_menu_and_what_it_needs_is_asked_for(tmp_path):
    cation = tmp_path / "cation.molden"
    cation.write_text("Occup=    0.00000".join(Path(BENZENE).read_text().rsplit("Occup=    2.00000", 1)))
    out = in_vmd(
        tmp_path,
        IN_WINDOW
        + f"""
        set cation {{{cation}}}
        """
        + """
        set menu $f.field.choose.menu
        orbitile::panel::fill_menu $menu
        set labels {}
        for {set n 0} {$n <= [$menu index end]} {incr n} {
            if {[$menu type $n] ne "separator"} { lappend labels [$menu entrycget $n -label] }
        }
        puts $labels
        puts [$menu entrycget 0 -accelerator]
        puts [list [$menu entrycget 8 -state] [$menu entrycget 8 -accelerator]]
        proc tk_getOpenFile args { return [expr {[dict get $args -multiple] ? [list $::cation] : $::cation}] }
        $menu.group3 invoke 2
        settle
        puts [report]
        after 300 {
            set orbitile::panel::answer 3
            $orbitile::panel::top.question.inside.ok invoke
        }
        $menu.group1 invoke 2
        settle
        puts [report]
        """,
        WISH,
    )
    assert out[1].startswith("{HOMO and LUMO} {Bonds and lone pairs (IBO)} {Potential on the density}")
    assert all(f"{{{group}}}" in out[1] for group in ("Derivatives of the density", "Magnetic response"))
    assert out[2].startswith("The highest occupied")
    assert out[3].startswith("disabled {")
    assert "excit" in out[3]
    assert out[4] == "benzene 1 0 1 benzene_difference_cation_molden 0 1 1"
    assert out[5] == "benzene 1 0 1 benzene_homo_m3 0 1 2"


@pytest.mark.slow
def test_several_files_are_opened_at_once_and_the_one_that_is_chosen_is_seen(tmp_path):
    shutil.copy(SAMPLES / "neon_turbomole_def2-qzvp.molden", tmp_path / "neon.molden")
    radical = SAMPLES / "ch3_hf_sto3g.fchk"
    out = in_vmd(
        tmp_path,
        IN_WINDOW
        + f"""
        proc tk_getOpenFile args {{ return [list {{{tmp_path / "neon.molden"}}} {{{radical}}}] }}
        """
        + """
        proc drawn {} { lmap molid [molinfo list] { list $::vmd($molid,name) [molinfo $molid get drawn] } }
        press $f.file.open
        settle 12
        puts [lsort [drawn]]
        puts [$f.file.molecule cget -values]
        puts [list $orbitile::panel::molecule [selected]]
        set orbitile::panel::molecule benzene
        event generate $f.file.molecule <<ComboboxSelected>>
        settle 12
        puts [lsort [lsearch -all -inline [drawn] benzene*]]
        puts "[lindex [selected] 0] [llength [$table children {}]]"
        puts [$list set benzene_mo21 name]
        """,
        WISH,
    )
    assert "benzene 0" in out[1]
    assert "benzene_mo21 0" in out[1]
    assert "ch3_hf_sto3g 1" in out[1]
    assert "ch3_hf_sto3g_mo5_alpha 1" in out[1]
    assert "neon 1" in out[1]  # it was opened with the other
    assert out[2] == "benzene neon ch3_hf_sto3g"
    assert re.match(r"ch3_hf_sto3g \{5 alpha -\d+\.\d+ HOMO", out[3])
    assert out[4] == "{benzene 1} {benzene_mo21 1}"
    assert out[5] == "21 31"
    assert out[6].startswith("benzene: ")  # there are several molecules


@pytest.mark.slow
def test_pictures_files_and_commands_are_taken_along(tmp_path):
    picture, mesh = tmp_path / "seen.png", tmp_path / "homo.ply"
    out = in_vmd(
        tmp_path,
        IN_WINDOW
        + f"""
        proc tk_getSaveFile args {{ return $::target }}
        set target {{{picture}}}
        $f.saving.picture.menu invoke 0
        settle
        puts $orbitile::panel::status
        set target {{{mesh}}}
        press $f.saving.export
        puts $orbitile::panel::status
        """
        + """
        orbitile::panel::tell style mesh
        orbitile::panel::tell second esp
        settle
        press $f.saving.copy
        set copied [clipboard get]
        puts [llength [split $copied \\n]]
        puts [lindex $copied end]
        orb_delete benzene_mo21
        eval $copied
        puts [current_rep style]
        puts [dict get $orbitile::looks(benzene_mo21) scale quantity]
        """,
        WISH,
    )
    assert out[1].endswith("seen.png")
    with Image.open(picture) as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape == (480, 640, 3)
    assert pixels.any()  # the legend, on black
    assert out[2].endswith("homo.ply")
    assert mesh.stat().st_size > 1000
    assert out[3:5] == ["3", "mesh"]
    assert re.fullmatch(r"Isosurface 0\.02\d* 0 0 1 1 1", out[5])
    assert "potential" in out[6]


@pytest.mark.slow
def test_the_manual_opens_at_the_window(tmp_path):
    out = in_vmd(
        tmp_path,
        IN_WINDOW
        + """
        press $f.file.help
        set text $w.manual.text
        set at [$text index heading:the-window]
        puts [$text get $at "$at lineend"]
        puts [$text bbox heading:the-window]
        """,
        WISH,
    )
    assert out[1] == "The window"
    assert out[2]  # it is in sight


@pytest.mark.slow
def test_what_is_under_way_is_seen_and_cancelled_and_the_last_wish_is_done(tmp_path):
    out = in_vmd(
        tmp_path,
        IN_WINDOW
        + """
        orbitile::panel::tell quality fine
        orbitile::panel::tell field esp
        while {!$orbitile::panel::busy} { vwait orbitile::panel::busy }
        update
        puts [winfo ismapped $f.bottom.cancel]
        event generate $f.bottom.cancel <Enter>
        $f.bottom.cancel invoke
        settle
        puts "$orbitile::panel::status [winfo ismapped $f.bottom.cancel]"
        puts [report]
        orbitile::panel::tell quality coarse
        orbitile::panel::tell field homo-1
        orbitile::panel::tell field lumo
        settle
        puts [report]
        """,
        WISH,
    )
    assert out[1] == "1"
    assert out[2].lower().startswith("cancelled")
    assert out[2].endswith(" 0")
    assert out[3] == "benzene 1 0 1 benzene_mo21 0 1 2"  # what was shown stays
    assert out[4] == "benzene 1 0 1 benzene_lumo 0 1 2"

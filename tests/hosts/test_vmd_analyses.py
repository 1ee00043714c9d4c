"""Analyses in VMD: commands, what they draw, and the window; the real server, and a stand-in for VMD's own commands."""

import os
from pathlib import Path

import pytest

from tests.hosts.test_vmd import WISH, in_vmd, screen
from tests.hosts.test_vmd_window import IN_WINDOW

PLUGINS = Path(__file__).with_name("plugins")


@pytest.fixture
def plugins(monkeypatch):
    """Analyses of every kind."""
    monkeypatch.setenv("PYTHONPATH", f"{os.environ.get('PYTHONPATH', '')}{os.pathsep}{PLUGINS}")


@pytest.mark.slow
def test_a_command_tells_and_draws_and_takes_away(tmp_path, plugins):
    out = in_vmd(
        tmp_path,
        """
        orb_load $benzene
        orb_charges benzene becke
        puts "[string match "*sum of charges*" $orbitile::told] [drawn 0]"
        orb_everything benzene -atoms 1-3
        puts "[string match "*Atoms 1-3.*" $orbitile::told] [drawn 0]"
        orb_everything benzene -draw 0
        puts [drawn 0]
        orb_charges -draw 0
        puts [drawn 0]
        puts [catch {orb_everything benzene -atoms {elem C}} problem]$problem
        """,
    )
    assert out[:4] == ["1 0 0 0 12", "1 11 22 11 35", "0 0 0 12", "0 0 0 0"]
    assert "knows no selections" in out[4]


@screen
@pytest.mark.slow
def test_the_window_lists_them_and_shows_what_one_finds(tmp_path, plugins):
    out = in_vmd(
        tmp_path,
        IN_WINDOW
        + """
        set menu $f.file.analyse.menu
        orbitile::panel::fill_analyses $menu
        set labels {}
        for {set n 0} {$n <= [$menu index end]} {incr n} {
            if {[$menu type $n] eq "command"} { lappend labels [string trim [$menu entrycget $n -label]] }
        }
        puts $labels
        proc choose {label} {
            set n [lsearch -exact [lmap at [range [$::menu index end]] {
                expr {[$::menu type $at] eq "command" ? [string trim [$::menu entrycget $at -label]] : ""}
            }] $label]
            puts [$::menu entrycget $n -state]
            $::menu invoke $n
            settle
        }
        proc range {last} { set all {}; for {set n 0} {$n <= $last} {incr n} { lappend all $n }; return $all }
        choose "Everything at once"
        set text $w.analysis.inside.text
        puts [string match "*Something of the atoms*Some orbitals*note: Atoms all.*" [$text get 1.0 end]]
        puts [string match "*sum: 1, expected 2*" [$text get {*}[$text tag ranges wrong]]]
        puts [drawn 0]
        set orbitile::panel::given(atoms) 2-4
        press $w.analysis.inside.bar.run
        puts [string match "*note: Atoms 2-4.*" [$text get 1.0 end]]
        set orbitile::panel::given(atoms) nonsense
        press $w.analysis.inside.bar.run
        puts $orbitile::panel::status
        set orbitile::panel::given(atoms) {}
        set orbitile::panel::given(steps) 3000
        orbitile::panel::run_analysis
        after 1000 {set ::woken 1}
        vwait ::woken
        press $w.analysis.inside.bar.cancel
        puts [string trim [$text get 1.0 end]]
        set orbitile::panel::given(steps) 1
        press $w.analysis.inside.bar.run
        press $w.analysis.inside.bar.surfaces
        puts [lsort [orbitile::present]]
        """,
        WISH,
    )
    assert "Everything at once" in out[1]
    assert "Charges of atoms" in out[1]
    assert out[2:7] == ["normal", "1", "1", "11 22 11 23", "1"]
    assert "knows no selections" in out[7]
    assert out[8] == "Cancelled."
    assert "benzene_density" in out[9]

# Fields side by side. VMD has no cells: each field is moved aside, with a copy of the atoms for all but the first, and
# turns about its own middle then.

proc orbitile::on_grid {message} {
    variable molecules
    variable looks
    end_grid
    set there [present]
    set places {}
    dict for {name place} [dict get $message places] {
        if {[lsearch -exact $there $name] >= 0} {
            set parent [dict get $looks($name) molecule]
            dict set places $name [list $place [expr {$place == 1 ? $molecules($parent) : [copy_of $parent]}]]
        }
    }
    set n [dict size $places]
    set columns [expr {$n < 4 ? $n : int(ceil(sqrt($n)))}]
    dict for {name place_and_atoms} $places {
        lassign $place_and_atoms place atoms
        set rows [expr {($n + $columns - 1) / $columns}]
        set right [expr {3.8 / $columns * (($place - 1) % $columns - ($columns - 1) / 2.0)}]
        set up [expr {2.8 / $rows * (($rows - 1) / 2.0 - ($place - 1) / $columns)}]
        foreach molid [list $atoms $molecules($name)] {
            move_aside $molid $right $up [expr {min(1.5 / $columns, 1.3 / $rows)}]
        }
    }
}

# Another molecule of VMD with the atoms of one, at all its frames, drawn and seen as that.
proc orbitile::copy_of {parent} {
    variable molecules
    variable copies
    variable folder
    set molid $molecules($parent)
    set top [molinfo top]
    set views [views]
    set file [file join $folder copy.xyz]
    animate write xyz $file waitfor all $molid
    set copy [mol new $file type xyz waitfor all]
    file delete $file
    mol rename $copy $parent
    give_representations $copy [representations_of $molid]
    molinfo $copy set frame [molinfo $molid get frame]
    give_views [dict replace $views $copy [dict get $views $molid]]
    mol top $top
    lappend copies($parent) $copy
    return $copy
}

proc orbitile::delete_copies {parent} {
    variable copies
    if {[info exists copies($parent)]} {
        foreach molid $copies($parent) {
            if {[lsearch -exact [molinfo list] $molid] >= 0} {
                mol delete $molid
            }
        }
        unset copies($parent)
    }
}

# Move what is seen of a molecule to the right and up, in the units of VMD's screen, and make it smaller.
proc orbitile::move_aside {molid right up factor} {
    variable moved_by
    lassign [molinfo $molid get {global_matrix scale_matrix}] global scale
    lset global 0 3 [expr {[lindex $global 0 3] + $right}]
    lset global 1 3 [expr {[lindex $global 1 3] + $up}]
    foreach axis {0 1 2} {
        lset scale $axis $axis [expr {[lindex $scale $axis $axis] * $factor}]
    }
    molinfo $molid set {global_matrix scale_matrix} [list $global $scale]
    set moved_by($molid) [list $right $up $factor]
}

# Where a field is seen, for the molecule of VMD that takes its place; nothing where it is not there.
proc orbitile::place_of {name} {
    variable molecules
    variable moved_by
    if {[lsearch -exact [present] $name] < 0} return
    set molid $molecules($name)
    return [list [dict get [views] $molid] [lindex [array get moved_by $molid] 1]]
}

proc orbitile::take_place {name place} {
    variable molecules
    variable moved_by
    if {![llength $place]} return
    lassign $place view by
    give_views [list $molecules($name) $view]
    if {[llength $by]} {
        set moved_by($molecules($name)) $by
    }
}

# Put everything back, unless the user has told VMD to forget its views, which then are at their first place.
proc orbitile::end_grid {} {
    variable copies
    variable moved_by
    foreach parent [array names copies] {
        delete_copies $parent
    }
    set there {}
    set forgotten 0
    foreach molid [array names moved_by] {
        if {[lsearch -exact [molinfo list] $molid] >= 0} {
            lappend there $molid
            lassign $moved_by($molid) right
            set forgotten [expr {$forgotten || ($right != 0 && [lindex [molinfo $molid get global_matrix] 0 0 3] == 0)}]
        }
    }
    if {!$forgotten} {
        foreach molid $there {
            lassign $moved_by($molid) right up factor
            move_aside $molid [expr {-$right}] [expr {-$up}] [expr {1.0 / $factor}]
        }
    }
    array unset moved_by
}

# The molecule whose electrons follow its atoms: what makes one, how it is with it, and what moves its atoms.

namespace eval ::orbitile::panel {
    variable method ""        ;# as in the file of the molecule, else pbe
    variable basis ""         ;# the same, else sto-3g
    variable solvent ""       ;# the same, else vacuum
    variable smearing ""      ;# the same, else 0, in kelvin
    variable relaxes 0
    variable hardness 0.5
    variable energies {}      ;# of the live molecule, in hartree, one after the other
    variable scan {}          ;# what is scanned
    variable scanned 0        ;# where its slider stands
    variable scan_due ""      ;# where it is going
}

proc ::orbitile::panel::build_live {f} {
    set here ::orbitile::panel
    ttk::frame $f
    set first [ttk::frame $f.first]
    ttk::menubutton $first.molecules -text Live -menu $first.molecules.menu
    menu $first.molecules.menu -tearoff 0 -postcommand [list ${here}::fill_live_menu $first.molecules.menu]
    ttk::combobox $first.method -textvariable ${here}::method -width 7 -values {{} gfn2 pbe blyp b3lyp b3lyp-d3bj pbe0 hf}
    ttk::combobox $first.basis -textvariable ${here}::basis -width 8 -values {{} sto-3g 3-21g 6-31g* def2-svp}
    ttk::combobox $first.solvent -textvariable ${here}::solvent -width 8 \
        -values {{} vacuum water acetonitrile methanol dmso thf toluene}
    ttk::combobox $first.smearing -textvariable ${here}::smearing -width 5 -values {{} 0 300 1000 3000 10000}
    ttk::checkbutton $first.relax -text Relax -variable ${here}::relaxes -command ${here}::relax
    ttk::scale $first.hardness -from 0 -to 1 -length 60 -variable ${here}::hardness -command ${here}::hardness_slid
    ttk::button $first.undo -text Undo -width 6 -command [list ${here}::do orb_undo]
    pack $first.molecules $first.method $first.basis $first.solvent $first.smearing -side left -padx {0 4}
    pack $first.relax $first.hardness -side left -padx {0 4}
    pack $first.undo -side left
    ttk::label $f.status -justify left -anchor w
    bind $f.status <Configure> {%W configure -wraplength %w}
    canvas $f.energies -height 46 -width 100 -background white -highlightthickness 0
    bind $f.energies <Configure> ${here}::paint_energies
    ttk::frame $f.scan
    ttk::scale $f.scan.slider -variable ${here}::scanned -command ${here}::scan_slid
    ttk::label $f.scan.value -width 30
    pack $f.scan.slider -side left -fill x -expand 1 -padx {0 4}
    pack $f.scan.value -side left
    pack $first -fill x
    tip $first.molecules "Recompute the orbitals while you move the atoms (Mouse > Move)"
    tip $first.method "Functional, hf, or gfn2 (semi-empirical, without a basis set); if empty, that of the file, else pbe"
    tip $first.basis "Basis set; if empty, that of the file, else sto-3g"
    tip $first.solvent "Solvent, or its dielectric constant; if empty, that of the file, else vacuum"
    tip $first.smearing "Electronic temperature in kelvin; if empty, that of the file, else 0"
    tip $first.relax "Forces move the atoms; those that you move are held"
    tip $first.hardness "How hard"
    tip $first.undo "Put the atoms back where they rested before"
    tip $f.scan.slider "Value of the scan; orb_scan computes the geometries"
    tip $f.energies "Energies of the geometries, in order of time"
    show_live $::orbitile::live_told
}

# Molecules of VMD, but for fields and for those whose copy is there.
proc ::orbitile::panel::fill_live_menu {menu} {
    $menu delete 0 end
    variable live_molid -1
    set known {}
    foreach name [::orbitile::present] {
        lappend known $::orbitile::molecules($name) $name
    }
    foreach molid [molinfo list] {
        set name [expr {[dict exists $known $molid] ? [dict get $known $molid] : ""}]
        set has_copy [expr {[info exists ::orbitile::own($molid)] && $::orbitile::own($molid) in $known}]
        if {[info exists ::orbitile::looks($name)] || $has_copy || [molinfo $molid get numframes] < 1} continue
        if {$name ne "" && $name eq $::orbitile::live} {
            set live_molid $molid
        }
        $menu add radiobutton -label [molinfo $molid get name] -value $molid -variable ::orbitile::panel::live_molid \
            -command [list ::orbitile::panel::toggle_live [expr {$name eq "" ? $molid : $name}]]
    }
    if {[$menu index end] in {none ""}} {
        $menu add command -label "VMD has no molecule" -state disabled
    }
    $menu add separator
    $menu add command -label "Save path..." -command ::orbitile::panel::save_path \
        -state [expr {$::orbitile::live eq "" ? "disabled" : "normal"}]
}

proc ::orbitile::panel::toggle_live {name} {
    variable method
    variable basis
    variable solvent
    variable smearing
    if {$name eq $::orbitile::live} {
        do orb_live
    } else {
        do orb_live $name -method $method -basis $basis -solvent $solvent -smearing $smearing
    }
}

proc ::orbitile::panel::relax {} {
    variable relaxes
    variable hardness
    if {$relaxes} {
        do orb_relax on [format %.2f $hardness]
    } else {
        do orb_relax off
    }
}

proc ::orbitile::panel::hardness_slid {place} {
    variable relaxes
    after cancel ::orbitile::panel::relax
    if {$relaxes} {
        after 100 ::orbitile::panel::relax
    }
}

# Write the geometries that were reached, and their orbitals, as a trajectory.
proc ::orbitile::panel::save_path {} {
    variable top
    set file [tk_getSaveFile -parent $top -title "Save path" -initialfile $::orbitile::live.h5]
    if {$file ne ""} {
        do orb_path $file
    }
}

# What the server told of the live molecule; nothing at first.
proc ::orbitile::panel::show_live {message} {
    variable top
    variable energies
    set f $top.inside.live
    if {![winfo exists $f]} return
    if {$message eq "" || [dict get $message molecule] eq ""} {
        set energies {}
        pack forget $f.status $f.energies $f.scan
        foreach part {relax hardness undo} {
            $f.first.$part state disabled
        }
        return
    }
    variable relaxes [expr {!![dict get $message relaxes]}]
    variable hardness [dict get $message hardness]
    foreach part {relax hardness} {
        $f.first.$part state !disabled
    }
    $f.first.undo state [expr {[dict get $message can_undo] ? "!disabled" : "disabled"}]
    set colours {starting gray40 converging #b35806 converged #1b7837 failed #b2182b}
    $f.status configure -foreground [dict get $colours [dict get $message stage]] \
        -text "[dict get $message molecule], [dict get $message calculation]: [dict get $message text]"
    pack $f.status $f.energies -fill x
    show_scan [dict get $message scan]
    set energy [dict get $message energy]
    if {$energy ne "" && $energy ne [lindex $energies end]} {
        set energies [lrange [linsert $energies end $energy] end-499 end]
    }
    paint_energies
}

# The slider of what is scanned; where nothing is, it is away.
proc ::orbitile::panel::show_scan {now} {
    variable top
    variable scan_due
    variable scan $now
    set f $top.inside.live.scan
    if {$scan eq ""} {
        pack forget $f
        return
    }
    $f.slider configure -from 0 -to [expr {[llength [dict get $scan values]] - 1}]
    if {$scan_due eq ""} {
        variable scanned [dict get $scan index]
        show_scanned $scanned
    }
    pack $f -fill x
}

proc ::orbitile::panel::show_scanned {index} {
    variable top
    variable scan
    set value [format %.3f [lindex [dict get $scan values] $index]]
    set computed [expr {[lindex [dict get $scan known] $index] ? "" : ", not computed"}]
    $top.inside.live.scan.value configure -text "[dict get $scan name]: $value [dict get $scan unit]$computed"
}

proc ::orbitile::panel::scan_slid {place} {
    variable scan_due
    after cancel $scan_due
    show_scanned [expr {round($place)}]
    set scan_due [after 40 ::orbitile::panel::scan_to_slider]
}

proc ::orbitile::panel::scan_to_slider {} {
    variable scan
    variable scanned
    variable scan_due ""
    if {$scan ne ""} {
        do orb_scan_to [lindex [dict get $scan values] [expr {round($scanned)}]]
    }
}

proc ::orbitile::panel::paint_energies {} {
    variable top
    variable energies
    set canvas $top.inside.live.energies
    $canvas delete all
    if {[llength $energies] < 2} return
    set least [tcl::mathfunc::min {*}$energies]
    set range [expr {max([tcl::mathfunc::max {*}$energies] - $least, 1e-6)}]
    set step [expr {([winfo width $canvas] - 8.0) / ([llength $energies] - 1)}]
    set line {}
    set n 0
    foreach energy $energies {
        lappend line [expr {4 + $step * $n}] [expr {42 - 38 * ($energy - $least) / $range}]
        incr n
    }
    $canvas create line $line -fill #2166ac -width 2
    $canvas create text 6 4 -anchor nw -fill gray40 -text [format "range %.4g hartree" $range]
}

# The window of Orbitile in VMD: a file, its orbitals, what is shown of them and how. Tk 8.5 is enough.
#
# It asks for commands as a user would. While one is computed the last wish is kept, and done next.

namespace eval ::orbitile::panel {
    variable top .orbitile
    variable status "Open the output of a quantum-chemistry program."
    variable molecule ""      ;# whose orbitals are listed
    variable field homo
    variable automatic 1      ;# each orbital gets the isovalue that encloses 90 % of its density
    variable isovalue 0.03
    variable exponent -1.52   ;# of ten, where the slider stands
    variable quality medium
    variable colours {two colours}
    variable shown ""         ;# the surface that is shown
    variable wish {}          ;# what to do after the command under way
}

proc ::orbitile::panel::show {} {
    variable top
    if {![winfo exists $top]} build
    wm deiconify $top
    raise $top
    return $top
}

proc ::orbitile::panel::build {} {
    variable top
    set here ::orbitile::panel
    toplevel $top
    wm title $top Orbitile
    wm protocol $top WM_DELETE_WINDOW [list wm withdraw $top]
    set f [ttk::frame $top.inside -padding 8]
    pack $f -fill both -expand 1

    ttk::frame $f.file
    ttk::button $f.file.open -text Open... -command ${here}::open_file
    ttk::combobox $f.file.molecule -textvariable ${here}::molecule -state readonly \
        -postcommand ${here}::list_molecules
    bind $f.file.molecule <<ComboboxSelected>> ${here}::list_orbitals
    pack $f.file.open -side left
    pack $f.file.molecule -side left -fill x -expand 1 -padx {6 0}

    ttk::frame $f.table
    ttk::treeview $f.table.orbitals -columns {number spin energy occupation symmetry mark} -show headings -height 14 \
        -selectmode browse -yscrollcommand [list $f.table.bar set]
    foreach {column title width} {
        number # 50 spin Spin 50 energy "E / eV" 90 occupation Occ. 60 symmetry Sym. 60 mark "" 70
    } {
        $f.table.orbitals heading $column -text $title
        $f.table.orbitals column $column -width $width -stretch [expr {$column eq "mark"}] \
            -anchor [expr {$column in {number energy occupation} ? "e" : "w"}]
    }
    $f.table.orbitals tag configure virtual -foreground gray40
    $f.table.orbitals tag configure frontier -background "#dce9f7"
    ttk::scrollbar $f.table.bar -command [list $f.table.orbitals yview]
    bind $f.table.orbitals <<TreeviewSelect>> ${here}::orbital_selected
    pack $f.table.bar -side right -fill y
    pack $f.table.orbitals -side left -fill both -expand 1

    ttk::frame $f.what
    ttk::label $f.what.field_label -text Field
    ttk::combobox $f.what.field -textvariable ${here}::field -width 16 \
        -postcommand [list ${here}::offer $f.what.field orb_field field]
    bind $f.what.field <Return> ${here}::show_field
    bind $f.what.field <<ComboboxSelected>> ${here}::show_field
    ttk::label $f.what.colours_label -text Colours
    ttk::combobox $f.what.colours -textvariable ${here}::colours -width 16 \
        -postcommand [list ${here}::offer $f.what.colours orb_field color_by {two colours}]
    ttk::label $f.what.quality_label -text Quality
    ttk::combobox $f.what.quality -textvariable ${here}::quality -state readonly -width 16 \
        -postcommand [list ${here}::offer $f.what.quality orb_field quality]
    bind $f.what.quality <<ComboboxSelected>> ${here}::show_again
    bind $f.what.colours <<ComboboxSelected>> ${here}::show_again
    bind $f.what.colours <Return> ${here}::show_again
    ttk::label $f.what.isovalue_label -text Isovalue
    ttk::frame $f.what.isovalue
    ttk::scale $f.what.isovalue.slider -from -4 -to -0.3 -variable ${here}::exponent -command ${here}::slid
    bind $f.what.isovalue.slider <ButtonRelease-1> ${here}::isovalue_chosen
    bind $f.what.isovalue.slider <KeyRelease> ${here}::isovalue_chosen
    ttk::entry $f.what.isovalue.number -textvariable ${here}::isovalue -width 9
    bind $f.what.isovalue.number <Return> ${here}::isovalue_typed
    ttk::checkbutton $f.what.isovalue.automatic -text automatic -variable ${here}::automatic -command ${here}::show_again
    pack $f.what.isovalue.slider -side left -fill x -expand 1
    pack $f.what.isovalue.number $f.what.isovalue.automatic -side left -padx {6 0}
    foreach name {field colours quality isovalue} {
        grid $f.what.${name}_label $f.what.$name -sticky we -pady 1 -padx {0 6}
    }
    grid columnconfigure $f.what 1 -weight 1

    ttk::frame $f.do
    ttk::button $f.do.show -text Show -command ${here}::show_field
    ttk::button $f.do.previous -text Previous -command [list ${here}::step -1]
    ttk::button $f.do.next -text Next -command [list ${here}::step 1]
    ttk::button $f.do.cancel -text Cancel -command ${here}::cancel -state disabled
    ttk::button $f.do.play -command ${here}::play
    pack $f.do.show $f.do.previous $f.do.next $f.do.cancel -side left -fill x -expand 1
    trace add variable ::orbitile::playing write ${here}::offer_play

    ttk::progressbar $f.progress -maximum 1.0 -variable ::orbitile::share
    ttk::label $f.status -textvariable ${here}::status -wraplength 380 -justify left

    pack $f.file -fill x
    pack $f.table -fill both -expand 1 -pady 6
    pack $f.what $f.do $f.progress $f.status -fill x -pady 2
    list_molecules
}

# ---- asking

# Do a command, or keep it for later while another is under way; gives its value, or nothing.
proc ::orbitile::panel::do {words {done ""}} {
    variable status
    variable wish
    variable top
    if {$::orbitile::busy} {
        set wish [list $words $done]
        return
    }
    $top.inside.do.cancel state !disabled
    set status "Computing..."
    set failed [catch {::orbitile::call [lindex $words 0] [lrange $words 1 end]} result]
    if {![winfo exists $top]} return
    $top.inside.do.cancel state disabled
    set status [expr {$failed ? $result : $::orbitile::told}]
    if {!$failed && $done ne ""} {
        {*}$done $result
    }
    if {$wish ne ""} {
        lassign $wish next then
        set wish {}
        do $next $then
    }
}

proc ::orbitile::panel::cancel {} {
    variable status
    variable wish {}
    if {[catch {::orbitile::call orb_cancel {}} problem]} {
        set status $problem
    }
}

# Fill the list of a box with what the server offers for an argument of a command, and more before it.
proc ::orbitile::panel::offer {box command argument args} {
    variable status
    if {[catch {::orbitile::choices $command $argument} words]} {
        set status $words
        return
    }
    $box configure -values [concat $args $words]
}

# ---- molecules and their orbitals

proc ::orbitile::panel::open_file {} {
    variable top
    set file [tk_getOpenFile -parent $top -title "Open the output of a quantum-chemistry program"]
    if {$file ne ""} {
        do [list orb_load $file] ::orbitile::panel::opened
    }
}

proc ::orbitile::panel::opened {name} {
    variable molecule $name
    list_orbitals
}

# Molecules that have orbitals are those that were not read as volumes.
proc ::orbitile::panel::list_molecules {} {
    variable top
    variable molecule
    set found {}
    foreach name [::orbitile::present] {
        if {![info exists ::orbitile::looks($name)]} {
            lappend found $name
        }
    }
    $top.inside.file.molecule configure -values $found
    if {$molecule ni $found} {
        set molecule [lindex $found 0]
        list_orbitals
    }
}

proc ::orbitile::panel::list_orbitals {} {
    variable top
    variable molecule
    variable status
    set table $top.inside.table.orbitals
    $table delete [$table children {}]
    if {$molecule eq "" || $::orbitile::busy} return
    if {[catch {::orbitile::ask orbitals "\"arguments\": \[[::orbitile::text_json $molecule]\]"} reply]} {
        set status $reply
        return
    }
    set frontier ""
    set spins 0
    foreach row [dict get $reply value] {
        lassign $row field number spin energy occupation symmetry mark
        set tags [expr {$mark ne "" ? "frontier" : $occupation > 0.001 ? "occupied" : "virtual"}]
        if {$energy ne ""} {
            set energy [format %.3f $energy]
        }
        $table insert {} end -id $field -tags $tags \
            -values [list $number $spin $energy [format %.2f $occupation] $symmetry $mark]
        if {$mark eq "HOMO" && $frontier eq ""} {
            set frontier $field
        }
        if {$spin ne ""} {
            set spins 1
        }
    }
    $table configure -displaycolumns [expr {$spins ? "#all" : {number energy occupation symmetry mark}}]
    if {$frontier ne ""} {
        set at [$table index $frontier]
        $table yview moveto [expr {double(max(0, $at - 6)) / [llength [$table children {}]]}]
    }
}

# ---- what is shown

proc ::orbitile::panel::orbital_selected {} {
    variable top
    variable field
    set chosen [lindex [$top.inside.table.orbitals selection] 0]
    if {$chosen eq ""} return
    set field $chosen
    show_field
}

proc ::orbitile::panel::step {by} {
    variable top
    set table $top.inside.table.orbitals
    set rows [$table children {}]
    set at [lsearch -exact $rows [lindex [$table selection] 0]]
    set next [expr {$at < 0 ? 0 : $at + $by}]
    if {$next >= 0 && $next < [llength $rows]} {
        $table see [lindex $rows $next]
        $table selection set [list [lindex $rows $next]]
    }
}

proc ::orbitile::panel::show_field {} {
    variable molecule
    variable field
    variable automatic
    variable isovalue
    variable quality
    variable colours
    set value [expr {$automatic ? "" : $isovalue}]
    set second [expr {$colours eq "two colours" ? "" : $colours}]
    do [list orb_field $molecule $field $value $quality $second] ::orbitile::panel::field_shown
}

proc ::orbitile::panel::show_again {} {
    variable shown
    if {$shown ne ""} show_field
}

# What was shown before gives way.
proc ::orbitile::panel::field_shown {name} {
    variable shown
    if {$shown ne "" && $shown ne $name} {
        ::orbitile::discard $shown
    }
    set shown $name
    offer_play
    stand_at [dict get $::orbitile::looks($name) isovalue]
}

# Films alone can be played.
proc ::orbitile::panel::offer_play {args} {
    variable top
    variable shown
    set button $top.inside.do.play
    if {[info exists ::orbitile::kept($shown)]} {
        $button configure -text [expr {$::orbitile::playing ? "Pause" : "Play"}]
        pack $button -side left -fill x -expand 1
    } else {
        pack forget $button
    }
}

proc ::orbitile::panel::play {} {
    do [list orb_play [expr {$::orbitile::playing ? 0 : ""}]]
}

proc ::orbitile::panel::stand_at {value} {
    variable isovalue [format %.4g $value]
    variable exponent [expr {log10($value)}]
}

# While the slider moves VMD draws the surface anew by itself.
proc ::orbitile::panel::slid {place} {
    variable isovalue [format %.4g [expr {10.0 ** $place}]]
    variable automatic 0
    variable shown
    if {[lsearch -exact [::orbitile::present] $shown] < 0} return
    set molid $::orbitile::molecules($shown)
    set rep 0
    foreach phase [dict get $::orbitile::looks($shown) phases] {
        mol modstyle $rep $molid Isosurface [expr {$phase * $isovalue}] 0 0 0 1 1
        incr rep
    }
}

proc ::orbitile::panel::isovalue_chosen {} {
    variable shown
    variable isovalue
    if {$shown ne ""} {
        do [list orb_iso $isovalue $shown]
    }
}

proc ::orbitile::panel::isovalue_typed {} {
    variable isovalue
    variable automatic 0
    if {[string is double -strict $isovalue] && $isovalue > 0} {
        stand_at $isovalue
    }
    isovalue_chosen
}

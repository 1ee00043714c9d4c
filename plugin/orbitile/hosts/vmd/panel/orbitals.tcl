# The upper part of the window: a file, and the table of its orbitals.

namespace eval ::orbitile::panel {
    variable words ""         ;# of the filter
    variable unit ""          ;# of the energies
    variable units {}         ;# that they may have
    variable listed ""        ;# the molecule that the table is of
    variable every {}         ;# rows of the table, with those that the filter hides
}

proc ::orbitile::panel::build_file {f} {
    set here ::orbitile::panel
    ttk::frame $f
    ttk::button $f.open -text Open... -command ${here}::open_files
    ttk::combobox $f.molecule -textvariable ${here}::molecule -state readonly
    bind $f.molecule <<ComboboxSelected>> {::orbitile::panel::tell molecule $::orbitile::panel::molecule}
    ttk::button $f.help -text ? -width 2 -command [list ${here}::help the-window]
    build_analyse $f.analyse
    pack $f.open -side left
    pack $f.help $f.analyse -side right
    pack $f.molecule -side left -fill x -expand 1 -padx 6
    tip $f.open "Open outputs of quantum-chemistry programs"
    tip $f.molecule "The molecule whose orbitals are listed"
    tip $f.help "The manual (F1)"
}

proc ::orbitile::panel::build_table {f} {
    set here ::orbitile::panel
    ttk::frame $f
    ttk::label $f.summary -foreground gray40
    ttk::frame $f.filter
    ttk::label $f.filter.label -text Filter
    ttk::entry $f.filter.words -textvariable ${here}::words
    bind $f.filter.words <KeyRelease> ${here}::filter
    bind $f.filter.words <Escape> "set ${here}::words {}; ${here}::filter"
    pack $f.filter.label -side left -padx {0 6}
    pack $f.filter.words -side left -fill x -expand 1
    ttk::treeview $f.orbitals -show headings -height 12 -selectmode browse -yscrollcommand [list $f.bar set]
    $f.orbitals tag configure virtual -foreground gray40
    $f.orbitals tag configure frontier -background "#dce9f7" -foreground black
    ttk::scrollbar $f.bar -command [list $f.orbitals yview]
    bind $f.orbitals <<TreeviewSelect>> ${here}::row_selected
    bind $f.orbitals <Home> [list ${here}::row_at 0]
    bind $f.orbitals <End> [list ${here}::row_at end]
    bind $f.orbitals <Button-3> [list ${here}::surface_menu "" %X %Y]
    ttk::label $f.notes -foreground "#8a5a00"
    foreach {row name} {0 summary 1 notes 2 filter} {
        grid $f.$name -row $row -columnspan 2 -sticky we -pady 1
    }
    grid remove $f.notes
    grid $f.orbitals $f.bar -row 3 -sticky nsew
    grid columnconfigure $f 0 -weight 1
    grid rowconfigure $f 3 -weight 1
}

# ---- files and molecules

proc ::orbitile::panel::open_files {} {
    variable top
    set files [tk_getOpenFile -parent $top -multiple 1 -title "Open outputs of quantum-chemistry programs"]
    if {[llength $files]} {
        tell open {*}$files
    }
}

proc ::orbitile::panel::on_molecules {message} {
    variable top
    variable molecule [dict get $message chosen]
    $top.inside.file.molecule configure -values [dict get $message names]
}

# A file was opened: its HOMO is on its way, and the arrow keys walk from there.
proc ::orbitile::panel::on_opened {message} {
    variable top
    variable molecule [dict get $message molecule]
    select_row [dict get $message row]
    focus -force $top.inside.table.orbitals
}

# ---- the table

proc ::orbitile::panel::on_table {message} {
    variable top
    variable molecule [dict get $message molecule]
    variable listed
    if {$listed ne $molecule} {
        set listed $molecule
        variable row ""
    }
    variable unit [dict get $message unit]
    variable units [dict get $message units]
    variable unavailable [dict get $message unavailable]
    variable every
    set table $top.inside.table.orbitals
    $top.inside.table.summary configure -text [dict get $message summary]
    $top.inside.table.notes configure -text [join [dict get $message notes] "; "]
    tip $top.inside.table.notes [join [dict get $message notes] \n]
    grid [expr {[llength [dict get $message notes]] ? "configure" : "remove"}] $top.inside.table.notes
    $table delete $every
    set every {}
    set names {}
    foreach column [dict get $message columns] {
        lappend names [dict get $column what]
    }
    $table configure -columns $names
    foreach column [dict get $message columns] {
        show_column $table [dict get $column what] [dict get $column title]
    }
    if {[dict get $message filter] eq ""} {
        variable words ""
    }
    variable has_frontier 0
    on_rows $message
}

# Rows that follow those that are there; the first frontier orbital comes into sight.
proc ::orbitile::panel::on_rows {message} {
    variable top
    variable row
    variable every
    variable has_frontier
    set table $top.inside.table.orbitals
    foreach orbital [dict get $message rows] {
        set field [dict get $orbital field]
        $table insert {} end -id $field -tags [dict get $orbital kind] -values [dict get $orbital cells]
        lappend every $field
        if {[dict get $orbital kind] eq "frontier" && !$has_frontier} {
            set has_frontier 1
            after idle [list ::orbitile::panel::see_row $field]
        }
        if {$field eq $row} {
            select_row $row
        }
    }
}

# Bring a row to the middle of the table, unless another was selected meanwhile.
proc ::orbitile::panel::see_row {name} {
    variable top
    variable row
    variable every
    set table $top.inside.table.orbitals
    if {[$table exists $name] && $row in [list "" $name]} {
        $table yview moveto [expr {double(max(0, [$table index $name] - 6)) / max(1, [llength $every])}]
    }
}

proc ::orbitile::panel::show_column {table what title} {
    set width [dict get {number 50 spin 55 energy 95 occupation 50 symmetry 55 mark 70} $what]
    $table heading $what -text $title -command [expr {$what eq "energy" ? "::orbitile::panel::other_unit" : ""}]
    $table column $what -width $width -minwidth $width -stretch [expr {$what eq "mark"}] \
        -anchor [expr {$what in {number energy occupation} ? "e" : "w"}]
}

proc ::orbitile::panel::other_unit {} {
    variable unit
    variable units
    tell unit [lindex $units [expr {([lsearch -exact $units $unit] + 1) % [llength $units]}]]
}

proc ::orbitile::panel::filter {} {
    variable words
    tell_soon filter $words
}

# What a filter hides is shown as before, and so it stays selected.
proc ::orbitile::panel::on_filtered {message} {
    variable top
    variable row
    $top.inside.table.orbitals children {} [dict get $message rows]
    select_row $row
}

proc ::orbitile::panel::row_selected {} {
    variable top
    variable row
    set chosen [lindex [$top.inside.table.orbitals selection] 0]
    if {$chosen ne "" && $chosen ne $row} {
        set row $chosen
        tell orbital $chosen
    }
}

# Select a row without asking for it; of no name none.
proc ::orbitile::panel::select_row {name} {
    variable top
    variable row $name
    variable every
    set table $top.inside.table.orbitals
    if {[lsearch -exact $every $name] < 0} {
        $table selection set {}
    } elseif {[lsearch -exact [$table children {}] $name] >= 0} {
        $table selection set [list $name]
        $table focus $name
        $table see $name
    }
}

proc ::orbitile::panel::row_at {place} {
    variable top
    set table $top.inside.table.orbitals
    set name [lindex [$table children {}] $place]
    if {$name ne ""} {
        $table focus $name
        $table see $name
        $table selection set [list $name]
    }
}

# Fields and presets to choose from, in a menu with a sentence for each; what they need is asked for.

namespace eval ::orbitile::panel {
    variable field homo       ;# what is typed, or shown
}

proc ::orbitile::panel::build_field {f} {
    set here ::orbitile::panel
    ttk::frame $f
    ttk::menubutton $f.choose -text "Show a field" -menu $f.choose.menu
    menu $f.choose.menu -tearoff 0 -postcommand [list ${here}::fill_menu $f.choose.menu]
    ttk::entry $f.name -textvariable ${here}::field -width 12
    bind $f.name <Return> ${here}::show_typed
    ttk::button $f.show -text Show -width 6 -command ${here}::show_typed
    pack $f.choose -side left
    pack $f.show -side right
    pack $f.name -side left -fill x -expand 1 -padx 6
    tip $f.choose "Presets, and all fields"
    tip $f.name "A field by its name: density, homo-3, esp"
}

proc ::orbitile::panel::show_typed {} {
    variable field
    variable top
    focus $top.inside.table.orbitals
    tell field $field
}

# What is being typed stays.
proc ::orbitile::panel::on_field {message} {
    variable top
    variable field
    if {[focus -displayof $top] ne "$top.inside.field.name"} {
        set field [dict get $message field]
    }
}

# The menu is made when it is opened: what a molecule does not have is grey, and says why.
proc ::orbitile::panel::fill_menu {menu} {
    variable here ::orbitile::panel
    $menu delete 0 end
    foreach child [winfo children $menu] {
        destroy $child
    }
    if {![dict exists $::orbitile::offered presets]} return
    foreach preset [dict get $::orbitile::offered presets] {
        set name [dict get $preset name]
        add_entry $menu [dict get $preset title] [dict get $preset help] $name \
            [list ${here}::show_preset $name [dict get $preset file]]
    }
    $menu add separator
    set n 0
    foreach group [dict get $::orbitile::offered fields] {
        set inner [menu $menu.group[incr n] -tearoff 0]
        $menu add cascade -label [dict get $group title] -menu $inner
        foreach field [dict get $group fields] {
            set name [dict get $field name]
            add_entry $inner $name [dict get $field help] $name [list ${here}::show_pattern $name]
        }
    }
}

proc ::orbitile::panel::add_entry {menu label sentence name command} {
    variable unavailable
    variable molecule
    set state [expr {$molecule eq "" || [dict exists $unavailable $name] ? "disabled" : "normal"}]
    if {[dict exists $unavailable $name]} {
        set sentence [dict get $unavailable $name]
    }
    $menu add command -label $label -accelerator $sentence -command $command -state $state
}

proc ::orbitile::panel::show_preset {name needs_file} {
    set file ""
    if {$needs_file} {
        set file [ask_files "$name: the file to compare with" 1]
        if {$file eq ""} return
    }
    tell preset $name $file
}

# A name of a field with FILE and N in it: files and a number are asked for.
proc ::orbitile::panel::show_pattern {name} {
    set parts [split $name :]
    set rest [lindex $parts end]
    if {$rest eq "FILE,FILE"} {
        set files [list [ask_files "$name: the first file" 0]]
        lappend files [ask_files "$name: the second file" 0]
    } elseif {$rest eq "FILE"} {
        set files [list [ask_files "$name: the file" [string match difference* $name]]]
    }
    if {[info exists files]} {
        if {[lsearch -exact $files ""] >= 0} return
        set parts [lreplace $parts end end [join $files ,]]
    } elseif {[regexp {\mN\M} $name]} {
        set number [ask_number "$name: which N?" 1]
        if {$number eq ""} return
        set parts [split [regsub {\mN\M} $name $number] :]
    }
    variable field [join $parts :]
    tell field $field
}

# Files by a dialog, with commas between; nothing when the user does not want to say.
proc ::orbitile::panel::ask_files {title several} {
    variable top
    set files [tk_getOpenFile -parent $top -multiple $several -title $title]
    return [expr {$several ? [join $files ,] : $files}]
}

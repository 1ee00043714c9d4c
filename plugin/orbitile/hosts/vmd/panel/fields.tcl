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
            set label [expr {[llength [dict get $field parts]] > 1 ? "$name ..." : $name}]
            add_entry $inner $label [dict get $field help] $name \
                [list ${here}::show_pattern $name [dict get $field parts]]
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

# What is open in the name of a field is asked for, one after the other.
proc ::orbitile::panel::show_pattern {name parts} {
    set answers ""
    foreach part $parts {
        switch -- [dict get $part kind] {
            text { set answer [dict get $part text] }
            file { set answer [ask_files "$name: a file" [dict get $part several]] }
            number { set answer [ask_one_of "$name: which N?" ""] }
            choice { set answer [ask_one_of "$name: which one?" [dict get $part options]] }
        }
        if {$answer eq ""} return
        append answers $answer
    }
    variable field $answers
    tell field $answers
}

# Files by a dialog, with commas between; nothing when the user does not want to say.
proc ::orbitile::panel::ask_files {title several} {
    variable top
    set files [tk_getOpenFile -parent $top -multiple $several -title $title]
    return [expr {$several ? [join $files ,] : $files}]
}

# Ask for one of some words, or for a number from 1; nothing when the user does not want to say.
proc ::orbitile::panel::ask_one_of {title options} {
    variable top
    variable answer [expr {[llength $options] ? [lindex $options 0] : 1}]
    variable answered ""
    set dialog $top.question
    destroy $dialog
    toplevel $dialog
    wm title $dialog $title
    wm transient $dialog $top
    set inside [ttk::frame $dialog.inside -padding 10]
    pack $inside
    ttk::label $inside.text -text $title
    if {[llength $options]} {
        ttk::combobox $inside.answer -values $options -state readonly -width 8 -textvariable ::orbitile::panel::answer
    } else {
        spinbox $inside.answer -from 1 -to 99999 -width 8 -textvariable ::orbitile::panel::answer
    }
    ttk::button $inside.ok -text OK -command {set ::orbitile::panel::answered 1}
    ttk::button $inside.cancel -text Cancel -command {set ::orbitile::panel::answered 0}
    grid $inside.text $inside.answer -padx 4 -pady 4
    grid $inside.ok $inside.cancel -padx 4 -pady 4
    bind $dialog <Return> [list $inside.ok invoke]
    bind $dialog <Escape> [list $inside.cancel invoke]
    wm protocol $dialog WM_DELETE_WINDOW [list $inside.cancel invoke]
    $inside.answer selection range 0 end
    focus $inside.answer
    vwait ::orbitile::panel::answered
    destroy $dialog
    return [expr {$answered && ($answer in $options || [string is integer -strict $answer]) ? $answer : ""}]
}

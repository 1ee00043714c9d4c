# Pictures, files, and the commands that would show the same.

proc ::orbitile::panel::build_saving {f} {
    set here ::orbitile::panel
    ttk::frame $f
    ttk::menubutton $f.picture -text "Save picture" -menu $f.picture.menu
    menu $f.picture.menu -tearoff 0
    foreach {label how} {
        "As VMD's window shows it..." snapshot "Ray-traced by VMD..." TachyonInternal "By Orbitile's renderer..." ""
    } {
        $f.picture.menu add command -label $label -command [list ${here}::save_picture $how]
    }
    ttk::button $f.export -text "Save surface..." -command ${here}::export
    ttk::button $f.copy -text "Copy commands" -command ${here}::copy_commands
    pack $f.picture $f.export $f.copy -side left -fill x -expand 1 -padx {0 4}
    tip $f.picture "A picture of what VMD shows, as png"
    tip $f.export "The volume (cube, dx, ...) or the surface (ply, obj, ...) that is selected, by the ending of the file"
    tip $f.copy "Copy the commands that would show the same"
}

# VMD writes pictures of its own formats; the server makes a png of them, with a legend.
proc ::orbitile::panel::save_picture {renderer} {
    variable top
    set file [tk_getSaveFile -parent $top -title "Save picture" -defaultextension .png -filetypes {{PNG .png} {All *}}]
    if {$file eq ""} return
    if {$renderer eq ""} {
        do orb_picture $file
        return
    }
    set written [file join $::orbitile::folder picture.tga]
    if {[catch {render $renderer $written} problem]} {
        say "VMD: $problem" 1
    } elseif {![file exists $written]} {
        say "VMD has written no picture: its renderer $renderer is not available" 1
    } else {
        tell picture $written $file
    }
}

proc ::orbitile::panel::export {} {
    variable top
    variable current
    if {$current eq ""} {
        say "Nothing is shown that could be saved." 1
        return
    }
    set file [tk_getSaveFile -parent $top -title "Save volume or surface" -initialfile $current.cube]
    if {$file ne ""} {
        tell export $file
    }
}

proc ::orbitile::panel::copy_commands {} {
    tell recipe
}

# Lists of Tcl are commands that its consoles read.
proc ::orbitile::panel::on_recipe {message} {
    variable top
    set lines {}
    foreach call [dict get $message commands] {
        set words [concat [list [dict get $call command]] [dict get $call arguments]]
        dict for {name value} [dict get $call named] {
            lappend words -$name $value
        }
        lappend lines $words
    }
    clipboard clear -displayof $top
    clipboard append -displayof $top [join $lines \n]
    say "Copied [llength $lines] commands, which show the same again: paste them into VMD's console."
}

# The manual in a window, at the heading that explains what the user looks at.

# Where it lies: in a package that was installed, and in a checkout.
proc ::orbitile::panel::manual_file {} {
    foreach place {../../data/manual ../../../../docs} {
        set file [file join $::orbitile::home $place vmd.md]
        if {[file exists $file]} {
            return $file
        }
    }
    error "the manual is not installed: data/manual/vmd.md is missing; install Orbitile again"
}

proc ::orbitile::panel::help {heading} {
    variable top
    set window $top.manual
    if {![winfo exists $window]} {
        if {[catch build_manual problem]} {
            say $problem 1
            return
        }
    }
    wm deiconify $window
    raise $window
    set found [lsearch -exact [$window.text mark names] heading:$heading]
    if {$found >= 0} {
        $window.text yview heading:$heading
    }
}

proc ::orbitile::panel::build_manual {} {
    variable top
    set channel [open [manual_file] r]
    fconfigure $channel -encoding utf-8
    set lines [split [read $channel] \n]
    close $channel
    set window [toplevel $top.manual]
    wm title $window "Orbitile: manual"
    text $window.text -wrap word -width 90 -height 40 -padx 12 -pady 8 -yscrollcommand [list $window.bar set]
    ttk::scrollbar $window.bar -command [list $window.text yview]
    pack $window.bar -side right -fill y
    pack $window.text -fill both -expand 1
    $window.text tag configure heading -font {TkDefaultFont 13 bold} -spacing1 12 -spacing3 4
    $window.text tag configure code -font TkFixedFont -lmargin1 20 -lmargin2 40
    set paragraph ""
    foreach line $lines {
        if {[regexp {^#+ (.*)} $line all title]} {
            add_paragraph $window.text paragraph
            $window.text mark set heading:[link_of $title] "end - 1 chars"
            $window.text mark gravity heading:[link_of $title] left
            $window.text insert end $title\n heading
        } elseif {[regexp {^(    .*|\|.*)$} $line]} { # commands, and rows of tables
            add_paragraph $window.text paragraph
            $window.text insert end "[string map {` "" ** ""} [string trim $line]]\n" code
        } elseif {[string trim $line] eq "" || [regexp {^- } $line]} {
            add_paragraph $window.text paragraph
            append paragraph $line
        } else {
            append paragraph " " [string trim $line]
        }
    }
    add_paragraph $window.text paragraph
    $window.text configure -state disabled
    bind $window <Escape> [list wm withdraw $window]
}

# A paragraph without the marks of Markdown; of a link what it is called.
proc ::orbitile::panel::add_paragraph {text paragraph} {
    upvar 1 $paragraph words
    if {[string trim $words] ne ""} {
        set plain [regsub -all {\[([^]]*)\]\([^)]*\)} [string trim $words] {\1}]
        $text insert end "[string map {` "" ** ""} $plain]\n\n"
    }
    set words ""
}

# A heading as links name it: small letters, and hyphens for spaces.
proc ::orbitile::panel::link_of {title} {
    return [regsub -all {\s} [regsub -all {[^\w\s-]} [string tolower $title] ""] -]
}

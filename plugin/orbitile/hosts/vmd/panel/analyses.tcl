# Analyses: a menu of those that there are, and a window with the parameters of one and what it found.

namespace eval ::orbitile::panel {
    variable groups {}        ;# of analyses
    variable analysis {}      ;# the one that is chosen
    variable given            ;# its parameters
    array set given {}
}

proc ::orbitile::panel::build_analyse {button} {
    ttk::menubutton $button -text Analyse -menu $button.menu
    menu $button.menu -tearoff 0 -postcommand [list ::orbitile::panel::fill_analyses $button.menu]
    tip $button "Analyse the molecule: charges, bonds, localised orbitals, properties of surfaces ..."
}

proc ::orbitile::panel::on_analyses {message} {
    variable groups [dict get $message groups]
}

# What the molecule does not have is grey, and says why.
proc ::orbitile::panel::fill_analyses {menu} {
    variable groups
    $menu delete 0 end
    foreach group $groups {
        if {[$menu index end] ne "none"} {
            $menu add separator
        }
        $menu add command -label [dict get $group title] -state disabled
        foreach one [dict get $group analyses] {
            set reason [dict get $one reason]
            $menu add command -label "  [dict get $one title]" -state [expr {$reason eq "" ? "normal" : "disabled"}] \
                -accelerator [string range [expr {$reason eq "" ? [dict get $one help] : $reason}] 0 79] \
                -command [list ::orbitile::panel::open_analysis $one]
        }
    }
}

# The window of analyses at one of them, which begins at once where nothing has to be asked.
proc ::orbitile::panel::open_analysis {one} {
    variable top
    variable analysis $one
    variable given
    set window $top.analysis
    if {![winfo exists $window]} {
        build_analysis $window
    }
    wm title $window "Analysis: [dict get $one title]"
    destroy $window.inside.form
    set form [ttk::frame $window.inside.form]
    grid $form -row 0 -column 0 -columnspan 2 -sticky we
    grid columnconfigure $form 1 -weight 1
    array unset given
    set row 0
    foreach parameter [dict get $one parameters] {
        set name [dict get $parameter name]
        set choices [dict get $parameter choices]
        set given($name) [expr {[llength $choices] ? [dict get $parameter default] : ""}]
        ttk::label $form.label$row -text [string map {_ " "} $name]
        if {[llength $choices]} {
            ttk::combobox $form.value$row -values $choices -state readonly -textvariable ::orbitile::panel::given($name)
        } else {
            ttk::entry $form.value$row -textvariable ::orbitile::panel::given($name)
            bind $form.value$row <Return> ::orbitile::panel::run_analysis
        }
        set otherwise [dict get $parameter default]
        tip $form.value$row "[dict get $parameter help][expr {$otherwise eq "" ? "" : "; default: $otherwise"}]"
        grid $form.label$row $form.value$row -sticky we -pady 1 -padx 2
        incr row
    }
    wm deiconify $window
    raise $window
    run_analysis
}

proc ::orbitile::panel::build_analysis {window} {
    set here ::orbitile::panel
    toplevel $window
    wm protocol $window WM_DELETE_WINDOW [list ${here}::close_analysis $window]
    set inside [ttk::frame $window.inside -padding 8]
    pack $inside -fill both -expand 1
    set bar [ttk::frame $inside.bar]
    ttk::button $bar.run -text Run -command ${here}::run_analysis
    ttk::button $bar.cancel -text Cancel -command [list ${here}::tell withdraw]
    ttk::button $bar.save -text "Save tables..." -command ${here}::save_found
    ttk::button $bar.surfaces -text "Show surfaces" -command [list ${here}::tell found_surfaces]
    pack $bar.run $bar.cancel $bar.save -side left -padx {0 4}
    text $inside.text -width 90 -height 32 -wrap none -font TkFixedFont -state disabled \
        -yscrollcommand [list $inside.down set] -xscrollcommand [list $inside.across set]
    $inside.text tag configure wrong -foreground "#b2182b"
    ttk::scrollbar $inside.down -command [list $inside.text yview]
    ttk::scrollbar $inside.across -orient horizontal -command [list $inside.text xview]
    grid $bar -row 1 -column 0 -columnspan 2 -sticky we -pady 4
    grid $inside.text -row 2 -column 0 -sticky nsew
    grid $inside.down -row 2 -column 1 -sticky ns
    grid $inside.across -row 3 -column 0 -sticky we
    grid rowconfigure $inside 2 -weight 1
    grid columnconfigure $inside 0 -weight 1
}

proc ::orbitile::panel::close_analysis {window} {
    tell withdraw
    wm withdraw $window
}

proc ::orbitile::panel::run_analysis {} {
    variable analysis
    variable given
    variable molecule
    set words {}
    foreach parameter [dict get $analysis parameters] {
        set name [dict get $parameter name]
        if {[string trim $given($name)] ne ""} {
            lappend words "$name=$given($name)"
        }
    }
    tell analyse [dict get $analysis name] $molecule {*}$words
}

proc ::orbitile::panel::on_analysis {message} {
    variable top
    variable analysis
    set window $top.analysis
    if {![winfo exists $window] || [dict get $message name] ne [dict get $analysis name]} return
    set problem [dict get $message problem]
    if {[dict get $message running]} {
        write_found "Computing ..."
    } elseif {$problem ne ""} {
        write_found $problem wrong
    } else {
        set moved [expr {[dict get $message stale] ? "The molecule has changed since: run the analysis again.\n\n" : ""}]
        write_found $moved[dict get $message text]
    }
    set bar $window.inside.bar
    pack forget $bar.surfaces
    if {[dict get $message has_surfaces]} {
        pack $bar.surfaces -side left
    }
}

# A sum that does not hold is red.
proc ::orbitile::panel::write_found {text {tag ""}} {
    variable top
    set widget $top.analysis.inside.text
    set at [lindex [$widget yview] 0]
    $widget configure -state normal
    $widget delete 1.0 end
    foreach line [split $text \n] {
        set wrong [expr {$tag ne "" || [string match "*which is more than the tolerance of *" $line]}]
        $widget insert end $line\n [expr {$wrong ? "wrong" : ""}]
    }
    $widget configure -state disabled
    $widget yview moveto $at
}

proc ::orbitile::panel::save_found {} {
    variable top
    variable analysis
    set file [tk_getSaveFile -parent $top.analysis -title "Save tables" -defaultextension .csv \
        -initialfile [dict get $analysis name].csv -filetypes {{CSV .csv} {JSON .json}}]
    if {$file ne ""} {
        tell save_found $file
    }
}

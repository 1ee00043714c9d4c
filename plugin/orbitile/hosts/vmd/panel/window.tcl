# The window of Orbitile in VMD. Tk 8.5 is enough.
#
# It has no rules of its own: it tells the server what the user does in it, and shows what the server tells. So it never
# waits, and what is done in it means the same as in any other viewer.

namespace eval ::orbitile::panel {
    variable top .orbitile
    variable status "Open the output of a quantum-chemistry program to see its orbitals."
    variable asked {}         ;# verbs of the requests that are not answered yet
    variable busy 0           ;# whether something is computed
    variable share 0.0        ;# of that, what is done
    variable molecule ""      ;# whose orbitals are listed
    variable unavailable {}   ;# fields and presets that it does not have, with the reasons
    variable row ""           ;# of the table, the orbital that was asked for last
    variable current ""       ;# the surface that the controls act on
    variable standing {}      ;# what the server was told last of what there is
}

proc ::orbitile::panel::show {} {
    variable top
    if {![winfo exists $top]} build
    wm deiconify $top
    raise $top
    tell show
    follow
    return $top
}

proc ::orbitile::panel::hide {} {
    variable top
    wm withdraw $top
    tell hide
}

proc ::orbitile::panel::build {} {
    variable top
    set here ::orbitile::panel
    toplevel $top
    wm title $top Orbitile
    wm protocol $top WM_DELETE_WINDOW ${here}::hide
    set inside [ttk::frame $top.inside -padding 8]
    pack $inside -fill both -expand 1
    build_file $inside.file
    build_table $inside.table
    build_field $inside.field
    build_list $inside.list
    build_look $inside.look
    build_frames $inside.frames
    build_live $inside.live
    build_saving $inside.saving

    ttk::frame $inside.bottom
    ttk::label $inside.bottom.status -textvariable ${here}::status -justify left -anchor w
    bind $inside.bottom.status <Configure> {%W configure -wraplength %w}
    ttk::progressbar $inside.bottom.progress -maximum 1.0 -length 90
    ttk::button $inside.bottom.cancel -text Cancel -width 7 -command ${here}::cancel
    pack $inside.bottom.status -side left -fill x -expand 1

    pack $inside.file -fill x
    pack $inside.table -fill both -expand 1 -pady {6 4}
    pack $inside.field $inside.list $inside.look $inside.live $inside.saving -fill x -pady 2
    pack $inside.bottom -fill x -pady {4 0}
    wm geometry $top 470x[expr {min(760, [winfo screenheight $top] - 80)}]
    bind $top <F1> [list ${here}::help the-window]
    trace add variable ::orbitile::channel write ${here}::server_changed
    trace add variable ::orbitile::share write ${here}::share_changed
}

# ---- telling and being told

# Tell the server what the user did.
proc ::orbitile::panel::tell {verb args} {
    variable asked
    if {[catch {::orbitile::tell_window $verb {*}$args} problem]} {
        say $problem 1
        return
    }
    lappend asked $verb
}

# The same in a moment, so that of many moves of a slider the last is told.
proc ::orbitile::panel::tell_soon {verb args} {
    variable soon
    if {[info exists soon($verb)]} {
        after cancel $soon($verb)
    }
    set soon($verb) [after 40 [list ::orbitile::panel::tell $verb {*}$args]]
}

proc ::orbitile::panel::answered {reply} {
    variable asked
    set asked [lrange $asked 1 end]
    if {[dict exists $reply error]} {
        say [dict get $reply error] 1
    }
}

# Whether the user has gone on to another orbital than the one that the server tells of.
proc ::orbitile::panel::is_ahead {} {
    variable asked
    variable busy
    return [expr {$busy || "orbital" in $asked}]
}

# Another server knows nothing of what there was.
proc ::orbitile::panel::server_changed {args} {
    variable top
    variable asked {}
    if {$::orbitile::channel eq "" && [winfo exists $top]} {
        show_busy 0
        say "Orbitile has ended; it starts again when it is needed."
    }
}

# What the user deletes or hides in VMD's own windows, the server is told.
proc ::orbitile::panel::follow {} {
    variable top
    variable standing
    after cancel ::orbitile::panel::follow
    if {![winfo exists $top]} return
    after 500 ::orbitile::panel::follow
    set now [list [::orbitile::present] [::orbitile::unseen_by_choice]]
    if {$now ne $standing && $::orbitile::channel ne "" && [winfo ismapped $top]} {
        set standing $now
        tell follow
    }
}

# ---- what is under way

proc ::orbitile::panel::on_said {message} {
    variable top
    say [dict get $message text] [dict get $message error]
    tip $top.inside.bottom.status [dict get $message [expr {[dict get $message detail] eq "" ? "text" : "detail"}]]
}

proc ::orbitile::panel::say {text {is_error 0}} {
    variable top
    variable status $text
    if {[winfo exists $top]} {
        $top.inside.bottom.status configure -foreground [expr {$is_error ? "#b2182b" : ""}]
    }
}

proc ::orbitile::panel::on_busy {message} {
    show_busy [dict get $message busy]
}

# The bar moves by itself as long as nothing is known of how far it is.
proc ::orbitile::panel::show_busy {is_busy} {
    variable busy [expr {!!$is_busy}]
    set ::orbitile::share 0.0
    show_bar $busy 0.0
}

# What commands compute is shown too.
proc ::orbitile::panel::share_changed {args} {
    variable busy
    show_bar [expr {$busy || $::orbitile::share > 0}] $::orbitile::share
}

proc ::orbitile::panel::show_bar {is_shown share} {
    variable top
    set bar $top.inside.bottom.progress
    if {![winfo exists $bar]} return
    if {!$is_shown} {
        $bar stop
        pack forget $top.inside.bottom.cancel $bar
        return
    }
    if {[winfo manager $bar] eq ""} {
        pack $top.inside.bottom.cancel $bar -side right -padx {6 0}
        $bar configure -mode indeterminate
        $bar start 50
    }
    if {$share > 0} {
        $bar stop
        $bar configure -mode determinate -value $share
    }
}

proc ::orbitile::panel::cancel {} {
    do orb_cancel
}

# Do a command as if it were typed into VMD's console.
proc ::orbitile::panel::do {command args} {
    if {[catch {::orbitile::call $command $args} problem]} {
        say $problem 1
    } else {
        say $::orbitile::told
    }
}

# ---- small widgets

# A short explanation below a widget, while the mouse rests on it.
proc ::orbitile::panel::tip {widget text} {
    bind $widget <Enter> [list ::orbitile::panel::tip_later %W $text]
    bind $widget <Leave> ::orbitile::panel::tip_away
    bind $widget <ButtonPress> +::orbitile::panel::tip_away
}

proc ::orbitile::panel::tip_later {widget text} {
    tip_away
    variable tip_due [after 600 [list ::orbitile::panel::tip_now $widget $text]]
}

proc ::orbitile::panel::tip_now {widget text} {
    if {![winfo exists $widget]} return
    toplevel .orbitile_tip -borderwidth 1 -relief solid
    wm overrideredirect .orbitile_tip 1
    pack [label .orbitile_tip.text -text $text -justify left -background "#ffffe0" -foreground black -padx 4 -pady 2]
    wm geometry .orbitile_tip +[winfo pointerx $widget]+[expr {[winfo rooty $widget] + [winfo height $widget] + 4}]
}

proc ::orbitile::panel::tip_away {} {
    variable tip_due
    if {[info exists tip_due]} {
        after cancel $tip_due
    }
    destroy .orbitile_tip
}

# How the surface looks that the window acts on: isovalue, colours and their scale, style; quality, device and frames.

namespace eval ::orbitile::panel {
    variable isovalue ""
    variable exponent -1.52   ;# of ten, where the slider stands
    variable sliding 0        ;# whether the slider is held
    variable automatic 1      ;# each orbital gets the isovalue that encloses a share of its density
    variable quality medium
    variable device auto
    variable second {two colours}
    variable style surface
    variable transparency 35
    variable chosen_colours {#2166ac #b2182b}
    variable frame 0
    variable playback {n_frames 0 playing 0}
}

proc ::orbitile::panel::build_look {f} {
    set here ::orbitile::panel
    ttk::frame $f
    ttk::frame $f.isovalue
    ttk::scale $f.isovalue.slider -from -4 -to -0.3 -variable ${here}::exponent -command ${here}::slid
    bind $f.isovalue.slider <ButtonPress-1> "set ${here}::sliding 1"
    bind $f.isovalue.slider <ButtonRelease-1> ${here}::slid_to_rest
    bind $f.isovalue.slider <KeyRelease> ${here}::slid_to_rest
    ttk::entry $f.isovalue.number -textvariable ${here}::isovalue -width 8
    bind $f.isovalue.number <Return> ${here}::isovalue_typed
    ttk::label $f.isovalue.unit
    ttk::checkbutton $f.isovalue.automatic -variable ${here}::automatic \
        -command "${here}::tell automatic \$${here}::automatic"
    pack $f.isovalue.slider -side left -fill x -expand 1
    pack $f.isovalue.number $f.isovalue.unit $f.isovalue.automatic -side left -padx {4 0}
    tip $f.isovalue.slider "Isovalue, on a logarithmic scale"
    tip $f.isovalue.automatic "Choose for each orbital the isovalue whose surface encloses this share of its density"

    ttk::frame $f.colours
    button $f.colours.positive -width 2 -command [list ${here}::choose_colour 0]
    button $f.colours.negative -width 2 -command [list ${here}::choose_colour 1]
    ttk::label $f.colours.by -text "or by"
    ttk::combobox $f.colours.second -textvariable ${here}::second -width 14 \
        -postcommand [list ${here}::offer $f.colours.second orb_field color_by {two colours}]
    foreach event {<<ComboboxSelected>> <Return>} {
        bind $f.colours.second $event "${here}::tell second \$${here}::second"
    }
    pack $f.colours.positive $f.colours.negative $f.colours.by -side left -padx {0 6}
    pack $f.colours.second -side left -fill x -expand 1
    tip $f.colours.positive "Colour where the field is positive; VMD uses the closest colour that it has"
    tip $f.colours.negative "Colour where the field is negative; VMD uses the closest colour that it has"
    tip $f.colours.second "A second field that colours the surface, as esp does on density"

    build_scale $f.scale

    ttk::frame $f.style
    ttk::combobox $f.style.style -textvariable ${here}::style -state readonly -width 9 \
        -postcommand [list ${here}::offer $f.style.style orb_style style]
    bind $f.style.style <<ComboboxSelected>> "${here}::tell style \$${here}::style"
    ttk::label $f.style.label -text Transparency
    ttk::scale $f.style.transparency -from 0 -to 100 -variable ${here}::transparency -command ${here}::transparency_slid
    pack $f.style.style $f.style.label -side left -padx {0 6}
    pack $f.style.transparency -side left -fill x -expand 1
    tip $f.style.style "Triangles, their edges, or their corners"

    ttk::frame $f.quality
    ttk::combobox $f.quality.quality -textvariable ${here}::quality -state readonly -width 9 \
        -postcommand [list ${here}::offer $f.quality.quality orb_field quality]
    bind $f.quality.quality <<ComboboxSelected>> "${here}::tell quality \$${here}::quality"
    ttk::label $f.quality.label -text Device
    ttk::combobox $f.quality.device -textvariable ${here}::device -state readonly -width 9 \
        -postcommand [list ${here}::offer $f.quality.device orb_device device]
    bind $f.quality.device <<ComboboxSelected>> "${here}::tell device \$${here}::device"
    pack $f.quality.quality $f.quality.label -side left -padx {0 6}
    pack $f.quality.device -side left
    tip $f.quality.quality "Spacing of the lattice on which the field is computed"
    tip $f.quality.device "Device that computes"

    foreach {name title} {isovalue Isovalue colours Colours scale Scale style Style quality Quality} {
        ttk::label $f.${name}_label -text $title
        grid $f.${name}_label $f.$name -sticky we -pady 2 -padx {0 6}
    }
    grid columnconfigure $f 1 -weight 1
    show_scale ""
}

# Fill the list of a box with what the server offers for an argument of a command, and more before it.
proc ::orbitile::panel::offer {box command argument args} {
    $box configure -values [concat $args [::orbitile::choices $command $argument]]
}

proc ::orbitile::panel::on_choices {message} {
    variable top
    variable sliding
    variable isovalue
    variable exponent
    variable automatic [expr {!![dict get $message automatic]}]
    variable quality [dict get $message quality]
    variable device [dict get $message device]
    variable second [dict get $message second]
    variable style [dict get $message look style]
    variable transparency [expr {100 * [dict get $message look transparency]}]
    variable chosen_colours [lmap_hex [dict get $message look colours]]
    set f $top.inside.look
    set value [dict get $message isovalue]
    set state [expr {$value eq "" ? "disabled" : "!disabled"}]
    $f.isovalue.slider state $state
    $f.isovalue.number state $state
    $f.isovalue.automatic state [expr {[dict get $message is_orbital] ? "!disabled" : "disabled"}]
    $f.isovalue.automatic configure -text [dict get $message enclosed]
    $f.isovalue.unit configure -text [dict get $message unit]
    if {!$sliding && [focus -displayof $top] ne "$f.isovalue.number"} {
        set isovalue [expr {$value eq "" ? "" : [format %.4g $value]}]
    }
    if {!$sliding && $value ne ""} {
        lassign [dict get $message isovalue_range] low high
        $f.isovalue.slider configure -from [expr {log10($low)}] -to [expr {log10($high)}]
        set exponent [expr {log10($value)}]
    }
    foreach name {positive negative} colour $chosen_colours {
        $f.colours.$name configure -background $colour -activebackground $colour
    }
    show_scale [dict get $message scale]
}

# ---- the isovalue

# While the slider moves VMD draws the surface anew by itself.
proc ::orbitile::panel::slid {place} {
    variable isovalue [format %.4g [expr {10.0 ** $place}]]
    variable current
    variable automatic 0
    if {[lsearch -exact [::orbitile::present] $current] >= 0} {
        ::orbitile::draw_at $current $isovalue
    }
}

proc ::orbitile::panel::slid_to_rest {} {
    variable sliding 0
    variable isovalue
    tell isovalue $isovalue
}

proc ::orbitile::panel::isovalue_typed {} {
    variable top
    variable isovalue
    focus $top.inside.table.orbitals
    tell isovalue $isovalue
}

# ---- colours

proc ::orbitile::panel::choose_colour {which} {
    variable top
    variable chosen_colours
    set colour [tk_chooseColor -parent $top -initialcolor [lindex $chosen_colours $which] \
        -title "Colour where the field is [lindex {positive negative} $which]"]
    if {$colour ne ""} {
        tell colours {*}[lreplace $chosen_colours $which $which $colour]
    }
}

proc ::orbitile::panel::transparency_slid {percent} {
    tell_soon transparency [format %.2f [expr {$percent / 100.0}]]
}

proc ::orbitile::panel::build_scale {f} {
    ttk::frame $f
    canvas $f.ramp -height 14 -width 100 -highlightthickness 0
    ttk::entry $f.low -width 7 -state readonly
    ttk::entry $f.high -width 7
    ttk::label $f.unit
    bind $f.high <Return> {::orbitile::panel::range_typed [%W get]}
    ttk::button $f.automatic -text auto -width 5 -command [list ::orbitile::panel::tell range ""]
    pack $f.low -side left
    pack $f.ramp -side left -fill x -expand 1 -padx 4
    pack $f.high $f.unit $f.automatic -side left -padx {0 4}
    bind $f.ramp <Configure> ::orbitile::panel::paint_ramp
    tip $f.high "The colours span minus this value to plus this value: type another and press Return"
    tip $f.automatic "Automatic range, from the data"
}

# What the colours mean; hidden where a second field colours nothing.
proc ::orbitile::panel::show_scale {now} {
    variable top
    variable scale $now
    set f $top.inside.look.scale
    if {$scale eq ""} {
        grid remove $f ${f}_label
        return
    }
    grid $f ${f}_label
    $f.unit configure -text [dict get $scale unit]
    foreach end {low high} {
        $f.$end configure -state normal
        $f.$end delete 0 end
        $f.$end insert 0 [format %.4g [dict get $scale $end]]
    }
    $f.low configure -state readonly
    paint_ramp
}

proc ::orbitile::panel::paint_ramp {} {
    variable top
    variable scale
    if {$scale eq ""} return
    set ramp $top.inside.look.scale.ramp
    $ramp delete all
    set colours [scale_colours [dict get $scale colour_map]]
    set width [winfo width $ramp]
    set parts [expr {[llength $colours] - 1}]
    for {set x 0} {$x < $width} {incr x 2} {
        set at [expr {double($x) / $width * $parts}]
        set first [winfo rgb $ramp [lindex $colours [expr {int($at)}]]]
        set next [winfo rgb $ramp [lindex $colours [expr {int($at) + 1}]]]
        set rgb {}
        foreach low $first high $next {
            lappend rgb [expr {($low + ($high - $low) * ($at - int($at))) / 65535.0}]
        }
        $ramp create rectangle $x 0 [expr {$x + 2}] 14 -outline "" -fill [hex $rgb]
    }
}

proc ::orbitile::panel::range_typed {text} {
    variable top
    focus $top.inside.table.orbitals
    tell range $text
}

# ---- frames

proc ::orbitile::panel::build_frames {f} {
    set here ::orbitile::panel
    ttk::frame $f
    ttk::button $f.previous -text < -width 2 -command [list ${here}::tell step 0]
    ttk::button $f.play -text Play -width 6 -command ${here}::play
    ttk::button $f.next -text > -width 2 -command [list ${here}::tell step 1]
    ttk::scale $f.slider -from 0 -to 1 -variable ${here}::frame -command ${here}::frame_slid
    ttk::label $f.state -width 24
    pack $f.previous $f.play $f.next -side left
    pack $f.slider -side left -fill x -expand 1 -padx 4
    pack $f.state -side left
}

proc ::orbitile::panel::on_playback {message} {
    variable top
    variable playback $message
    variable frame [dict get $message frame]
    set f $top.inside.frames
    set n [dict get $message n_frames]
    if {$n > 1} {
        $f.slider configure -to [expr {$n - 1}]
        $f.play configure -text [expr {[dict get $message playing] ? "Pause" : "Play"}]
        $f.state configure -text "[expr {$frame + 1}] of $n: [dict get $message state]"
        pack $f -fill x -pady 2 -before $top.inside.live
    } else {
        pack forget $f
    }
}

proc ::orbitile::panel::play {} {
    variable playback
    tell play [expr {[dict get $playback playing] ? 0 : 1}]
}

proc ::orbitile::panel::frame_slid {place} {
    tell_soon frame [expr {round($place)}]
}

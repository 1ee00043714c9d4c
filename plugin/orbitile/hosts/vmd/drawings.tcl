# What analyses draw at molecules: balls, lines, and labels at atoms, as graphics of the molecule itself, so that they
# move, are hidden and are deleted with it.

namespace eval orbitile {
    variable graphics         ;# numbers of what is drawn, by molecule and analysis
    array set graphics {}
}

proc orbitile::on_drawings {message} {
    variable molecules
    variable graphics
    set name [dict get $message molecule]
    set key [list $name [dict get $message name]]
    if {[lsearch -exact [present] $name] < 0} return
    set molid $molecules($name)
    if {[info exists graphics($key)]} {
        foreach number $graphics($key) {
            catch {graphics $molid delete $number} ;# the user may have deleted all
        }
        unset graphics($key)
    }
    set drawn {}
    foreach balls [dict get $message balls] {
        lappend drawn {*}[draw_balls $molid $balls]
    }
    foreach lines [dict get $message lines] {
        lappend drawn {*}[draw_lines $molid $lines]
    }
    lappend drawn {*}[draw_labels $molid [dict get $message atoms]]
    if {[llength $drawn]} {
        set graphics($key) $drawn
    }
}

proc orbitile::forget_drawings {name} {
    variable graphics
    foreach key [array names graphics] {
        if {[lindex $key 0] eq $name} {
            unset graphics($key)
        }
    }
}

proc orbitile::draw_balls {molid balls} {
    set drawn [list [graphics $molid color [nearest_colour [dict get $balls colour]]]]
    foreach place [dict get $balls places] {
        lappend drawn [graphics $molid sphere $place radius [dict get $balls radius] resolution 16]
    }
    foreach place [dict get $balls places] label [dict get $balls labels] {
        if {$label ne ""} {
            lappend drawn [graphics $molid text $place " $label" size 0.8]
        }
    }
    return $drawn
}

# Where they have heads, the last piece of a line is a cone.
proc orbitile::draw_lines {molid lines} {
    set drawn [list [graphics $molid color [nearest_colour [dict get $lines colour]]]]
    foreach line [dict get $lines lines] radius [dict get $lines radii] {
        set last [expr {[llength $line] - 2}]
        for {set n 0} {$n <= $last} {incr n} {
            lassign [lrange $line $n [expr {$n + 1}]] start end
            if {[dict get $lines heads] && $n == $last} {
                lappend drawn [graphics $molid cone $start $end radius [expr {2.5 * $radius}] resolution 12]
            } else {
                lappend drawn [graphics $molid cylinder $start $end radius $radius resolution 10]
            }
        }
    }
    return $drawn
}

proc orbitile::draw_labels {molid labels} {
    if {![llength $labels]} {
        return {}
    }
    set atoms [atomselect $molid all]
    set places [$atoms get {x y z}]
    $atoms delete
    set drawn {}
    foreach place $places label $labels {
        if {$label ne "" && [dict get $label label] ne ""} {
            lappend drawn [graphics $molid color [nearest_colour [dict get $label colour]]]
            lappend drawn [graphics $molid text $place " [dict get $label label]" size 0.9]
        }
    }
    return $drawn
}
